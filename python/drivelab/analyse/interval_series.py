"""The interval series of one kind of latency, as arrays, one element per interval.

The engine writes no row for an interval in which nothing completed, and gives
every row the length asked for; here such intervals count with zero, and the
last one has the length that was left of the measured window. What completes
within an interval's length after the last moment of issuing the engine counts in
the interval before that moment; here that one and the next are one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.histogram import EMPTY, Histogram
from drivelab.model.measurement import Measurement

# the first turn of a queue is taken off from so much of an interval on, and where it is so much of the window at most
_TURN_SHOWS_FROM, _TURN_MOST = 0.1, 0.3
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IntervalSeries:
    """Counts and latencies of n intervals in order of time.

    Attributes
    ----------
    duration_ns : ndarray of float64, shape (n,)
        Length of each interval.
    count, bytes, sum_ns : ndarray of float64, shape (n,)
        Operations completed, bytes they moved, sum of their latencies.
    entry_interval, entry_bucket, entry_count : ndarray of int64, shape (m,)
        The histograms of all intervals, one element per bucket that is not empty.
    merged : Histogram
        All of them together.
    """

    duration_ns: Floats
    count: Floats
    bytes: Floats
    sum_ns: Floats
    entry_interval: Integers
    entry_bucket: Integers
    entry_count: Integers
    merged: Histogram

    @property
    def length(self) -> int:
        """Number of intervals."""
        return int(self.count.shape[0])


def series_from_measurement(measured: Measurement, operation: str, latency: str) -> IntervalSeries | None:
    """The series of one operation and latency of a trial; None when the engine gave none."""
    table = measured.intervals
    if table is None or table.num_rows == 0:
        return None
    mine = (table["operation"].to_numpy() == operation) & (table["latency"].to_numpy() == latency)
    rows = table.filter(mine)
    if rows.num_rows == 0:
        return None
    edges_ns = _edges_ns(measured)
    length = edges_ns.shape[0] - 1
    begin_ns = rows["interval"].to_numpy().astype(np.int64) * int(measured.workload.interval_ns)
    # what completed at the very end of the window may carry the number of an interval that never was
    place = np.searchsorted(edges_ns[1:-1], begin_ns, side="right")
    sizes, bucket, bucket_count = _lists(rows)
    return IntervalSeries(
        duration_ns=np.diff(edges_ns).astype(np.float64),
        count=_per_interval(rows, "count", place, length),
        bytes=_per_interval(rows, "bytes", place, length),
        sum_ns=_per_interval(rows, "sum_ns", place, length),
        entry_interval=np.repeat(place, sizes),
        entry_bucket=bucket,
        entry_count=bucket_count,
        merged=measured.histograms.get((operation, latency), EMPTY),
    )


def without_first_turn(series: IntervalSeries, measured: Measurement) -> IntervalSeries:
    """The intervals behind the first turn of a closed loop that no ramp has filled, which say how much chance does.

    What was issued into an empty queue waits less than all that follows: no chance, but as an interval among others
    it looks like much. A turn is a mean latency; one that is a small part of an interval hardly shows in it, and of a
    window of which little would be left none is taken off.
    """
    length_ns, workload = float(measured.workload.interval_ns), measured.workload
    count = float(series.count.sum())
    if measured.engine.get("ramp_ns") or workload.is_open_loop or workload.queue_depth < 2 or not count:
        return series
    turns = float(series.sum_ns.sum()) / count / length_ns
    taken = math.ceil(turns) if turns >= _TURN_SHOWS_FROM else 0
    if not taken or taken > series.length * _TURN_MOST:
        return series
    is_left = series.entry_interval >= taken
    buckets, place = np.unique(series.entry_bucket[is_left], return_inverse=True)
    counts = np.bincount(place, weights=series.entry_count[is_left]).astype(np.int64)
    whole = series.merged
    return IntervalSeries(
        duration_ns=series.duration_ns[taken:],
        count=series.count[taken:],
        bytes=series.bytes[taken:],
        sum_ns=series.sum_ns[taken:],
        entry_interval=series.entry_interval[is_left] - taken,
        entry_bucket=series.entry_bucket[is_left],
        entry_count=series.entry_count[is_left],
        merged=Histogram(buckets, counts, whole.minimum_ns, whole.maximum_ns, int(series.sum_ns[taken:].sum())),
    )


def histograms_of_intervals(table: pa.Table) -> dict[tuple[str, str], Histogram]:
    """The histogram of each operation and latency over all intervals of a table."""
    names = [*zip(table["operation"].to_pylist(), table["latency"].to_pylist(), strict=True)]
    rows: dict[tuple[str, str], list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: _merged(table.take(found)) for name, found in rows.items()}


def _merged(rows: pa.Table) -> Histogram:
    _, bucket, counts = _lists(rows)
    sums = np.bincount(bucket, weights=counts)
    filled = np.flatnonzero(sums)
    extremes = rows.filter(rows["count"].to_numpy() > 0)
    if not filled.size:
        return EMPTY
    smallest, largest = extremes["min_ns"].to_numpy().min(), extremes["max_ns"].to_numpy().max()
    total = int(rows["sum_ns"].to_numpy().sum())
    return Histogram(filled.astype(np.int64), sums[filled].astype(np.int64), int(smallest), int(largest), total)


def _edges_ns(measured: Measurement) -> Integers:
    """The moments between which the intervals lie, from the start of the window to its end."""
    length_ns, window_ns = int(measured.workload.interval_ns), max(1, int(measured.engine["measured_ns"]))
    edges_ns = np.append(np.arange(0, window_ns, length_ns, dtype=np.int64), window_ns)
    runtime_ns = measured.workload.limits.runtime_ns
    if measured.engine.get("stopped_by") != "runtime" or not runtime_ns or measured.workload.watches_burst:
        return edges_ns
    is_after_issuing = (edges_ns >= runtime_ns) & (edges_ns < window_ns)
    return np.delete(edges_ns, np.flatnonzero(is_after_issuing)[:1])


def _per_interval(rows: Any, column: str, place: Integers, length: int) -> Floats:
    return _sums(place, rows[column].to_numpy().astype(np.float64), length)


def _sums(place: Integers, values: Floats, length: int) -> Floats:
    """Sum of the values that belong to each of `length` places."""
    return np.bincount(place, weights=values, minlength=length).astype(np.float64)


def _lists(rows: Any) -> tuple[Integers, Integers, Integers]:
    """Lengths of the rows' histograms, and their buckets and counts end to end."""
    bucket = rows["bucket"].combine_chunks()
    counts = rows["bucket_count"].combine_chunks()
    sizes = bucket.value_lengths().to_numpy().astype(np.int64)
    return sizes, bucket.flatten().to_numpy().astype(np.int64), counts.flatten().to_numpy().astype(np.int64)


def _joined(parts: list[Integers]) -> Integers:
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
