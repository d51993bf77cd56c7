"""The made-up block traces are recordings that blkparse takes for its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from block_trace import READ, SDA, SYNC, WRITE, BlockTrace, ByteOrder, Version, device
from large_block_trace import write_many
from real_btt import all_rows, merged_by_blkparse, real_btt


def one_of_each() -> BlockTrace:
    """A trace with every kind of life."""
    trace = BlockTrace(cpus=2)
    trace.process(pid=70, name="fio", time_ns=900)
    trace.timestamp(time_ns=901, realtime_ns=1_700_000_000_123_456_789)
    now = trace.io(1_000, sector=8)
    now = trace.io(now + 1, sector=80, direction=READ)
    now = trace.flush(now + 1)
    now = trace.merged_ios(now + 1, 100, [4096, 8192, 512])
    now = trace.merged_ios(now + 1, 200, [4096, 8192], is_front=True)
    now = trace.split_io(now + 1, 1000, [4096, 4096, 8192])
    now = trace.requeued_io(now + 1, 5000)
    now = trace.durable_write(now + 1, 6000)
    now = trace.durable_write(now + 1, 7000, is_fua_emulated=False, has_preflush=False)
    trace.remapped_io(now + 1, 16, from_device=device(8, 1), partition_start=2048)
    return trace


@pytest.mark.needs_tool("blkparse", "btt")
@pytest.mark.parametrize("order", ["<", ">"])
def test_blkparse_tells_the_lives_that_were_made_up(order: ByteOrder, tmp_path: Path) -> None:
    trace = one_of_each()
    trace.write(tmp_path, "sda", order=order)
    text = subprocess.run(["blkparse", "-q", "sda"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in text.splitlines() if line.startswith("  8,0")]
    actions = [line[5] for line in lines]
    assert len(lines) == sum(not record.is_notice for record in trace.records)
    assert {action: actions.count(action) for action in "QXRMFA"} == {"Q": 13, "X": 2, "R": 1, "M": 2, "F": 1, "A": 1}
    assert [line[6] for line in lines if line[5] == "Q" and line[7] in {"6000", "7000"}] == ["FWFSM", "WFSM"]
    assert "[fio]" in text


@pytest.mark.needs_tool("blkparse", "btt")
def test_btt_finds_the_phases_that_were_made_up(tmp_path: Path) -> None:
    trace = BlockTrace(cpus=2)
    for index in range(100):
        trace.io(1_000_000 * index, index * 8, direction=WRITE | SYNC, queued_to_issued_ns=7_000)
    trace.write(tmp_path, "sda")
    rows = {
        row.split()[0]: row.split()[1:]
        for row in all_rows(real_btt(merged_by_blkparse(tmp_path / "sda", tmp_path), tmp_path)).splitlines()
        if row
    }
    assert rows["D2C"] == ["0.000050000"] * 3 + ["100"]
    assert rows["Q2C"] == ["0.000057000"] * 3 + ["100"]


@pytest.mark.parametrize(("version", "length"), [(7, 48), (8, 64)])
def test_a_records_length_is_that_of_its_version(version: Version, length: int) -> None:
    trace = BlockTrace(cpus=1)
    trace.flush(1_000)
    assert [len(record.packed(version)) for record in trace.records] == [length] * 5
    assert trace.records[0].device == SDA


@pytest.mark.needs_tool("blkparse", "btt")
def test_a_large_recording_has_six_records_for_each_io(tmp_path: Path) -> None:
    paths = write_many(tmp_path, "sda", 1_000)
    assert sum(path.stat().st_size for path in paths) == 6 * 48 * 1_000
    assert "D2C               0.000081000   0.000081000   0.000081000        1000" in all_rows(
        real_btt(merged_by_blkparse(tmp_path / "sda", tmp_path), tmp_path)
    )
