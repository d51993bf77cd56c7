"""The drive's cache is switched in an order that loses nothing, the kernel follows, and both go back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.settings.setting import Setting
from drivelab.state.undo import undo_all
from fake_drive.system import ATA, FakeSystem

Settings = dict[str, Setting]
SATA = "sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0"
SCSI = "sys/devices/pci0/host3/target3:0:0/3:0:0:0"
NVME = "sys/devices/pci0/nvme/nvme0"
OFF = {"queue/write_cache": "write through"}


def test_a_sata_drive_is_switched_by_hdparm_and_the_kernel_looks(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", state=ATA)
    setting = settings["write-cache"]
    assert setting.read(drive).value == "on"
    assert setting.set(drive, "off", journal) == "off"
    facts = setting.read(drive)
    assert facts.views == {
        "hdparm": "off",
        "sysfs cache_type": "write through",
        "queue/write_cache": "write through",
    }
    assert system.log == ["hdparm -W0 sda", f"{SATA}/rescan: 1"]
    assert undo_all(journal) == [f"switched the write cache of {system.root}/dev/sda back on"]
    assert setting.read(drive).views == {
        "hdparm": "on",
        "sysfs cache_type": "write back",
        "queue/write_cache": "write back",
    }


def test_a_scsi_drive_is_switched_by_sdparm_and_nothing_is_saved_in_it(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sdb", "scsi")
    settings["write-cache"].set(drive, "off", journal)
    assert settings["write-cache"].read(drive).views["queue/write_cache"] == "write through"
    assert system.log == ["sdparm --quiet --clear=WCE sdb", f"{SCSI}/rescan: 1"]


def test_the_kernel_flushes_before_a_scsi_drive_caches(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sdb", "scsi", OFF, {"cache": False})
    settings["write-cache"].set(drive, "on", journal)
    cache_type = f"{SCSI}/scsi_disk/3:0:0:0/cache_type"
    assert system.log == [
        f"{cache_type}: temporary write back",
        "sdparm --quiet --set=WCE sdb",
        f"{cache_type}: as the drive says",
        f"{SCSI}/rescan: 1",
    ]
    assert settings["write-cache"].read(drive).views["queue/write_cache"] == "write back"
    undo_all(journal)
    facts = settings["write-cache"].read(drive)
    assert facts.value == "off"
    assert facts.views["queue/write_cache"] == "write through", "the kernel no longer believes what it was told"


def test_an_nvme_drive_and_the_kernel_are_switched_apart_each_in_its_turn(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme")
    kernel = f"{NVME}/nvme0n1/queue/write_cache"
    setting = settings["write-cache"]
    setting.set(drive, "off", journal)
    assert system.log == ["nvme set-feature nvme0 --feature-id=6 --value=0", f"{kernel}: write through"]
    assert [change.kind for change in journal.outstanding] == ["drive_attribute", "drive_write_cache"]
    undo_all(journal)
    assert system.log[2:] == [f"{kernel}: write back", "nvme set-feature nvme0 --feature-id=6 --value=1"]
    assert setting.read(drive).views == {"nvme get-feature": "on", "queue/write_cache": "write back"}


def test_the_kernel_flushes_before_an_nvme_drive_caches(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme", OFF, {"cache": False})
    kernel = f"{NVME}/nvme0n1/queue/write_cache"
    settings["write-cache"].set(drive, "on", journal)
    undo_all(journal)
    assert system.log == [
        f"{kernel}: write back",
        "nvme set-feature nvme0 --feature-id=6 --value=1",
        "nvme set-feature nvme0 --feature-id=6 --value=0",
        f"{kernel}: write through",
    ]


def test_a_virtio_drive_is_switched_by_the_kernel(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("vdb", "virtio", {"cache_type": "write back"})
    settings["write-cache"].set(drive, "off", journal)
    assert settings["write-cache"].read(drive).views == {
        "sysfs cache_type": "write through",
        "queue/write_cache": "write through",
    }
    undo_all(journal)
    assert settings["write-cache"].read(drive).value == "on"


@pytest.mark.provokes("R404")
def test_a_virtio_drive_whose_host_forbids_it_says_so(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("vdb", "virtio", {"cache_type": "write back"})
    (system.root / "sys/block/vdb/cache_type").chmod(0o444)
    facts = settings["write-cache"].read(drive)
    assert facts.value == "on"
    assert "the host lets nobody switch" in facts.reason
    assert settings["write-cache"].set(drive, "on", journal) == "on", "that it is already"
    with pytest.raises(DrivelabError) as refusal:
        settings["write-cache"].set(drive, "off", journal)
    assert refusal.value.code == "R404"


def test_nothing_is_done_when_drive_and_kernel_are_as_asked(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", state=ATA)
    settings["write-cache"].set(drive, "on", journal)
    assert system.log == []
    assert journal.outstanding == ()


def test_a_kernel_that_flushes_a_cache_that_is_off_is_brought_along(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme", state={"cache": False})
    settings["write-cache"].set(drive, "off", journal)
    assert system.log == [f"{NVME}/nvme0n1/queue/write_cache: write through"]
    undo_all(journal)
    assert settings["write-cache"].read(drive).views["queue/write_cache"] == "write back"


def test_a_drive_that_ignores_the_command_is_an_error_and_the_kernel_goes_on_flushing(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme")
    system.have_programs("ignore", "set-feature")
    with pytest.raises(DrivelabError, match="was set to off and is on"):
        settings["write-cache"].set(drive, "off", journal)
    assert system.read(f"{NVME}/nvme0n1/queue/write_cache") == "write back"
    undo_all(journal)
    assert system.log == ["nvme set-feature nvme0 --feature-id=6 --value=0"]


@pytest.mark.provokes("R403")
def test_a_failure_in_the_middle_leaves_kernel_and_drive_as_they_were(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme", OFF, {"cache": False})
    system.have_programs("fail", "--value=1")
    with pytest.raises(DrivelabError) as failure:
        settings["write-cache"].set(drive, "on", journal)
    assert failure.value.code == "R403"
    undo_all(journal)
    assert settings["write-cache"].read(drive).views == {
        "nvme get-feature": "off",
        "queue/write_cache": "write through",
    }


def test_a_cache_is_not_switched_on_again_while_the_kernel_cannot_be_made_to_flush(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme")
    settings["write-cache"].set(drive, "off", journal)
    # somebody else takes over the kernel's side, so that drivelab leaves it alone
    system.put(f"{NVME}/nvme0n1/queue/write_cache", "none")
    with pytest.raises(DrivelabError) as failure:
        undo_all(journal)
    assert failure.value.code == "R406"
    assert "no flushes" in failure.value.what
    assert not system.state("nvme0")["cache"]
    assert [change.kind for change in journal.outstanding] == ["drive_write_cache"]


def test_a_kernel_that_was_found_without_flushes_is_found_without_them_again(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sdb", "scsi")
    system.put(f"{SCSI}/block/sdb/queue/write_cache", "write through")
    settings["write-cache"].set(drive, "off", journal)
    undo_all(journal)
    facts = settings["write-cache"].read(drive)
    assert facts.views == {"sdparm": "on", "sysfs cache_type": "write back", "queue/write_cache": "write through"}


def test_what_somebody_else_switched_since_stays(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata", state=ATA)
    settings["write-cache"].set(drive, "off", journal)
    system.set_state("sda", ATA | {"cache": True})
    assert undo_all(journal) == []
    assert [line for line in system.log if line.startswith("hdparm")] == ["hdparm -W0 sda"]


def test_a_kill_between_kernel_and_drive_leaves_nothing_believed(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sdb", "scsi", OFF, {"cache": False})
    system.have_programs("fail", "--set=WCE")
    with pytest.raises(DrivelabError):
        settings["write-cache"].set(drive, "on", journal)
    assert system.read(f"{SCSI}/block/sdb/queue/write_cache") == "write back", "as a kill would leave it"
    undo_all(journal)
    assert system.read(f"{SCSI}/block/sdb/queue/write_cache") == "write through"
    assert not (system.drives / "sdb.believes").exists()


def test_a_drive_is_found_again_under_another_name_after_a_reboot(
    system: FakeSystem, settings: Settings, journal: Journal, tmp_path: Path
) -> None:
    settings["write-cache"].set(system.add("sdb", "scsi", serial="S-17"), "off", journal)
    moved = FakeSystem(tmp_path / "after")
    moved.add("sda", "sata", state=ATA | {"cache": False})
    moved.add("sdx", "scsi", OFF, {"cache": False}, serial="S-17")
    moved.put("proc/sys/kernel/random/boot_id", "boot-2")
    system.become(moved)
    undo_all(journal)
    assert system.state("sdx")["cache"]
    assert not system.state("sda")["cache"]


@pytest.mark.provokes("R406")
def test_a_drive_that_is_not_connected_is_asked_for_and_stays_in_the_journal(
    system: FakeSystem, settings: Settings, journal: Journal, tmp_path: Path
) -> None:
    settings["write-cache"].set(system.add("sdb", "scsi", serial="S-17"), "off", journal)
    system.become(FakeSystem(tmp_path / "after"))
    with pytest.raises(DrivelabError, match="S-17 is not connected") as failure:
        undo_all(journal)
    assert failure.value.code == "R406"
    assert "connect it, then run: drivelab restore" in failure.value.do
    assert len(journal.outstanding) == 1


def test_a_drive_without_any_name_is_let_go_after_a_reboot(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    settings["write-cache"].set(system.add("sdb", "scsi"), "off", journal)
    system.put("proc/sys/kernel/random/boot_id", "boot-2")
    assert undo_all(journal) == []
    assert not system.state("sdb")["cache"]


@pytest.mark.provokes("C207")
def test_another_drive_under_the_same_name_is_left_alone(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", state=ATA)
    system.put(f"{SATA}/block/sda/diskseq", "8")
    with pytest.raises(DrivelabError) as refusal:
        settings["write-cache"].set(drive, "off", journal)
    assert refusal.value.code == "C207"
    assert system.log == []


def test_a_volume_that_passes_no_flushes_on_keeps_the_cache_off(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", OFF, ATA | {"cache": False})
    system.put("sys/devices/virtual/block/dm-0/queue/write_cache", "write through")
    system.link("sys/class/block/dm-0", "sys/devices/virtual/block/dm-0")
    system.put(f"{SATA}/block/sda/sda1/partition", "1")
    system.put(f"{SATA}/block/sda/sda1/holders/dm-0", "")
    system.link("sys/class/block/sda1", f"{SATA}/block/sda/sda1")
    assert settings["write-cache"].read(drive).views["dm-0 queue/write_cache"] == "write through"
    with pytest.raises(DrivelabError, match="dm-0 would send no flushes"):
        settings["write-cache"].set(drive, "on", journal)
    assert system.log == []


def test_a_drive_that_does_not_let_itself_be_switched_says_so(system: FakeSystem, settings: Settings) -> None:
    drive = system.add("sdb", "scsi", state={"cache": True, "changeable": "n"})
    facts = settings["write-cache"].read(drive)
    assert facts.value == "on"
    assert facts.reason == "the drive does not let its write cache be switched"


def test_a_namespace_behind_two_controllers_says_so(system: FakeSystem, settings: Settings) -> None:
    drive = system.add("nvme0n1", "nvme")
    for controller in ("nvme0", "nvme1"):
        system.put(f"{NVME}/{controller}/transport", "pcie")
    assert "several controllers: nvme0, nvme1" in settings["write-cache"].read(drive).reason


def test_the_journal_holds_what_is_needed_before_anything_is_changed(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sdb", "scsi", serial="S-17")
    settings["write-cache"].set(drive, "off", journal)
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    queue = ((system.root / "sys/block/sdb").resolve() / "queue").stat().st_ino
    assert lines[1]["facts"] == {
        "others": lines[1]["facts"]["others"],
        "drive": {"name": "sdb", "serials": ["S-17"], "wwn": None, "diskseq": 7, "queue": queue, "boot": "boot-1"},
        "old": "on",
        "new": "off",
        "kernel": "write back",
    }
