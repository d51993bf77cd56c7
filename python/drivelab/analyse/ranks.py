"""Which observations, in order of size, enclose a quantile of independent ones with 95 % probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from drivelab.analyse.distributions import binomial_cdf

TAIL = 0.025
ONE_SIDED_TAIL = 0.05


@dataclass(frozen=True, slots=True)
class QuantileRanks:
    """Ranks, from 1, of the order statistics that enclose a quantile.

    Attributes
    ----------
    low, high : int or None
        The 95 % interval; None where no observation is extreme enough.
    one_sided_low, one_sided_high : int or None
        The largest rank whose observation lies below the quantile with 95 %
        probability, and the smallest whose observation lies above it: what can
        be said where the other end does not exist.
    """

    low: int | None
    high: int | None
    one_sided_low: int | None
    one_sided_high: int | None


def quantile_ranks(count: int, at: float) -> QuantileRanks:
    """Ranks that enclose the quantile `at` of what `count` independent observations were drawn from.

    Parameters
    ----------
    count : int
        Number of observations, at least 1.
    at : float
        Quantile, in (0, 1).

    Returns
    -------
    QuantileRanks
        Exact, since the number of observations at or below the true quantile is
        binomial: the interval needs 6 observations for the median, 368 for
        0.99, 3688 for 0.999.
    """
    low = _low_rank(count, at, TAIL)
    high = _low_rank(count, 1 - at, TAIL)
    one_sided_low = _low_rank(count, at, ONE_SIDED_TAIL)
    one_sided_high = _low_rank(count, 1 - at, ONE_SIDED_TAIL)
    return QuantileRanks(
        low or None,
        count + 1 - high if high else None,
        one_sided_low or None,
        count + 1 - one_sided_high if one_sided_high else None,
    )


def _low_rank(count: int, at: float, tail: float) -> int:
    """The largest rank whose observation lies above the quantile with at most probability `tail`; 0 for none."""
    start = count * at - 1.96 * (count * at * (1 - at)) ** 0.5
    return _last_true(count, lambda rank: binomial_cdf(rank - 1, count, at) <= tail, start)


def _last_true(count: int, holds: Callable[[int], bool], start: float) -> int:
    """Largest rank in 1..count for which `holds` (first true, then false); 0 when for none.

    Looks around `start` with steps that double, then halves what is left.
    """
    low, high = 0, count + 1
    rank = min(max(int(start), 1), count)
    step = max(1, count // 2000)
    while low < rank < high:
        if holds(rank):
            low, rank = rank, min(rank + step, high)
        else:
            high, rank = rank, max(rank - step, low)
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
