"""Whether the drive itself changed while a run went on: one combination, measured again and again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from statistics import median

from drivelab.analyse.distributions import NORMAL_975
from drivelab.model.estimate import Estimate
from drivelab.model.metric import metric_of
from drivelab.model.run_answer import ReferenceDrift

LARGE_FROM = 1.10
# the fewest that carry an interval of the trend
TREND_VALUES_MIN = 5
_TAIL = 0.025
# above this many values the normal distribution gives the same interval
_COUNTED_OUT_TO = 40


@dataclass(frozen=True, slots=True)
class ReferenceValue:
    """The judged number of one reference trial, and whether it does not describe the drive."""

    value: float
    is_invalid: bool = False


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
        trend (Theil and Sen, of the logarithms). It is beyond noise when its 95 %
        interval leaves out 1, and large when it also is `LARGE_FROM` or more
        either way. Of fewer values nobody can tell, and none where some of them
        do not describe the drive.

    Notes
    -----
    The intervals within the trials are of no use here: they know the scatter of
    single I/Os, and not that between trials. Held against them, the highest and
    the lowest of a few values lie apart once in five runs without any drift.
    """
    values = tuple(one.value for one in measured)
    ratio, invalid = _end_over_begin(values), sum(one.is_invalid for one in measured)
    is_beyond: bool | None = None
    if not invalid and ratio.low is not None and ratio.high is not None:
        is_beyond = not ratio.low <= 1 <= ratio.high
    is_large = bool(is_beyond and ratio.value and max(ratio.value, 1 / ratio.value) >= LARGE_FROM)
    spread, unit = max(values) / min(values), metric_of(metric).unit
    return ReferenceDrift(target, workload, metric, values, unit, ratio, spread, is_beyond, is_large, invalid)


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
