"""Scratch drives and file systems are what was asked for, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivelab.inventory.mounts import read_mounts
from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.state.filesystem import require_filesystem_programs, undo_filesystem, undo_mount
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.loop_device import loops_over
from drivelab.state.programs import run_program
from drivelab.state.scratch import ScratchDrive, choose_directory, make_scratch
from drivelab.state.settings.attribute import set_attribute
from drivelab.state.settings.kernel_attribute import read_attribute
from drivelab.state.undo import undo, undo_all

SIZE = 32 * 2**20
XFS_SIZE = 320 * 2**20
EXT4 = FileSystemLevel(type="ext4", name="ext4", mkfs_options=("-E", "nodiscard"), mount_options=("noatime",))
XFS = FileSystemLevel(type="xfs", name="xfs", mkfs_options=("-K",))

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4", "mkfs.xfs")]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    begun = begin_journal(tmp_path / "journals")
    yield begun
    undo_all(begun)
    begun.close()


@pytest.fixture
def scratch(journal: Journal, request: pytest.FixtureRequest) -> ScratchDrive:
    return make_scratch(getattr(request, "param", SIZE), journal)


def test_a_scratch_drive_is_as_asked_and_full_of_data(scratch: ScratchDrive) -> None:
    name = Path(scratch.path).name
    assert read_attribute(name, "queue/write_cache") == "write back"
    assert read_attribute(name, "queue/logical_block_size") == "512"
    assert Path(f"/sys/block/{name}/loop/dio").read_text().strip() == "1"
    status = scratch.backing_file.stat()
    assert status.st_size == SIZE
    assert status.st_blocks * 512 >= SIZE
    with Path(scratch.path).open("rb") as drive:
        for place in (0, SIZE // 2, SIZE - 4096):
            drive.seek(place)
            assert len(set(drive.read(4096))) > 200, "random bytes"


def test_no_block_of_a_scratch_file_is_still_unwritten(scratch: ScratchDrive) -> None:
    extents = run_program(["filefrag", "-v", str(scratch.backing_file)])
    assert "unwritten" not in extents


def test_a_scratch_drive_is_gone_after_it_was_put_back(scratch: ScratchDrive, journal: Journal) -> None:
    done = undo_all(journal)
    assert done == [f"detached {scratch.path}", f"deleted {scratch.backing_file}"]
    assert not scratch.backing_file.exists()
    assert loops_over(str(scratch.backing_file)) == []


def test_the_write_cache_setting_of_the_loop_number_is_put_back(scratch: ScratchDrive, journal: Journal) -> None:
    name = Path(scratch.path).name
    set_attribute(name, "queue/write_cache", "write through", journal)
    assert read_attribute(name, "queue/write_cache") == "write through"
    change = journal.outstanding[0]
    assert undo(change, journal) == f"set queue/write_cache of {scratch.path} back to write back"
    assert read_attribute(name, "queue/write_cache") == "write back"


@pytest.mark.provokes("R404")
@pytest.mark.parametrize(("attribute", "value"), [("queue/write_cache", "sideways"), ("queue/no_such", "1")])
def test_a_setting_that_is_not_taken_is_an_error(
    scratch: ScratchDrive, journal: Journal, attribute: str, value: str
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        set_attribute(Path(scratch.path).name, attribute, value, journal)
    assert refusal.value.code == "R404"


def test_a_setting_that_someone_else_changed_since_stays(scratch: ScratchDrive, journal: Journal) -> None:
    name = Path(scratch.path).name
    set_attribute(name, "queue/read_ahead_kb", "64", journal)
    Path(f"/sys/block/{name}/queue/read_ahead_kb").write_text("256")
    assert undo(journal.outstanding[0], journal) == ""
    assert read_attribute(name, "queue/read_ahead_kb") == "256"


@pytest.mark.parametrize(
    ("scratch", "level"), [(SIZE, EXT4), (XFS_SIZE, XFS)], ids=["ext4", "xfs"], indirect=["scratch"]
)
def test_a_file_system_is_made_mounted_read_back_and_wiped(
    scratch: ScratchDrive, journal: Journal, level: FileSystemLevel
) -> None:
    filesystem = FileSystemOnTarget(journal)
    mounted = filesystem.bring(scratch.path, level)
    assert (mounted.mount_point / "file").write_text("x") == 1
    assert mounted.type == level.type
    assert set(level.mount_options) <= set(mounted.options)
    assert mounted.text.startswith(f"{level.type} rw,")
    filesystem.take_away()
    assert not mounted.mount_point.exists()
    assert scratch.path not in {mount.source for mount in read_mounts()}
    assert subprocess.run(["blkid", "-p", scratch.path], capture_output=True).returncode == 2, "nothing is found"


def test_a_file_system_that_someone_else_made_since_stays(scratch: ScratchDrive, journal: Journal) -> None:
    mounted = FileSystemOnTarget(journal).bring(scratch.path, EXT4)
    undo_mount(str(mounted.mount_point), scratch.path)
    run_program(["mkfs.ext4", "-q", "-F", scratch.path])
    made = next(change for change in journal.outstanding if change.kind == "filesystem")
    assert undo_filesystem(**made.facts) == ""
    assert "ext4" in run_program(["blkid", "-p", scratch.path])


def test_other_mount_options_need_no_new_file_system(scratch: ScratchDrive, journal: Journal) -> None:
    filesystem = FileSystemOnTarget(journal)
    first = filesystem.bring(scratch.path, EXT4.mounted_with(("nodiscard",)))
    (first.mount_point / "stays").write_text("x")
    wanted = EXT4.mounted_with(("discard",))
    assert filesystem.can_stay(wanted)
    second = filesystem.bring(scratch.path, wanted)
    assert (second.mount_point / "stays").read_text() == "x"
    assert "discard" in second.options
    assert "discard" not in first.options
    assert not filesystem.can_stay(XFS)
    assert not filesystem.can_stay(None)
    filesystem.take_away()
    assert filesystem.can_stay(None)


@pytest.mark.provokes("R403")
def test_an_option_that_is_refused_is_told_in_the_words_of_the_program(scratch: ScratchDrive, journal: Journal) -> None:
    with pytest.raises(DrivelabError) as refusal:
        FileSystemOnTarget(journal).bring(scratch.path, EXT4.mounted_with(("dax=always",)))
    assert refusal.value.code == "R403"
    assert "dax=always" in refusal.value.where
    undo_all(journal)
    assert not scratch.backing_file.exists()


def test_a_mount_in_use_is_told_and_stays_in_the_journal(
    scratch: ScratchDrive, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivelab.state.filesystem._UNMOUNT_PATIENCE_S", 0.2)
    mounted = FileSystemOnTarget(journal).bring(scratch.path, EXT4)
    with (mounted.mount_point / "file").open("w"):
        with pytest.raises(DrivelabError) as failure:
            undo(mounted.change, journal)
        assert failure.value.code == "R406"
    assert mounted.change in journal.outstanding


@pytest.mark.provokes("R405")
def test_a_scratch_drive_larger_than_the_disk_is_refused() -> None:
    with pytest.raises(DrivelabError) as refusal:
        choose_directory(2**60)
    assert refusal.value.code == "R405"


def test_memory_is_no_place_for_a_scratch_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_SCRATCH", "/dev/shm")
    with pytest.raises(DrivelabError, match="memory"):
        choose_directory(2**20)


@pytest.mark.provokes("R402")
def test_a_program_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.state.programs.find_tool", lambda name: None)
    with pytest.raises(DrivelabError) as refusal:
        require_filesystem_programs({"xfs"})
    assert refusal.value.code == "R402"
    assert "xfsprogs" in refusal.value.do


@pytest.mark.provokes("R401")
def test_without_root_there_is_no_scratch_drive(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DrivelabError) as refusal:
        make_scratch(SIZE, journal)
    assert refusal.value.code == "R401"
    assert journal.outstanding == ()


def test_only_our_own_loop_device_is_detached_whatever_its_file_is_called_by_now(
    journal: Journal, scratch: ScratchDrive, make_loop_device, tmp_path: Path
) -> None:
    theirs = make_loop_device()
    victim = Path(Path(f"/sys/block/{theirs.name}/loop/backing_file").read_text().strip())
    moved = tmp_path / "moved"
    scratch.backing_file.rename(moved)
    scratch.backing_file.symlink_to(victim)
    try:
        done = undo_all(journal)
        assert Path(f"/sys/block/{theirs.name}/loop").is_dir()
        assert not Path(f"/sys/block/{Path(scratch.path).name}/loop").exists()
        assert done == [f"detached {scratch.path}"]
        assert victim.is_file()
    finally:
        scratch.backing_file.unlink()
        moved.unlink()


def test_another_file_under_the_name_of_ours_stays(journal: Journal, scratch: ScratchDrive, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    scratch.backing_file.rename(moved)
    scratch.backing_file.write_text("theirs")
    try:
        assert f"left {scratch.backing_file} alone: it is not the file that drivelab made" in undo_all(journal)
        assert scratch.backing_file.read_text() == "theirs"
    finally:
        scratch.backing_file.unlink()
        moved.unlink()
