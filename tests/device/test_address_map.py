"""Where the map says that a file's bytes lie on the disk, they are found there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.inventory.loop_target import resolve_measured
from drivelab.model.target import BlockLayer
from drivelab.model.workload import TargetRange
from drivelab.run.trace_tools import DiskExtent, disk_extents

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

PAGE = 4096


def write_in_pieces(path: Path, pages: int) -> bytes:
    """A file whose pages were written in an order that keeps them apart, and what it holds."""
    content = os.urandom(pages * PAGE)
    with path.open("wb") as file:
        for page in [*range(0, pages, 3), *range(1, pages, 3), *range(2, pages, 3)]:
            file.seek(page * PAGE)
            file.write(content[page * PAGE : (page + 1) * PAGE])
            os.fsync(file.fileno())
    return content


@pytest.mark.parametrize(
    "filesystem",
    [
        pytest.param("ext4", marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param("xfs", marks=pytest.mark.needs_tool("mkfs.xfs")),
    ],
)
def test_the_bytes_of_a_file_lie_where_its_map_says(mount_filesystem: Callable[..., Path], filesystem: str) -> None:
    directory = mount_filesystem(filesystem)
    path = directory / "data"
    content = write_in_pieces(path, 60)
    facts = resolve_measured(str(directory))
    extents = disk_extents(TargetRange(path=str(path)), facts)
    subprocess.run(["sync", "-f", str(directory)], check=True)
    assert sum(extent.length_bytes for extent in extents) == len(content)
    with Path(facts.devices[-1].path).open("rb", buffering=0) as disk:
        for extent in extents:
            # what the device's own page cache holds may be older
            os.posix_fadvise(disk.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            disk.seek(extent.disk_offset_bytes)
            begin = extent.offset_bytes
            assert disk.read(extent.length_bytes) == content[begin : begin + extent.length_bytes]


@pytest.mark.needs_tool("mkfs.ext4")
def test_a_file_system_with_addresses_of_its_own_has_no_map(mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4")
    (directory / "data").write_bytes(bytes(PAGE))
    facts, asked = resolve_measured(str(directory)), TargetRange(path=str(directory / "data"))
    assert facts.filesystem is not None
    assert len(disk_extents(asked, facts)) == 1
    assert disk_extents(asked, replace(facts, filesystem=replace(facts.filesystem, type="btrfs"))) == ()


def test_a_device_begins_with_itself_and_a_partition_where_it_lies(make_loop_device: Callable[..., Path]) -> None:
    size = 8 * 2**20
    facts = resolve_measured(str(make_loop_device(size)))
    asked = TargetRange(path=facts.path)
    assert disk_extents(asked, facts) == (DiskExtent(0, 0, size),)
    disk = facts.devices[-1]
    part = replace(disk, name=f"{disk.name}p1", kind="part", start_bytes=2**20, size_bytes=2**20)
    on_part = replace(facts, devices=(disk, part), size_bytes=2**20)
    assert disk_extents(asked, on_part) == (DiskExtent(0, 2**20, 2**20),)


def test_bytes_of_a_volume_lie_on_the_volume_which_is_traced_too(make_loop_device: Callable[..., Path]) -> None:
    facts = resolve_measured(str(make_loop_device()))
    volume = BlockLayer("dm-0", "/dev/dm-0", "253:0", "dm", 2**20, 0, 512, 512, None, None, False, False, None)
    on_volume = replace(facts, devices=(*facts.devices, volume), size_bytes=2**20)
    assert disk_extents(TargetRange(path="x"), on_volume) == (DiskExtent(0, 0, 2**20),)
