"""Whether a series has a trend at all: the test of Mann and Kendall."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from drivelab.analyse.reference_drift import inversion_counts

# above this many values the normal distribution gives the same
_COUNTED_OUT_TO = 40


def mann_kendall_p_value(values: Sequence[float]) -> float:
    """The two-sided p-value of there being no trend.

    Parameters
    ----------
    values : sequence of float
        In order.

    Returns
    -------
    float
        Counted out for up to 40 different values, otherwise by the normal
        distribution with the variance that equal values leave. 1 below three values.

    References
    ----------
    Mann (1945), Nonparametric tests against trend, Econometrica 13; Kendall
    (1975), Rank correlation methods, for equal values.
    """
    n = len(values)
    if n < 3:
        return 1.0
    numbers = [float(value) for value in values]
    score = sum((after > before) - (after < before) for before, after in combinations(numbers, 2))
    ties = [count for count in Counter(numbers).values() if count > 1]
    if not ties and n <= _COUNTED_OUT_TO:
        orders = inversion_counts(n)
        wrong = (n * (n - 1) // 2 - abs(score)) // 2
        return min(1.0, 2 * sum(orders[: wrong + 1]) / sum(orders))
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    return math.erfc(abs(score) / math.sqrt(2 * variance)) if variance > 0 else 1.0
