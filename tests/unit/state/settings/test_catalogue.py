"""The list of settings is whole, and a scratch drive that is not there yet is answered for."""

from __future__ import annotations

from drivelab.model.setting import SETTING_NAMES
from drivelab.state.settings.catalogue import SETTINGS, UNDO, read_settings
from drivelab.state.undo import UNDO as ALL_UNDO
from fake_drive.system import FakeSystem


def test_every_setting_is_there_in_the_order_in_which_they_are_set() -> None:
    assert tuple(SETTINGS) == SETTING_NAMES
    assert {name for name, setting in SETTINGS.items() if setting.is_of_host} == {"governor", "cpu-dma-latency"}


def test_every_kind_of_change_can_be_put_back_by_restore() -> None:
    assert UNDO
    assert all(ALL_UNDO[kind] is undo for kind, undo in UNDO.items())
    assert set(UNDO) == {kind for setting in SETTINGS.values() for kind in setting.undo}


def test_a_drive_is_asked_for_what_is_named_only(system: FakeSystem) -> None:
    drive = system.add("nvme0n1", "nvme")
    found = read_settings(drive, ["scheduler", "governor"], system.paths)
    assert list(found) == ["scheduler", "governor"]
    assert found["scheduler"].value == "none"
    assert not (system.drives / "log").exists(), "no tool was started for them"


def test_a_scratch_drive_that_is_not_made_is_like_the_loop_devices_that_are(system: FakeSystem) -> None:
    system.add("nvme0n1", "nvme")
    system.add("loop0", "loop", {"queue/read_ahead_kb": "1", "queue/write_cache": "write through"})
    system.add("loop1", "loop", {"loop/backing_file": "/var/tmp/x.img"})
    found = read_settings(None, SETTING_NAMES, system.paths)
    assert found["read-ahead"].value == "131072", "that of the one in use"
    assert found["write-cache"].reason.startswith("a loop device has none of its own")
    assert found["kernel-write-cache"].value == "write back", "as every scratch drive begins"
    assert found["governor"].reason


def test_without_any_loop_device_nothing_is_known(system: FakeSystem) -> None:
    found = read_settings(None, SETTING_NAMES, system.paths)
    assert found["scheduler"].reason == "there is no loop device yet that could be looked at"
    assert found["cpu-dma-latency"].reason.startswith("there is no ")
