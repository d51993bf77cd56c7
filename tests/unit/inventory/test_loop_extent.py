"""Which loop devices have bytes of a file in common; on made-up systems over real files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from drivelab.inventory.loop_extent import devices_sharing, loops_over_file
from drivelab.inventory.system_paths import SystemPaths

MakeSystem = Callable[[Mapping[str, str]], SystemPaths]
SECTORS = 100  # of each device


def loop(number: int, file: Path | str, offset_bytes: int = 0) -> dict[str, str]:
    directory = f"/sys/devices/virtual/block/loop{number}"
    return {
        f"{directory}/size": str(SECTORS),
        f"{directory}/dev": f"7:{number}",
        f"{directory}/loop/backing_file": str(file),
        f"{directory}/loop/offset": str(offset_bytes),
        f"/sys/class/block/loop{number}": f"-> ../../devices/virtual/block/loop{number}",
        f"/sys/block/loop{number}": f"-> ../devices/virtual/block/loop{number}",
    }


def partition(number: int, start_sectors: int, size_sectors: int) -> dict[str, str]:
    directory = f"/sys/devices/virtual/block/loop{number}/loop{number}p1"
    return {
        f"{directory}/partition": "1",
        f"{directory}/start": str(start_sectors),
        f"{directory}/size": str(size_sectors),
        f"/sys/class/block/loop{number}p1": f"-> ../../devices/virtual/block/loop{number}/loop{number}p1",
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file, with a second name and a link to it."""
    path = tmp_path / "disk.img"
    path.write_bytes(b"")
    os.link(path, tmp_path / "hard.img")
    (tmp_path / "link.img").symlink_to(path)
    return path


@pytest.mark.parametrize("name", ["disk.img", "hard.img", "link.img"])
def test_one_file_by_any_name_is_one_file(make_system: MakeSystem, file: Path, name: str) -> None:
    paths = make_system(loop(0, file) | loop(1, file.with_name(name)) | loop(2, "/elsewhere/disk.img"))
    assert devices_sharing("loop0", paths) == ["loop1"]
    assert devices_sharing("loop1", paths) == ["loop0"]
    assert devices_sharing("loop2", paths) == []
    assert loops_over_file(file.stat(), paths) == ["loop0", "loop1"]


def test_a_file_whose_name_is_no_text_is_found(make_system: MakeSystem, file: Path) -> None:
    odd = file.with_name(os.fsdecode(b"caf\xe9 "))
    os.link(file, odd)
    paths = make_system(loop(0, file) | loop(1, ""))
    (paths.sys / "devices/virtual/block/loop1/loop/backing_file").write_bytes(os.fsencode(odd) + b"\n")
    assert devices_sharing("loop0", paths) == ["loop1"]
    assert loops_over_file(file.stat(), paths) == ["loop0", "loop1"]


@pytest.mark.parametrize(("offset_bytes", "shares"), [(0, True), (SECTORS * 512 - 1, True), (SECTORS * 512, False)])
def test_ranges_of_a_file_that_do_not_overlap_are_two_devices(
    make_system: MakeSystem, file: Path, offset_bytes: int, shares: bool
) -> None:
    paths = make_system(loop(0, file) | loop(1, file, offset_bytes))
    assert devices_sharing("loop0", paths) == (["loop1"] if shares else [])
    assert devices_sharing("loop1", paths) == (["loop0"] if shares else [])


def test_partitions_share_what_their_own_bytes_are(make_system: MakeSystem, file: Path) -> None:
    paths = make_system(loop(0, file) | partition(0, 0, 50) | loop(1, file) | partition(1, 50, 50))
    assert devices_sharing("loop0p1", paths) == ["loop1"]
    assert devices_sharing("loop1p1", paths) == ["loop0"]
    assert devices_sharing("loop0", paths) == ["loop1", "loop1p1"]


def test_files_that_cannot_be_looked_at_go_by_their_path(make_system: MakeSystem, tmp_path: Path) -> None:
    gone = tmp_path / "gone.img"
    paths = make_system(loop(0, f"{gone} (deleted)") | loop(1, gone) | loop(2, tmp_path / "other.img"))
    assert devices_sharing("loop0", paths) == ["loop1"]


def test_what_is_no_loop_device_shares_nothing(recorded_system: SystemPaths) -> None:
    assert devices_sharing("sda", recorded_system) == []
    assert devices_sharing("sda2", recorded_system) == []
