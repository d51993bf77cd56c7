"""NVMe commands past the block layer, and rings that poll: what the drive got, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vm.guest import Guest

COUNT = 200
WRITE = ("--operation", "write")


def measured(guest: Guest, target: str, *options: str) -> dict[str, Any]:
    """The result of `drivelab io` with so many direct I/Os, all of which succeed."""
    words = ("drivelab", "io", target, "--direct", "--count", str(COUNT), *options, "--json")
    found: dict[str, Any] = json.loads(guest.run(*words).stdout)
    assert found["errors"] == []
    assert sum(found["operations"][name]["count"] for name in found["operations"] if name in ("read", "write")) == COUNT
    return found


def test_what_is_written_past_the_block_layer_is_read_through_it(guest: Guest) -> None:
    drive = guest.drive("nvme")
    character, depth = drive.path.replace("nvme", "ng"), ("--access", "sequential", "--queue-depth", "8")
    # what the kernel has cached of the drive is not what it holds then
    guest.shell(f"dd if={drive.path} of=/dev/null bs=1M count=1 2>/dev/null")
    drive.reset_counts()
    # a runtime besides: the pool of data that is written from is larger than a command then
    found = measured(
        guest, character, "--backend", "uring-cmd", *WRITE, *depth, "--runtime", "1h", "--erase", drive.serial
    )
    assert (found["achieved"]["backend"], found["target"]) == ("uring-cmd", character)
    assert drive.counts().writes == COUNT
    # the kernel has counted nothing of it, and nothing is said
    assert found["devices"] == []
    assert "past the block layer" in found["context"]["device_counters_reason"]
    read = (*depth[:2], "--size", str(4096 * COUNT), "--verify")
    measured(guest, drive.path, "--backend", "uring-cmd", *read)
    measured(guest, drive.path, "--backend", "sync", *read)
    guest.run("drivelab", "io", drive.path, "--once", *read)


# what nothing made durable is flushed once, when the trial is over
@pytest.mark.parametrize(
    ("durability", "flushes", "fua"), [("fdatasync", COUNT, 0), ("o_dsync", 0, COUNT), ("none", 1, 0)]
)
def test_a_sync_is_a_flush_and_a_durable_write_has_fua(guest: Guest, durability: str, flushes: int, fua: int) -> None:
    drive = guest.drive("nvme")
    drive.reset_counts()
    traced = "/sys/kernel/tracing/events/nvme/nvme_setup_cmd/enable"
    guest.shell(f"echo 4096 >/sys/kernel/tracing/buffer_size_kb; echo >/sys/kernel/tracing/trace; echo 1 >{traced}")
    options = (*WRITE, "--durability", durability, "--erase", drive.serial)
    measured(guest, drive.path, "--backend", "uring-cmd", *options)
    sent = guest.shell(f"echo 0 >{traced}; cat /sys/kernel/tracing/trace").stdout
    assert (drive.counts().writes, drive.counts().flushes) == (COUNT, flushes)
    # QEMU's drive takes FUA, and tells nobody
    assert sent.count("nvme_cmd_write") == COUNT
    assert sent.count("ctrl=0x4000") == fua


def test_what_cannot_be_sent_is_refused_before_anything_is(guest: Guest) -> None:
    drive, other = guest.drive("nvme"), guest.drive("sata")
    guest.run("addpart", drive.path, "1", "2048", "20480")
    drive.reset_counts()
    try:
        for target, options, what in (
            (other.path, ("--direct",), "is no NVMe drive"),
            (f"{drive.path}p1", ("--direct",), "is a partition"),
            (drive.path, (), "know no page cache"),
            (drive.path, ("--direct", "--block-size", "8MiB"), "one NVMe command moves here"),
            (
                drive.path,
                ("--direct", *WRITE, "--durability", "sync_file_range", "--erase", f"{drive.serial}+contents"),
                "has no sync",
            ),
        ):
            words = ("drivelab", "io", target, "--backend", "uring-cmd", "--count", "1", *options)
            refused = guest.run(*words, check=False)
            assert (refused.exit_code, "E313" in refused.stderr) == (1, True), refused.stderr
            assert what in " ".join(refused.stderr.split()), refused.stderr
    finally:
        guest.run("delpart", drive.path, "1")
    assert drive.counts().writes == 0


def test_commands_are_written_only_with_the_owners_word(guest: Guest) -> None:
    drive = guest.drive("nvme")
    character = drive.path.replace("nvme", "ng")
    drive.reset_counts()
    refused = guest.run("drivelab", "io", character, "--backend", "uring-cmd", "--direct", *WRITE, check=False)
    assert (refused.exit_code, f"--erase {drive.serial}" in " ".join(refused.stderr.split())) == (3, True), (
        refused.stderr
    )
    assert drive.counts().writes == 0


def test_completions_and_submissions_are_polled_for(guest: Guest) -> None:
    guest.shell("modprobe null_blk poll_queues=1 submit_queues=1 irqmode=0 queue_mode=2 gb=1")
    try:
        polled = ("--polled-completion", "--polled-submission")
        for options in (polled[:1], polled[1:], polled):
            measured(guest, "/dev/nullb0", "--backend", "uring", "--queue-depth", "16", *options)
    finally:
        guest.run("modprobe", "-r", "null_blk")
