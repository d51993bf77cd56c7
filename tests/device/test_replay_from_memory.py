"""Replays on a loop device whose file lies in memory: void is what came from there, whoever else reads the drive."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.test_not_alone import beside
from drivelab.cli import main

# the kernel's workers read for loop devices of other tests too
pytestmark = [pytest.mark.alone, pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]
MIB = 1 << 20
# as much of the drive as it can, past the page cache
READ = """
import mmap, os, random, sys
source, block = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
print(flush=True)
while True:
    os.preadv(source, [block], random.randrange(16) << 20)
"""


def iolog(path: Path, lines: Iterator[str]) -> Path:
    path.write_text("fio version 3 iolog\n0 /f add\n0 /f open\n" + "".join(f"{line}\n" for line in lines))
    return path


def reads(count: int) -> Iterator[str]:
    places = random.Random(count)
    return (f"{5 * number} /f read {places.randrange(8192) * 4096} 4096" for number in range(count))


@pytest.fixture
def cached_device(make_loop_device: Callable[..., Path]) -> Path:
    """A loop device whose file was just written, and is in memory."""
    device = make_loop_device(32 * MIB)
    with device.open("r+b") as file:
        file.write(os.urandom(32 * MIB))
        os.fsync(file.fileno())
    return device


def replayed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, dict[str, object]]]:
    """The exit status, and the findings by their codes."""
    status = main.run(["replay", *map(str, arguments), "--json"])
    (told,) = json.loads(capsys.readouterr().out)["targets"]
    return status, {one["code"]: one for one in told["findings"]}


def test_reads_from_memory_are_not_the_drives_whatever_others_read_of_it(
    cached_device: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    with other.open("wb") as file:
        file.write(os.urandom(16 * MIB))
        os.fsync(file.fileno())
    log = iolog(tmp_path / "log", reads(400))
    with beside(READ, other):
        status, found = replayed(capsys, log, cached_device, "--out", tmp_path / "runs")
    assert status == 4
    assert found["host-cache-answered"]["severity"] == "invalid"


def test_reads_of_a_file_past_the_page_cache_are_the_drives(
    make_loop_device: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = make_loop_device(32 * MIB, direct=True)
    with device.open("r+b") as file:
        file.write(os.urandom(32 * MIB))
        os.fsync(file.fileno())
    status, found = replayed(capsys, iolog(tmp_path / "log", reads(400)), device, "--out", tmp_path / "runs")
    assert not {"host-cache-answered", "page-cache-answered"} & found.keys()
    assert status == 0


def test_a_few_reads_from_memory_void_their_row_and_not_what_the_load_waits_for(
    cached_device: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writes = (
        f"{20 * number} /f {line}"
        for number in range(60)
        for line in (f"write {number * 4096} 4096", f"datasync {number * 4096} 4096")
    )
    log = iolog(tmp_path / "log", iter([*writes, *(f"1200 /f read {MIB + place * 4096} 4096" for place in range(7))]))
    arguments = [log, cached_device, "--erase", cached_device.name, "--out", tmp_path / "runs"]
    status = main.run(["replay", *map(str, arguments)])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith(f"On {cached_device} this load's sync calls took ")
    assert any(line.startswith("read (void) ") for line in lines)
    assert any(line.startswith("  void: the page cache answered in place of ") for line in lines)
    assert status == 0
