"""Settings of real drivers: set, seen by the drive itself, and put back as they were found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vm.drives import GuestDrive
from vm.guest import Guest
from vm.synchronous_writes import write_and_sync

CHANGE_SETTINGS = Path(__file__).with_name("change_settings.py")
ALL_KINDS = ("nvme", "sata", "scsi", "uas", "usb-storage", "virtio")
TOOLS = {"nvme": "nvme get-feature", "sata": "hdparm", "scsi": "sdparm", "uas": "sdparm", "usb-storage": "sdparm"}
TIMEOUT_S = 240
KERNEL_MODES = {"on": "write back", "off": "write through"}

pytestmark = pytest.mark.needs_tool("hdparm", "sdparm", "nvme")


def obeyed(guest: Guest, *orders: dict[str, Any], check: bool = True) -> list[dict[str, Any]]:
    """What came of orders to `change_settings.py`; no step of them may have been unsafe."""
    typed = "".join(f"{json.dumps(order)}\n" for order in orders)
    result = guest.run("python", CHANGE_SETTINGS, stdin=typed, timeout_s=TIMEOUT_S, check=check)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["unsafe"] for answer in answers] == [[]] * len(answers)
    return answers


def views_of(drive: GuestDrive, level: str) -> dict[str, str]:
    """What every layer says when drive and kernel agree."""
    views = {TOOLS[drive.kind]: level} if drive.kind in TOOLS else {}
    if drive.kind != "nvme":
        views["sysfs cache_type"] = KERNEL_MODES[level]
    return views | {"queue/write_cache": KERNEL_MODES[level]}


def cache_orders(guest: Guest, level: str) -> list[dict[str, Any]]:
    """Set the cache of every drive, and read it back."""
    orders: list[dict[str, Any]] = []
    for drive in guest.drives:
        orders += [{"set": [drive.name, "write-cache", level]}, {"read": [drive.name, "write-cache"]}]
    return orders


def reads(guest: Guest) -> list[dict[str, Any]]:
    """Orders to read the cache of every drive."""
    return [{"read": [drive.name, "write-cache"]} for drive in guest.drives]


def counted(guest: Guest) -> dict[str, tuple[int, int]]:
    """Writes with FUA and flushes that each drive gets for ten synchronous writes."""
    write_and_sync(guest, count=10)
    return {drive.kind: (drive.counts().fua_writes, drive.counts().flushes) for drive in guest.drives}


def test_a_cache_is_switched_off_in_drive_and_kernel_and_on_again(guest: Guest) -> None:
    found = obeyed(guest, *reads(guest))
    assert [(answer["value"], answer["reason"]) for answer in found] == [("on", "")] * len(ALL_KINDS)
    before = counted(guest)
    assert all(flushes >= 10 for _, flushes in before.values())
    answers = obeyed(guest, *cache_orders(guest, "off"), {"kill": True}, check=False)
    for drive, (done, read) in zip(guest.drives, zip(answers[::2], answers[1::2], strict=True), strict=True):
        assert done.get("level") == "off", (drive.kind, done)
        assert (read["value"], read["views"]) == ("off", views_of(drive, "off")), drive.kind
    # without a cache the drive writes through, and the kernel has nothing to flush
    assert counted(guest) == dict.fromkeys(ALL_KINDS, (10, 0))
    restored = json.loads(guest.run("drivelab", "restore", "--json").stdout)["restored"]
    assert [one["command"] for one in restored] == ["change_settings"]
    switched = [done for done in restored[0]["done"] if done.startswith("switched the write cache of")]
    assert len(switched) == len(guest.drives)
    for drive, read in zip(guest.drives, obeyed(guest, *reads(guest)), strict=True):
        assert (read["value"], read["views"]) == ("on", views_of(drive, "on")), drive.kind
    assert counted(guest) == before


def test_a_cache_that_was_found_off_is_switched_on_after_the_kernel_and_off_before_it(guest: Guest) -> None:
    before = counted(guest)
    obeyed(guest, *cache_orders(guest, "off"), {"kill": True}, check=False)
    # nobody remembers: this is how the drives are found
    guest.shell("rm -r /var/lib/drivelab/journals")
    answers = obeyed(guest, *cache_orders(guest, "on"), {"kill": True}, check=False)
    for drive, (done, read) in zip(guest.drives, zip(answers[::2], answers[1::2], strict=True), strict=True):
        assert done.get("level") == "on", (drive.kind, done)
        assert (read["value"], read["views"]) == ("on", views_of(drive, "on")), drive.kind
    assert counted(guest) == before
    guest.run("drivelab", "restore")
    for drive, read in zip(guest.drives, obeyed(guest, *reads(guest)), strict=True):
        assert (read["value"], read["views"]) == ("off", views_of(drive, "off")), drive.kind
    assert counted(guest) == dict.fromkeys(ALL_KINDS, (10, 0))
    # and the kernel looks at the drive again, instead of believing what it was told meanwhile
    for drive in (guest.drive("scsi"), guest.drive("uas"), guest.drive("usb-storage")):
        guest.shell(f"sdparm --quiet --set=WCE {drive.path}; echo 1 >/sys/block/{drive.name}/device/rescan")
        assert guest.shell(f"cat /sys/block/{drive.name}/queue/write_cache").stdout.strip() == "write back"


def test_what_the_power_took_is_not_put_back(guest: Guest) -> None:
    keeper, drive = guest.drive("virtio"), guest.drive("sata")
    mount = f"mkdir -p /state; mount {keeper.path} /state"
    guest.shell(f"mkfs.ext4 -q {keeper.path}; {mount}")
    state = {"XDG_STATE_HOME": "/state"}
    order = "".join(
        f"{json.dumps(one)}\n"
        for one in ({"set": [drive.name, "write-cache", "off"]}, {"set": [drive.name, "scheduler", "none"]})
    )
    guest.run("python", CHANGE_SETTINGS, stdin=order + '{"kill": true}\n', environment=state, check=False)
    assert "off" in guest.run("hdparm", "-W", drive.path).stdout
    guest.power_cut(kept_fraction=1)
    guest.shell(mount)
    restored = json.loads(guest.run("drivelab", "restore", "--json", environment=state).stdout)["restored"]
    assert [one["done"] for one in restored] == [[]], "the drive has forgotten it by itself"
    assert "on" in guest.run("hdparm", "-W", drive.path).stdout
    guest.shell("umount /state")


def test_queue_depth_scheduler_and_link_of_real_drivers_are_set_and_put_back(guest: Guest) -> None:
    sata, scsi, nvme = guest.drive("sata").name, guest.drive("scsi").name, guest.drive("nvme").name
    wanted = [
        (sata, "device-queue-depth", "1"),
        (sata, "link-power", "medium_power"),
        (sata, "max-sectors", "65536"),
        (scsi, "device-queue-depth", "8"),
        (scsi, "scheduler", "kyber"),
        (scsi, "nr-requests", "32"),
        (nvme, "scheduler", "bfq"),
        (nvme, "write-back-throttling", "off"),
        (nvme, "kernel-write-cache", "write through"),
        (nvme, "cpu-dma-latency", "20"),
    ]
    looks = [{"read": [drive, name]} for drive, name, _ in wanted]
    found = obeyed(guest, *looks)
    orders = [{"set": list(one)} for one in wanted]
    answers = obeyed(guest, *orders, *looks, {"undo": True}, *looks)
    assert [answer.get("level") for answer in answers[:10]] == [level for _, _, level in wanted], answers[:10]
    assert [answer["value"] for answer in answers[10:20]] == [level for _, _, level in wanted]
    assert len(answers[20]["done"]) == 10
    # a scheduler that was loaded stays listed
    assert [without_levels(answer) for answer in answers[21:]] == [without_levels(answer) for answer in found]


def without_levels(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the levels that are possible."""
    return {key: value for key, value in answer.items() if key != "levels"}


def test_what_an_emulated_drive_has_not_comes_with_the_reason(guest: Guest) -> None:
    asked = [("nvme", "apst"), ("nvme", "device-queue-depth"), ("sata", "apm"), ("uas", "link-power")]
    answers = obeyed(guest, *({"read": [guest.drive(kind).name, name]} for kind, name in asked))
    assert [answer["reason"] for answer in answers] == [
        "an NVMe drive has no autonomous power states that the kernel uses",
        "an NVMe drive has no depth that can be set: only SCSI, SAS and SATA drives have one (use nr-requests)",
        "the drive has no advanced power management",
        "a USB drive has no SATA link whose power the kernel manages",
    ]


TRIM_AND_PURGE = """
import json, sys
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import begin_journal, journal_directory
from drivelab.state.purge import purge
from drivelab.state.trim import discard_device
journal = begin_journal(journal_directory())
found = {}
for path in sys.argv[2:]:
    target = resolve_target(path)
    try:
        done = discard_device(target, journal)
        found[path] = [done.bytes, done.commands]
    except DrivelabError as error:
        found[path] = error.code
target = resolve_target(sys.argv[1])
found["marks"] = purge(target, "nvme-format", journal).marks
for method in ("nvme-sanitize", "ata-secure-erase"):
    try:
        purge(target, method, journal)
    except DrivelabError as error:
        found[method] = error.what
journal.close()
print(json.dumps(found))
"""


def test_drives_get_the_discard_and_a_namespace_is_formatted(guest: Guest) -> None:
    nvme = guest.drive("nvme")
    for drive in guest.drives:
        drive.reset_counts()
    paths = [drive.path for drive in guest.drives]
    found = json.loads(guest.run("python", "-c", TRIM_AND_PURGE, nvme.path, *paths, timeout_s=TIMEOUT_S).stdout)
    for drive in guest.drives:
        if drive.kind == "usb-storage":
            assert found[drive.path] == "R410", "its driver passes no discard on"
        else:
            assert found[drive.path][0] == drive.size_bytes, drive.kind
            assert found[drive.path][1] >= 1, drive.kind
            assert drive.counts().discards >= 1, drive.kind
    assert found["marks"] == 16
    assert "its controller has no Sanitize command" in found["nvme-sanitize"]
    assert "an NVMe drive has no ATA secure erase" in found["ata-secure-erase"]
