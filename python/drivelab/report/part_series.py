"""Brings the operations of a traced pass together while they are read: parts over time, and how each is distributed.

Rows are looked at a batch at a time, so the memory needed does not grow with
their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.histogram import SUB_BUCKET_BITS, SUB_BUCKET_COUNT, Histogram
from drivelab.model.layer_times import layers_of
from drivelab.model.trace import LAYERS, OPERATION_NAMES, PARTS, Part
from drivelab.report.content import TracedCombination
from drivelab.store.record_batches import StoredRecords

Integers = NDArray[np.int64]

# fewer show chance, and gaps where one slow operation lasted longer than a column
_OPERATIONS_PER_COLUMN = 8
PART_COLUMNS = tuple(f"{part}_ns" for part in PARTS)
_LATENCY = "latency_ns"


@dataclass(frozen=True, slots=True)
class PartSeries:
    """The parts of the latency in stretches of time of one length.

    Attributes
    ----------
    edges_s : ndarray of float64, shape (columns + 1,)
        Since the first operation began.
    counts : ndarray of int64, shape (columns,)
        Operations that began in each stretch.
    sums_ns : ndarray of int64, shape (parts, columns)
        In the order of `shown_parts`; over the operations of the stretch they add up to their latencies.
    slowest_ns : ndarray of int64, shape (columns,)
        The longest latency in each stretch.
    """

    edges_s: NDArray[np.float64]
    counts: Integers
    sums_ns: Integers
    slowest_ns: Integers

    @property
    def means_ns(self) -> NDArray[np.float64]:
        """Mean of each part in each stretch; 0 where nothing began."""
        return np.asarray(self.sums_ns / np.maximum(self.counts, 1))


def shown_parts(traced: TracedCombination) -> tuple[Part, ...]:
    """The parts of a combination; all layers above its drives are one, where there are some."""
    has_layers = any(part.layer for part in traced.explanation.parts)
    return (PARTS[0], LAYERS, *PARTS[1:]) if has_layers else PARTS


def part_series(traced: TracedCombination, columns_at_most: int) -> PartSeries | None:
    """The parts over the course of the first traced pass; None when no operation was stored."""
    passes = traced.operations[:1]
    begin, end, count = 0, 0, 0
    for batch in _operation_batches(traced, passes, ("start_ns",)):
        starts = _column(batch, "start_ns")
        low, high = int(starts.min()), int(starts.max())
        begin, end = (low, high) if not count else (min(begin, low), max(end, high))
        count += starts.size
    if not count:
        return None
    columns = max(1, min(columns_at_most, count // _OPERATIONS_PER_COLUMN))
    # the last operation lies inside the last stretch
    width_ns = max(1, -(-(end - begin + 1) // columns))
    counts, slowest = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    names = [f"{part}_ns" for part in shown_parts(traced)]
    sums = np.zeros((len(names), columns), np.int64)
    for batch in _operation_batches(traced, passes, ("start_ns", _LATENCY, *names)):
        place = (_column(batch, "start_ns") - begin) // width_ns
        counts += np.bincount(place, minlength=columns)
        np.maximum.at(slowest, place, _column(batch, _LATENCY))
        for row, name in enumerate(names):
            # sums stay below 2**53 ns, a hundred days, in which a double is exact
            sums[row] += np.bincount(place, weights=_column(batch, name), minlength=columns).astype(np.int64)
    used = int(np.flatnonzero(counts)[-1]) + 1
    return PartSeries(np.arange(used + 1) * width_ns / 1e9, counts[:used], sums[:, :used], slowest[:used])


def part_histograms(traced: TracedCombination) -> dict[str, Histogram]:
    """How each part is distributed in all passes, by its name, and ``latency``; empty when no operation was stored."""
    found = {name: _Counted() for name in ("latency", *shown_parts(traced))}
    for batch in _operation_batches(traced, traced.operations, [f"{name}_ns" for name in found]):
        for name, counted in found.items():
            counted.add(_column(batch, f"{name}_ns"))
    return {name: counted.histogram() for name, counted in found.items() if counted.count}


def zero_share(histogram: Histogram) -> float:
    """Which share of the operations does not have a part at all."""
    return float(histogram.count[histogram.bucket == 0].sum() / max(1, histogram.total_count))


def _operation_batches(
    traced: TracedCombination, passes: Sequence[StoredRecords], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows of the operations that are explained; no batch is empty."""
    name = traced.explanation.operation
    code = OPERATION_NAMES.index(name) if name in OPERATION_NAMES else None
    for batch in (batch for one in passes for batch in one.batches(("operation", *columns))):
        wanted = np.asarray(batch["operation"]) == code if code is not None else np.ones(batch.num_rows, bool)
        rows = batch if wanted.all() else batch.filter(pa.array(wanted))
        if rows.num_rows:
            yield rows


@dataclass(slots=True)
class _Counted:
    """A histogram that grows."""

    by_bucket: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    low: int = 0
    high: int = 0
    total: int = 0
    count: int = 0

    def add(self, values: Integers) -> None:
        values = np.maximum(values, 0)
        low, high = int(values.min()), int(values.max())
        self.low, self.high = (low, high) if not self.count else (min(self.low, low), max(self.high, high))
        self.total += int(values.sum())
        self.count += values.size
        more = np.bincount(_bucket_of(values), minlength=self.by_bucket.size)
        more[: self.by_bucket.size] += self.by_bucket
        self.by_bucket = more

    def histogram(self) -> Histogram:
        used = np.flatnonzero(self.by_bucket)
        return Histogram(used, self.by_bucket[used], self.low, self.high, self.total)


def _bucket_of(values_ns: Integers) -> Integers:
    """Index of the bucket of each value, by the layout of `drivelab.model.histogram`."""
    # frexp is exact where a logarithm rounds at a power of two
    bits = np.frexp(values_ns.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - 1 - SUB_BUCKET_BITS, 0)
    return np.asarray(shift * SUB_BUCKET_COUNT + (values_ns >> shift))


def _column(batch: pa.RecordBatch, name: str) -> Integers:
    if name == f"{LAYERS}_ns":
        return np.asarray(layers_of(batch).sum(axis=1), np.int64)
    return np.asarray(batch[name], np.int64)
