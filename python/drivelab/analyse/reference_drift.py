"""Whether the drive itself changed while a run went on: one combination, measured again and again."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations
from statistics import NormalDist, fmean, median

from drivelab.model.distributions import student_t
from drivelab.model.estimate import Estimate
from drivelab.model.metric import metric_of
from drivelab.model.reference_drift import ReferenceDrift, ReferenceStep

LARGE_FROM = 1.10
# the fewest that carry an interval of the trend
TREND_VALUES_MIN = 5
_TAIL = 0.025
# One of the 120 orders of five values: so rare by chance is a warning of a trend, either way. With that of a step, no
# more than 2 % of the runs in which a drive stays the same are warned of.
_WARNING_TAIL = 0.0084
STEP_P_MAX = 0.003
# two values are no level: of a drive that is now here, now there, half of them lie together by chance
STEP_VALUES_MIN = 3
# width of a histogram's bucket: no value is known better
_SCATTER_MIN = 2**-9
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


def theil_sen(values: Sequence[float], tail: float = _TAIL) -> Trend:
    """The trend of a series and its exact interval, of 95 % unless another is asked for.

    Parameters
    ----------
    values : sequence of float
        At least two, at equal distances.
    tail : float
        What lies beyond either end at most.

    Notes
    -----
    The interval holds the slopes for which what remains shows no trend by the
    test of Mann and Kendall at twice `tail`, whose distribution is counted out: the
    number of orders of n values by the pairs that stand in the wrong order.
    Five values are the fewest for which there is one.

    References
    ----------
    Sen (1968), Estimates of the regression coefficient based on Kendall's tau.
    """
    places = range(len(values))
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(places, 2))
    cut = _cut_of_slopes(len(values), tail)
    if cut is None:
        return Trend(median(slopes), None, None)
    return Trend(median(slopes), slopes[cut], slopes[len(slopes) - 1 - cut])


@functools.lru_cache(256)
def _cut_of_slopes(count: int, tail: float) -> int | None:
    """How many slopes to leave out at either end of an interval; None where even all are too few."""
    if count > _COUNTED_OUT_TO:
        pairs, variance = count * (count - 1) / 2, count * (count - 1) * (2 * count + 5) / 72
        return math.floor(pairs / 2 - NormalDist().inv_cdf(1 - tail) * math.sqrt(variance))
    orders = inversion_counts(count)
    whole = sum(orders)
    cut = next(place for place, below in enumerate(accumulate(orders)) if below > tail * whole)
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
        interval leaves out 1, or there is a step (`_step_of`). It is large when
        the trend's interval of 98.3 % leaves out 1 and it is `LARGE_FROM` or
        more either way, or the step is. Of fewer values nobody can tell, and
        none where some of them do not describe the drive.

    Notes
    -----
    The intervals within the trials are of no use here: they know the scatter of
    single I/Os, and not that between trials. Held against them, the highest and
    the lowest of a few values lie apart once in five runs without any drift.
    """
    values = tuple(one.value for one in measured)
    ratio, invalid = _end_over_begin(values), sum(one.is_invalid for one in measured)
    spread, unit = max(values) / min(values), metric_of(metric).unit
    drift = ReferenceDrift(target, workload, metric, values, unit, ratio, spread, None, False, invalid)
    if invalid or ratio.low is None or ratio.high is None:
        return drift
    logarithms = [math.log(value) for value in values]
    step, trend = _step_of(logarithms), theil_sen(logarithms, _WARNING_TAIL)
    is_plain = trend.low is not None and trend.high is not None and not trend.low <= 0 <= trend.high
    return replace(
        drift,
        is_beyond_noise=step is not None or not ratio.low <= 1 <= ratio.high,
        is_large=(is_plain and _is_large(ratio.value)) or (step is not None and _is_large(step.ratio)),
        step=step if step is not None and _is_better_than_line(step, logarithms) else None,
    )


def _is_large(ratio: float | None) -> bool:
    return ratio is not None and max(ratio, 1 / ratio) >= LARGE_FROM


def _step_of(values: Sequence[float]) -> ReferenceStep | None:
    """The moment from which on a series is at another level; None where chance may have made it.

    Of all places with `STEP_VALUES_MIN` values on either side the one with the
    largest Student's t, which has to be beyond chance at `STEP_P_MAX` for all
    places together (Bonferroni).
    """
    count = len(values)
    places = range(STEP_VALUES_MIN, count - STEP_VALUES_MIN + 1)
    if not places:
        return None
    largest, found = student_t(count - 2, STEP_P_MAX / 2 / len(places)), None
    for place in places:
        sides = values[:place], values[place:]
        difference = fmean(sides[1]) - fmean(sides[0])
        scatter = max(_SCATTER_MIN, math.sqrt(sum(map(_square, sides)) / (count - 2)))
        statistic = abs(difference) / (scatter * math.sqrt(1 / place + 1 / (count - place)))
        if statistic > largest:
            largest, found = statistic, ReferenceStep(place + 1, math.exp(difference))
    return found


def _square(values: Sequence[float]) -> float:
    """The sum of the squared distances from the mean."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _is_better_than_line(step: ReferenceStep, values: Sequence[float]) -> bool:
    """Whether two levels leave less unexplained than the least-squares line."""
    places = range(len(values))
    middle, mean = (len(values) - 1) / 2, fmean(values)
    slope = sum((place - middle) * value for place, value in zip(places, values, strict=True)) / _square(places)
    left = sum((value - mean - slope * (place - middle)) ** 2 for place, value in zip(places, values, strict=True))
    return _square(values[: step.first - 1]) + _square(values[step.first - 1 :]) < left


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
