"""Latency quantiles with 95 % intervals that hold for autocorrelated latencies.

Two questions have two answers. What the quantile was in this window is the
sample's own: a fact, exact to a bucket, and always given. What it is for the
drive, if it goes on like this, is the interval: all values that the share of
observations below them does not rule out.

For each such value the share below it is compared with the share that the
quantile asks for, in logits, by Student's t and the long-run variance that the
share has *there* (`long_run_variance`, the one that means and rates use). The
published form of the method takes the variance at the sample's quantile only,
and that fails where the level moves: half of the window above the median and
half below says much about the median, although all of it seems to vary.
Nothing is assumed about the distribution.

What cannot be mended: what is slower than about a tenth of the window, and a
quantile that lives in events of which the data hold fewer than about ten, say
four stalls. Nothing in the data tells four stalls by chance from three or eight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.distributions import student_t
from drivelab.analyse.interval_series import IntervalSeries, series_from_histograms
from drivelab.analyse.ordered_sample import IntervalSample, LikeSample, OrderedSample, RawSample, ShareBelow
from drivelab.analyse.ranks import ONE_SIDED_TAIL, TAIL, quantile_ranks
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.histogram import Histogram

Floats = NDArray[np.float64]

# observations beyond a quantile that give it a value, and an interval with two ends
VALUE_FROM = 1
INTERVAL_FROM = 5
# What bursts cost in degrees of freedom, and the fewest that they leave. Theory says 0.5 (the kurtosis of their
# number); with 1.5 a p99 is covered about as well as a p50, found by simulation (tests/prove/quantiles.py).
_BURST_WEIGHT = 1.5
_FEWEST_DEGREES = 2.0
# an end is looked for to so small a part of its distance, or of what is left beyond it
_PRECISION = 128


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
        definition 1), wherever at least one observation is expected beyond the
        quantile: n (1 - at) >= 1, or n at >= 1 below the median. Fewer than
        that leave `value` None, and `observed` is that observation. Below five
        there is no end on the far side, and the near one is a one-sided bound.

    Notes
    -----
    O(n log n): one sort for all quantiles, and some ten passes and Fourier
    transforms of at most 8192 sums for each end of each.
    """
    sample = RawSample(np.asarray(values, dtype=np.float64))
    return monotone([_estimate(sample, q, unit) for q in at], at)


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
    """
    if series.length < 2:
        return [_without_interval(series.merged, q) for q in at]
    sample = IntervalSample(series)
    return monotone([_estimate(sample, q, "ns") for q in at], at)


def quantile_estimates_from_histogram(
    histogram: Histogram, at: Sequence[float], like: IntervalSeries
) -> list[Estimate]:
    """Quantiles of a latency that has no interval series of its own.

    Submission and completion latency are kept for the whole window only. Their
    bursts are taken to be those of the total latency `like`, of which they are parts.
    """
    if like.length < 2:
        return [_without_interval(histogram, q) for q in at]
    sample = LikeSample(histogram, IntervalSample(like))
    return monotone([_estimate(sample, q, "ns") for q in at], at)


def monotone(estimates: Sequence[Estimate], at: Sequence[float]) -> list[Estimate]:
    """Quantiles of one latency whose intervals do not contradict each other.

    Whatever lies below a quantile lies below every higher one, and the other
    way round, so the tighter end of a neighbour holds here, too.
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
    return found


def sample_rank(at: float, count: int) -> int:
    """The rank of the observation that is the sample's own quantile."""
    # 0.99 * 100 is a little more than 99 in binary
    return min(count, max(1, int(np.ceil(at * count - 1e-9))))


def _estimate(sample: OrderedSample, at: float, unit: Unit) -> Estimate:
    count = sample.count
    if count == 0:
        return Estimate(None, None, None, unit, 0, 0.0, "no data")
    rank = sample_rank(at, count)
    seen = sample.value(rank)
    inflation = sample.share_below(rank, inclusive=True).inflation
    method = f"ranks by Student's t, variance x {inflation:.3g} for autocorrelation"
    # 0.999 is a little less than itself in binary
    beyond = count * min(at, 1 - at) + 1e-9
    if beyond < INTERVAL_FROM:
        low, high = _one_sided(sample, at)
        value, observed = (seen, None) if beyond >= VALUE_FROM else (None, seen)
        return Estimate(value, low, high, unit, count, count / inflation, f"{method}; one-sided 95 % bound", observed)
    ranks = quantile_ranks(count, at)
    low = sample.low_edge(_low_end(sample, at, ranks.low, TAIL))
    high = sample.high_edge(_high_end(sample, at, ranks.high, TAIL))
    return Estimate(seen, low, high, unit, count, count / inflation, method)


def _without_interval(histogram: Histogram, at: float) -> Estimate:
    count = histogram.total_count
    if count == 0:
        return Estimate(None, None, None, "ns", 0, 0.0, "no data")
    value = histogram.value_at_rank(sample_rank(at, count))
    return Estimate(value, None, None, "ns", count, 0.0, "one interval: no interval estimate")


def _one_sided(sample: OrderedSample, at: float) -> tuple[float | None, float | None]:
    """A bound on the side that has observations."""
    ranks = quantile_ranks(sample.count, at)
    if at >= 0.5:
        rank = ranks.one_sided_low
        return None if rank is None else sample.low_edge(_low_end(sample, at, rank, ONE_SIDED_TAIL)), None
    rank = ranks.one_sided_high
    return None, None if rank is None else sample.high_edge(_high_end(sample, at, rank, ONE_SIDED_TAIL))


def _low_end(sample: OrderedSample, at: float, nearest: int | None, tail: float) -> int:
    """The largest rank whose observation lies too low to be the quantile; 1 where that cannot be told of any."""

    def is_out(distance: int) -> bool:
        below = sample.share_below(middle - distance, inclusive=False)
        return below.share < at and _is_ruled_out(below, sample.count, at, tail)

    middle = sample_rank(at, sample.count)
    return middle - _distance(is_out, middle - (nearest or 1), middle - 1)


def _high_end(sample: OrderedSample, at: float, nearest: int | None, tail: float) -> int:
    """The smallest rank whose observation lies too high to be the quantile; the last where that cannot be told."""

    def is_out(distance: int) -> bool:
        below = sample.share_below(middle + distance, inclusive=True)
        return below.share > at and _is_ruled_out(below, sample.count, at, tail)

    middle = sample_rank(at, sample.count)
    return middle + _distance(is_out, (nearest or sample.count) - middle, sample.count - middle)


def _distance(is_out: Callable[[int], bool], nearest: int, farthest: int) -> int:
    """The distance from the middle at which values are ruled out, to within a small part; at most `farthest`.

    Goes outwards from the exact end for independent observations with steps that double, then halves what is left.
    """
    inner, outer = 0, max(0, nearest)
    while outer < farthest and not is_out(outer):
        inner, outer = outer, min(farthest, max(1, 2 * outer))
    if inner == 0:
        return outer
    while outer - inner > max(1, min(outer, farthest - inner) // _PRECISION):
        halfway = (inner + outer) // 2
        inner, outer = (inner, halfway) if is_out(halfway) else (halfway, outer)
    return outer


def _is_ruled_out(below: ShareBelow, count: int, at: float, tail: float) -> bool:
    """Whether the share below a value differs from that of the quantile by more than chance."""
    share = below.share
    if not 0 < share < 1:
        return True
    worth = count / below.inflation
    degrees = below.degrees_of_freedom
    if below.inflation > 1:
        # bursts vary in number and size: the rarer, the more it matters, and at the median not at all
        bursts = _BURST_WEIGHT * (1 / (share * (1 - share)) - 4) / worth
        degrees = max(min(degrees, _FEWEST_DEGREES), 1 / (1 / degrees + bursts))
    else:
        degrees = math.inf
    spread = math.sqrt(1 / (worth * share * (1 - share)))
    return abs(_logit(share) - _logit(at)) > student_t(degrees, tail) * spread


def _logit(share: float) -> float:
    return math.log(share / (1 - share))
