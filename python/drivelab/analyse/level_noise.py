"""How much a series scatters around its levels, correlation included, without knowing where the levels change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NORMAL_MEDIAN = 1.4826
# of the absolute value of a normal variable
_NORMAL_80 = 1.2816
_CLIPPED_AT = 3.0
# so many sums of neighbours are the fewest that tell how much such sums scatter
_SUMS_MIN = 12
_MEDIAN_ONLY_FROM = 4
_CORRELATION_MAX = 0.98
_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, slots=True)
class LevelNoise:
    """The noise of a series around its levels.

    Attributes
    ----------
    variance : float
        Of single elements, by the differences of neighbours.
    long_run_variance : float
        Of the sum of n elements, divided by n: the same where they are independent.
    correlation : float
        Of neighbours, as differences of neighbours and of next neighbours tell it.
    """

    variance: float
    long_run_variance: float
    correlation: float


def without_outliers(series: Floats, width: int) -> Floats:
    """The series with elements far from the median of their surroundings brought nearer.

    Parameters
    ----------
    series : ndarray of float64, shape (n,)
        In order.
    width : int
        Elements of the surroundings, odd. What lasts longer than half of it is no outlier.

    Returns
    -------
    ndarray of float64, shape (n,)
        No element further from that median than 3 standard deviations (by the median of the deviations).
    """
    half = width // 2
    surroundings = np.lib.stride_tricks.sliding_window_view(np.pad(series, half, mode="reflect"), 2 * half + 1)
    median = np.median(surroundings, axis=1)
    rest = series - median
    scale = NORMAL_MEDIAN * float(np.median(np.abs(rest)))
    if scale <= 0:
        return series
    clipped: Floats = median + np.clip(rest, -_CLIPPED_AT * scale, _CLIPPED_AT * scale)
    return clipped


def level_noise(series: Floats) -> LevelNoise:
    """The noise of a series from the differences of its parts, in which few changes of level hardly show.

    Parameters
    ----------
    series : ndarray of float64, shape (n,), n >= 3
        In order, without outliers.

    Notes
    -----
    Half the variance of the difference of two neighbouring means of b elements,
    times b, is the variance of an element for b = 1 and comes to the long-run
    variance as b grows; the largest over b = 1, 2, 4 ... n / 12 is taken. The
    variance of the differences is that of a normal distribution with their
    median; of single elements and pairs also with their 80 % quantile, where that
    is wider. A change of level is in few of those differences, and in more of
    those of long sums.
    """
    n = int(series.shape[0])
    sums = np.concatenate([[0.0], np.cumsum(series)])
    by_size: list[float] = []
    size = 1
    while size <= max(1, n // _SUMS_MIN):
        means = (sums[size:] - sums[:-size]) / size
        by_size.append(size * _scale(means[size:] - means[:-size], by_median_only=size >= _MEDIAN_ONLY_FROM) ** 2 / 2)
        size *= 2
    near, next_but_one = _scale(np.diff(series)), _scale(series[2:] - series[:-2])
    correlation = (next_but_one / near) ** 2 - 1 if near > 0 else 0.0
    return LevelNoise(by_size[0], max(by_size), float(min(max(correlation, 0.0), _CORRELATION_MAX)))


def noise_around(series: Floats, begins: Sequence[int], known: LevelNoise) -> float:
    """The long-run variance that the rest of a series may have once its levels are taken out.

    Parameters
    ----------
    series : ndarray of float64, shape (n,)
        In order, without outliers.
    begins : sequence of int
        Where its levels begin, the first one left out.
    known : LevelNoise
        What is known without the levels.

    Notes
    -----
    The rest is taken as autoregressive, with a correlation of neighbours two
    standard errors above what is seen, and corrected for the levels that were
    taken out of it (Kendall 1954): a short series can wander without showing it.
    """
    n, edges = series.shape[0], [0, *begins, series.shape[0]]
    parts = [series[begin:end] - series[begin:end].mean() for begin, end in pairwise(edges)]
    square_sum = sum(float(part @ part) for part in parts)
    products = sum(float(part[1:] @ part[:-1]) for part in parts)
    variance = square_sum / max(1, n - len(parts))
    seen = min(max(known.correlation, products / square_sum if square_sum > 0 else 0.0), _CORRELATION_MAX)
    error = _STANDARD_ERRORS * math.sqrt((1 - seen**2) / n)
    correlation = min(seen + error + len(parts) * (1 + 4 * seen) / n, _CORRELATION_MAX)
    return float(max(variance, known.variance) * (1 + correlation) / (1 - correlation))


def _scale(differences: Floats, *, by_median_only: bool = False) -> float:
    """Standard deviation of a normal distribution with the median, or the 80 % quantile, of these absolute values."""
    median, wide = np.quantile(np.abs(differences), [0.5, 0.8])
    by_median = NORMAL_MEDIAN * float(median)
    return by_median if by_median_only else max(by_median, float(wide) / _NORMAL_80)
