"""The engine's latency histogram, as Python sees it.

Buckets are log-linear and cover every 64-bit number of nanoseconds: values
below 2**9 have a bucket each, and every further octave has 2**9 buckets, so a
bucket is at most 0.2 % wide and its midpoint at most 0.1 % wrong. The layout
is the one of the crate's ``histogram.rs``; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

SUB_BUCKET_BITS = 9
SUB_BUCKET_COUNT = 1 << SUB_BUCKET_BITS


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of latencies in log-linear buckets.

    Attributes
    ----------
    bucket : ndarray of int64, shape (n,)
        Indices of the buckets that are not empty, ascending.
    count : ndarray of int64, shape (n,)
        How many values fell into each.
    minimum_ns, maximum_ns : int
        Exact smallest and largest value; 0 when empty.
    sum_ns : int
        Exact sum of the values.
    """

    bucket: NDArray[np.int64]
    count: NDArray[np.int64]
    minimum_ns: int
    maximum_ns: int
    sum_ns: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """That of one row of a table of histograms, as the engine and the store have them."""
        return cls(
            bucket=np.asarray(row["bucket"], dtype=np.int64),
            count=np.asarray(row["bucket_count"], dtype=np.int64),
            minimum_ns=int(row["min_ns"]),
            maximum_ns=int(row["max_ns"]),
            sum_ns=int(row["sum_ns"]),
        )

    @property
    def total_count(self) -> int:
        """Number of values."""
        return int(self.count.sum())

    @property
    def mean_ns(self) -> float:
        """Exact mean; not a number when empty."""
        return self.sum_ns / self.total_count if self.total_count else float("nan")

    def midpoints_ns(self) -> NDArray[np.float64]:
        """Middle of each bucket, within [minimum_ns, maximum_ns], shape (n,)."""
        middle = (bucket_low_ns(self.bucket) + bucket_high_ns(self.bucket)) / 2
        return np.clip(middle, self.minimum_ns, self.maximum_ns)

    def quantile_ns(self, at: float) -> float:
        """Latency at or below which the fraction `at` (0..1) of the values lie.

        The value of rank ceil(at * n), from the midpoint of its bucket
        (relative error at most 2**-10), clamped to the exact minimum and maximum.
        """
        rank = max(1, int(np.ceil(at * self.total_count)))
        return self.value_at_rank(rank)

    def value_at_rank(self, rank: int) -> float:
        """The value of 1-based rank `rank`, to within half a bucket; exact at both ends."""
        if rank >= self.total_count:
            return float(self.maximum_ns)
        if rank <= 1:
            return float(self.minimum_ns)
        position = int(np.searchsorted(np.cumsum(self.count), rank))
        return float(self.midpoints_ns()[position])


def bucket_low_ns(bucket: NDArray[np.int64]) -> NDArray[np.float64]:
    """Smallest value of each bucket, shape as given."""
    octave: NDArray[np.int64] = np.maximum(bucket // SUB_BUCKET_COUNT - 1, 0)
    within = bucket - octave * SUB_BUCKET_COUNT
    return within.astype(np.float64) * np.exp2(octave)


def bucket_high_ns(bucket: NDArray[np.int64]) -> NDArray[np.float64]:
    """Largest whole value of each bucket, shape as given."""
    octave = np.maximum(bucket // SUB_BUCKET_COUNT - 1, 0)
    return bucket_low_ns(bucket) + np.exp2(octave) - 1


def merge(histograms: list[Histogram]) -> Histogram:
    """One histogram of all values of several, without loss."""
    filled = [h for h in histograms if h.total_count]
    if not filled:
        return EMPTY
    size = 1 + max(int(h.bucket[-1]) for h in filled)
    counts = np.zeros(size, dtype=np.int64)
    for h in filled:
        counts[h.bucket] += h.count
    bucket = np.flatnonzero(counts)
    return Histogram(
        bucket=bucket.astype(np.int64),
        count=counts[bucket],
        minimum_ns=min(h.minimum_ns for h in filled),
        maximum_ns=max(h.maximum_ns for h in filled),
        sum_ns=sum(h.sum_ns for h in filled),
    )


EMPTY = Histogram(np.empty(0, np.int64), np.empty(0, np.int64), 0, 0, 0)
