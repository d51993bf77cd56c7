"""Power management of ATA drives, and the settings of the computer as a whole."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.settings import cpu_dma_latency
from drivelab.state.settings.apm import undo_apm
from drivelab.state.settings.cpu_dma_latency import CpuDmaLatency
from drivelab.state.settings.drive_reference import reference_to
from drivelab.state.settings.setting import Setting
from drivelab.state.undo import undo_all
from fake_drive.system import ATA, FakeSystem

Settings = dict[str, Setting]
POLICIES = "sys/devices/system/cpu/cpufreq"


def test_apm_is_set_read_back_and_put_back(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata", state=ATA | {"apm": "128"})
    facts = settings["apm"].read(drive)
    assert (facts.value, facts.levels, facts.minimum, facts.maximum) == ("128", ("off",), 1, 254)
    assert settings["apm"].set(drive, "off", journal) == "off"
    assert system.log == ["hdparm -B255 sda"]
    assert len(undo_all(journal)) == 1
    assert settings["apm"].read(drive).value == "128"


def test_apm_that_was_off_is_off_again(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata", state=ATA | {"apm": "off"})
    settings["apm"].set(drive, "1", journal)
    undo_all(journal)
    assert system.log == ["hdparm -B1 sda", "hdparm -B255 sda"]


def test_apm_that_somebody_else_set_since_stays(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata", state=ATA)
    settings["apm"].set(drive, "1", journal)
    system.set_state("sda", ATA | {"apm": "100"})
    assert undo_all(journal) == []
    assert settings["apm"].read(drive).value == "100"


def test_a_level_that_hdparm_would_read_as_more_options_never_reaches_it(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    """As from a journal that somebody wrote."""
    drive = system.add("sda", "sata", state=ATA | {"apm": "1"})
    reference = reference_to(drive.name, system.paths)
    with pytest.raises(DrivelabError, match="no level of power management") as refused:
        undo_apm(reference, old="254Y", new="1", paths=system.paths)
    assert (refused.value.code, system.log) == ("R404", [])


def test_a_drive_without_apm_says_so(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata", state={"cache": True})
    assert settings["apm"].read(drive).reason == "the drive has no advanced power management"


@pytest.mark.provokes("R404")
def test_a_drive_that_keeps_its_apm_is_an_error(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    drive = system.add("sda", "sata", state=ATA)
    system.have_programs("ignore", "-B1")
    with pytest.raises(DrivelabError, match="was set to 1 and is 254") as failure:
        settings["apm"].set(drive, "1", journal)
    assert failure.value.code == "R404"
    assert undo_all(journal) == [], "it is not what drivelab set"


def test_a_drive_that_does_not_answer_stays_in_the_journal(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    drive = system.add("sda", "sata", state=ATA)
    settings["apm"].set(drive, "1", journal)
    system.have_programs("fail", "hdparm")
    with pytest.raises(DrivelabError, match="apm may still be 1"):
        undo_all(journal)
    assert len(journal.outstanding) == 1


def test_each_group_of_processors_gets_its_own_governor_back(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    for group, governor in (("policy0", "powersave"), ("policy10", "schedutil"), ("policy2", "performance")):
        system.put(f"{POLICIES}/{group}/scaling_governor", governor)
        system.put(f"{POLICIES}/{group}/scaling_available_governors", "performance powersave schedutil")
    setting = settings["governor"]
    found = setting.read(None)
    assert found.value == "performance, powersave, schedutil"
    assert list(found.views) == ["policy0", "policy2", "policy10"]
    assert setting.set(None, "performance", journal) == "performance"
    assert [change.facts["group"] for change in journal.outstanding] == ["policy10", "policy0"]
    assert len(undo_all(journal)) == 2
    assert setting.read(None) == found


def test_a_governor_that_not_all_processors_have_is_no_level(
    system: FakeSystem, settings: Settings, journal: Journal
) -> None:
    for group, offered in (("policy0", "performance powersave"), ("policy1", "performance")):
        system.put(f"{POLICIES}/{group}/scaling_governor", "performance")
        system.put(f"{POLICIES}/{group}/scaling_available_governors", offered)
    assert settings["governor"].read(None).levels == ("performance",)
    with pytest.raises(DrivelabError):
        settings["governor"].set(None, "powersave", journal)


def test_a_governor_of_an_earlier_boot_is_let_be(system: FakeSystem, settings: Settings, journal: Journal) -> None:
    system.put(f"{POLICIES}/policy0/scaling_governor", "powersave")
    system.put(f"{POLICIES}/policy0/scaling_available_governors", "performance powersave")
    settings["governor"].set(None, "performance", journal)
    system.put("proc/sys/kernel/random/boot_id", "boot-2")
    assert undo_all(journal) == []
    assert system.read(f"{POLICIES}/policy0/scaling_governor") == "performance"


def test_a_computer_without_frequencies_to_control_says_so(settings: Settings) -> None:
    assert "does not control the frequency" in settings["governor"].read(None).reason


class TestWakeUpLatency:
    """The bound on wake-up latency, on a plain file in place of the kernel's."""

    @pytest.fixture
    def file(self, system: FakeSystem) -> Path:
        path = system.root / "dev" / "cpu_dma_latency"
        path.write_bytes(struct.pack("i", 2_000_000_000))
        return path

    def test_it_is_held_until_it_is_undone(self, system: FakeSystem, journal: Journal, file: Path) -> None:
        setting = CpuDmaLatency(system.paths)
        assert setting.read().value == "unlimited"
        assert setting.set(None, "10", journal) == "10"
        (change,) = journal.outstanding
        descriptor = cpu_dma_latency._held[change.facts["number"]]
        assert os.readlink(f"/proc/self/fd/{descriptor}") == str(file)
        assert struct.unpack("i", file.read_bytes()) == (10,)
        assert undo_all(journal) == ["lifted the bound of 10 us on how long processors take to wake up"]
        assert change.facts["number"] not in cpu_dma_latency._held
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)

    def test_one_that_another_process_held_went_with_it(self, system: FakeSystem, journal: Journal) -> None:
        journal.will_change("cpu_dma_latency", number=1, process=os.getpid() + 1, level="10")
        assert undo_all(journal) == []

    def test_nothing_is_held_for_no_bound(self, system: FakeSystem, journal: Journal, file: Path) -> None:
        assert CpuDmaLatency(system.paths).set(None, "unlimited", journal) == "unlimited"
        assert journal.outstanding == ()

    @pytest.mark.provokes("R404")
    def test_a_smaller_bound_of_somebody_else_is_an_error(
        self, system: FakeSystem, journal: Journal, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cpu_dma_latency, "_read", lambda _path: struct.pack("i", 5))
        with pytest.raises(DrivelabError, match="another program holds it at 5") as failure:
            CpuDmaLatency(system.paths).set(None, "10", journal)
        assert failure.value.code == "R404"
        assert len(undo_all(journal)) == 1, "nothing is held on"

    def test_a_kernel_without_it_says_so(self, system: FakeSystem) -> None:
        assert "there is no" in CpuDmaLatency(system.paths).read().reason
