"""Latency quantiles with 95 % intervals that hold for autocorrelated latencies.

Two questions have two answers. What the quantile was in this window is the
sample's own: a fact, exact to a bucket, and always given. What it is for the
drive, if it goes on like this, is the interval: all values that the share of
observations below them does not rule out.

For each such value the number of observations beyond it is compared with the
number that the quantile asks for. Bursts make n observations worth n / inflation
independent ones, the inflation being the share's long-run variance over that of
independent observations (`long_run_variance`, the one that means and rates use).
So the number is taken as binomial of so many trials, which for independent
observations is exact. That the inflation is an estimate is paid for as Student's
t does, with the probability of its point instead of the normal one's.

The inflation is taken *at that value*: at the sample's quantile alone it fails
where the level moves, for half of the window above the median and half below
says much about the median, although all of it seems to vary. But far out there
are few observations, which look independent although those nearer by come in
bursts; so where the sample's quantile has the larger inflation, the mean of both
is taken. And what is missing beyond a value is taken to come in bursts as the
outermost observations do: a window that lacks bursts looks calm out there.

What cannot be mended: what is slower than about a tenth of the window, and a
quantile that lives in events of which the data hold fewer than about ten, say
four stalls. Nothing in the data tells four stalls by chance from three or eight.

Where not even the largest observation is ruled out, as the observations are
worth too few, the tail is continued beyond it; but for that nothing is assumed
about the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import IntervalSeries
from drivelab.analyse.ordered_sample import IntervalSample, LikeSample, OrderedSample, RawSample, ShareBelow
from drivelab.model.distributions import binomial_cdf, student_t
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.histogram import Histogram

Floats = NDArray[np.float64]

# observations beyond a quantile that give it a value, and an interval with two ends
VALUE_FROM = 1
INTERVAL_FROM = 5
TAIL = 0.025
ONE_SIDED_TAIL = 0.05
# an end is looked for to so small a part of its distance, or of what is left beyond it
_PRECISION = 128
# of the observations beyond a value, the part that shows in what bursts the outermost come; how many at least, and
# how many where none lies beyond
_OUTERMOST, _OUTERMOST_MIN, _OUTERMOST_OF_NONE = 0.25, 12, 25
# from the sample's quantile of so many times the share on, the slope of the tail is read; from how many places
_TAIL_SHARES, _TAIL_PLACES = 10, 64
_MEDIAN = 0.5
# the least quantile that half of a sample exceeds with a probability of 2.5 % at most: 2 (1 - at)
_ABOVE_HALF_OF_A_SAMPLE = 1 - TAIL / 2


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
    way round, so the tighter end of a neighbour holds here, too. And however
    observations come in bursts, half of a sample lies above the quantile 0.99
    in two of a hundred samples at most, for on average 1 % does (Markov's
    inequality): what lies below the sample's median lies below that quantile.
    """
    order = sorted(range(len(at)), key=lambda position: at[position])
    found = list(estimates)
    low: float | None = None
    middle = next((one.value for q, one in zip(at, estimates, strict=True) if q == _MEDIAN), None)
    for position in order:
        own = found[position].low
        if own is not None and middle is not None and at[position] >= _ABOVE_HALF_OF_A_SAMPLE:
            own = max(own, middle)
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


def is_carried(at: float, count: int) -> bool:
    """Whether so many observations carry a quantile: at least one of them is expected beyond it."""
    return _expected_beyond(at, count) >= VALUE_FROM


def median_and_p99(latency: NDArray[np.int64]) -> tuple[float, float | None, float | None]:
    """Median and 99 % quantile of some latencies (nearest rank); of too few None for that, and a bound of it."""
    p50, p99 = map(float, np.quantile(latency, [0.5, 0.99], method="inverted_cdf"))
    if is_carried(0.99, latency.size):
        return p50, p99, None
    low = quantile_estimate_from_series(latency.astype(np.float64), 0.99).low
    # a few that drift bound it by less than the median beside it
    return p50, None, max(p50, low or 0.0)


def _expected_beyond(at: float, count: int) -> float:
    # 0.999 is a little less than itself in binary
    return count * min(at, 1 - at) + 1e-9


def _estimate(sample: OrderedSample, at: float, unit: Unit) -> Estimate:
    count = sample.count
    if count == 0:
        return Estimate(None, None, None, unit, 0, 0.0, "no data")
    rank = sample_rank(at, count)
    seen = sample.value(rank)
    inflation = sample.share_below(rank, inclusive=True).inflation
    method = f"binomial ranks, variance x {inflation:.3g} for autocorrelation"
    if _expected_beyond(at, count) < INTERVAL_FROM:
        low, high = _one_sided(sample, at)
        value, observed = (seen, None) if is_carried(at, count) else (None, seen)
        return Estimate(value, low, high, unit, count, count / inflation, f"{method}; one-sided 95 % bound", observed)
    low, high = _low_end(sample, at, TAIL), _high_end(sample, at, TAIL)
    return Estimate(seen, low, high, unit, count, count / inflation, method)


def _without_interval(histogram: Histogram, at: float) -> Estimate:
    count = histogram.total_count
    if count == 0:
        return Estimate(None, None, None, "ns", 0, 0.0, "no data")
    value = histogram.value_at_rank(sample_rank(at, count))
    return Estimate(value, None, None, "ns", count, 0.0, "one interval: no interval estimate")


def _one_sided(sample: OrderedSample, at: float) -> tuple[float | None, float | None]:
    """A bound on the side that has observations, where there are enough to rule any value out."""
    if min(at, 1 - at) ** sample.count > ONE_SIDED_TAIL:
        return None, None
    return (_low_end(sample, at, ONE_SIDED_TAIL), None) if at >= 0.5 else (None, _high_end(sample, at, ONE_SIDED_TAIL))


def _low_end(sample: OrderedSample, at: float, tail: float) -> float:
    """The largest observation that is too low to be the quantile; the smallest of all where that cannot be told."""
    return sample.low_edge(_rank_of_end(sample, at, tail, is_high=False))


def _high_end(sample: OrderedSample, at: float, tail: float) -> float:
    """The smallest observation that is too high to be the quantile; beyond the largest where none is."""
    rank = _rank_of_end(sample, at, tail, is_high=True)
    end = sample.high_edge(rank)
    return end * _beyond_the_largest(sample, at, tail) if at > _MEDIAN and rank == sample.count else end


def _beyond_the_largest(sample: OrderedSample, at: float, tail: float) -> float:
    """How many times the largest observation the end is where even that is not too high; 1 where it is.

    The share that can lie beyond the largest, as few as the observations are
    worth, is led to the quantile's along the tail, a power whose exponent is the
    mean logarithm of what lies beyond a threshold (Hill 1975, Weissman 1978).
    """
    count, expected = sample.count, 1 - at
    own = _beyond(sample, sample_rank(at, count), is_high=True)
    largest = _as_uncertain(_beyond(sample, count, is_high=True), own)
    few = _outermost(sample, 0.0, expected, _OUTERMOST_MIN, is_high=True)
    if _is_ruled_out(_with_what_is_missing(largest, few, expected), expected, count, tail):
        return 1.0
    bursts = _outermost(sample, expected, expected, _OUTERMOST_OF_NONE, is_high=True)
    largest = _with_what_is_missing(largest, bursts, expected)
    can_lie_beyond = 1 - _tail_of_t(largest, tail) ** (largest.inflation / count)
    first = max(sample_rank(_MEDIAN, count), count - math.ceil(_TAIL_SHARES * expected * count))
    threshold = sample.value(first)
    if can_lie_beyond <= expected or threshold <= 0:
        return 1.0
    ranks = np.unique(np.linspace(first + 1, count, _TAIL_PLACES).astype(np.int64))
    exponent = float(np.mean([math.log(sample.value(int(rank)) / threshold) for rank in ranks]))
    return float(min(_TAIL_SHARES, can_lie_beyond / expected) ** exponent)


def _rank_of_end(sample: OrderedSample, at: float, tail: float, *, is_high: bool) -> int:
    """The nearest rank at which so few observations lie further out that it cannot be the quantile's."""
    count, middle = sample.count, sample_rank(at, sample.count)
    outwards, expected = (1, 1 - at) if is_high else (-1, at)

    own = _beyond(sample, middle, is_high=is_high)

    def is_out(distance: int) -> bool:
        here = _as_uncertain(_beyond(sample, middle + outwards * distance, is_high=is_high), own)
        if not _is_ruled_out(here, expected, count, tail):
            return False
        bursts = _outermost(sample, here.share, expected, _OUTERMOST_MIN, is_high=is_high)
        return _is_ruled_out(_with_what_is_missing(here, bursts, expected), expected, count, tail)

    farthest = count - middle if is_high else middle - 1
    return middle + outwards * _distance(is_out, _start(count, at), farthest)


def _beyond(sample: OrderedSample, rank: int, *, is_high: bool) -> ShareBelow:
    """The share of observations on the outer side of a rank."""
    below = sample.share_below(rank, inclusive=is_high)
    return replace(below, share=1 - below.share) if is_high else below


def _outermost(sample: OrderedSample, share: float, expected: float, at_least: int, *, is_high: bool) -> ShareBelow:
    """The outermost of a share of the observations, which show in what bursts they come."""
    count = sample.count
    number = max(math.ceil(share * count * _OUTERMOST), min(at_least, math.ceil(expected * count), count - 1))
    return _beyond(sample, count - number if is_high else number, is_high=is_high)


def _start(count: int, at: float) -> int:
    """The distance of the end in independent observations, or thereabouts."""
    return max(1, round(2 * math.sqrt(count * at * (1 - at))))


def _distance(is_out: Callable[[int], bool], start: int, farthest: int) -> int:
    """The distance from the middle at which values are ruled out, to within a small part; at most `farthest`.

    Goes outwards with steps that double, then halves what is left.
    """
    inner, outer = 0, min(start, farthest)
    while outer < farthest and not is_out(outer):
        inner, outer = outer, min(farthest, 2 * outer)
    while outer - inner > max(1, min(outer, farthest - inner) // _PRECISION):
        halfway = (inner + outer) // 2
        inner, outer = (inner, halfway) if is_out(halfway) else (halfway, outer)
    return outer


def _as_uncertain(here: ShareBelow, own: ShareBelow) -> ShareBelow:
    """The share at a value, as uncertain as there, or as in the mean with the sample's quantile if that is more."""
    if own.inflation <= here.inflation:
        return here
    inflation = (own.inflation + here.inflation) / 2
    return ShareBelow(here.share, inflation, own.degrees_of_freedom)


def _with_what_is_missing(here: ShareBelow, outermost: ShareBelow, expected: float) -> ShareBelow:
    """The share beyond a value, if what it falls short by would come in bursts as the outermost observations do.

    A window with two bursts where five are usual has as much of all else as any
    other; what it lacks would have come all at once.
    """
    if outermost.inflation <= here.inflation:
        return here
    there = here.share / expected
    return replace(here, inflation=there * here.inflation + (1 - there) * outermost.inflation)


def _is_ruled_out(beyond: ShareBelow, expected: float, count: int, tail: float) -> bool:
    """Whether the share on the outer side of a value is smaller than the quantile's by more than chance."""
    worth = count / beyond.inflation
    return binomial_cdf(beyond.share * worth, worth, expected) <= _tail_of_t(beyond, tail)


def _tail_of_t(beyond: ShareBelow, tail: float) -> float:
    """The normal one's probability beyond the point that Student's t has a tail beyond, as the inflation is known."""
    degrees = beyond.degrees_of_freedom if beyond.inflation > 1 else math.inf
    return math.erfc(student_t(degrees, tail) / math.sqrt(2)) / 2
