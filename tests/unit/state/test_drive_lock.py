"""Locks on drives: shared by those that measure, alone for those that change; nobody else can hold one of root's."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from drivelab.inventory.openers import _measures, holder_in
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.state.drive_lock import Places, held_drives
from fake_drive.system import FakeSystem

HOLD = """
import fcntl, os, sys, time
descriptor = os.open(sys.argv[1], os.O_RDONLY)
os.setuid(65534)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def drive(tmp_path: Path) -> DriveFacts:
    return FakeSystem(tmp_path / "system").add("sda", "sata", serial="S-1")


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "drivelab" / "locks"


def is_free(drive: DriveFacts, places: Places, *, alone: bool) -> bool:
    try:
        with held_drives([drive], alone=alone, places=places):
            return True
    except DrivelabError as error:
        assert error.code == "C211"
        return False


@pytest.mark.provokes("C211")
def test_readers_share_a_drive_and_writers_have_it_alone(drive: DriveFacts, locks: Path) -> None:
    places = Places(locks)
    with held_drives([drive], alone=False, places=places):
        assert is_free(drive, places, alone=False)
        assert not is_free(drive, places, alone=True)
    with held_drives([drive], alone=True, places=places):
        assert not is_free(drive, places, alone=False)
        assert not is_free(drive, places, alone=True)


def test_who_wants_a_drive_is_told_who_has_it(drive: DriveFacts, locks: Path) -> None:
    places, process = Places(locks), Path(f"/proc/{os.getpid()}")
    assert _measures(process) == ""
    with held_drives([drive], alone=True, by="run Y", places=places):
        assert _measures(process) == "run Y"
        with (
            pytest.raises(DrivelabError, match=r"sda is being measured by drivelab \(run Y\)"),
            held_drives([drive], alone=True, places=places),
        ):
            pass
    with held_drives([drive], alone=False, places=places):
        assert _measures(process) == f"process {os.getpid()}"


def test_of_several_who_share_a_drive_each_is_known_by_its_process() -> None:
    lock = "1 run X\n2 run Y\n3 run Z\n"
    assert [holder_in(lock, process) for process in (2, 9, None)] == ["run Y", "run Z", "run Z"]
    assert holder_in("") == ""


def test_a_lock_leaves_no_file(drive: DriveFacts, locks: Path) -> None:
    with held_drives([drive], alone=False, places=Places(locks)):
        with held_drives([drive], alone=False, places=Places(locks)):
            pass
        # the other one has it still
        assert [path.name for path in locks.iterdir()] == ["S-1.lock"]
    assert list(locks.iterdir()) == []


def test_only_the_owner_can_open_a_lock(drive: DriveFacts, locks: Path) -> None:
    locks.mkdir(parents=True)
    locks.chmod(0o777)
    with held_drives([drive], alone=True, places=Places(locks)):
        assert locks.stat().st_mode & 0o777 == 0o711
        assert [path.stat().st_mode & 0o777 for path in locks.iterdir()] == [0o600]


def test_whoever_is_not_root_sees_the_lock_of_root(drive: DriveFacts, locks: Path, tmp_path: Path) -> None:
    users = Places(tmp_path / "user" / "locks", of_root=locks)
    assert is_free(drive, users, alone=False)
    with held_drives([drive], alone=False, places=Places(locks)):
        assert is_free(drive, users, alone=False)
    with held_drives([drive], alone=True, places=Places(locks)):
        assert not is_free(drive, users, alone=False)
        assert not is_free(drive, Places(None, of_root=locks), alone=False)


@pytest.mark.needs_root
def test_what_another_user_holds_keeps_nobody_out(drive: DriveFacts, locks: Path) -> None:
    """An older drivelab let everybody open its locks."""
    locks.mkdir(parents=True)
    lock = locks / "S-1.lock"
    lock.touch(mode=0o644)
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_free(drive, Places(locks), alone=True)
        holder.kill()


@pytest.mark.needs_root
@pytest.mark.provokes("R409")
def test_a_directory_of_another_user_is_refused(drive: DriveFacts, locks: Path) -> None:
    locks.mkdir(parents=True)
    os.chown(locks, 65534, 65534)
    with (
        pytest.raises(DrivelabError, match="belongs to another user") as refusal,
        held_drives([drive], alone=True, places=Places(locks)),
    ):
        pass
    assert refusal.value.code == "R409"


def test_a_lock_that_was_just_removed_is_made_anew(
    drive: DriveFacts, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, removed = fcntl.flock, []

    def remove_before(descriptor: int, operation: int) -> None:
        if not removed:
            removed.append(locks / "S-1.lock")
            removed[0].unlink()
        flock(descriptor, operation)

    monkeypatch.setattr("drivelab.state.drive_lock.fcntl.flock", remove_before)
    with held_drives([drive], alone=True, places=Places(locks)):
        assert removed[0].exists()
        assert not is_free(drive, Places(locks), alone=False)
