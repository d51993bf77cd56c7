"""The real kernel takes what is set on a loop device, says so when read back, and gets everything back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivelab.inventory.drives import read_drives
from drivelab.inventory.loop_target import with_loop_as_drive
from drivelab.inventory.target import resolve_target
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.run.applied_settings import AppliedSettings
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.settings.catalogue import SETTINGS, read_settings
from drivelab.state.undo import undo, undo_all
from left_over import restore_left_over

MakeLoopDevice = Callable[..., Path]
QUEUE = (
    "scheduler",
    "kernel-write-cache",
    "nr-requests",
    "read-ahead",
    "max-sectors",
    "write-back-throttling",
)

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    begun = begin_journal(tmp_path / "journals")
    yield begun
    undo_all(begun)
    begun.close()


@pytest.fixture
def drive(make_loop_device: MakeLoopDevice) -> Iterator[DriveFacts]:
    """A loop device; its queue settings stay on its number, so what a failed test leaves is put back here."""
    device = make_loop_device()
    facts = read_drives([device.name], ask_tools=False)[0]
    queue = Path(f"/sys/block/{device.name}/queue")
    names = ("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec", "write_cache")
    before = {name: (queue / name).read_text() for name in names if (queue / name).exists()}
    yield facts
    for name, text in before.items():
        chosen = text.partition("[")[2].partition("]")[0] or text
        (queue / name).write_text(chosen)
    assert {name: (queue / name).read_text() for name in before} == before


def levels_of(drive: DriveFacts, name: str) -> list[str]:
    """Some levels that the drive says it can have, other than the one it has; none where the kernel lacks it."""
    facts = read_settings(drive, [name])[name]
    if facts.reason:
        assert (name, "CONFIG_BLK_WBT" in facts.reason) == ("write-back-throttling", True)
        return []
    named = [level for level in facts.levels if level != facts.value]
    numbers = {"nr-requests": "32", "read-ahead": "65536", "max-sectors": "8192", "write-back-throttling": "5000000"}
    return named + [level for level in [numbers.get(name)] if level]


@pytest.mark.parametrize("name", QUEUE)
def test_every_level_is_set_read_back_and_put_back(drive: DriveFacts, journal: Journal, name: str) -> None:
    found = read_settings(drive, QUEUE)
    for level in levels_of(drive, name):
        assert SETTINGS[name].set(drive, level, journal) == level
        assert read_settings(drive, [name])[name].value == level
        assert len(journal.outstanding) == 1
        assert len(undo_all(journal)) == 1
        assert read_settings(drive, QUEUE) == found, f"after {level}"


def test_all_of_them_together_are_put_back_together(drive: DriveFacts, journal: Journal) -> None:
    found = read_settings(drive, QUEUE)
    Path(f"/sys/block/{drive.name}/queue/nr_requests").write_text("64")
    custom = read_settings(drive, QUEUE)
    names = [name for name in QUEUE if levels_of(drive, name)]
    assert set(names) >= {"scheduler", "nr-requests", "read-ahead", "max-sectors", "kernel-write-cache"}
    for name in names:
        SETTINGS[name].set(drive, levels_of(drive, name)[-1], journal)
    assert all(read_settings(drive, QUEUE)[name].value != custom[name].value for name in names)
    undo_all(journal)
    assert read_settings(drive, QUEUE) == custom
    Path(f"/sys/block/{drive.name}/queue/nr_requests").write_text(found["nr-requests"].value or "128")


def test_a_lowered_read_ahead_stays_low_when_other_limits_change(drive: DriveFacts, journal: Journal) -> None:
    SETTINGS["read-ahead"].set(drive, "0", journal)
    SETTINGS["max-sectors"].set(drive, "65536", journal)
    SETTINGS["kernel-write-cache"].set(drive, "write through", journal)
    assert read_settings(drive, ["read-ahead"])["read-ahead"].value == "0"
    change = journal.outstanding[0]
    undo(change, journal)
    assert read_settings(drive, ["read-ahead"])["read-ahead"].value == "0"


def test_requests_stay_as_asked_while_the_scheduler_beneath_them_changes(drive: DriveFacts, journal: Journal) -> None:
    found = read_settings(drive, QUEUE)
    target = with_loop_as_drive(resolve_target(drive.path))
    applied = AppliedSettings(journal)
    for scheduler in ("mq-deadline", "kyber", "none", "as-found", "mq-deadline"):
        wanted = {"nr-requests": "32", "scheduler": scheduler}
        applied.bring(target, wanted)
        assert applied.achieved(target, wanted)[0]["nr-requests"] == "32", scheduler
        assert read_settings(drive, ["nr-requests"])["nr-requests"].value == "32", scheduler
        assert not applied.bring(target, wanted)
    applied.bring(target, {"scheduler": "none"})
    assert read_settings(drive, ["nr-requests"])["nr-requests"].value == "32", "nobody said otherwise"
    applied.bring(target, {"scheduler": "as-found", "nr-requests": "as-found"})
    assert read_settings(drive, QUEUE) == found
    assert journal.outstanding == ()


@pytest.mark.provokes("R404")
@pytest.mark.parametrize(
    ("name", "level"),
    [("read-ahead", "3072"), ("nr-requests", "2048"), ("scheduler", "no-such"), ("max-sectors", "1024")],
)
def test_what_the_kernel_does_not_take_leaves_everything_as_it_was(
    drive: DriveFacts, journal: Journal, name: str, level: str
) -> None:
    found = read_settings(drive, QUEUE)
    with pytest.raises(DrivelabError) as refusal:
        SETTINGS[name].set(drive, level, journal)
    assert refusal.value.code == "R404"
    undo_all(journal)
    assert read_settings(drive, QUEUE) == found


def test_a_killed_process_leaves_nothing_changed(drive: DriveFacts, tmp_path: Path) -> None:
    found = read_settings(drive, QUEUE)
    code = f"""
import pathlib, time
from drivelab.inventory.drives import read_drives
from drivelab.state.journal import begin_journal
from drivelab.state.settings.catalogue import SETTINGS
journal = begin_journal(pathlib.Path({str(tmp_path / "left")!r}), command="drivelab run x")
drive = read_drives([{drive.name!r}], ask_tools=False)[0]
SETTINGS["scheduler"].set(drive, "mq-deadline", journal)
SETTINGS["nr-requests"].set(drive, "32", journal)
print("ready", flush=True)
time.sleep(60)
"""
    kill_when_ready(code)
    assert read_settings(drive, ["nr-requests"])["nr-requests"].value == "32"
    (restored,) = restore_left_over(tmp_path / "left")
    of_requests, of_scheduler = restored.done
    assert of_requests == f"set queue/nr_requests of {drive.path} back to 256"
    # with what the kernel leaves at the number of the other scheduler
    assert of_scheduler.startswith(f"set queue/scheduler of {drive.path} back to none")
    assert read_settings(drive, QUEUE) == found


def test_a_process_killed_between_journal_and_kernel_has_nothing_to_put_back(drive: DriveFacts, tmp_path: Path) -> None:
    found = read_settings(drive, QUEUE)
    code = f"""
import pathlib, time
from drivelab.inventory.drives import read_drives
from drivelab.state.journal import begin_journal
from drivelab.state.settings import attribute
from drivelab.state.settings.catalogue import SETTINGS
def wait(*_):
    print("ready", flush=True)
    time.sleep(60)
attribute.write_attribute = wait
journal = begin_journal(pathlib.Path({str(tmp_path / "left")!r}))
SETTINGS["scheduler"].set(read_drives([{drive.name!r}], ask_tools=False)[0], "mq-deadline", journal)
"""
    kill_when_ready(code)
    (restored,) = restore_left_over(tmp_path / "left")
    assert restored.done == ()
    assert read_settings(drive, QUEUE) == found


@pytest.mark.alone
@pytest.mark.parametrize(("name", "level"), [("scheduler", "mq-deadline"), ("nr-requests", "32")])
def test_what_was_set_stays_on_a_loop_device_when_its_file_is_exchanged_and_is_put_back_there(
    drive: DriveFacts, journal: Journal, tmp_path: Path, name: str, level: str
) -> None:
    def now() -> str | None:
        return read_settings(read_drives([drive.name], ask_tools=False)[0], [name])[name].value

    backing = Path(f"/sys/block/{drive.name}/loop/backing_file").read_text().strip()
    before = now()
    SETTINGS[name].set(drive, level, journal)
    subprocess.run(["losetup", "--detach", drive.path], check=True)
    other = tmp_path / "other.img"
    other.write_bytes(bytes(2**20))
    subprocess.run(["losetup", drive.path, str(other)], check=True)
    try:
        assert now() == level
        assert len(undo_all(journal)) == 1
        assert now() == before
    finally:
        subprocess.run(["losetup", "--detach", drive.path], check=True)
        subprocess.run(["losetup", drive.path, backing], check=True)


# there is one bound for all processors
@pytest.mark.alone
def test_the_kernel_forgets_a_wake_up_bound_with_the_process_that_held_it(tmp_path: Path, journal: Journal) -> None:
    setting = SETTINGS["cpu-dma-latency"]
    found = setting.read(None)
    if found.value != "unlimited":
        # another program holds it, or there is no such file: neither is changed by asking for it
        with pytest.raises(DrivelabError, match="cpu-dma-latency cannot be"):
            setting.set(None, str(int(found.value or 0) + 1), journal)
        undo_all(journal)
        assert setting.read(None) == found
        return
    code = f"""
import pathlib, time
from drivelab.state.journal import begin_journal
from drivelab.state.settings.catalogue import SETTINGS
journal = begin_journal(pathlib.Path({str(tmp_path / "left")!r}))
SETTINGS["cpu-dma-latency"].set(None, "20", journal)
print(SETTINGS["cpu-dma-latency"].read(None).value, flush=True)
time.sleep(60)
"""
    assert kill_when_ready(code, lambda: setting.read(None).value == "20") == "20"
    assert setting.read(None) == found
    (restored,) = restore_left_over(tmp_path / "left")
    assert restored.done == ()


def kill_when_ready(code: str, meanwhile: Callable[[], bool] = lambda: True) -> str:
    """Run a program until it has printed a line, kill it, and give the line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        assert line
        assert meanwhile()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    # the kernel closes the files of a killed process in its own time
    time.sleep(0.05)
    return line
