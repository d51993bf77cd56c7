"""A trial cut into parts of as many bytes: what a drive has taken in decides what it does next, not the clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.ratio import rate_estimate_from_intervals
from drivelab.model.estimate import Estimate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IntervalBytes:
    """What was moved in each interval of a trial, in order of time.

    Attributes
    ----------
    moved : ndarray of float64, shape (n,)
        Bytes.
    duration_ns : ndarray of float64, shape (n,)
        Lengths of the intervals.
    operation_bytes : float
        Size of one I/O, on average.
    """

    moved: Floats
    duration_ns: Floats
    operation_bytes: float = 0.0

    @property
    def total_bytes(self) -> float:
        """Bytes of all intervals."""
        return float(self.moved.sum())

    def rate(self, begin: int, end: int) -> Estimate:
        """Throughput of the intervals from `begin` until before `end`, in B/s."""
        return rate_estimate_from_intervals(self.moved[begin:end], self.duration_ns[begin:end], "B/s")


@dataclass(frozen=True, slots=True)
class ByteBins:
    """Neighbouring intervals put together until they hold so many bytes.

    Attributes
    ----------
    edge : ndarray of int64, shape (n + 1,)
        Number of the interval with which each bin begins, and that behind the last one.
    end_bytes, end_ns : ndarray of float64, shape (n + 1,)
        Bytes moved, and time passed, at each edge.
    """

    edge: Integers
    end_bytes: Floats
    end_ns: Floats

    @property
    def count(self) -> int:
        """Number of bins."""
        return int(self.edge.shape[0]) - 1

    @property
    def bytes_per_s(self) -> Floats:
        """Throughput in each bin, shape (n,)."""
        rates: Floats = np.diff(self.end_bytes) / (np.diff(self.end_ns) / 1e9)
        return rates


def byte_bins(
    series: IntervalBytes,
    bin_bytes: float,
    *,
    keep_rest: bool = True,
    longest_ns: float = math.inf,
    least_bytes: float = 0.0,
) -> ByteBins:
    """Bins of at least so many bytes each, made of whole intervals.

    Parameters
    ----------
    bin_bytes : float
        What a bin holds at least, above 0.
    keep_rest : bool
        Whether what is left at the end, too little for a bin, is put to the last one; otherwise it is left out.
    longest_ns, least_bytes : float
        A bin that has lasted so long, and holds so many bytes, ends with fewer than `bin_bytes`: a drive that
        hardly moves anything any more has bins all the same.

    Notes
    -----
    An interval is never divided: two halves of one would have the same
    throughput, and make a series look calmer than it is. An interval without
    bytes adds its time to the bin that it lies in, so no bin is without bytes.
    """
    moved = np.concatenate([[0.0], np.cumsum(series.moved)])
    passed = np.concatenate([[0.0], np.cumsum(series.duration_ns)])
    last = moved.shape[0] - 1
    edge = [0]
    while True:
        # half a byte: sums of floats may fall short of a whole number by a little
        end = int(np.searchsorted(moved, moved[edge[-1]] + bin_bytes - 0.5))
        # the next interval at least, and something in it
        has_some = int(np.searchsorted(moved, moved[edge[-1]] + max(least_bytes, 1.0) - 0.5))
        end = min(end, max(has_some, int(np.searchsorted(passed, passed[edge[-1]] + longest_ns - 0.5))))
        if end > last:
            break
        edge.append(end)
    if keep_rest and edge[-1] < last:
        edge = [*edge[:-1], last] if len(edge) > 1 else [0, last]
    places = np.asarray(edge, np.int64)
    return ByteBins(places, moved[places], passed[places])
