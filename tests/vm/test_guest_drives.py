"""drivelab in a guest with a drive of every kind: what it lists, and what the drives themselves say to that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vm.drives import GuestDrive
from vm.guest import Guest
from vm.synchronous_writes import write_and_sync

TRANSPORTS = {"nvme": "nvme", "sata": "sata", "scsi": "virtio", "uas": "usb", "usb-storage": "usb", "virtio": "virtio"}
LINKS = {"sata": "", "uas": "uas", "usb-storage": "usb-storage"}
# who answers for the drive's own setting
ASKED = {
    "nvme": "nvme get-feature",
    "sata": "hdparm",
    "scsi": "sdparm",
    "uas": "sdparm",
    "usb-storage": "sdparm",
    "virtio": "sysfs cache_type, as of the last scan",
}
FLUSHED_NEEDLESSLY = "the drive's write cache is off and the kernel flushes it all the same"
LOSES_SYNCED_DATA = "the drive's write cache is on and the kernel sends it no flushes: power loss loses synced data"

pytestmark = pytest.mark.needs_tool("hdparm", "sdparm", "nvme")


def listed(guest: Guest) -> dict[str, dict[str, Any]]:
    """What drivelab lists, by kind of drive."""
    document = json.loads(guest.run("drivelab", "drives", "--json").stdout)
    by_serial = {facts["serial"]: facts for facts in document["drives"]}
    assert set(by_serial) == {drive.serial for drive in guest.drives}
    return {drive.kind: by_serial[drive.serial] for drive in guest.drives}


def switch_cache_off(guest: Guest, drive: GuestDrive) -> None:
    """By the command that its owner would use; the kernel is not told."""
    if drive.kind == "nvme":
        guest.run("nvme", "set-feature", drive.path.removesuffix("n1"), "-f", "6", "-v", "0")
    elif drive.kind == "sata":
        guest.run("hdparm", "-W0", drive.path)
    else:
        guest.run("sdparm", "--clear=WCE", drive.path)


def test_every_kind_is_listed_with_transport_serial_and_cache(guest: Guest) -> None:
    found = listed(guest)
    for drive in guest.drives:
        facts, cache = found[drive.kind], found[drive.kind]["write_cache"]
        assert (facts["path"], facts["transport"]) == (drive.path, TRANSPORTS[drive.kind]), drive.kind
        assert (facts["serials"], facts["size_bytes"]) == ([drive.serial], drive.size_bytes), drive.kind
        assert facts["virtual"], drive.kind
        assert facts["touch"]["erase_argument"] == drive.serial, drive.kind
        assert facts["discard"]["is_supported"] is (drive.kind != "usb-storage"), drive.kind
        assert (facts["link"] or {}).get("driver") == LINKS.get(drive.kind), drive.kind
        assert (cache["drive_enabled"], cache["drive_source"]) == (True, ASKED[drive.kind]), drive.kind
        assert set(cache["views"].values()) <= {"on", "write back"}, drive.kind
        assert cache["views"]["queue/write_cache"] == cache["kernel_mode"] == "write back", drive.kind
        assert cache["kernel_uses_fua"] is (drive.kind in ("nvme", "scsi", "uas")), drive.kind


def test_a_cache_that_was_switched_off_is_seen_at_the_drive_before_the_kernel_knows(guest: Guest) -> None:
    scsi = [guest.drive(kind) for kind in ("scsi", "uas", "usb-storage")]
    for drive in (guest.drive("nvme"), guest.drive("sata"), *scsi):
        switch_cache_off(guest, drive)
    found = listed(guest)
    for drive in (guest.drive("nvme"), *scsi):
        cache = found[drive.kind]["write_cache"]
        assert (cache["drive_enabled"], cache["kernel_mode"]) == (False, "write back"), drive.kind
        assert cache["views"][ASKED[drive.kind]] == "off", drive.kind
        assert FLUSHED_NEEDLESSLY in found[drive.kind]["notes"], drive.kind
    # libata looks at every command that passes, and changes the kernel's view too
    sata = found["sata"]["write_cache"]
    assert (sata["drive_enabled"], sata["kernel_mode"]) == (False, "write through")
    assert found["virtio"]["write_cache"]["drive_enabled"] is True

    for drive in scsi:
        guest.shell(f"echo 1 >/sys/block/{drive.name}/device/rescan")
    found = listed(guest)
    for drive in scsi:
        views = found[drive.kind]["write_cache"]["views"]
        assert views == {"sdparm": "off", "sysfs cache_type": "write through", "queue/write_cache": "write through"}
        assert FLUSHED_NEEDLESSLY not in found[drive.kind]["notes"], drive.kind


def test_a_kernel_that_was_told_of_no_cache_loses_synced_data_as_drivelab_warns(guest: Guest) -> None:
    for drive in guest.drives:
        guest.shell(f"echo 'write through' >/sys/block/{drive.name}/queue/write_cache")
    found = listed(guest)
    write_and_sync(guest, count=4)
    for drive in guest.drives:
        assert found[drive.kind]["write_cache"]["loses_acknowledged_writes"] is True, drive.kind
        assert LOSES_SYNCED_DATA in found[drive.kind]["notes"], drive.kind
        assert (drive.counts().writes, drive.counts().flushes) == (4, 0), drive.kind
    lost = guest.power_cut()
    assert lost == {drive.serial: 4 * 4096 // 512 for drive in guest.drives}


@pytest.mark.parametrize(
    ("kind", "fua_writes", "flushes"),
    [
        # the kernel sends each write with FUA, and one flush for the synchronous call
        ("nvme", 1, 1),
        # without FUA the block layer flushes after the write, and so does the call
        ("sata", 0, 2),
    ],
)
def test_drivelab_counts_the_commands_that_the_drive_counts(
    guest: Guest, kind: str, fua_writes: int, flushes: int
) -> None:
    drive = guest.drive(kind)
    command = f"drivelab io {drive.path} --operation write --durability o_dsync --direct --count 50 --count-commands"
    found = json.loads(guest.shell(f"{command} --json --erase {drive.serial}").stdout)
    sent, counted, traced = drive.counts(), found["devices"][0], found["context"]["command_counts"]
    assert counted["device"] == traced["device"] == drive.name
    assert (counted["flushes"], traced["flushes_per_operation"]) == (50 * flushes, flushes)
    assert (traced["data_writes_per_operation"], traced["fua_writes_per_operation"]) == (1, fua_writes)
    assert sent.writes == 50 + traced["data_writes"]
    assert sent.flushes == counted["flushes"] + traced["flushes"]
    assert sent.written_bytes == counted["bytes_written"] + traced["bytes_written"]
