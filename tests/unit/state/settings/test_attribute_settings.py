"""Settings that are one attribute of the kernel's: levels, bounds, what comes along, and the way back."""

from __future__ import annotations

import platform
import shutil

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.settings.setting import Setting
from drivelab.state.undo import undo_all
from fake_drive.system import FakeSystem

Settings = dict[str, Setting]
SATA = "sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0"
HOST = "sys/class/scsi_host/host0"
NVME = "sys/devices/pci0/nvme/nvme0"
TOLERANCE = "power/pm_qos_latency_tolerance_us"


@pytest.mark.parametrize(
    ("name", "level", "attribute", "raw"),
    [
        ("kernel-write-cache", "write through", "queue/write_cache", "write through"),
        ("scheduler", "mq-deadline", "queue/scheduler", "none [mq-deadline]"),
        ("nr-requests", "16", "queue/nr_requests", "16"),
        ("device-queue-depth", "1", "device/queue_depth", "1"),
        ("read-ahead", "0", "queue/read_ahead_kb", "0"),
        ("read-ahead", "1048576", "queue/read_ahead_kb", "1024"),
        ("max-sectors", "65536", "queue/max_sectors_kb", "64"),
        ("write-back-throttling", "2000000", "queue/wbt_lat_usec", "2000"),
        ("write-back-throttling", "off", "queue/wbt_lat_usec", "0"),
    ],
)
def test_a_setting_is_set_read_back_and_put_back(
    system: FakeSystem, settings: Settings, journal: Journal, name: str, level: str, attribute: str, raw: str
) -> None:
    drive = system.add("sda", "sata")
    place = f"{SATA}/block/sda/{attribute}"
    before, found = system.read(place), settings[name].read(drive)
    assert settings[name].set(drive, level, journal) == level
    assert system.read(place) == raw
    assert settings[name].read(drive).value == level
    (change,) = journal.outstanding
    assert change.facts["attribute"] == attribute
    assert len(undo_all(journal)) == 1
    assert system.read(place) == before
    assert settings[name].read(drive) == found


def test_a_scheduler_brings_its_requests_and_takes_them_away_again(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", {"queue/nr_requests": "32"})
    settings["scheduler"].set(drive, "mq-deadline", journal)
    assert settings["nr-requests"].read(drive).value == "256"
    undo_all(journal)
    assert settings["nr-requests"].read(drive).value == "32", "not the kernel's default for none"


def test_schedulers_that_the_kernel_can_load_are_levels_too(system: FakeSystem, settings: Settings) -> None:
    drive = system.add("sda", "sata")
    modules = f"lib/modules/{platform.uname().release}/modules.dep"
    system.put(modules, "kernel/block/bfq.ko.zst:\nkernel/block/kyber-iosched.ko:\nkernel/lib/bfqlike.ko:")
    assert settings["scheduler"].read(drive).levels == ("none", "mq-deadline", "kyber", "bfq")


def test_bounds_are_those_of_kernel_and_adapter(system: FakeSystem, settings: Settings) -> None:
    drive = system.add("sda", "sata")
    depth = settings["device-queue-depth"].read(drive)
    assert (depth.value, depth.minimum, depth.maximum) == ("31", 1, 32)
    largest = settings["max-sectors"].read(drive)
    assert (largest.minimum, largest.maximum) == (4096, 1024 * 1024)
    requests = settings["nr-requests"].read(drive)
    assert (requests.minimum, requests.maximum) == (4, 2048)
    # what the kernel says of a device without a limit is no size
    system.put("sys/block/sda/queue/max_hw_sectors_kb", str(2**31 - 1))
    unlimited = settings["max-sectors"].read(drive)
    assert (unlimited.minimum, unlimited.maximum) == (4096, None)


def test_a_level_beyond_the_bounds_changes_nothing(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata")
    with pytest.raises(DrivelabError, match="the most it takes is 1048576") as refusal:
        settings["max-sectors"].set(drive, "2097152", journal)
    assert refusal.value.code == "R404"
    assert journal.outstanding == ()
    assert system.log == []


def test_throttling_that_never_began_is_off(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata")
    place = system.root / SATA / "block/sda/queue/wbt_lat_usec"
    place.unlink()
    assert "CONFIG_BLK_WBT" in settings["write-back-throttling"].read(drive).reason
    # reading it fails, as it does in the kernel before anybody has set it
    place.mkdir()
    assert settings["write-back-throttling"].read(drive).value == "off"
    assert settings["write-back-throttling"].set(drive, "off", journal) == "off"
    assert system.log == []


@pytest.mark.parametrize(
    ("kind", "drive_name", "name", "reason"),
    [
        ("nvme", "nvme0n1", "device-queue-depth", "an NVMe drive has no depth that can be set"),
        ("loop", "loop0", "link-power", "a loop device has no SATA link"),
        ("scsi", "sdb", "link-power", "a SCSI drive has no SATA link"),
        ("sata", "sda", "apst", "a SATA drive has no autonomous power states"),
        ("loop", "loop0", "write-cache", "a loop device has none of its own"),
        ("scsi", "sdb", "apm", "a SCSI drive has no ATA power management"),
    ],
)
def test_what_a_drive_has_not_comes_with_the_reason(
    system: FakeSystem, settings: Settings, journal: Journal, kind: str, drive_name: str, name: str, reason: str
) -> None:
    drive = system.add(drive_name, kind)
    facts = settings[name].read(drive)
    assert facts.reason.startswith(reason)
    assert facts.value is None
    with pytest.raises(DrivelabError) as refusal:
        settings[name].set(drive, "1", journal)
    assert refusal.value.code == "R404"
    assert journal.outstanding == ()


def test_a_depth_that_the_driver_keeps_to_itself_says_so(system: FakeSystem, settings: Settings) -> None:
    drive = system.add("sdb", "scsi")
    (system.root / "sys/block/sdb/device/queue_depth").chmod(0o444)
    facts = settings["device-queue-depth"].read(drive)
    assert (facts.value, facts.reason) == ("31", "its driver lets nobody change it")


def test_the_policy_of_a_link_is_that_of_its_port(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata")
    system.put(f"{HOST}/link_power_management_policy", "med_power_with_dipm")
    settings["link-power"].set(drive, "max_performance", journal)
    assert system.read(f"{HOST}/link_power_management_policy") == "max_performance"
    assert len(undo_all(journal)) == 1
    assert system.read(f"{HOST}/link_power_management_policy") == "med_power_with_dipm"


def test_a_policy_to_which_there_is_no_way_back_is_left_alone(system: FakeSystem, settings: Settings) -> None:
    drive = system.add("sda", "sata")
    system.put(f"{HOST}/link_power_management_policy", "keep_firmware_settings")
    assert "no way back" in settings["link-power"].read(drive).reason
    system.put(f"{HOST}/link_power_management_supported", "0")
    assert "does not manage the power" in settings["link-power"].read(drive).reason


def test_an_nvme_drive_sleeps_as_long_as_the_kernel_bears(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme", state={"cache": True, "apst": 1})
    system.put(f"{NVME}/{TOLERANCE}", "25000")
    facts = settings["apst"].read(drive)
    assert facts.value == "on"
    assert facts.views == {f"nvme/{TOLERANCE}": "25000", "nvme get-feature": "on"}
    assert settings["apst"].set(drive, "on", journal) == "on"
    assert system.log == [], "on is what it is, with a latency of the owner's choice"
    settings["apst"].set(drive, "off", journal)
    assert system.read(f"{NVME}/{TOLERANCE}") == "0"
    undo_all(journal)
    assert system.read(f"{NVME}/{TOLERANCE}") == "25000"


def test_an_nvme_drive_that_never_slept_sleeps_as_the_kernel_would_have_it(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("nvme0n1", "nvme")
    system.put(f"{NVME}/{TOLERANCE}", "0")
    system.put("sys/module/nvme_core/parameters/default_ps_max_latency_us", "5500")
    settings["apst"].set(drive, "on", journal)
    assert system.read(f"{NVME}/{TOLERANCE}") == "5500"
    undo_all(journal)
    assert system.read(f"{NVME}/{TOLERANCE}") == "0"


def test_a_value_that_somebody_else_set_since_stays(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata")
    settings["read-ahead"].set(drive, "4096", journal)
    system.put(f"{SATA}/block/sda/queue/read_ahead_kb", "256")
    assert undo_all(journal) == []
    assert system.read(f"{SATA}/block/sda/queue/read_ahead_kb") == "256"
    assert journal.outstanding == ()


def test_a_queue_of_an_earlier_boot_is_gone_with_what_was_set_in_it(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", serial="S-1")
    settings["read-ahead"].set(drive, "4096", journal)
    system.put("proc/sys/kernel/random/boot_id", "boot-2")
    assert undo_all(journal) == []
    assert system.read(f"{SATA}/block/sda/queue/read_ahead_kb") == "4"


def test_a_drive_that_was_unplugged_took_its_queue_along(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", serial="S-1")
    settings["read-ahead"].set(drive, "4096", journal)
    (system.root / "sys/block/sda").unlink()
    assert undo_all(journal) == []


def test_a_loop_device_with_another_file_still_has_the_queue_that_was_set(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("loop0", "loop")
    before = system.read("sys/block/loop0/queue/read_ahead_kb")
    settings["read-ahead"].set(drive, "4096", journal)
    system.put("sys/block/loop0/diskseq", "8")
    assert len(undo_all(journal)) == 1
    assert system.read("sys/block/loop0/queue/read_ahead_kb") == before


def test_another_loop_device_of_the_same_number_is_left_alone(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    settings["read-ahead"].set(system.add("loop0", "loop"), "4096", journal)
    queue = (system.root / "sys/block/loop0").resolve() / "queue"
    # both at once have two inodes for sure
    shutil.copytree(queue, queue.with_name("new"))
    queue.rename(queue.with_name("old"))
    queue.with_name("new").rename(queue)
    assert undo_all(journal) == []
    assert system.read("sys/block/loop0/queue/read_ahead_kb") == "4"


def test_a_journal_without_the_number_of_a_queue_goes_by_the_count_of_attached_files(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    settings["read-ahead"].set(system.add("loop0", "loop"), "4096", journal)
    (change,) = journal.outstanding
    del change.facts["drive"]["queue"]
    system.put("sys/block/loop0/diskseq", "8")
    assert undo_all(journal) == []


@pytest.mark.provokes("R406")
def test_two_drives_of_one_name_are_not_told_apart(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    settings["read-ahead"].set(system.add("sda", "sata", serial="TWIN"), "4096", journal)
    system.add("sdb", "scsi", serial="TWIN")
    assert len(undo_all(journal)) == 1, "the one that has the name still"
    settings["read-ahead"].set(system.add("vda", "virtio", serial="TWIN"), "4096", journal)
    (system.root / "sys/block/vda").unlink()
    with pytest.raises(DrivelabError, match="sda and sdb both go by the name TWIN") as failure:
        undo_all(journal)
    assert failure.value.code == "R406"


@pytest.mark.provokes("R401")
def test_only_root_sets(
    system: FakeSystem, settings: Settings, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = system.add("sda", "sata")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for name in ("read-ahead", "write-cache", "apm", "governor", "cpu-dma-latency"):
        with pytest.raises(DrivelabError) as refusal:
            settings[name].set(drive, "off", journal)
        assert refusal.value.code == "R401"
    assert journal.outstanding == ()
