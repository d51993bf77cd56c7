"""Counts I/Os into cells of time and latency while they are read, once and a batch at a time.

Neither the time span nor the range of latencies is known before the last row is
read. So columns of time are 2^n ns wide, and when they do not reach any more,
neighbours are added up and n grows by one; rows of latency are narrow and cover
everything that can be, and are added up at the end. No I/O is left out, and the
memory needed does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.workload import TREE_OPERATIONS

Integers = NDArray[np.int64]

COLUMNS_AT_MOST, ROWS_AT_MOST = 240, 60
_ROWS_PER_DECADE = 80
# 1 ns to 1000 s
_DECADES = 12
_FIRST_WIDTH_BITS = 10
# by their numbers in the records
_OPERATIONS = ("read", "write", "trim", "sync", "durable_write", *TREE_OPERATIONS)
_SYNC = 3
RECORD_COLUMNS = ("job", "operation", "issue_ns", "offset_bytes", "size_bytes", "total_latency_ns")


@dataclass(frozen=True, slots=True)
class Ios:
    """I/Os, one value each: when issued, how long, and what.

    Attributes
    ----------
    issue_ns, latency_ns, offset_bytes, size_bytes : ndarray of int64, shape (ios,)
        As recorded; a durable write lasts until the sync call after it returned.
    """

    issue_ns: Integers
    latency_ns: Integers
    offset_bytes: Integers
    size_bytes: Integers

    def chosen(self, places: Integers) -> Ios:
        """Some of them."""
        return Ios(self.issue_ns[places], self.latency_ns[places], self.offset_bytes[places], self.size_bytes[places])

    def joined(self, other: Ios) -> Ios:
        """These and others behind them."""
        return Ios(
            np.append(self.issue_ns, other.issue_ns),
            np.append(self.latency_ns, other.latency_ns),
            np.append(self.offset_bytes, other.offset_bytes),
            np.append(self.size_bytes, other.size_bytes),
        )


NO_IOS = Ios(*(np.empty(0, np.int64) for _ in range(4)))


@dataclass(frozen=True, slots=True)
class IoCells:
    """All I/Os of a trial, counted.

    Attributes
    ----------
    time_edges_s : ndarray of float64, shape (columns + 1,)
        Since the first I/O was issued.
    latency_edges_ns : ndarray of float64, shape (rows + 1,)
        Equally far apart on a logarithmic axis.
    counts : ndarray of int64, shape (rows, columns)
        They add up to `io_count`.
    slowest : Ios
        The slowest ones, the slowest first.
    first_issue_ns : int
        When the first one was issued.
    io_count : int
        How many there are.
    """

    time_edges_s: NDArray[np.float64]
    latency_edges_ns: NDArray[np.float64]
    counts: Integers
    slowest: Ios
    first_issue_ns: int
    io_count: int


@dataclass(slots=True)
class _Counter:
    """What is known after some batches: counts by fine rows of latency and columns of 2^bits ns."""

    slowest_count: int
    columns_at_most: int
    bits: int = _FIRST_WIDTH_BITS
    first: int = 0
    last: int = -1
    counts: Integers = field(default_factory=lambda: np.zeros((_ROWS_PER_DECADE * _DECADES, 0), np.int64))
    slowest: Ios = NO_IOS
    io_count: int = 0

    def add(self, ios: Ios) -> None:
        """Count more I/Os."""
        if ios.issue_ns.size == 0:
            return
        issue = ios.issue_ns
        begin, end = int(issue.min()), int(issue.max())
        is_first = self.last < self.first
        low = begin if is_first else min(self.first, begin)
        high = end if is_first else max(self.last, end)
        self._reach(low, high)
        column = (issue >> self.bits) - (low >> self.bits)
        latency = np.clip(ios.latency_ns, 1, 10**_DECADES - 1)
        row = (np.log10(latency) * _ROWS_PER_DECADE).astype(np.int64)
        width = self.counts.shape[1]
        self.counts += np.bincount(row * width + column, minlength=self.counts.size).reshape(self.counts.shape)
        self.io_count += issue.size
        self._keep_slowest(ios)

    def _reach(self, low: int, high: int) -> None:
        """Widen the columns until they hold a span, and move the counts to their new places."""
        old_bits, old_first, old = self.bits, self.first >> self.bits, self.counts
        while (high >> self.bits) - (low >> self.bits) >= self.columns_at_most:
            self.bits += 1
        columns = (high >> self.bits) - (low >> self.bits) + 1
        if columns != old.shape[1] or self.bits != old_bits or low != self.first:
            moved = ((old_first + np.arange(old.shape[1])) >> (self.bits - old_bits)) - (low >> self.bits)
            self.counts = np.zeros((old.shape[0], columns), np.int64)
            np.add.at(self.counts.T, moved, old.T)
        self.first, self.last = low, high

    def _keep_slowest(self, ios: Ios) -> None:
        if ios.latency_ns.size > self.slowest_count:
            places = np.argpartition(ios.latency_ns, -self.slowest_count)[-self.slowest_count :]
            ios = ios.chosen(np.sort(places))
        found = self.slowest.joined(ios)
        self.slowest = found.chosen(np.argsort(-found.latency_ns, kind="stable")[: self.slowest_count])

    def cells(self, rows_at_most: int) -> IoCells:
        """The counts in rows of latency that are no more than fit, from the fastest to the slowest I/O."""
        used = np.flatnonzero(self.counts.any(axis=1))
        first, last = int(used[0]), int(used[-1])
        joined = -(-(last - first + 1) // rows_at_most)
        count = -(-(last - first + 1) // joined)
        padded = np.zeros((count * joined, self.counts.shape[1]), np.int64)
        padded[: last - first + 1] = self.counts[first : last + 1]
        edges = 10 ** ((first + joined * np.arange(count + 1)) / _ROWS_PER_DECADE)
        begin = (self.first >> self.bits) << self.bits
        time_edges = (begin + (np.arange(self.counts.shape[1] + 1) << self.bits) - self.first) / 1e9
        return IoCells(
            time_edges_s=np.maximum(time_edges, 0.0),
            latency_edges_ns=edges,
            counts=padded.reshape(count, joined, -1).sum(axis=1),
            slowest=self.slowest,
            first_issue_ns=self.first,
            io_count=self.io_count,
        )


def io_cells(
    batches: Iterable[pa.RecordBatch],
    operation: str,
    *,
    slowest_count: int = 50,
    columns_at_most: int = COLUMNS_AT_MOST,
    rows_at_most: int = ROWS_AT_MOST,
) -> IoCells | None:
    """The I/Os of a trial, counted; None when there are none of that operation.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        Rows with `RECORD_COLUMNS`; those of a job in the order of their completion.
    operation : str
        What the trial is about: read, write, trim, sync; ``durable_write`` is a
        write and the sync call after it. All I/Os where it is none of these.
    slowest_count : int
        How many of the slowest I/Os are kept one by one.
    columns_at_most, rows_at_most : int
        Cells that there may be.
    """
    counter = _Counter(slowest_count, columns_at_most)
    for ios in _durable_writes(batches) if operation == "durable_write" else _of_operation(batches, operation):
        counter.add(ios)
    return counter.cells(rows_at_most) if counter.io_count else None


def _of_operation(batches: Iterable[pa.RecordBatch], operation: str) -> Iterator[Ios]:
    for batch in batches:
        ios = _ios(batch)
        if operation in _OPERATIONS:
            codes = np.asarray(batch["operation"])
            wanted = codes == _OPERATIONS.index(operation)
            ios = ios if wanted.all() else ios.chosen(np.flatnonzero(wanted))
        yield ios


def _durable_writes(batches: Iterable[pa.RecordBatch]) -> Iterator[Ios]:
    """Each write that a sync call follows in its job, lasting until that call returned."""
    held: pa.RecordBatch | None = None
    for batch in batches:
        rows = batch if held is None else _stacked([held, batch])
        job, codes = (np.asarray(rows[name], np.int64) for name in ("job", "operation"))
        ios = _ios(rows)
        order = np.lexsort((ios.issue_ns, job))
        at = np.flatnonzero(codes[order] == _SYNC)
        at = at[at > 0]
        syncs, writes = order[at], order[at - 1]
        is_pair = (job[syncs] == job[writes]) & (codes[writes] != _SYNC)
        syncs, writes = syncs[is_pair], writes[is_pair]
        ends = ios.issue_ns[syncs] + ios.latency_ns[syncs]
        found = ios.chosen(np.sort(writes))
        by_write = np.argsort(writes)
        yield Ios(found.issue_ns, ends[by_write] - found.issue_ns, found.offset_bytes, found.size_bytes)
        # the last row of a job may be a write whose sync call is in the next batch
        last = order[np.append(job[order][1:] != job[order][:-1], True)] if order.size else order
        open_writes = np.sort(last[codes[last] != _SYNC])
        held = rows.take(pa.array(open_writes))


def _stacked(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    schema = batches[0].schema
    columns = [
        pa.concat_arrays([batch.column(place).cast(field.type) for batch in batches])
        for place, field in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _ios(batch: pa.RecordBatch) -> Ios:
    names = ("issue_ns", "total_latency_ns", "offset_bytes", "size_bytes")
    return Ios(*(np.asarray(batch[name], np.int64) for name in names))
