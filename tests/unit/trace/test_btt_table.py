"""btt's table: equal to what btt printed of stored recordings, and to what the real one prints of made-up ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from block_trace import (
    DISCARD,
    META,
    PASSTHROUGH,
    READ,
    SDB,
    SYNC,
    WRITE,
    BlockTrace,
    C,
    D,
    G,
    M,
    Q,
    device,
    packed_stream,
)
from drivelab.trace.btt_table import PHASES, btt_table
from random_block_trace import random_stream
from real_btt import all_rows, merged_by_blkparse, per_device_section, real_btt

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
RECORDINGS = GOLDEN / "blktrace"
CASES = json.loads((RECORDINGS / "manifest.json").read_text())
LEGACY = sorted((GOLDEN / "legacy_btt").glob("*.bin"))
VDA = device(254, 0)


@pytest.mark.parametrize("case", CASES)
def test_the_table_of_a_stored_recording_is_that_of_btt(case: str) -> None:
    paths = [RECORDINGS / case / name for name in CASES[case]["inputs"]]
    table = btt_table(paths)
    expected = [[phase, *numbers] for phase, *numbers in CASES[case]["expected_btt_1_2_0"]]
    assert table.text == all_rows((RECORDINGS / case / "expected.btt").read_text())
    assert [[*line.split()[:4], int(line.split()[4])] for line in table.text.splitlines()] == expected
    assert list(table.rows) == [row[0] for row in expected]


@pytest.mark.parametrize("path", LEGACY, ids=lambda path: path.stem)
def test_the_legacy_table_is_that_of_the_old_btt(path: Path) -> None:
    table = btt_table([path], "legacy", per_device=True)
    assert f"{table.text}\n{table.per_device_text}" == path.with_suffix(".btt").read_text()
    assert btt_table([path]).text != table.text, "these are the files of which the new btt says something else"


@pytest.mark.needs_tool("btt")
@pytest.mark.parametrize("seeds", [range(first, first + 20) for first in range(0, 200, 20)], ids=str)
def test_random_overlapping_streams_give_the_numbers_of_the_real_btt(seeds: range, tmp_path: Path) -> None:
    path = tmp_path / "stream.bin"
    for seed in seeds:
        path.write_bytes(packed_stream(random_stream(seed)))
        printed, table = real_btt(path, tmp_path), btt_table([path], per_device=True)
        assert table.text == all_rows(printed), f"seed {seed}"
        assert table.per_device_text == per_device_section(printed), f"seed {seed}"


def plain(trace: BlockTrace) -> None:
    for number in range(50):
        trace.io(1_000 + number * 30_000, number * 64, direction=READ if number % 3 else WRITE | SYNC)


def same_times(trace: BlockTrace) -> None:
    """Records of several CPUs at one time: the order in which they are merged decides."""
    for number in range(60):
        now = 1_000 + number // 6 * 10_000
        for action, later in ((Q, 0), (G, 0), (D, 0), (C, 10_000)):
            trace.add(now + later, action, number % 7 * 8, 4096, cpu=number % 3)


def merges(trace: BlockTrace) -> None:
    for number in range(20):
        trace.merged_ios(1_000 + number * 80_000, number * 200, [4096] * 5, is_front=number % 2 == 1)


def splits(trace: BlockTrace) -> None:
    for number in range(20):
        trace.split_io(1_000 + number * 80_000, number * 4_096, [512 * 1024, 512 * 1024, 4096])
        trace.io(40_000 + number * 80_000, number * 4_096 + 8)


def requeues(trace: BlockTrace) -> None:
    for number in range(20):
        trace.requeued_io(1_000 + number * 80_000, number * 64, times=number % 4)


def partial_completions(trace: BlockTrace) -> None:
    for number in range(20):
        start, now = number * 64, 1_000 + number * 80_000
        for action in (Q, G, D):
            trace.add(now, action, start, 16_384)
        trace.add(now + 20_000, C, start, 8_192)
        trace.add(now + 30_000, C, start + 16, 8_192)


def flushes(trace: BlockTrace) -> None:
    now = 1_000
    for number in range(30):
        now = trace.durable_write(now + 9_000, number * 16, is_fua_emulated=number % 2 == 0)
        now = trace.flush(now + 4_000)


def discards_and_passthrough(trace: BlockTrace) -> None:
    for number in range(20):
        trace.io(1_000 + number * 90_000, number * 4_096, 1 << 20, WRITE | DISCARD)
        trace.io(20_000 + number * 90_000, number * 8, 512, READ | PASSTHROUGH)


def errors_and_unfinished(trace: BlockTrace) -> None:
    for number in range(20):
        trace.io(1_000 + number * 90_000, number * 64, error=5 if number % 4 == 0 else 0)
    trace.add(5_000_000, Q, 4_000, 4096)
    trace.add(5_001_000, D, 4_000, 4096)


def mapper_majors(trace: BlockTrace) -> None:
    for number in range(20):
        trace.io(1_000 + number * 90_000, number * 64, device=VDA)
        trace.io(3_000 + number * 90_000, number * 64, device=SDB)


def remaps(trace: BlockTrace) -> None:
    for number in range(20):
        trace.add(1_000 + number * 90_000, Q, number * 64, 4096, device=device(253, 2))
        trace.remapped_io(2_000 + number * 90_000, number * 64, from_device=device(253, 2), partition_start=2_048)


def notices(trace: BlockTrace) -> None:
    trace.process(pid=70, name="fio", time_ns=10)
    trace.timestamp(time_ns=20, realtime_ns=1_700_000_000_000_000_000)
    plain(trace)
    trace.message("cfq70S / alloced", time_ns=500_000)


def with_cgroups(trace: BlockTrace) -> None:
    plain(trace)
    for number in range(20):
        trace.add(2_000_000 + number * 1_000, Q | 0x100, number * 64, 4096, payload=struct.pack("<Q", 1))


def coming_back(trace: BlockTrace) -> None:
    """A second bio at a sector whose first never ended."""
    for number in range(20):
        trace.add(1_000 + number * 90_000, Q, number // 2 * 64, 4096, WRITE | META)
        trace.add(2_000 + number * 90_000, M, number // 2 * 64, 4096, WRITE | META)
    for number in range(10):
        trace.add(3_000_000 + number * 90_000, C, number * 64, 4096, WRITE | META)


KINDS = (
    plain,
    same_times,
    merges,
    splits,
    requeues,
    partial_completions,
    flushes,
    discards_and_passthrough,
    errors_and_unfinished,
    mapper_majors,
    remaps,
    notices,
    with_cgroups,
    coming_back,
)


@pytest.mark.needs_tool("blkparse", "btt")
@pytest.mark.parametrize("compose", KINDS, ids=lambda compose: compose.__name__)
@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
def test_every_kind_of_recording_gives_the_table_of_blkparse_and_btt(
    compose: Callable[[BlockTrace], None], order: str, tmp_path: Path
) -> None:
    trace = BlockTrace(cpus=3)
    compose(trace)
    trace.write(tmp_path, "sda", order="<" if order == "<" else ">")
    printed = real_btt(merged_by_blkparse(tmp_path / "sda", tmp_path), tmp_path)
    table = btt_table([tmp_path / "sda"], per_device=True)
    assert table.text == all_rows(printed)
    assert table.per_device_text == per_device_section(printed)
    assert table.rows, "a table without rows compares nothing"


def test_rows_are_in_the_order_of_btt_and_add_up_over_devices(tmp_path: Path) -> None:
    trace = BlockTrace()
    mapper_majors(trace)
    table = btt_table([trace.write_merged(tmp_path / "two.bin")])
    assert list(table.rows) == [phase for phase in PHASES if phase in table.rows]
    assert list(table.devices) == ["254:0", "8:16"]
    assert table.rows["D2C"].n == sum(rows["D2C"].n for rows in table.devices.values()) == 40
    document = table.to_json()
    assert document["all"]["Q2Cdm"]["n"] == document["devices"]["254:0"]["Q2Cdm"]["n"] == 20
