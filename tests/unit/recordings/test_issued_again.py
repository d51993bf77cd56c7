"""Calls on files and commands: fitted to less room, and each I/O that was issued beside its own of the recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from block_trace import BlockTrace
from drivelab.model.recording import COMMANDS, READ, SYNC, WRITE, RecordedFile, RecordedThread, Recording, on_files
from drivelab.recordings.issue import fitted, workload_of
from drivelab.recordings.issued_rows import IssuedRows
from drivelab.recordings.read import read_recording

KIB = 1024


def of_files(ends: list[int], calls: list[tuple[int, int, int, int]]) -> Recording:
    """A recording of one thread: operation, file, offset and size of each call."""
    operation, file, offset, size = np.array(calls, dtype=np.int64).T
    start = np.arange(len(calls), dtype=np.int64)
    thread = RecordedThread(start, operation, offset, size, start, call=operation, file=file)
    files = [RecordedFile(f"/{number}", end // 2, end) for number, end in enumerate(ends)]
    return on_files(Recording("r", "calls", (thread,), level="calls", calls=("read", "write", "", "sync")), files)


def test_each_file_has_its_addresses_and_needs_only_what_is_in_it() -> None:
    load = of_files([100, 5000], [(WRITE, 0, 50, 50), (WRITE, 1, 4000, 1000), (SYNC, 1, 2, 0)])
    assert load.span_bytes == 8192
    assert load.threads[0].offset_bytes.tolist() == [50, 8192 + 4000, 8192 + 2]
    assert load.needed_bytes == 5100
    twice = replace(load, files=(load.files[0], load.files[0]))
    assert twice.needed_bytes == 100
    workload = workload_of(load, speed=1, direct=False, record_ios=False)
    assert workload.job_files.count == 2
    assert workload.recording is not None
    assert workload.recording.span_bytes == 8192
    assert load.bytes_on_files([1]) == {"read": 0, "write": 1000}
    assert load.bytes_on_files([]) == {"read": 0, "write": 0}


@given(
    ends=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 99),
)
def test_files_shrink_alike_and_every_call_lies_within_its_file(ends: list[int], share: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    ends = [end * 4 * KIB for end in ends]
    calls = []
    for _ in range(20):
        file = int(chance.integers(len(ends)))
        offset = int(chance.integers(ends[file] // 4096)) * 4096
        calls.append((int(chance.choice([READ, WRITE])), file, offset, min(8192, ends[file] - offset)))
    load = of_files(ends, [*calls, (SYNC, 0, 2, 0)])
    small = fitted(load, int(load.needed_bytes * share))
    thread = small.threads[0]
    assert thread.file is not None
    within = thread.offset_bytes - thread.file * small.span_bytes
    assert within[-1] == 2
    for place, (_, file, _, size) in enumerate(calls):
        assert within[place] >= 0
        assert within[place] + thread.size_bytes[place] <= small.files[file].end_bytes
        assert 0 < thread.size_bytes[place] <= size
    assert small.needed_bytes <= load.needed_bytes * share + len(ends) * 4096
    assert fitted(load, load.needed_bytes) is load


def issued(rows: list[tuple[int, int, int, int, int]]) -> pa.RecordBatch:
    """Job, operation, issue, latency and result of each, in the order of completion."""
    names = ("job", "operation", "issue_ns", "total_latency_ns", "result")
    return pa.record_batch(
        {name: pa.array(column, pa.int64()) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


def test_each_call_stands_beside_its_own_and_one_that_failed_or_never_came_beside_none() -> None:
    load = of_files([4096], [(WRITE, 0, 0, 10), (SYNC, 0, 2, 0), (WRITE, 0, 10, 10), (SYNC, 0, 1, 0)])
    load = replace(load, threads=(replace(load.threads[0], latency_ns=np.array([5, 50, 6, 60])),))
    rows = IssuedRows(load)
    assert rows.pairs() is None
    kept: list[pa.RecordBatch] = []
    rows.sink = kept.append
    rows.take(issued([(0, WRITE, 3, 7, 10), (0, SYNC, 2, 99, -5)]))
    rows.take(issued([(0, WRITE, 1, 8, 10)]))
    pairs = rows.pairs()
    assert pairs is not None
    assert pairs.name.tolist() == [WRITE, WRITE]
    assert (pairs.recorded_ns.tolist(), pairs.replayed_ns.tolist()) == ([5, 6], [8, 7])
    assert pairs.response_ns is None
    assert [batch.num_rows for batch in kept] == [2, 1]


def test_a_durable_write_of_a_disk_is_set_against_its_write_and_its_flush_together(tmp_path: Path) -> None:
    trace = BlockTrace()
    trace.flush(1_000_000)
    ended = trace.durable_write(3_000_000, 64, pid=71)
    trace.write(tmp_path)
    load = read_recording(str(tmp_path / "sda"))
    assert (load.level, load.calls, load.has_halves) == ("commands", COMMANDS, True)
    names = ("flush", "durable write")
    assert [load.operations_of(COMMANDS.index(name)) for name in names] == [["sync"], ["write", "sync"]]
    rows = IssuedRows(load)
    of_flush, of_write = (next(job for job, one in enumerate(load.threads) if len(one) == count) for count in (1, 2))
    rows.take(issued([(of_flush, SYNC, 1, 100, 0), (of_write, WRITE, 2, 30, 4096), (of_write, SYNC, 3, 200, 0)]))
    pairs = rows.pairs()
    assert pairs is not None
    assert [COMMANDS[name] for name in pairs.name] == ["flush", "durable write"]
    assert pairs.replayed_ns.tolist() == [100, 230]
    assert pairs.recorded_ns[1] == pytest.approx(ended - 3_000_000)
