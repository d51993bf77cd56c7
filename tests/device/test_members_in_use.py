"""A drive that is part of something in use, or lies beside it: refused, or nothing but the drive is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from device.program import Drivelab
from device.test_refusals import (
    COMMANDS,
    IO,
    RUN,
    MakeLoopDevice,
    Scene,
    Typed,
    attached,
    call,
    command_line,
    digest,
    mounted,
)
from partitions import two_partitions

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")]


@contextmanager
def second_member_of_a_mounted_btrfs(device: Path, folder: Path) -> Iterator[Typed]:
    with another_loop(folder, 256) as first, another_loop(folder, 256) as second:
        call("mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", first, second)
        with mounted_as_it_is(first, folder / "place"):
            members = ", ".join(sorted((first.name, second.name)))
            says = f"error[C204] {second.name} is mounted btrfs file system of {members}"
            yield Typed(second, (f"{second.name}+contents",), second, says)


@contextmanager
def external_log_of_a_mounted_xfs(device: Path, folder: Path) -> Iterator[Typed]:
    with another_loop(folder, 320) as data:
        call("mkfs.xfs", "-q", "-f", "-l", f"logdev={device}", data)
        with mounted_as_it_is(data, folder / "place", f"logdev={device}"):
            yield Typed(device, (f"{device.name}+contents",), device, f"error[C205] {device.name} is")


@contextmanager
def external_journal_of_a_mounted_ext4(device: Path, folder: Path) -> Iterator[Typed]:
    with another_loop(folder, 64) as data:
        call("mkfs.ext4", "-qF", "-b", "4096", "-O", "journal_dev", device)
        call("mkfs.ext4", "-qF", "-b", "4096", "-J", f"device={device}", data)
        with mounted_as_it_is(data, folder / "place"):
            yield Typed(device, (f"{device.name}+contents",), device, f"error[C205] {device.name} is")


@contextmanager
def another_loop(folder: Path, size_mib: int) -> Iterator[Path]:
    backing = folder / f"another-{len(list(folder.glob('another-*')))}.img"
    backing.touch()
    os.truncate(backing, size_mib * 2**20)
    with attached(backing) as device:
        yield device


@contextmanager
def mounted_as_it_is(device: Path, place: Path, *options: str) -> Iterator[None]:
    place.mkdir()
    # the kernel itself writes now and then to one that is not read-only
    call("mount", "-o", ",".join(("ro", *options)), device, place)
    try:
        yield
    finally:
        call("umount", place)


SCENES = (
    second_member_of_a_mounted_btrfs,
    external_log_of_a_mounted_xfs,
    external_journal_of_a_mounted_ext4,
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_a_member_of_a_mounted_file_system_is_refused(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice, tmp_path: Path, scene: Scene, command: str
) -> None:
    with scene(make_loop_device(), tmp_path) as typed:
        before = digest(typed.protected)
        answer = drivelab.run(*command_line(command, drivelab, typed))
        assert digest(typed.protected) == before
        assert answer.returncode == 3, answer.stderr
        assert typed.says in " ".join(answer.stderr.split())
        assert "nothing was written" in answer.stderr
        assert not drivelab.runs.exists()


@pytest.mark.parametrize("command", [RUN, IO])
def test_a_partition_beside_a_mounted_one_is_all_that_is_written(
    drivelab: Drivelab, make_loop_device: MakeLoopDevice, tmp_path: Path, command: str
) -> None:
    device = make_loop_device()
    first, second = two_partitions(device)
    with mounted(second, tmp_path / "place"):
        before = digest(second)
        typed = Typed(first, (f"{device.name}-part1",), second, "")
        answer = drivelab.run(*command_line(command, drivelab, typed))
        assert answer.returncode in (0, 1, 4), answer.stderr
        assert "error[" not in answer.stderr
        assert digest(second) == before
        table = device.read_bytes()[: 2**20]
    assert table.startswith(bytes(446))
    assert set(table[512:]) == {0}, "nor what lies before the partitions"
    assert drivelab.left_over() == []
