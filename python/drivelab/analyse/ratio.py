"""Means and rates with 95 % intervals: both are ratios of two sums over intervals.

A mean latency is the sum of latencies over the number of operations; a rate is
the number of operations, or bytes, over the time. Taking the ratio of the sums,
not the mean of the intervals' ratios, gives a short interval at the edge of the
window the weight that it has, and an interval without operations its zero.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import IntervalSeries
from drivelab.analyse.long_run_variance import add_up_groups, group_size, variance_over_windows
from drivelab.model.distributions import student_t
from drivelab.model.estimate import Estimate, Unit

_INTERVALS_MIN = 6
# so much of what the intervals differ by two levels leave unexplained: of fewer intervals, which wander less, less
_UNEXPLAINED_MAX, _UNEXPLAINED_EACH = 0.1, 0.005
# the first and the last interval may be too short to tell a rate
_WHOLE = 0.5
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Skewness is taken from so many sums of neighbours, which keeps bursts in one piece.
_SKEWNESS_GROUPS = 64
_SKEWNESS_FROM = 5


def mean_estimate_from_series(values: Floats, unit: Unit = "ns") -> Estimate:
    """The mean of a raw series with its 95 % interval; see `ratio_estimate`.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One value per operation, in order of time.
    """
    series = np.asarray(values, dtype=np.float64)
    count = int(series.shape[0])
    size = group_size(max(count, 1))
    whole = count // size * size
    estimate = ratio_estimate(
        np.append(add_up_groups(series, size), series[whole:].sum() if whole < count else []),
        np.append(np.full(whole // size, float(size)), float(count - whole) if whole < count else []),
        unit,
    )
    return _with_count(estimate, count)


def mean_estimate_from_intervals(series: IntervalSeries) -> Estimate:
    """Mean latency in ns with its 95 % interval, exact in its value; see `ratio_estimate`."""
    estimate = ratio_estimate(series.sum_ns, series.count, "ns", series.window)
    return _with_count(estimate, int(series.count.sum()))


def floored_mean(mean: Estimate, median: Estimate, smallest_ns: float) -> Estimate:
    """A mean latency whose interval does not reach below what half at the median and half at the smallest come to.

    Parameters
    ----------
    mean, median : Estimate
        Of the same operations, in ns.
    smallest_ns : float
        The smallest that was seen.

    Notes
    -----
    Of a few long stalls Student's t knows nothing below; the other operations do: half of them took at least the
    median. A rate that follows from such a mean was 88 times as high at one end of its interval as at the other.
    """
    floor_ns = (smallest_ns + (smallest_ns if median.low is None else median.low)) / 2
    is_below = mean.value is not None and mean.low is not None and mean.low < floor_ns <= mean.value
    return replace(mean, low=floor_ns) if is_below else mean


def rate_estimate_from_intervals(
    counts: Floats, durations_ns: Floats, unit: Unit = "1/s", window: Integers | None = None
) -> Estimate:
    """Operations, or bytes, per second with a 95 % interval; see `ratio_estimate`.

    Where the rate went from one level to another, the interval keeps within the rates that were seen.

    Parameters
    ----------
    counts : ndarray, shape (n,)
        Operations completed, or bytes moved, in each interval.
    durations_ns : ndarray, shape (n,)
        Lengths of the intervals, of which the first and last may be shorter.
    window : ndarray of int64, shape (n,), optional
        The window of each interval; all in one by default.
    """
    amounts, durations = np.asarray(counts, np.float64), np.asarray(durations_ns, np.float64) / 1e9
    found = ratio_estimate(amounts, durations, unit, window)
    if found.low is None or found.high is None or found.low == found.high:
        return found
    seen = _range_of_levels(amounts, durations)
    # a short interval at an edge, which is no level, can bring the rate below both
    if found.value is None or seen is None or not seen[0] <= found.value <= seen[1]:
        return found
    return replace(found, low=max(found.low, seen[0]), high=min(found.high, seen[1]))


def ratio_estimate(numerators: Floats, denominators: Floats, unit: Unit, window: Integers | None = None) -> Estimate:
    """Ratio of the sums of two series with its 95 % interval.

    Parameters
    ----------
    numerators, denominators : ndarray of float64, shape (n,)
        One element per interval, in order of time.
    window : ndarray of int64, shape (n,), optional
        The window of each interval; all in one by default.

    Returns
    -------
    Estimate
        `sample_count` is n. From one interval there is a value without
        interval; without a denominator there is none.

    Notes
    -----
    The residual of each interval is what it has more than the ratio expects;
    the ratio's variance is that of their sum, autocorrelation included
    (`variance_over_windows`). Student's t allows for that variance being an
    estimate. Latencies are skewed: in a sample that happens to hold few stalls
    both the mean and its variance are too small, so a symmetric interval misses
    above far more often than below (95 % intervals from 10 to 25 bursts cover
    88 %). Hall's transformation takes the skewness of the sum into account and
    brings that to 95 %; without skewness it changes nothing. Of what cannot be
    negative a lower end that falls below 0 is as far from the value in the
    logarithm as it was, in units of the value: the true ratio lies below it in
    no more than 2.5 % of series (tests/unit/analyse/test_ratio.py).

    References
    ----------
    Cochran (1977), Sampling Techniques, chapter 6 (ratio estimators);
    Hall (1992), On the removal of skewness by transformation, JRSS B 54(1).
    """
    n = int(numerators.shape[0])
    total = float(denominators.sum())
    if n == 0 or total <= 0:
        return Estimate(None, None, None, unit, 0, 0.0, "no data")
    value = float(numerators.sum()) / total
    if n < 2:
        return Estimate(value, None, None, unit, n, 0.0, "one interval: no interval estimate")
    residual = numerators - value * denominators
    variance = variance_over_windows(residual, np.zeros(n, np.int64) if window is None else window)
    spread = float(np.sqrt(variance.per_element * n))
    if spread <= abs(value) * total * 1e-12:
        return Estimate(value, value, value, unit, n, float(n), "ratio of sums; every interval alike")
    t = student_t(variance.degrees_of_freedom)
    skewness = _skewness_of_sum(residual, spread)
    low = value - _unskewed(t, skewness) * spread / total
    high = value - _unskewed(-t, skewness) * spread / total
    if numerators.min() >= 0 and low <= 0 < value:
        # what was done was not done at a rate of 0: the same distance in the logarithm
        low = value * math.exp((low - value) / value)
    plain = float(residual.var(ddof=1))
    method = f"ratio of sums over {n} intervals, Student t with {variance.degrees_of_freedom:.0f} degrees of freedom"
    return Estimate(value, low, high, unit, n, n * plain / variance.per_element, method)


def _skewness_of_sum(residual: Floats, spread: float) -> float:
    """Third cumulant of the sum of the residuals, over the cube of its standard deviation."""
    n = residual.shape[0]
    if n < _SKEWNESS_FROM:
        return 0.0
    groups = add_up_groups(residual, max(1, n // _SKEWNESS_GROUPS))
    return float((groups**3).sum()) / spread**3


def _unskewed(t: float, skewness: float) -> float:
    """The standardised deviation that Hall's transformation maps to `t`."""
    if abs(skewness) < 1e-9:
        return t
    return float(3 / skewness * (np.cbrt(1 + skewness * (t - skewness / 6)) - 1))


def _with_count(estimate: Estimate, count: int) -> Estimate:
    """The same estimate, counted in operations instead of intervals."""
    share = estimate.effective_sample_count / estimate.sample_count if estimate.sample_count else 0.0
    return Estimate(
        estimate.value, estimate.low, estimate.high, estimate.unit, count, count * min(share, 1.0), estimate.method
    )


def _range_of_levels(amounts: Floats, durations: Floats) -> tuple[float, float] | None:
    """The lowest and the highest rate of all intervals, where they make two levels; else None.

    One interval may lie between the levels, because a change seldom falls on the edge of one. What t intervals cover
    of means that wander (AR(1) up to 0.99), of regimes and of skewed rates stays within 2.5 points when ends are cut
    off here; cut everywhere it would fall by up to 40.
    """
    is_whole = durations > _WHOLE * np.median(durations)
    weights = durations[is_whole]
    rates = amounts[is_whole] / weights
    if rates.shape[0] < _INTERVALS_MIN:
        return None
    centred = rates - np.average(rates, weights=weights)
    sums = [np.concatenate(([0.0], np.cumsum(weights * centred**power))) for power in range(3)]
    before = np.arange(2, rates.shape[0] - 2)
    left = [each[before] for each in sums]
    right = [each[-1] - each[before + 1] for each in sums]
    unexplained = float(np.sum([square - first**2 / weight for weight, first, square in (left, right)], axis=0).min())
    if unexplained >= min(_UNEXPLAINED_MAX, _UNEXPLAINED_EACH * rates.shape[0]) * sums[2][-1]:
        return None
    return float(rates.min()), float(rates.max())
