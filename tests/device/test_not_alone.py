"""A real trial beside real neighbours: a program that burns processors, one that writes to the same drive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli import main

MIB = 1 << 20
BURN = "print(flush=True)\nwhile True: pass"
WRITE = """
import mmap, os, sys
path, begin = sys.argv[1], int(sys.argv[2])
target = os.open(path, os.O_WRONLY | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
print(flush=True)
while True:
    os.pwrite(target, block, begin)
"""
# a little of what the trial beside it makes its journal write
WRITE_NOW_AND_THEN = WRITE.replace("while True:", "import time\nwhile True:\n    time.sleep(0.05)")


@contextmanager
def beside(program: str, *arguments: object, count: int = 1) -> Iterator[None]:
    """Another program, or several of them, at work until the end of the block."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for other in others:
            assert other.stdout is not None
            other.stdout.readline()
        yield
    finally:
        for other in others:
            other.kill()
            other.communicate()


def evidence_of(*arguments: str | Path) -> dict[str, Any]:
    """What the finding of a trial that was not alone rests on; empty without it."""
    return findings_of(*arguments).get("foreign-work", {"evidence": {}})["evidence"]


def findings_of(*arguments: str | Path) -> dict[str, Any]:
    """The findings of a trial by their codes."""
    command = [sys.executable, "-m", "drivelab", "io", *map(str, arguments), "--json"]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode in (0, 4), answer.stderr
    return {found["code"]: found for found in json.loads(answer.stdout)["findings"]}


def test_a_program_that_burns_processors_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(os.urandom(4 * MIB))
    # a tenth of them, and one more
    count = (os.cpu_count() or 1) // 10 + 1
    with beside(BURN, count=count):
        found = findings_of(data, "--runtime", "1s")["foreign-work"]
    assert found["evidence"]["other_processors"] >= 0.5
    assert 0 < found["evidence"]["other_processor_share"] <= 1.05
    assert "processors (python" in found["text"]


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_writes_of_others_are_told_of_a_trial_that_only_reads(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(64 * MIB)
    read = (device, "--direct", "--size", "32MiB", "--runtime", "1s")
    assert "excess_write_share" not in evidence_of(*read)
    with beside(WRITE, device, 48 * MIB):
        assert evidence_of(*read)["excess_write_share"] > 0.02


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_pages_of_a_drive_that_others_read_are_not_those_of_direct_writes(
    make_loop_device: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    device, is_over = make_loop_device(256 * MIB), threading.Event()

    def read_through_memory() -> None:
        """Other blocks each time, as whoever lists drives does; this very process may have the drive open."""
        target = os.open(device, os.O_RDONLY)
        os.posix_fadvise(target, 0, 0, os.POSIX_FADV_RANDOM)
        for place in range(0, 256 * MIB, 32768):
            os.pread(target, 16384, place)
            if is_over.wait(0.003):
                break
        os.close(target)

    reader = threading.Thread(target=read_through_memory)
    reader.start()
    try:
        write = ("--operation", "write", "--direct", "--runtime", "1s", "--rate", "100", "--json")
        status = main.run(["io", str(device), "--erase", device.name, *write])
    finally:
        is_over.set()
        reader.join()
    # a loop device over a file may have a finding of its own
    assert status in (0, 4)
    codes = {one["code"] for one in json.loads(capfd.readouterr().out)["findings"]}
    assert "foreign-work" in codes
    assert "direct-quietly-buffered" not in codes


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "mkfs.ext4")
def test_writes_of_others_are_told_of_a_trial_that_writes(mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4", size_bytes=128 * MIB)
    (directory / "other").write_bytes(bytes(2 * MIB))
    write = (directory / "new", "--operation", "write", "--direct", "--size", "16MiB", "--runtime", "0.5s")
    with beside(WRITE, directory / "other", 0):
        assert evidence_of(*write)["excess_write_share"] > 0.02


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "mkfs.ext4", "mkfs.xfs")
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize("direct", [["--direct"], []], ids=["direct", "buffered"])
def test_writes_of_others_are_told_and_named_beside_journals_that_write_as_much(
    mount_filesystem: Callable[..., Path], filesystem: str, direct: list[str]
) -> None:
    directory = mount_filesystem(filesystem, size_bytes=400 * MIB)
    (directory / "other").write_bytes(bytes(2 * MIB))
    append = (
        "--operation",
        "write",
        *direct,
        "--block-size",
        "16KiB",
        "--durability",
        "fsync",
        "--file-state",
        "append",
        "--size",
        "64MiB",
    )
    with beside(WRITE_NOW_AND_THEN, directory / "other", 0):
        found = findings_of(directory / "new", *append, "--runtime", "1s")["foreign-work"]
    assert found["evidence"]["excess_write_share"] > 0.02
    assert "(python" in found["text"]


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "mkfs.ext4", "mkfs.xfs")
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize(
    ("state", "durability"), [("overwrite", "fsync"), ("preallocated", "none"), ("append", "fsync")]
)
def test_a_file_system_at_work_for_the_trial_is_no_neighbour(
    mount_filesystem: Callable[..., Path], filesystem: str, durability: str, state: str
) -> None:
    directory = mount_filesystem(filesystem)
    options = ("--operation", "write", "--direct", "--durability", durability, "--file-state", state)
    found = evidence_of(directory / "new", *options, "--size", "16MiB", "--runtime", "0.3s")
    assert not {"excess_write_share", "excess_read_share"} & set(found)
