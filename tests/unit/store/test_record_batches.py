"""Single I/Os read a bounded number at a time: the same rows, none twice, and damage is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store.record_batches import StoredRecords
from drivelab.store.records import ROW_GROUP_ROWS, RecordSink
from held_records import HeldRecords


def records(count: int) -> pa.RecordBatch:
    """So many reads, one every µs."""
    columns = {
        "job": np.zeros(count, np.uint16),
        "operation": np.zeros(count, np.uint8),
        "issue_ns": 1000 * np.arange(count, dtype=np.int64),
        "offset_bytes": 4096 * np.arange(count, dtype=np.int64),
        "size_bytes": np.full(count, 4096, np.int32),
        "submission_latency_ns": np.zeros(count, np.int32),
        "total_latency_ns": np.arange(count, dtype=np.int64) % 977,
        "response_latency_ns": np.zeros(count, np.int64),
        "result": np.full(count, 4096, np.int32),
    }
    return pa.record_batch(columns)


def stored(path: Path, count: int) -> StoredRecords:
    """The same in a file."""
    with RecordSink(path) as sink:
        for begin in range(0, count, 50_000):
            sink(records(count).slice(begin, 50_000))
    return StoredRecords(path)


def test_every_row_comes_once_and_in_order(tmp_path: Path) -> None:
    count = 2 * ROW_GROUP_ROWS + 12_345
    found = stored(tmp_path / "ios.parquet", count)
    batches = list(found.batches(["issue_ns", "total_latency_ns"]))
    assert found.num_rows == count
    assert len(batches) > 1
    assert max(batch.num_rows for batch in batches) <= ROW_GROUP_ROWS
    assert batches[0].schema.names == ["issue_ns", "total_latency_ns"]
    issued = np.concatenate([np.asarray(batch["issue_ns"]) for batch in batches])
    assert np.array_equal(issued, 1000 * np.arange(count))


def test_rows_in_memory_look_the_same(tmp_path: Path) -> None:
    of_file = stored(tmp_path / "ios.parquet", 1000)
    held = HeldRecords(pa.Table.from_batches([records(1000)]))
    columns = ["issue_ns", "size_bytes"]
    assert held.num_rows == of_file.num_rows
    rows = [pa.Table.from_batches(one.batches(columns)).to_pydict() for one in (held, of_file)]
    assert rows[0] == rows[1]


def test_nothing_recorded_has_no_batches(tmp_path: Path) -> None:
    assert list(stored(tmp_path / "ios.parquet", 0).batches(["issue_ns"])) == []


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ios.parquet"
    found = stored(path, 100_000)
    raw = bytearray(path.read_bytes())
    raw[1000:3000] = bytes(2000)
    path.write_bytes(raw)
    with pytest.raises(DrivelabError) as caught:
        list(found.batches(["job", "operation", "issue_ns"]))
    assert caught.value.code == "S506"
    path.write_bytes(b"no Parquet")
    with pytest.raises(DrivelabError) as caught:
        StoredRecords(path)
    assert caught.value.code == "S506"
