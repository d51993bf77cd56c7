"""Whether the drive itself changed while a run went on: one combination, measured again and again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from statistics import median

from drivelab.analyse.distributions import NORMAL_975
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.run_answer import ReferenceDrift

LARGE_FROM = 1.10
TREND_VALUES_MIN = 4
_TAIL = 0.025
# above this many values the normal distribution gives the same interval
_COUNTED_OUT_TO = 40


@dataclass(frozen=True, slots=True)
class ReferenceValue:
    """The judged number of one reference trial, with its 95 % interval where it has one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through a series at equal distances.

    Attributes
    ----------
    slope : float
        Per step: the median of the slopes of all pairs.
    low, high : float or None
        Its 95 % interval; None where so few values carry none.
    """

    slope: float
    low: float | None
    high: float | None


def theil_sen(values: Sequence[float]) -> Trend:
    """The trend of a series and its exact 95 % interval.

    Parameters
    ----------
    values : sequence of float
        At least two, at equal distances.

    Notes
    -----
    The interval holds the slopes for which what remains shows no trend by the
    test of Mann and Kendall at 5 %, whose distribution is counted out: the
    number of orders of n values by the pairs that stand in the wrong order.
    Five values are the fewest for which there is one.

    References
    ----------
    Sen (1968), Estimates of the regression coefficient based on Kendall's tau.
    """
    places = range(len(values))
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(places, 2))
    cut = _cut_of_slopes(len(values))
    if cut is None:
        return Trend(median(slopes), None, None)
    return Trend(median(slopes), slopes[cut], slopes[len(slopes) - 1 - cut])


def _cut_of_slopes(count: int) -> int | None:
    """How many slopes to leave out at either end for a 95 % interval; None where even all are too few."""
    if count > _COUNTED_OUT_TO:
        pairs, variance = count * (count - 1) / 2, count * (count - 1) * (2 * count + 5) / 72
        return math.floor(pairs / 2 - NORMAL_975 * math.sqrt(variance))
    orders = inversion_counts(count)
    whole = sum(orders)
    cut = next(place for place, below in enumerate(accumulate(orders)) if below > _TAIL * whole)
    return cut - 1 if cut else None


def inversion_counts(count: int) -> list[int]:
    """How many orders of `count` things have 0, 1, 2 ... pairs in the wrong order."""
    orders = [1]
    for size in range(2, count + 1):
        below = [0, *accumulate(orders)]
        last = len(orders)
        orders = [below[min(k + 1, last)] - below[max(0, k + 1 - size)] for k in range(last + size - 1)]
    return orders


def reference_drift(target: str, workload: str, metric: str, measured: Sequence[ReferenceValue]) -> ReferenceDrift:
    """How far the reference moved from its first to its last measurement.

    Parameters
    ----------
    target, workload, metric : str
        Where, and what the values are: a latency in ns or a throughput in B/s.
    measured : sequence of ReferenceValue
        In the order in which they were measured, above 0; at least one.

    Returns
    -------
    ReferenceDrift
        From `TREND_VALUES_MIN` values on the ratio is that of the ends of the
        trend (Theil and Sen, of the logarithms), with an interval from five on.
        It is beyond noise when that interval leaves out 1; with fewer values,
        when the highest and the lowest lie further apart than their own 95 %
        intervals allow; where these are not known, nobody can tell. Then it is
        large when the ratio of the ends, or without a trend that of highest and
        lowest, is `LARGE_FROM` or more either way.
    """
    values = tuple(one.value for one in measured)
    unit: Unit = "ns" if "latency_ns" in metric else "B/s"
    spread, noise = max(values) / min(values), _noise_ratio(measured)
    ratio = _end_over_begin(values)
    if ratio.low is not None and ratio.high is not None:
        is_beyond: bool | None = not ratio.low <= 1 <= ratio.high
    else:
        is_beyond = None if noise is None else spread > noise
    size = max(ratio.value, 1 / ratio.value) if ratio.value and len(values) >= TREND_VALUES_MIN else spread
    is_large = bool(is_beyond) and size >= LARGE_FROM
    return ReferenceDrift(target, workload, metric, values, unit, ratio, spread, noise, is_beyond, is_large)


def _end_over_begin(values: Sequence[float]) -> Estimate:
    count = len(values)
    if count < 2:
        return Estimate(None, None, None, "1", count, float(count), "one value: no drift to be seen")
    if count < TREND_VALUES_MIN:
        method = f"last over first; {TREND_VALUES_MIN} values are needed for a trend"
        return Estimate(values[-1] / values[0], None, None, "1", count, float(count), method)
    trend = theil_sen([math.log(value) for value in values])
    slope, low, high = (
        None if end is None else math.exp(end * (count - 1)) for end in (trend.slope, trend.low, trend.high)
    )
    method = f"ends of the trend through {count} values (Theil and Sen, exact interval by Kendall's distribution)"
    return Estimate(slope, low, high, "1", count, float(count), method)


def _noise_ratio(measured: Sequence[ReferenceValue]) -> float | None:
    """How far apart highest and lowest may lie when only the scatter within each moves them."""
    lowest = min(measured, key=lambda one: one.value)
    highest = max(measured, key=lambda one: one.value)
    if lowest.high is None or highest.low is None or highest.low <= 0:
        return None
    return math.exp(math.hypot(math.log(lowest.high / lowest.value), math.log(highest.value / highest.low)))
