"""Keeps two runs from changing, or measuring, one drive under each other's hands.

Locks of root lie where only root can open them, so that nobody else can hold
one; other users see them in the kernel's list of locks. A user who is not root
has locks of its own, which keep out that user's other runs and nobody else:
such a user can change no setting of a drive.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.openers import WAIT, holder_in
from drivelab.inventory.sysfs import read_text
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.state.signals import signals_held

LOCKS = Path("/run/drivelab/locks")
_LIST_OF_LOCKS = Path("/proc/locks")
# others may look up a name, which tells them which lock in the list it is, and may not open what lies there
_DIRECTORY_MODE, _FILE_MODE = 0o711, 0o600


@dataclass(frozen=True, slots=True)
class Places:
    """Where locks lie.

    Attributes
    ----------
    own : Path or None
        Those that this user holds; None where there is no place for them.
    of_root : Path or None
        Those to look at only; None for root.
    """

    own: Path | None
    of_root: Path | None = None


def _lock_places() -> Places:
    """Where the locks of this user lie."""
    if os.geteuid() == 0:
        return Places(LOCKS)
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}")
    return Places(runtime / "drivelab" / "locks" if runtime.is_dir() else None, LOCKS)


@contextmanager
def held_drives(
    drives: Iterable[DriveFacts], *, alone: bool, by: str = "", places: Places | None = None
) -> Iterator[None]:
    """Have drives for oneself while the block runs, or share them with others that change nothing about them.

    Parameters
    ----------
    drives : iterable of DriveFacts
        Those beneath the targets.
    alone : bool
        Whether settings are changed, or a drive is erased.
    by : str
        What others who want a drive are told of whoever has it: ``run NAME``. It stands in the lock, with the process.
    A lock ends with its process, and its file with the last one that held it.

    Raises
    ------
    DrivelabError
        C211: another run has a drive for itself, or this one needs it for
        itself and another is measuring it. R409: no lock can be had.
    """
    places = places or _lock_places()
    with ExitStack() as held:
        for name, drive in {_lock_name(drive): drive for drive in drives}.items():
            if places.of_root is not None:
                _require_free(places.of_root / name, drive)
            if places.own is not None:
                held.callback(_release, *_locked(places.own / name, drive, alone=alone, by=by))
        yield


def _locked(path: Path, drive: DriveFacts, *, alone: bool, by: str) -> tuple[Path, int]:
    """The path of a lock, and the descriptor that holds it."""
    try:
        _make_directory(path.parent)
        while True:
            descriptor = _opened(path)
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = holder_in(read_text(path) or "")
                os.close(descriptor)
                raise _in_use(drive, "is measuring it" if alone else "changes or erases it", holder) from error
            if os.fstat(descriptor).st_nlink:
                os.write(descriptor, f"{os.getpid()} {by}\n".encode())
                return path, descriptor
            # whoever held it before has removed it
            os.close(descriptor)
    except OSError as error:
        raise DrivelabError("R409", f"no lock can be had: {error.strerror}", where=str(path)) from error


def _make_directory(directory: Path) -> None:
    """Have a directory that nobody else can open files in.

    Raises
    ------
    DrivelabError
        R409: it is another user's.
    """
    for place in (directory.parent, directory):
        place.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        status = place.lstat()
        if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
            do = f"find out who made it, and remove it: rm -r {place}"
            raise DrivelabError("R409", "no lock can be had: it belongs to another user", where=str(place), do=do)
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            place.chmod(status.st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))
    if directory.stat().st_mode & 0o777 != _DIRECTORY_MODE:
        directory.chmod(_DIRECTORY_MODE)


def _opened(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE_MODE)
    status = os.fstat(descriptor)
    if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return descriptor
    # others could open it, and one of them may hold it: it is no lock of ours
    os.close(descriptor)
    path.unlink()
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)


def _release(path: Path, descriptor: int) -> None:
    """Give a lock up, and remove its file unless another run shares it; and the files that killed runs left."""
    with signals_held():
        _remove_free(path, descriptor)
        for other in path.parent.glob("*.lock"):
            with suppress(OSError):
                _remove_free(other, os.open(other, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))


def _remove_free(path: Path, descriptor: int) -> None:
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            path.unlink()
    os.close(descriptor)


def _require_free(path: Path, drive: DriveFacts) -> None:
    """Return only if root has not locked a drive for itself, as far as this user can see."""
    try:
        status = path.stat()
    except OSError:
        return
    number = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in (read_text(_LIST_OF_LOCKS) or "").splitlines():
        # number, FLOCK, ADVISORY, WRITE, process, device and inode, first and last byte
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[3] == "WRITE" and words[5] == number:
            raise _in_use(drive, "changes or erases it")


def _in_use(drive: DriveFacts, doing: str, holder: str = "") -> DrivelabError:
    what = f"{drive.identity.name} is being measured by drivelab ({holder})" if holder else f"another run {doing}"
    return DrivelabError("C211", what, where=drive.path, do=WAIT)


def _lock_name(drive: DriveFacts) -> str:
    identity = drive.identity
    name = identity.wwn or (identity.serials[0] if identity.serials else f"{identity.name}-{identity.diskseq}")
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name) + ".lock"
