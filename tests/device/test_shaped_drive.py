"""What drivelab measures is true: against a drive whose latencies are known and which counts its own commands.

Counts must agree exactly. Times: no command takes less than the drive's
latency, and the least at most `ADDED_NS` more: a busy machine only ever adds
time. The median of calls that are made one after the other lies within what the
drive's own times leave: a call begins when the command before its own has been
answered, and ends before the next one arrives.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli import main
from mounted import is_anything_mounted_below
from shaped_drive.loop import LoopDrive

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "qemu-storage-daemon")]

MS = 1_000_000
MIB = 2**20
ADDED_NS = 2 * MS
# a histogram's quantile is within 1 % of the latency
ROUNDED = 1.01
WRITE_NS, FLUSH_NS = 5 * MS, 10 * MS
COUNT = 100
Measure = Callable[..., dict[str, Any]]


@pytest.fixture
def measure(shaped_drive: LoopDrive, capsys: pytest.CaptureFixture[str]) -> Measure:
    """Runs ``drivelab io`` on the shaped drive, with counts that begin at zero."""
    shaped_drive.shape(write_latency_ns=WRITE_NS, flush_latency_ns=FLUSH_NS)

    def run(*arguments: str, status: int = 0) -> dict[str, Any]:
        shaped_drive.reset_counts()
        target = ["io", str(shaped_drive.path), "--direct", "--json", "--size", "64MiB"]
        ended = main.run([*target, "--erase", f"{shaped_drive.name}+contents", *arguments])
        captured = capsys.readouterr()
        assert ended == status, captured.err
        document: dict[str, Any] = json.loads(captured.out)
        return document

    return run


def synchronous_writes(measure: Measure, *arguments: str) -> dict[str, Any]:
    return measure("--operation", "write", "--durability", "fdatasync", "--count", str(COUNT), *arguments)


def assert_least(operation: dict[str, Any], shaped_ns: int) -> None:
    """A latency of the shaped drive was measured as what it is, where nothing came between."""
    assert shaped_ns <= operation["total_latency_ns"]["min"] <= shaped_ns + ADDED_NS


def assert_median(operation: dict[str, Any], drive: LoopDrive, first: int, last: int, commands_per_write: int) -> None:
    """The median lies within the drive's own times, for calls that wait for some of each write's commands."""
    sent = [one for one in drive.answered() if one.command in ("write", "flush")]
    assert len(sent) == COUNT * commands_per_write
    # nothing bounds the first and the last call
    begins = range(commands_per_write, len(sent) - commands_per_write, commands_per_write)
    least_ns = [sum(one.took_ns for one in sent[at + first : at + last + 1]) for at in begins]
    most_ns = [sent[at + last + 1].taken_ns - sent[at + first - 1].answered_ns for at in begins]
    least_ns, most_ns = [0, 0, *sorted(least_ns)], [*sorted(most_ns), math.inf, math.inf]
    median_ns = operation["total_latency_ns"]["quantiles"]["0.5"]
    middle = COUNT // 2
    assert least_ns[middle - 1] / ROUNDED <= median_ns <= most_ns[middle] * ROUNDED


def sector_contents(drive: LoopDrive, offset_bytes: int, length_bytes: int = 4096) -> bytes:
    """What the drive itself returns, not the page cache."""
    command = ["dd", f"if={drive.path}", "iflag=direct,skip_bytes,count_bytes", "bs=4096", "status=none"]
    return subprocess.check_output([*command, f"skip={offset_bytes}", f"count={length_bytes}"])


def write(drive: LoopDrive, offset_bytes: int, content: bytes, *, flush: bool) -> None:
    """Write whole pages past the page cache."""
    # dd flushes by itself when the last block is not whole
    command = ["dd", f"of={drive.path}", "iflag=fullblock", "oflag=direct,seek_bytes", "bs=4096", "status=none"]
    conversion = "conv=notrunc,fdatasync" if flush else "conv=notrunc"
    subprocess.run([*command, conversion, f"seek={offset_bytes}"], input=content, check=True)


def test_a_durable_write_takes_as_long_as_the_drives_write_and_flush_together(
    measure: Measure, shaped_drive: LoopDrive
) -> None:
    operations = synchronous_writes(measure)["operations"]
    assert_least(operations["write"], WRITE_NS)
    assert_least(operations["sync"], FLUSH_NS)
    assert_least(operations["durable_write"], WRITE_NS + FLUSH_NS)
    assert_median(operations["write"], shaped_drive, 0, 0, 2)
    assert_median(operations["sync"], shaped_drive, 1, 1, 2)
    assert_median(operations["durable_write"], shaped_drive, 0, 1, 2)


def test_writes_and_flushes_per_operation_are_those_that_the_drive_counted(
    measure: Measure, shaped_drive: LoopDrive
) -> None:
    counted = synchronous_writes(measure)["devices"][0]
    sent = shaped_drive.counts()
    assert (sent.writes, sent.flushes, sent.fua_writes, sent.written_bytes) == (COUNT, COUNT, 0, COUNT * 4096)
    assert (counted["data_writes_low"], counted["bytes_written"]) == (sent.writes, sent.written_bytes)
    assert (counted["flushes"], counted["flushes_per_operation"]) == (sent.flushes, 1)


def test_without_fua_a_synchronous_direct_write_is_flushed_twice(measure: Measure, shaped_drive: LoopDrive) -> None:
    measure("--operation", "write", "--durability", "o_dsync", "--count", str(COUNT))
    sent = shaped_drive.counts()
    assert (sent.writes, sent.fua_writes, sent.flushes) == (COUNT, 0, 2 * COUNT)


def test_the_pass_that_traces_commands_sees_what_the_drive_counted(measure: Measure, shaped_drive: LoopDrive) -> None:
    counts = synchronous_writes(measure, "--count-commands", "--sync-every", "4")["context"]["command_counts"]
    sent = shaped_drive.counts()
    assert sent.writes == COUNT + counts["data_writes"]
    assert sent.flushes == COUNT // 4 + counts["flushes"]
    assert counts["flushes_per_operation"] == pytest.approx(1 / 4)


def test_a_kernel_that_believes_in_no_volatile_cache_sends_no_flush(measure: Measure, shaped_drive: LoopDrive) -> None:
    shaped_drive.kernel_cache_mode.write_text("write through")
    found = synchronous_writes(measure)
    assert (shaped_drive.counts().writes, shaped_drive.counts().flushes) == (COUNT, 0)
    assert found["devices"][0]["flushes_per_operation"] == 0
    assert_least(found["operations"]["durable_write"], WRITE_NS)
    assert_median(found["operations"]["durable_write"], shaped_drive, 0, 0, 1)


def test_reads_take_the_drives_read_latency(measure: Measure, shaped_drive: LoopDrive) -> None:
    shaped_drive.shape(read_latency_ns=5 * MS)
    found = measure("--operation", "read", "--access", "random", "--count", str(COUNT))
    assert_least(found["operations"]["read"], 5 * MS)


@pytest.mark.parametrize(("depth", "at_work", "rounds"), [(1, 1, 1), (4, 4, 1), (8, 4, 2)])
def test_more_in_flight_than_the_drive_has_channels_waits_in_line(
    measure: Measure, shaped_drive: LoopDrive, depth: int, at_work: int, rounds: int
) -> None:
    shaped_drive.shape(write_latency_ns=20 * MS, channels=4)
    random_writes = ("--operation", "write", "--access", "random", "--queue-depth", str(depth))
    found = measure(*random_writes, "--count", str(30 * at_work))
    latency = found["operations"]["write"]["total_latency_ns"]
    sent = [one for one in shaped_drive.answered() if one.command == "write"]
    assert max(sum(one.taken_ns <= other.taken_ns < one.answered_ns for one in sent) for other in sent) == at_work
    assert latency["min"] >= 20 * MS
    assert latency["max"] >= rounds * 20 * MS
    assert latency["mean"] >= sum(one.took_ns for one in sent) / len(sent)
    # at best one write every 20 ms on each channel, and no more in flight than were asked for
    assert found["iops"] <= at_work / 0.020
    assert found["iops"] * latency["mean"] / 1e9 <= depth * ROUNDED


def test_a_write_cache_that_is_slow_to_empty_is_told_with_the_rate_that_is_left(
    measure: Measure, shaped_drive: LoopDrive
) -> None:
    shaped_drive.shape(write_latency_ns=5 * MS, flush_latency_ns=1000 * MS)
    found = measure("--operation", "write", "--access", "random", "--count", str(COUNT))
    assert found["devices"][0]["flushes"] == 0
    assert shaped_drive.counts().flushes == 1
    emptied_ns = found["context"]["write_cache_emptied_ns"]
    assert emptied_ns >= 1000 * MS
    (told,) = [one for one in found["findings"] if one["code"] == "writes-left-in-cache"]
    assert told["severity"] == "warning"
    left_per_s = COUNT / (COUNT / found["iops"] + emptied_ns / 1e9)
    assert told["evidence"]["base_per_s"] == pytest.approx(left_per_s, rel=0.02)
    # each write that is durable empties it itself
    shaped_drive.shape(write_latency_ns=5 * MS, flush_latency_ns=5 * MS)
    assert (
        "write_cache_emptied_ns"
        not in measure("--operation", "write", "--durability", "o_dsync", "--count", "5")["context"]
    )
    assert "write_cache_emptied_ns" not in measure("--operation", "read", "--count", "5")["context"]


def test_a_range_that_fails_fails_for_the_program_too_and_changes_nothing(
    measure: Measure, shaped_drive: LoopDrive
) -> None:
    shaped_drive.fail(["write"], offset_bytes=32 * MIB, length_bytes=512)
    once = ("--operation", "write", "--access", "sequential", "--block-size", "128KiB", "--once")
    found = measure(*once, status=1)
    assert found["error_count"] == shaped_drive.counts().errors == 1
    assert sector_contents(shaped_drive, 32 * MIB, MIB // 8) == bytes(MIB // 8)
    shaped_drive.heal()
    assert measure(*once)["error_count"] == 0
    assert sector_contents(shaped_drive, 32 * MIB, MIB // 8) != bytes(MIB // 8)


def test_a_flush_that_fails_is_an_error_of_the_sync_call(measure: Measure, shaped_drive: LoopDrive) -> None:
    shaped_drive.fail(["flush"])
    found = measure("--operation", "write", "--durability", "fdatasync", "--count", "5", status=1)
    assert found["error_count"] >= 1
    assert shaped_drive.counts().errors >= 1


def test_writes_that_are_sent_together_arrive_as_they_were_written(shaped_drive: LoopDrive) -> None:
    # pieces of the page cache that do not touch: the kernel sends a write for each, all at once
    pieces = {number * MIB: number.to_bytes() * (MIB // 2 if number % 2 else 4096) for number in range(100)}
    with shaped_drive.path.open("r+b", buffering=0) as device:
        for offset_bytes, content in pieces.items():
            os.pwrite(device.fileno(), content, offset_bytes)
        os.fsync(device.fileno())
    read = {offset: sector_contents(shaped_drive, offset, len(content)) for offset, content in pieces.items()}
    assert [offset for offset in pieces if read[offset] != pieces[offset]] == []


def test_a_power_cut_takes_exactly_what_was_not_flushed(shaped_drive: LoopDrive) -> None:
    write(shaped_drive, 0, b"A" * 8192, flush=True)
    write(shaped_drive, 4096, b"B" * 8192, flush=False)
    assert sector_contents(shaped_drive, 0, 12288) == b"A" * 4096 + b"B" * 8192
    assert shaped_drive.power_cycle() == 16
    assert sector_contents(shaped_drive, 0, 12288) == b"A" * 8192 + bytes(4096)


def test_a_power_cut_can_tear_a_write_between_sectors(shaped_drive: LoopDrive) -> None:
    write(shaped_drive, 0, b"B" * MIB, flush=False)
    lost = shaped_drive.power_cycle(kept_fraction=0.5)
    content = sector_contents(shaped_drive, 0, MIB)
    sectors = [content[start : start + 512] for start in range(0, MIB, 512)]
    assert sectors.count(bytes(512)) == lost
    assert sectors.count(b"B" * 512) == 2048 - lost
    assert 900 < lost < 1150


@pytest.mark.needs_tool("blkdiscard")
def test_a_discard_arrives_and_leaves_zeros(shaped_drive: LoopDrive) -> None:
    write(shaped_drive, MIB, os.urandom(MIB), flush=True)
    shaped_drive.reset_counts()
    subprocess.run(["blkdiscard", "--offset", str(MIB), "--length", str(MIB), str(shaped_drive.path)], check=True)
    counts = shaped_drive.counts()
    assert (counts.discards, counts.discarded_bytes) == (1, MIB)
    assert sector_contents(shaped_drive, MIB, MIB) == bytes(MIB)


def test_nothing_is_left_when_the_drive_is_closed(tmp_path: Path) -> None:
    drive = LoopDrive(tmp_path)
    path, socket_path = drive.path, drive.socket_path
    drive.kernel_cache_mode.write_text("write through")
    drive.close()
    assert not is_anything_mounted_below(tmp_path)
    assert not Path("/sys/class/block", path.name, "loop").exists()
    assert not socket_path.exists()
    assert list(tmp_path.iterdir()) == []
