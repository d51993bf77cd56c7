"""The interval series of one kind of latency, as arrays, one element per interval.

The engine writes no row for an interval in which nothing completed, and gives
every row the length asked for; here such intervals count with zero, and the
last one has the length that was left of the measured window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.histogram import EMPTY, Histogram
from drivelab.model.measurement import Measurement

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
    interval = rows["interval"].to_numpy().astype(np.int64)
    length_ns = int(measured.workload.interval_ns)
    # what completed at the very end of the window may carry the number of an interval that never was
    length = max(1, -(-int(measured.engine["measured_ns"]) // length_ns))
    place = np.minimum(interval, length - 1)
    sizes, bucket, bucket_count = _lists(rows)
    return IntervalSeries(
        duration_ns=_durations(length, length_ns, int(measured.engine["measured_ns"])),
        count=_per_interval(rows, "count", place, length),
        bytes=_per_interval(rows, "bytes", place, length),
        sum_ns=_per_interval(rows, "sum_ns", place, length),
        entry_interval=np.repeat(place, sizes),
        entry_bucket=bucket,
        entry_count=bucket_count,
        merged=measured.histograms.get((operation, latency), EMPTY),
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


def _durations(length: int, length_ns: int, measured_ns: int) -> Floats:
    durations = np.full(length, float(length_ns))
    durations[-1] = max(1.0, measured_ns - (length - 1) * length_ns)
    return durations


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
