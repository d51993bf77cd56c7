"""The inventory of a recorded machine says what that machine was."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from drivelab.inventory import lsblk
from drivelab.inventory.drives import list_drives
from drivelab.inventory.system_paths import SystemPaths
from drivelab.inventory.usage import read_users, usage_of
from drivelab.model.drive import DriveFacts


@pytest.fixture
def drives(recorded_system: SystemPaths) -> dict[str, DriveFacts]:
    return {drive.name: drive for drive in list_drives(recorded_system, ask_tools=False)}


def test_every_drive_is_listed_and_no_volume_or_array(drives: dict[str, DriveFacts]) -> None:
    assert list(drives) == ["loop0", "loop1", "nvme0n1", "sda", "sdb", "sdc", "sdd", "vda"]


def test_transports_are_told_apart(drives: dict[str, DriveFacts]) -> None:
    assert {name: drive.transport for name, drive in drives.items()} == {
        "loop0": "loop",
        "loop1": "loop",
        "nvme0n1": "nvme",
        "sda": "sata",
        "sdb": "virtio",
        "sdc": "usb",
        "sdd": "usb",
        "vda": "virtio",
    }


def test_virtual_drives_are_labelled(drives: dict[str, DriveFacts]) -> None:
    assert drives["loop0"].virtual == "loop device"
    assert drives["vda"].virtual == "virtio drive of a virtual machine"
    assert drives["sdb"].virtual == "virtio drive of a virtual machine (QEMU)"
    assert drives["nvme0n1"].virtual == "virtual drive of QEMU"


def test_both_views_of_the_cache_stand_side_by_side(drives: dict[str, DriveFacts]) -> None:
    cache = drives["sda"].write_cache
    assert (cache.drive_enabled, cache.drive_source) == (True, "sysfs cache_type, as of the last scan")
    assert (cache.kernel_mode, cache.kernel_uses_fua) == ("write back", False)
    assert drives["nvme0n1"].write_cache.drive_enabled is None
    assert "write_cache" in drives["nvme0n1"].unknown


def test_limits_and_scheduler_are_those_of_the_queue(drives: dict[str, DriveFacts]) -> None:
    assert (drives["sdb"].logical_block_size_bytes, drives["sdb"].physical_block_size_bytes) == (512, 4096)
    assert (drives["sda"].scheduler, drives["sdb"].scheduler) == ("mq-deadline", "none")
    assert drives["sda"].size_bytes == 256 * 2**20
    assert not drives["sdd"].discard.is_supported
    assert drives["sdc"].discard.is_supported


def test_links_are_those_of_sysfs(drives: dict[str, DriveFacts]) -> None:
    sata, usb = drives["sda"].link, drives["sdd"].link
    assert sata is not None
    assert sata.rate_bits_per_s == 1_500_000_000
    assert usb is not None
    assert (usb.rate_bits_per_s, usb.driver) == (5_000_000_000, "usb-storage")
    assert any("one command at a time" in note for note in drives["sdd"].notes)
    assert drives["vda"].link is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sda", "sda1 is mounted on /mnt/data"),
        ("sda", "sda2 is used as swap"),
        ("sdb", "sdb is held by dm-0 (LVM volume vg-home)"),
        ("sdb", "dm-0 is mounted on /mnt/lv"),
        ("sdc", "sdc is mounted on /mnt/pool"),
        ("sdd", "sdd is used as mounted btrfs file system of sdc, sdd"),
        ("nvme0n1", "nvme0n1 is held by md0 (raid1)"),
        ("vda", "md0 is mounted on /mnt/raid"),
    ],
)
def test_drives_in_use_may_not_be_touched_and_the_reason_is_given(
    drives: dict[str, DriveFacts], name: str, reason: str
) -> None:
    assert drives[name].touch.verdict == "in_use"
    assert reason in drives[name].touch.reasons
    assert drives[name].touch.erase_argument == ""


def test_what_sits_on_a_drive_is_a_tree(drives: dict[str, DriveFacts]) -> None:
    assert [layer.name for layer in drives["sda"].use.walk()] == ["sda", "sda1", "sda2"]
    assert [layer.name for layer in drives["nvme0n1"].use.walk()] == ["nvme0n1", "md0"]
    assert drives["sda"].use.children[0].start_bytes == 2048 * 512


def test_lsblk_adds_contents_and_labels(recorded_system: SystemPaths, golden: Callable[[str], str]) -> None:
    listed = lsblk.parse(golden("lsblk_udev.json"))
    use = usage_of("sda", listed, read_users(recorded_system), recorded_system)
    assert use.contents == "gpt"
    assert (use.children[0].contents, use.children[0].label) == ("vfat", "EFI")


def test_lsblk_gives_partitions_no_partition_table(recorded_system: SystemPaths, golden: Callable[[str], str]) -> None:
    listed = lsblk.parse(golden("lsblk_udev.json"))
    use = usage_of("sda2", {"sda2": listed["sda3"]}, read_users(recorded_system), recorded_system)
    assert use.contents != "gpt"


def test_drives_are_complete_as_json(drives: dict[str, DriveFacts]) -> None:
    document = drives["sda"].to_json()
    assert document["serial"] == "LAB-d1"
    assert document["link"]["ceiling_bytes_per_s"] == 150_000_000
    assert document["touch"]["may_be_erased"] is False
    assert document["use"]["children"][1]["used_by"] == ["swap"]
    assert document["write_cache"]["loses_acknowledged_writes"] is False


def test_a_kernel_that_sends_no_flushes_to_a_caching_drive_is_noted(recorded_system: SystemPaths) -> None:
    queue = (recorded_system.sys / "class/block/sda").resolve() / "queue"
    (queue / "write_cache").write_text("write through\n")
    drive = next(drive for drive in list_drives(recorded_system, ask_tools=False) if drive.name == "sda")
    assert drive.write_cache.loses_acknowledged_writes
    assert "power loss loses synced data" in drive.notes[0]


def test_two_paths_to_one_drive_are_noted(recorded_system: SystemPaths) -> None:
    page = (recorded_system.sys / "class/block/sdc").resolve() / "device" / "vpd_pg80"
    page.write_bytes(b"\x00\x80\x00\x06LAB-d2")
    drives = {drive.name: drive for drive in list_drives(recorded_system, ask_tools=False)}
    assert "sdc report the same identity" in drives["sdb"].notes[0]
