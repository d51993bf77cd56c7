"""Drives in the guest's kernel take as long as they were told to, in virtual time; and counts are those of the drives.

In virtual time an instruction takes 1 ns, so what drivelab finds depends on no
other program of this machine.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK
from vm.guest import Guest

HERE = Path(__file__).parent
MS = 1_000_000
NULL_BLK_NS, SCSI_NS = 1 * MS, 2 * MS
# scsi_debug with any delay: a flush takes a twentieth of a second in whole ticks, of which the kernel has 250 a second
SCSI_FLUSH_NS = 48 * MS
TOLERANCE, CLOSE = 0.05, 0.02
# so many syncs of a program carry a p99
COUNT, SCSI_COUNT, PROGRAM_SYNCS = 100, 20, 100
ANSWER_S = 500
ONCE = ("--repeats", "1", "--count")
# a write with FUA; the synchronous call flushes once more by itself, io_uring's does not
FUA_WRITE = ("--direct", "--durability", "rwf_dsync")
NULL_BLK = f"""
    modprobe null_blk nr_devices=0
    mount -t configfs none /sys/kernel/config
    for name in nullb0 nullb1; do
        mkdir /sys/kernel/config/nullb/$name
        cd /sys/kernel/config/nullb/$name
        echo 1 >memory_backed
        echo 64 >cache_size
        echo 256 >size
        echo 2 >irqmode
        echo {NULL_BLK_NS} >completion_nsec
        echo 1 >power
        cat /sys/block/$name/queue/fua
    done
"""
SCSI_DEBUG = f"""
    modprobe scsi_debug ndelay={SCSI_NS} dev_size_mb=64
    until grep -q scsi_debug /sys/block/sda/device/model; do sleep 0.1; done
    sed 's/ *$//' /sys/block/sda/device/model
"""
# while the guest waits for a file of this machine it would be idle, its clock would run ahead by seconds, and
# drivelab would wait no longer for a tool that answers at once
AWAKE = "chrt --idle 0 sh -c 'while :; do :; done' >/dev/null 2>&1 &"
FILE_SYSTEM = """
    mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0 /dev/nullb1
    mkdir /tmp/log
    mount /dev/nullb1 /tmp/log
"""
# a program of somebody else that says itself how long its syncs took
PROGRAM_SAYS = "/tmp/fio.json"
PROGRAM = (
    *("fio", "--name=log", "--directory=/tmp/log", "--rw=write", "--bs=4k", "--fdatasync=1"),
    # none after the last write
    *(
        f"--size={4 * (PROGRAM_SYNCS + 1)}k",
        "--ioengine=psync",
        "--fallocate=none",
        f"--output={PROGRAM_SAYS}",
        "--output-format=json",
    ),
)
FOLLOWED = "followed"
Found = dict[str, Any]
pytestmark = pytest.mark.timeout(2 * ANSWER_S)


def answered(guest: Guest, *commands: tuple[str, ...], statuses: Collection[int] = (EXIT_OK,)) -> list[Found]:
    """What ``drivelab explain`` says to each list of arguments."""
    answer = guest.run("python", HERE / "explanations.py", stdin=json.dumps(commands), timeout_s=ANSWER_S)
    found = json.loads(answer.stdout)
    assert {one["status"] for one in found} <= {*statuses}, [one["said"] for one in found]
    assert len(found) == len(commands)
    return [one["answer"] for one in found]


@pytest.fixture(scope="module")
def in_virtual_time() -> dict[str, Found]:
    """Every answer that these tests look at, by name: one boot for all."""
    if platform.machine() != "x86_64":
        pytest.skip("the guest runs this machine's programs, and they must be those of an x86-64")
    null_blk = ("/dev/nullb0", "--erase", "nullb0", *ONCE, str(COUNT))
    # scsi_debug's drives have the serial 14000
    scsi = ("/dev/sda", "--erase", "14000", *ONCE, str(SCSI_COUNT))
    with Guest(kinds=(), has_virtual_time=True) as guest:
        guest.shell(AWAKE)
        assert guest.shell(NULL_BLK).stdout == "1\n1\n"
        assert guest.shell(SCSI_DEBUG).stdout == "scsi_debug\n"
        guest.shell(FILE_SYSTEM)
        commands = {
            "fdatasync": null_blk,
            "synchronous FUA": (*null_blk, *FUA_WRITE),
            "FUA": (*null_blk, *FUA_WRITE, "--backend", "uring"),
            "scsi fdatasync": scsi,
            "ext4 append": ("/tmp/log", "--file-state", "append", *ONCE, str(COUNT)),
            FOLLOWED: ("--path", "/tmp/log", "--command", "--", *PROGRAM),
        }
        found = dict(zip(commands, answered(guest, *commands.values()), strict=True))
        said = json.loads(guest.shell(f"cat {PROGRAM_SAYS}").stdout)["jobs"][0]["sync"]["lat_ns"]
    followed = found.pop(FOLLOWED)
    return {name: one["explanations"][0] for name, one in found.items()} | {FOLLOWED: followed | {"program": said}}


@pytest.fixture
def typical_ns(in_virtual_time: dict[str, Found]) -> Callable[[str, str], float]:
    """A part of the typical operation, by the explanation's name and the part's."""

    def part(name: str, part: str) -> float:
        return float(in_virtual_time[name]["typical"]["parts"][f"{part}_ns"])

    return part


@pytest.mark.parametrize(
    ("name", "device_ns", "flush_ns"),
    [
        ("fdatasync", NULL_BLK_NS, NULL_BLK_NS),
        ("synchronous FUA", NULL_BLK_NS, NULL_BLK_NS),
        ("FUA", NULL_BLK_NS, 0),
        ("scsi fdatasync", SCSI_NS, SCSI_FLUSH_NS),
        # the data, the journal, its commit block
        ("ext4 append", 3 * NULL_BLK_NS, NULL_BLK_NS),
    ],
)
def test_device_and_flush_take_as_long_as_they_were_told_to(
    typical_ns: Callable[[str, str], float], name: str, device_ns: int, flush_ns: int
) -> None:
    assert typical_ns(name, "device") == pytest.approx(device_ns, rel=TOLERANCE)
    assert typical_ns(name, "flush") == pytest.approx(flush_ns, rel=TOLERANCE)
    software = sum(typical_ns(name, part) for part in ("fs_in", "queue", "between", "return"))
    assert 0 < software < TOLERANCE * (device_ns + flush_ns)


@pytest.mark.parametrize(
    ("name", "writes", "flushes", "fua_writes", "journal_writes", "preflush_writes"),
    [
        ("fdatasync", 1, 1, 0, 0, 0),
        ("synchronous FUA", 1, 1, 1, 0, 0),
        ("FUA", 1, 0, 1, 0, 0),
        ("scsi fdatasync", 1, 1, 0, 0, 0),
        # descriptor and inode are one command, the commit block is another: behind a flush, and with FUA
        ("ext4 append", 3, 1, 1, 2, 1),
    ],
)
def test_commands_are_those_of_a_drive_with_a_cache_and_fua(
    in_virtual_time: dict[str, Found],
    name: str,
    writes: int,
    flushes: int,
    fua_writes: int,
    journal_writes: int,
    preflush_writes: int,
) -> None:
    found = in_virtual_time[name]
    work = found["work_per_operation"]
    assert (work["device_writes"], work["flushes"]) == pytest.approx((writes, flushes), abs=0.05)
    assert (work["fua_writes"], work["preflush_writes"]) == pytest.approx((fua_writes, preflush_writes), abs=0.05)
    assert work["journal_writes"] == pytest.approx(journal_writes, abs=0.05)
    assert found["check"]["verdict"] == ("ok" if found["operations"] == COUNT else "unknown"), found["check"]
    assert found["residual_ns"] == 0
    assert found["trace"]["lost_events"] == found["trace"]["unmatched_bios"] == 0


def test_the_syncs_of_a_followed_program_are_told_as_it_tells_them(in_virtual_time: dict[str, Found]) -> None:
    found = in_virtual_time[FOLLOWED]
    (call,) = [one for one in found["calls"] if one["call"] == "fdatasync"]
    told = found["program"]
    # its clock stands outside of the call, and its buckets are 1/64 wide
    assert call["count"] == told["N"] == PROGRAM_SYNCS
    assert call["p50_ns"] == pytest.approx(told["percentile"]["50.000000"], rel=1 / 64)
    assert call["p99_ns"] == pytest.approx(told["percentile"]["99.000000"], rel=1 / 64)
    assert sum(call["parts_ns"].values()) == pytest.approx(told["mean"] * told["N"], rel=CLOSE)
    for one in found["slowest"]:
        assert sum(one["parts_ns"].values()) == one["latency_ns"]


def test_a_followed_sync_is_its_drive_as_long_as_that_was_told_to_take(in_virtual_time: dict[str, Found]) -> None:
    (sync,) = [one for one in in_virtual_time[FOLLOWED]["explanations"] if one["operation"] == "sync"]
    typical, work = sync["typical"], sync["work_per_operation"]
    assert (sync["refusal"], sync["residual_ns"], in_virtual_time[FOLLOWED]["lost_events"]) == ("", 0, 0)
    assert (work["device_writes"], work["flushes"]) == pytest.approx((3, 1), abs=0.05)
    assert typical["parts"]["device_ns"] == pytest.approx(3 * NULL_BLK_NS, rel=CLOSE)
    assert typical["parts"]["flush_ns"] == pytest.approx(NULL_BLK_NS, rel=CLOSE)


def test_an_explanation_counts_what_the_drive_counts(guest: Guest) -> None:
    flags = ("--direct", "--durability", "o_dsync", *ONCE, "50")
    drives = [guest.drive(kind) for kind in ("nvme", "sata")]
    # on a busy host latencies of the two passes may lie too far apart for an answer; the counts are there all the same
    commands = [(drive.path, "--erase", drive.serial, *flags) for drive in drives]
    answers = answered(guest, *commands, statuses=(EXIT_OK, EXIT_NOT_TRUSTED))
    found = [one["explanations"][0] for one in answers]
    assert [one["refusal"] for one in found] == ["", ""]
    # an NVMe drive has FUA; without it the kernel flushes after the write, and the call once more
    expected = {"nvme": (1, 1, 1), "sata": (1, 2, 1)}
    for drive, one in zip(drives, found, strict=True):
        work, sent = one["work_per_operation"], drive.counts()
        assert (work["device_writes"], work["flushes"], work["fua_writes"]) == expected[drive.kind], drive.kind
        assert one["check"]["verdict"] in ("ok", "unknown"), one["check"]
        # the timed pass and the traced one
        assert sent.writes == 2 * one["operations"] * work["device_writes"] == 100, drive.kind
        assert sent.flushes == 2 * one["operations"] * work["flushes"], drive.kind
        assert sent.written_bytes == 2 * one["operations"] * work["bytes_written"], drive.kind
