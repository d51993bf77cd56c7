"""I/Os counted into cells in one pass: none lost, against one histogram of all, in bounded memory and time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.report.content import TrialContent
from drivelab.report.figures.io_scatter import io_scatter
from drivelab.report.io_cells import COLUMNS_AT_MOST, RECORD_COLUMNS, ROWS_AT_MOST, IoCells, io_cells
from held_records import HeldRecords


def batch(job: object, operation: object, issue_ns: object, latency_ns: object) -> pa.RecordBatch:
    """Rows as the engine records them."""
    issued = np.asarray(issue_ns, np.int64)
    columns = {
        "job": np.broadcast_to(np.asarray(job, np.uint16), issued.shape),
        "operation": np.broadcast_to(np.asarray(operation, np.uint8), issued.shape),
        "issue_ns": issued,
        "offset_bytes": issued % 4096,
        "size_bytes": np.full(issued.size, 512, np.int32),
        "total_latency_ns": np.asarray(latency_ns, np.int64),
    }
    return pa.record_batch({name: pa.array(columns[name]) for name in RECORD_COLUMNS})


def random_batches(count: int, pieces: int, span_ns: float, seed: int = 1) -> list[pa.RecordBatch]:
    """Reads at random times in batches of any size, not in the order of time."""
    random = np.random.default_rng(seed)
    issued = 10**15 + np.sort(random.integers(0, int(span_ns), count))
    latency = np.round(80_000 * np.exp(random.standard_normal(count))).astype(np.int64)
    rows = batch(0, 0, issued, latency)
    borders = np.sort(random.integers(0, count, pieces - 1))
    parts = [rows.slice(low, high - low) for low, high in zip([0, *borders], [*borders, count], strict=True)]
    return [parts[place] for place in random.permutation(len(parts))]


def counted(batches: list[pa.RecordBatch], operation: str = "read") -> IoCells:
    found = io_cells(batches, operation)
    assert found is not None
    return found


@given(st.integers(1, 3000), st.integers(1, 12), st.floats(1e2, 1e14), st.integers(0, 1000))
def test_cells_are_what_one_histogram_of_everything_is(count: int, pieces: int, span_ns: float, seed: int) -> None:
    batches = random_batches(count, pieces, span_ns, seed)
    cells = counted(batches)
    whole = pa.Table.from_batches(batches)
    issued, latency = (np.asarray(whole[name]) for name in ("issue_ns", "total_latency_ns"))
    assert cells.counts.shape[0] <= ROWS_AT_MOST
    assert cells.counts.shape[1] <= COLUMNS_AT_MOST
    assert cells.counts.sum() == cells.io_count == count
    assert cells.first_issue_ns == issued.min()
    # integers and edges of 2^n ns: exact. The first column begins before the first I/O
    edges = np.round(cells.time_edges_s * 1e9).astype(np.int64)
    by_time = np.histogram(issued - issued.min(), np.append(edges[:-1], edges[-1] + 1))[0]
    assert np.array_equal(cells.counts.sum(axis=0), by_time)
    inner = cells.latency_edges_ns.copy()
    assert inner[0] <= latency.min() * (1 + 1e-9)
    assert inner[-1] >= latency.max() * (1 - 1e-9)
    by_latency = np.histogram(np.log10(latency), np.log10(inner))[0]
    # a value at an edge may fall to either side of it, as logarithms are rounded
    assert np.abs(cells.counts.sum(axis=1) - by_latency).sum() <= 2


def test_the_slowest_are_those_of_a_full_sort() -> None:
    batches = random_batches(20_000, 9, 1e10)
    whole = np.sort(np.asarray(pa.Table.from_batches(batches)["total_latency_ns"]))[::-1]
    assert counted(batches).slowest.latency_ns.tolist() == whole[:50].tolist()


def test_other_operations_are_not_counted() -> None:
    rows = batch(0, [0, 1, 0, 3], [10, 20, 30, 40], [5, 6, 7, 8])
    assert counted([rows]).io_count == 2
    assert counted([rows], "write").slowest.latency_ns.tolist() == [6]
    assert io_cells([rows], "trim") is None
    # operations on files have the numbers of the engine
    on_files = batch(0, [5, 6, 15, 5], [10, 20, 30, 40], [5, 6, 7, 8])
    assert counted([on_files], "create").io_count == 2
    assert counted([on_files], "list").slowest.latency_ns.tolist() == [7]
    assert io_cells([], "read") is None


@pytest.mark.parametrize("border", [1, 2, 3, 4, 5, 6, 7])
def test_a_durable_write_ends_with_its_sync_call_also_in_the_next_batch(border: int) -> None:
    # two jobs, their rows mixed; the last write of job 1 was never synced
    rows = batch(
        [0, 1, 0, 1, 0, 0, 1, 1],
        [1, 1, 3, 3, 1, 3, 1, 3],
        [100, 110, 150, 160, 300, 320, 400, 410],
        [10, 20, 60, 70, 15, 90, 5, 40],
    )
    found = counted([rows.slice(0, border), rows.slice(border)], "durable_write")
    assert sorted(found.slowest.latency_ns.tolist()) == sorted([110, 120, 110, 50])


def test_a_write_without_its_sync_call_is_not_durable() -> None:
    rows = batch([0, 0, 0], [1, 3, 1], [100, 120, 200], [10, 30, 10])
    assert counted([rows], "durable_write").slowest.latency_ns.tolist() == [50]


class _Endless:
    """Ten million reads, made when they are asked for: memory holds one batch of them."""

    num_rows = 10_000_000

    def batches(self, columns: object) -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng(5)
        rows = 1 << 18
        for begin in range(0, self.num_rows, rows):
            count = min(rows, self.num_rows - begin)
            latency = random.integers(40_000, 4_000_000, count)
            yield batch(0, 0, 6000 * np.arange(begin, begin + count), latency)


def test_ten_million_are_drawn_in_seconds_and_few_bytes() -> None:
    trial = TrialContent("reads", "random reads", "read", records=_Endless())
    began = time.thread_time()
    figure = io_scatter([trial])
    assert time.thread_time() - began < 6
    assert figure is not None
    assert sum(row[5] for row in figure.table.rows) == 10_000_000  # type: ignore[misc]
    assert len(json.dumps([figure.plots[0].data, figure.plots[0].layout])) < 300_000


def test_eight_trials_with_every_cell_in_use_are_still_few_bytes() -> None:
    random = np.random.default_rng(2)
    rows = batch(0, 0, np.arange(400_000) * 1000, (10 ** random.uniform(3, 7, 400_000)).astype(np.int64))
    records = HeldRecords(pa.Table.from_batches([rows]))
    figure = io_scatter([TrialContent(f"t{n}", f"trial {n}", "read", records=records) for n in range(8)])
    assert figure is not None
    assert len(json.dumps([figure.plots[0].data, figure.plots[0].layout], separators=(",", ":"))) < 300_000
