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
from drivelab.model.windows import Window, windows_of

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
    window : ndarray of int64, shape (n,)
        The window of each interval, from 0: a trial may be measured in several, with others between them.
    """

    duration_ns: Floats
    count: Floats
    bytes: Floats
    sum_ns: Floats
    entry_interval: Integers
    entry_bucket: Integers
    entry_count: Integers
    merged: Histogram
    window: Integers

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
    begins_ns, duration_ns, window = _intervals(measured)
    length = begins_ns.shape[0]
    begin_ns = rows["interval"].to_numpy().astype(np.int64) * int(measured.workload.interval_ns)
    # what completed at the very end of the window may carry the number of an interval that never was
    place = np.searchsorted(begins_ns[1:], begin_ns, side="right")
    sizes, bucket, bucket_count = _lists(rows)
    return IntervalSeries(
        duration_ns=duration_ns,
        count=_per_interval(rows, "count", place, length),
        bytes=_per_interval(rows, "bytes", place, length),
        sum_ns=_per_interval(rows, "sum_ns", place, length),
        entry_interval=np.repeat(place, sizes),
        entry_bucket=bucket,
        entry_count=bucket_count,
        merged=measured.histograms.get((operation, latency), EMPTY),
        window=window,
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
        window=series.window[taken:],
    )


def window_medians_ns(series: IntervalSeries) -> list[float]:
    """The median latency of each window in which anything completed, in order of time."""
    window = series.window[series.entry_interval]
    medians = []
    for number in np.unique(window):
        is_own = window == number
        sums = np.bincount(series.entry_bucket[is_own], weights=series.entry_count[is_own])
        filled = np.flatnonzero(sums)
        own = Histogram(filled.astype(np.int64), sums[filled].astype(np.int64), 0, series.merged.maximum_ns, 0)
        medians.append(float(own.midpoints_ns()[np.searchsorted(np.cumsum(own.count), own.total_count / 2)]))
    return medians


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


def _intervals(measured: Measurement) -> tuple[Integers, Floats, Integers]:
    """Where the intervals of all windows begin in the table, how long each is, and in which window."""
    length_ns = int(measured.workload.interval_ns)
    edges = [_edges_ns(window, length_ns) for window in windows_of(measured)]
    counts = [-(-int(each[-1]) // length_ns) for each in edges]
    starts_ns = length_ns * np.cumsum([0, *counts])
    return (
        np.concatenate([each[:-1] + start_ns for each, start_ns in zip(edges, starts_ns, strict=False)]),
        np.concatenate([np.diff(each) for each in edges]).astype(np.float64),
        np.repeat(np.arange(len(edges)), [each.shape[0] - 1 for each in edges]),
    )


def _edges_ns(window: Window, length_ns: int) -> Integers:
    """The moments between which the intervals of a window lie, from its start to its end."""
    window_ns = max(1, window.measured_ns)
    edges_ns = np.append(np.arange(0, window_ns, length_ns, dtype=np.int64), window_ns)
    if not window.ended_issuing_ns:
        return edges_ns
    is_after_issuing = (edges_ns >= window.ended_issuing_ns) & (edges_ns < window_ns)
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
