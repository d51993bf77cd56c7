"""Observations in order of size that still know when they were made: what quantiles are read from.

Two kinds, from every single latency in order of time and from a histogram per
interval where single latencies were not kept. Both can say how much the share
of observations below a threshold varies over time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import IntervalSeries
from drivelab.analyse.long_run_variance import add_up_groups, variance_over_windows
from drivelab.model.histogram import Histogram, bucket_high_ns, bucket_low_ns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Observations are added up in time to so many sums: their variance is the same, and it is asked for often.
_SUMS_MAX = 1 << 13
# Bursts are looked for in about so many stretches, long enough to hold a burst whole.
_STRETCHES = 64
# The fewest degrees of freedom that they leave. With one, p99 of a level that moves within 200 ms is a third wider, for
# the same coverage (tests/prove/quantiles.py).
_FEWEST_DEGREES = 3.0


@dataclass(frozen=True, slots=True)
class ShareBelow:
    """The share of observations below a threshold, and how well it is known.

    Attributes
    ----------
    share : float
        In [0, 1].
    inflation : float
        Long-run variance of the share over that of independent observations; at least 1.
    degrees_of_freedom : float
        Of that variance, fewer where few stretches of time make most of it.
    """

    share: float
    inflation: float
    degrees_of_freedom: float


class OrderedSample(Protocol):
    """Observations by rank, from 1 for the smallest."""

    count: int

    def value(self, rank: int) -> float:
        """The observation of a rank."""

    def low_edge(self, rank: int) -> float:
        """The smallest value that the observation of a rank can have had."""

    def high_edge(self, rank: int) -> float:
        """The largest value that the observation of a rank can have had."""

    def share_below(self, rank: int, *, inclusive: bool) -> ShareBelow:
        """The share below the observation of a rank; inclusive: with those that equal it."""


class RawSample:
    """Single observations in order of time."""

    def __init__(self, series: Floats) -> None:
        self.count = int(series.shape[0])
        order = np.argsort(series, kind="stable")
        self._ordered = series[order]
        self._counts = _CountsInTime(order, np.ones(self.count), np.zeros(self.count, np.int64))

    def value(self, rank: int) -> float:
        """The observation of a rank."""
        return float(self._ordered[rank - 1])

    low_edge = high_edge = value

    def share_below(self, rank: int, *, inclusive: bool) -> ShareBelow:
        """The share below the observation of a rank; inclusive: with those that equal it."""
        side: Literal["left", "right"] = "right" if inclusive else "left"
        return self._counts.share_of_first(int(np.searchsorted(self._ordered, self.value(rank), side=side)))


class IntervalSample:
    """Observations in a histogram per interval."""

    def __init__(self, series: IntervalSeries) -> None:
        self.count = series.merged.total_count
        self._histogram = BucketedRanks(series.merged)
        order = np.argsort(series.entry_bucket, kind="stable")
        self._bucket = series.entry_bucket[order]
        counts = series.entry_count[order].astype(np.float64)
        self._counts = _CountsInTime(series.entry_interval[order], counts, series.window)
        self.value = self._histogram.value
        self.low_edge = self._histogram.low_edge
        self.high_edge = self._histogram.high_edge

    def share_below(self, rank: int, *, inclusive: bool) -> ShareBelow:
        """The share below the bucket of a rank; inclusive: with those in that bucket."""
        side: Literal["left", "right"] = "right" if inclusive else "left"
        bucket = self._histogram.bucket_of(rank)
        return self._counts.share_of_first(int(np.searchsorted(self._bucket, bucket, side=side)))


class _CountsInTime:
    """Counts in order of size, each with its place in time.

    Parameters
    ----------
    place : ndarray of int64, shape (n,)
        Which of `length` stretches of time each belongs to; of more than `_SUMS_MAX` neighbours are added up.
    counts : ndarray of float64, shape (n,)
        How many observations it stands for.
    window : ndarray of int64, shape (length,)
        The window of each stretch.
    """

    def __init__(self, place: Integers, counts: Floats, window: Integers) -> None:
        size = -(-max(window.shape[0], 1) // _SUMS_MAX)
        self._place, self._counts, self._window = place // size, counts, window[::size]
        self._length = int(self._window.shape[0])
        self._all = self._sums(slice(None))
        self._total = float(self._all.sum())
        # neighbouring quantiles, and both ends of one, ask for the same
        self._known: dict[int, ShareBelow] = {}

    def share_of_first(self, number: int) -> ShareBelow:
        """What share of the observations the smallest so many counts stand for."""
        if number not in self._known:
            self._known[number] = self._share_of_first(number)
        return self._known[number]

    def _share_of_first(self, number: int) -> ShareBelow:
        # the fewer lie on this side, the less there is to add up
        is_low = 2 * number < self._place.shape[0]
        below = self._sums(slice(number)) if is_low else self._all - self._sums(slice(number, None))
        share = float(below.sum()) / self._total if self._total else 0.0
        if self._length < 2 or not 0 < share < 1:
            return ShareBelow(share, 1.0, 1e9)
        # numbers differ from stretch to stretch: what they let expect is taken off (the residual of a ratio estimator)
        residual = below - share * self._all
        variance = variance_over_windows(residual, self._window)
        inflation = max(1.0, variance.per_element * self._length / (share * (1 - share) * self._total))
        degrees = 1 / (1 / variance.degrees_of_freedom + _cost_of_bursts(residual, variance.per_element))
        degrees = max(degrees, min(variance.degrees_of_freedom, _FEWEST_DEGREES))
        return ShareBelow(share, inflation, degrees)

    def _sums(self, which: slice) -> Floats:
        weights = self._counts[which]
        return np.bincount(self._place[which], weights=weights, minlength=self._length).astype(np.float64)


def _cost_of_bursts(residual: Floats, per_element: float) -> float:
    """By how much a variance is known less well for coming from few bursts, as 1 over degrees of freedom.

    Of n independent values it has a relative variance of 2 / (n - 1) + kurtosis / n, where a chi-square has 2 / degrees
    of freedom; of stretches that are correlated there are fewer, by the ratio of the two variances.
    """
    size = max(1, residual.shape[0] // _STRETCHES)
    squares = add_up_groups(residual, size) ** 2
    variance = float(squares.mean())
    if variance <= 0:
        return 0.0
    kurtosis = float((squares**2).mean()) / variance**2 - 3
    independent = squares.shape[0] / max(1.0, per_element * size / variance)
    return float(max(0.0, kurtosis) / (2 * independent))


class LikeSample:
    """A histogram of the whole window whose bursts are taken to be those of another latency.

    Submission and completion latency are kept for the whole window only; they are parts of the total latency.
    """

    def __init__(self, histogram: Histogram, like: OrderedSample) -> None:
        self.count = histogram.total_count
        self._histogram = BucketedRanks(histogram)
        self._like = like
        self.value = self._histogram.value
        self.low_edge = self._histogram.low_edge
        self.high_edge = self._histogram.high_edge

    def share_below(self, rank: int, *, inclusive: bool) -> ShareBelow:
        """The share below the bucket of a rank, as uncertain as the other latency's share at the same height."""
        share = self._histogram.share_below(rank, inclusive=inclusive)
        if not 0 < share < 1 or not self._like.count:
            return ShareBelow(share, 1.0, 1e9)
        other = self._like.share_below(max(1, round(share * self._like.count)), inclusive=True)
        return ShareBelow(share, other.inflation, other.degrees_of_freedom)


class BucketedRanks:
    """Ranks in a histogram."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._running = np.cumsum(histogram.count)

    def bucket_of(self, rank: int) -> int:
        """The bucket that holds a rank."""
        return int(self._histogram.bucket[self._place(rank)])

    def value(self, rank: int) -> float:
        """The observation of a rank, to within half a bucket; exact at both ends."""
        return self._histogram.value_at_rank(rank)

    def low_edge(self, rank: int) -> float:
        """The lower edge of the bucket that holds a rank, within the exact extremes."""
        return self._edge(rank, bucket_low_ns)

    def high_edge(self, rank: int) -> float:
        """The upper edge of the bucket that holds a rank, within the exact extremes."""
        return self._edge(rank, bucket_high_ns)

    def share_below(self, rank: int, *, inclusive: bool) -> float:
        """The share of all that lies below the bucket of a rank; inclusive: or in it."""
        place = self._place(rank)
        after = place + 1 if inclusive else place
        return float(self._running[after - 1] / self._running[-1]) if after else 0.0

    def _place(self, rank: int) -> int:
        return int(np.searchsorted(self._running, rank))

    def _edge(self, rank: int, of: Callable[[Integers], Floats]) -> float:
        place = self._place(rank)
        edge = float(of(self._histogram.bucket[place : place + 1])[0])
        return min(max(edge, float(self._histogram.minimum_ns)), float(self._histogram.maximum_ns))
