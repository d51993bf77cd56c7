"""How far two samples are apart, by ranks alone: Mann-Whitney's exact p-value and Moses' exact interval.

Written out, because scipy's module for it takes longer to import than a
comparison takes. Tests hold both against scipy and against all permutations.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.distributions import NORMAL_95, NORMAL_975

Floats = NDArray[np.float64]
# beyond this the normal approximation is used, whose p-values around 0.01 are 5 % too large
_EXACT_UNITS_MAX = 60
_NORMAL = {0.025: NORMAL_975, 0.05: NORMAL_95}


def pairwise_differences(base: Floats, new: Floats) -> Floats:
    """Every value of `new` less every value of `base`, flat."""
    return np.subtract.outer(new, base).ravel()


def hodges_lehmann(base: Floats, new: Floats) -> float:
    """The shift from `base` to `new`: the median of all pairwise differences (Hodges and Lehmann 1963)."""
    return float(np.median(pairwise_differences(base, new)))


def mann_whitney_p(base: Floats, new: Floats, resolution: float = 0.0) -> float:
    """Two-sided p-value of no difference at all (Mann and Whitney 1947).

    Parameters
    ----------
    base, new : ndarray of float64
        Values of each side.
    resolution : float
        Values that are no further apart are tied.

    Returns
    -------
    float
        Exact up to 60 values a side. Ties count against a difference, so the
        value is never too small for them.
    """
    differences = pairwise_differences(base, new)
    above = int((differences > resolution).sum())
    below = int((differences < -resolution).sum())
    # how few of the pairs speak for the less likely direction; a tie speaks for it
    fewest = differences.size - max(above, below)
    return min(1.0, 2 * _at_most(fewest, base.size, new.size))


def moses_interval(base: Floats, new: Floats, tail: float = 0.025) -> tuple[float, float] | None:
    """The shifts that Mann and Whitney's test would not refuse (Moses 1953).

    Parameters
    ----------
    base, new : ndarray of float64
        Values of each side.
    tail : float
        Probability to leave out at each end: 0.025 or 0.05.

    Returns
    -------
    (float, float) or None
        None where there are too few values for such an interval: below four a
        side for 95 %.
    """
    rank = _rank(base.size, new.size, tail)
    if rank < 1:
        return None
    differences = np.sort(pairwise_differences(base, new))
    return float(differences[rank - 1]), float(differences[-rank])


def smallest_p(base_count: int, new_count: int) -> float:
    """The p-value of two samples that do not overlap: no smaller one can be had."""
    return min(1.0, 2 / math.comb(base_count + new_count, new_count))


def _rank(base_count: int, new_count: int, tail: float) -> int:
    """Rank, from 1, of the pairwise difference that is the interval's low end; 0 when there is none."""
    if max(base_count, new_count) > _EXACT_UNITS_MAX:
        pairs = base_count * new_count
        spread = math.sqrt(pairs * (base_count + new_count + 1) / 12)
        return max(0, math.floor(pairs / 2 - _NORMAL[tail] * spread))
    cumulative = _cumulative(base_count, new_count)
    return int(np.searchsorted(cumulative, tail, side="right"))


def _at_most(statistic: int, base_count: int, new_count: int) -> float:
    """Probability that Mann and Whitney's U is no larger, when there is no difference."""
    if max(base_count, new_count) > _EXACT_UNITS_MAX:
        pairs = base_count * new_count
        spread = math.sqrt(pairs * (base_count + new_count + 1) / 12)
        return 0.5 * math.erfc((pairs / 2 - statistic - 0.5) / spread / math.sqrt(2))
    return float(_cumulative(base_count, new_count)[statistic])


@cache
def _cumulative(base_count: int, new_count: int) -> Floats:
    """Distribution function of U at 0, 1, 2 ...: the Gaussian binomial coefficients, added up."""
    length = base_count * new_count + 1
    ways = np.zeros(length)
    ways[0] = 1.0
    for number in range(1, new_count + 1):
        # multiplied by one polynomial, then divided by another
        step = base_count + number
        if step < length:
            ways[step:] -= ways[:-step].copy()
        for begin in range(number, length):
            ways[begin] += ways[begin - number]
    return np.minimum(np.cumsum(ways) / math.comb(base_count + new_count, new_count), 1.0)
