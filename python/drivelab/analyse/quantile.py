"""Latency quantiles with 95 % intervals that hold for autocorrelated latencies.

Two ways to the same numbers: from every single latency in order of time, and
from a histogram per interval where single latencies were not kept. Both count
how many observations exceed the quantile, how much that count varies, and read
the interval off the observations in order of size. Nothing is assumed about
the distribution.

The published form of the method (indicator, effective sample size, ranks at
-/+ 1.96 standard deviations) covers 70 to 93 % where bursts are few; the three
changes that mend it are told where they are made: the estimate on two scales
(`long_run_variance`), binomial ranks (`ranks.quantile_ranks`) and Student's t
(`ranks.widened`). What cannot be mended: a quantile that lives in events of
which the data hold fewer than about ten, say four stalls. Nothing in the data
tells four stalls by chance from three or eight, and the interval covers 80 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import IntervalSeries, series_from_histograms
from drivelab.analyse.long_run_variance import add_up_groups, group_size, long_run_variance
from drivelab.analyse.ranks import quantile_ranks, widened
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.histogram import SUB_BUCKET_COUNT, Histogram, bucket_high_ns, bucket_low_ns

Floats = NDArray[np.float64]


def quantile_estimate_from_series(values: Floats, at: float, unit: Unit = "ns") -> Estimate:
    """One quantile of a raw series; see `quantile_estimates_from_series`."""
    return quantile_estimates_from_series(values, [at], unit)[0]


def quantile_estimates_from_series(values: Floats, at: Sequence[float], unit: Unit = "ns") -> list[Estimate]:
    """Quantiles of a raw series, each with its 95 % interval.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One value per operation, in order of time.
    at : sequence of float
        Quantiles in (0, 1): 0.999, not 99.9.
    unit : str
        Unit of the values.

    Returns
    -------
    list of Estimate
        `value` is the observation of rank ceil(at * n) (Hyndman and Fan 1996,
        definition 1). Where the upper end does not exist `value` is None and
        `low` is the largest observation that lies below the quantile with 95 %
        probability, which is rarely the largest of all; `observed` is the
        sample's own quantile.

    Notes
    -----
    O(n log n): one sort for all quantiles, and one pass and one Fourier
    transform of at most 65 536 sums for each.
    """
    series = np.asarray(values, dtype=np.float64)
    count = int(series.shape[0])
    ordered = np.sort(series)

    def observation(rank: int) -> float:
        return float(ordered[rank - 1])

    found = [
        _estimate(q, count, _series_inflation(series, ordered, q), (observation, observation, observation), unit)
        for q in at
    ]
    return monotone(found, at)


def quantile_estimate_from_intervals(histogram_per_interval: Sequence[Histogram], at: float) -> Estimate:
    """One latency quantile from a histogram per interval; see `quantile_estimates_from_intervals`."""
    return quantile_estimates_from_intervals(series_from_histograms(histogram_per_interval), [at])[0]


def quantile_estimates_from_intervals(series: IntervalSeries, at: Sequence[float]) -> list[Estimate]:
    """Latency quantiles, each with its 95 % interval, from the interval series.

    Parameters
    ----------
    series : IntervalSeries
        Counts and histograms of successive intervals, empty ones included.
    at : sequence of float
        Quantiles in (0, 1).

    Returns
    -------
    list of Estimate
        In ns. `value` is exact to half a bucket (0.1 %); the interval ends are
        the outer edges of their buckets. One interval alone has no neighbours
        to compare with: value without interval.

    Notes
    -----
    How many latencies exceed the quantile varies from interval to interval; the
    variance of those counts, autocorrelation between intervals included, over
    the binomial variance is the inflation. Counts per interval differ, so the
    count expected from the number of operations is taken off first (the
    residual of a ratio estimator). Few intervals have few degrees of freedom
    and widen the result through Student's t.
    """
    edges = (
        lambda rank: _edge(series.merged, rank, bucket_low_ns),
        series.merged.value_at_rank,
        lambda rank: _edge(series.merged, rank, bucket_high_ns),
    )
    count = series.merged.total_count
    return monotone([_estimate(q, count, interval_inflation(series, q), edges, "ns") for q in at], at)


def monotone(estimates: Sequence[Estimate], at: Sequence[float]) -> list[Estimate]:
    """Quantiles of one latency whose bounds do not contradict each other.

    Whatever lies below a quantile lies below every higher one, and the other
    way round, so the tighter bound of a neighbour holds here, too. A quantile
    that is only a bound loses it where the bound lies below the estimate of a
    lower quantile, or where a lower one has not even a bound: "p50 6.6 ms, p99
    at least 3 ms" says less than the p50 alone. It is not raised to that
    estimate, for which the 95 % of a bound do not hold.
    """
    order = sorted(range(len(at)), key=lambda position: at[position])
    found = list(estimates)
    low: float | None = None
    for position in order:
        own = found[position].low
        low = own if low is None else low if own is None else max(low, own)
        found[position] = replace(found[position], low=low)
    high: float | None = None
    for position in reversed(order):
        own = found[position].high
        high = own if high is None else high if own is None else min(high, own)
        # a value that is withheld stays so: a quantile above it cannot give it an end that its own data lack
        if found[position].value is not None:
            found[position] = replace(found[position], high=high)
    return _without_idle_bounds(found, order)


def _without_idle_bounds(estimates: Sequence[Estimate], order: Sequence[int]) -> list[Estimate]:
    """The estimates without the bounds that say less than a lower quantile."""
    found = list(estimates)
    # the highest number that a lower quantile is published with; infinite where one of them has none
    floor = 0.0
    for position in order:
        one = found[position]
        if one.value is not None:
            floor = max(floor, one.value)
        elif one.low is None or one.low < floor * (1 - 1 / SUB_BUCKET_COUNT):
            found[position] = replace(one, low=None)
            floor = math.inf
        else:
            # the lower edge of the bucket in whose middle the lower quantile lies
            floor = max(floor, one.low)
            found[position] = replace(one, low=floor)
    return found


def quantile_estimates_from_histogram(
    histogram: Histogram, at: Sequence[float], like: IntervalSeries
) -> list[Estimate]:
    """Quantiles of a latency that has no interval series of its own.

    Submission and completion latency are kept for the whole window only. Their
    bursts are taken to be those of the total latency `like`, of which they are parts.
    """
    edges = (
        lambda rank: _edge(histogram, rank, bucket_low_ns),
        histogram.value_at_rank,
        lambda rank: _edge(histogram, rank, bucket_high_ns),
    )
    return monotone([_estimate(q, histogram.total_count, interval_inflation(like, q), edges, "ns") for q in at], at)


def _series_inflation(series: Floats, ordered: Floats, at: float) -> tuple[float, float]:
    """Variance inflation of the count above the quantile, and its degrees of freedom."""
    count = series.shape[0]
    if count < 2:
        return 1.0, 1e9
    threshold = ordered[_rank(at, count) - 1]
    above = (series > threshold).astype(np.float64)
    share = float(above.mean())
    if share == 0.0:
        above = (series >= threshold).astype(np.float64)
        share = float(above.mean())
    if not 0.0 < share < 1.0:
        return 1.0, 1e9
    size = group_size(count)
    variance = long_run_variance(add_up_groups(above - share, size))
    return max(1.0, variance.per_element / size / (share * (1 - share))), variance.degrees_of_freedom


def interval_inflation(series: IntervalSeries, at: float) -> tuple[float, float] | None:
    """Variance inflation of the count above a quantile and its degrees of freedom; None from one interval."""
    count = series.merged.total_count
    if series.length < 2:
        return None
    if count < 2:
        return 1.0, 1e9
    position = int(np.searchsorted(np.cumsum(series.merged.count), _rank(at, count)))
    above = series.count_above_bucket(int(series.merged.bucket[position]))
    if above.sum() == 0 and position > 0:
        above = series.count_above_bucket(int(series.merged.bucket[position - 1]))
    share = float(above.sum() / count)
    if not 0.0 < share < 1.0:
        return 1.0, 1e9
    variance = long_run_variance(above - share * series.count)
    per_operation = variance.per_element * series.length / count
    return max(1.0, per_operation / (share * (1 - share))), variance.degrees_of_freedom


def _estimate(
    at: float,
    count: int,
    inflation: tuple[float, float] | None,
    values: tuple[Callable[[int], float], Callable[[int], float], Callable[[int], float]],
    unit: Unit,
) -> Estimate:
    low_end, middle, high_end = values
    if count == 0:
        return Estimate(None, None, None, unit, 0, 0.0, "no data")
    if inflation is None:
        return Estimate(middle(_rank(at, count)), None, None, unit, count, 0.0, "one interval: no interval estimate")
    factor = widened(*inflation, count * min(at, 1 - at))
    ranks = quantile_ranks(count, at, factor)
    method = f"order statistics, variance x {factor:.3g} for autocorrelation"
    effective = count / factor
    if ranks.high is None:
        bound = None if ranks.one_sided_low is None else low_end(ranks.one_sided_low)
        seen = middle(_rank(at, count))
        return Estimate(None, bound, None, unit, count, effective, f"{method}; one-sided 95 % bound", seen)
    low = None if ranks.low is None else low_end(ranks.low)
    return Estimate(middle(_rank(at, count)), low, high_end(ranks.high), unit, count, effective, method)


def _rank(at: float, count: int) -> int:
    # 0.99 * 100 is a little more than 99 in binary
    return min(count, max(1, int(np.ceil(at * count - 1e-9))))


def _edge(histogram: Histogram, rank: int, of: Callable[[NDArray[np.int64]], Floats]) -> float:
    """The lower or upper edge of the bucket that holds a rank, within the exact extremes."""
    position = np.searchsorted(np.cumsum(histogram.count), rank)
    edge = float(of(histogram.bucket[position : position + 1])[0])
    return min(max(edge, float(histogram.minimum_ns)), float(histogram.maximum_ns))
