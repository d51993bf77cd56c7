"""Records of single I/Os: nothing lost, few bytes, bounded memory, no half-written file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store.columns import RECORD_COLUMNS, arrow_schema
from drivelab.store.records import ROW_GROUP_ROWS, RecordSink

BATCH_ROWS = 1 << 15


def batch_of(seed: int, rows: int = BATCH_ROWS) -> pa.RecordBatch:
    """Random aligned reads over 1 TiB, 5 us apart, 100 us each: what a fast drive gives."""
    generator = np.random.default_rng(seed)
    total = np.maximum(3000, generator.normal(100_000, 20_000, rows)).astype(np.int64)
    columns = {
        "job": np.zeros(rows, np.uint16),
        "operation": np.zeros(rows, np.uint8),
        "issue_ns": 10**15 + seed * 10**9 + np.cumsum(generator.integers(2000, 8000, rows)),
        "offset_bytes": generator.integers(0, 2**40 // 4096, rows) * 4096,
        "size_bytes": np.full(rows, 4096, np.int32),
        "submission_latency_ns": generator.integers(300, 1500, rows).astype(np.int32),
        "total_latency_ns": total,
        "response_latency_ns": total + 50,
        "result": np.full(rows, 4096, np.int32),
    }
    return pa.record_batch([pa.array(columns[field.name]) for field in SCHEMA], schema=SCHEMA)


SCHEMA = arrow_schema(RECORD_COLUMNS, nullable=False)


@pytest.mark.parametrize("open_loop", [False, True])
def test_every_record_comes_back(tmp_path: Path, open_loop: bool) -> None:
    batches = [batch_of(1, 5), batch_of(2, 1), batch_of(3, 30_000)]
    with RecordSink(tmp_path / "x.parquet", open_loop=open_loop) as sink:
        for batch in batches:
            sink(batch)
    stored = pq.read_table(tmp_path / "x.parquet")
    assert sink.row_count == stored.num_rows == 30_006
    whole = pa.Table.from_batches(batches)
    assert stored.equals(whole if open_loop else whole.drop_columns(["response_latency_ns"]))


def test_a_record_takes_at_most_16_bytes(tmp_path: Path) -> None:
    with RecordSink(tmp_path / "x.parquet") as sink:
        for seed in range(16):
            sink(batch_of(seed))
    assert (tmp_path / "x.parquet").stat().st_size / sink.row_count <= 16


def test_memory_does_not_grow_with_the_number_of_records(tmp_path: Path) -> None:
    batch = batch_of(1)
    before = pa.total_allocated_bytes()
    most = 0
    with RecordSink(tmp_path / "x.parquet") as sink:
        for _ in range(5 * ROW_GROUP_ROWS // BATCH_ROWS):
            sink(pa.record_batch([pa.array(np.asarray(column).copy()) for column in batch.columns], schema=SCHEMA))
            most = max(most, pa.total_allocated_bytes() - before)
    assert most < 2 * ROW_GROUP_ROWS * 50
    assert pq.ParquetFile(tmp_path / "x.parquet").num_row_groups == 5


def test_a_trial_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with RecordSink(tmp_path / "x.parquet") as sink:
            sink(batch_of(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_trial_without_ios_leaves_an_empty_table(tmp_path: Path) -> None:
    with RecordSink(tmp_path / "x.parquet"):
        pass
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0


@pytest.mark.provokes("S502")
@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_full_disk_is_an_error_and_leaves_nothing_half_written(mount_filesystem, tmp_path: Path) -> None:
    small = mount_filesystem("ext4", size_bytes=8 * 2**20)

    def fill() -> None:
        with RecordSink(small / "x.parquet") as sink:
            for seed in range(4 * ROW_GROUP_ROWS // BATCH_ROWS):
                sink(batch_of(seed))

    with pytest.raises(DrivelabError) as failure:
        fill()
    assert failure.value.code == "S502"
    assert [path.name for path in small.iterdir()] == ["lost+found"]
