"""The inventory of the machine that the tests run on, and targets on its loop devices."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from counted_time import at_most_processor_s
from drivelab.inventory import tools
from drivelab.inventory.drives import list_drives, read_drives
from drivelab.inventory.target import require_writable, resolve_target
from drivelab.model.errors import DrivelabError

MakeLoopDevice = Callable[..., Path]
NOBODY = 65534


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Do something without the rights of root."""
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_all_drives_are_listed_within_a_second_of_the_processor() -> None:
    list_drives()  # the first call also loads code
    with at_most_processor_s(1):
        list_drives(show_all=True)


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "mkfs.ext4")
def test_a_loop_device_with_a_file_system_holds_data(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    assert read_drives([device.name])[0].touch.verdict == "free"
    subprocess.run(["mkfs.ext4", "-qF", str(device)], check=True)
    drive = read_drives([device.name])[0]
    assert (drive.use.contents, drive.touch.verdict) == ("ext4", "holds_data")
    assert drive.touch.erase_argument == f"{device.name}+contents"


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "mkfs.ext4")
def test_a_mounted_loop_device_is_in_use_and_its_directory_leads_down_to_it(
    mount_filesystem: Callable[..., Path],
) -> None:
    directory = mount_filesystem("ext4", size_bytes=64 * 2**20)
    target = resolve_target(str(directory))
    loop = target.devices[-1]
    assert loop.kind == "loop"
    assert target.filesystem is not None
    assert (target.filesystem.type, target.filesystem.mount_point) == ("ext4", str(directory))
    touch = read_drives([loop.name])[0].touch
    assert (touch.verdict, touch.reasons) == ("in_use", (f"{loop.name} is mounted on {directory}",))


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "mkfs.ext4")
@pytest.mark.provokes("T103")
def test_a_directory_mounted_read_only_is_a_target_that_cannot_be_written(
    mount_filesystem: Callable[..., Path],
) -> None:
    target = resolve_target(str(mount_filesystem("ext4", size_bytes=64 * 2**20, options="ro")))
    assert target.is_read_only
    with pytest.raises(DrivelabError) as caught:
        require_writable(target)
    assert caught.value.code == "T103"


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup", "lsblk")
def test_a_block_device_is_a_target_by_any_link_to_it(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device(sector_size_bytes=4096)
    (tmp_path / "by-id").symlink_to(device)
    target = resolve_target(str(tmp_path / "by-id"))
    assert (target.kind, target.path, target.size_bytes) == ("block_device", str(device), 64 * 2**20)
    assert target.logical_block_size_bytes == 4096
    assert target.devices[-1].name == device.name
    assert target.identity is not None
    require_writable(target)
    subprocess.run(["blockdev", "--setro", str(device)], check=True)
    with pytest.raises(DrivelabError) as caught:
        require_writable(resolve_target(str(device)))
    assert caught.value.code == "T103"
    assert f"blockdev --setrw {device}" in caught.value.do
    subprocess.run(["blockdev", "--setrw", str(device)], check=True)


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
@pytest.mark.provokes("T104")
def test_a_drive_without_a_medium_is_no_target(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    subprocess.run(["losetup", "--set-capacity", str(device)], check=True)
    backing = subprocess.check_output(["losetup", "-nO", "BACK-FILE", str(device)], text=True).strip()
    os.truncate(backing, 0)
    subprocess.run(["losetup", "--set-capacity", str(device)], check=True)
    with pytest.raises(DrivelabError) as caught:
        resolve_target(str(device))
    assert caught.value.code == "T104"


@pytest.mark.needs_root
@pytest.mark.provokes("T107")
def test_a_node_without_a_device_is_no_target(tmp_path: Path) -> None:
    node = tmp_path / "node"
    os.mknod(node, 0o060600, os.makedev(240, 77))
    with pytest.raises(DrivelabError) as caught:
        resolve_target(str(node))
    assert caught.value.code == "T107"


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
@pytest.mark.provokes("T102")
def test_without_rights_neither_drives_nor_closed_directories_are_targets(
    make_loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = make_loop_device()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    tmp_path.chmod(0o755)
    for text in (device, closed, closed / "new.bin", tmp_path / "new.bin"):
        with as_ordinary_user(), pytest.raises(DrivelabError) as caught:
            require_writable(resolve_target(str(text)))
        assert caught.value.code == "T102", text
        assert caught.value.do


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_an_ordinary_user_sees_the_drives_with_the_reasons_for_what_is_missing(
    make_loop_device: MakeLoopDevice,
) -> None:
    device = make_loop_device()
    with as_ordinary_user():
        drive = next(drive for drive in list_drives() if drive.name == device.name)
    assert drive.size_bytes == 64 * 2**20
    assert drive.touch.verdict == "unknown"
    assert "needs root" in drive.unknown["use"]


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_without_any_tool_the_drives_are_listed_all_the_same(
    make_loop_device: MakeLoopDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = make_loop_device()
    with_tools = read_drives([device.name])[0]
    monkeypatch.setattr(tools, "find_tool", lambda name: None)
    assert read_drives([device.name])[0] == with_tools


def test_a_missing_tool_is_named() -> None:
    assert tools.run_tool(["no-such-tool"]).reason == "no-such-tool is not installed"
    assert tools.ask_drive(["no-such-tool"], Path("/dev/null")).reason == "no-such-tool is not installed"


def test_a_tool_that_does_not_end_is_given_up() -> None:
    assert tools.run_tool(["sleep", "60"], timeout_s=0.05).reason == "sleep did not answer within 0.05 s"


def test_a_tool_that_only_complains_is_quoted() -> None:
    output = tools.run_tool(["sh", "-c", "echo first >&2; echo no such page >&2; exit 5"])
    assert output.reason == "sh: no such page"
