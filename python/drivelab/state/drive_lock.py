"""Keeps two runs from changing, or measuring, one drive under each other's hands."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError

LOCKS = Path("/run/drivelab/locks")


@contextmanager
def held_drives(drives: Iterable[DriveFacts], *, alone: bool, locks: Path = LOCKS) -> Iterator[None]:
    """Have drives for oneself while the block runs, or share them with others that change nothing about them.

    Parameters
    ----------
    drives : iterable of DriveFacts
        Those beneath the targets.
    alone : bool
        Whether settings are changed, or a drive is erased.
    locks : Path
        Where locks lie.

    A lock ends with its process. A user who may not write where locks lie
    cannot change settings either; such a user only keeps out of the way of one
    who does.

    Raises
    ------
    DrivelabError
        C211: another run has a drive for itself, or this one needs it for
        itself and another is measuring it.
    """
    held: list[int] = []
    try:
        for drive in {_lock_name(drive): drive for drive in drives}.values():
            descriptor = _opened(locks / _lock_name(drive))
            if descriptor is None:
                continue
            held.append(descriptor)
            _lock(descriptor, drive, alone=alone)
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


def _lock(descriptor: int, drive: DriveFacts, *, alone: bool) -> None:
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError as error:
        doing = "is measuring it" if alone else "changes or erases it"
        do = "wait until that run has ended, or choose another drive"
        raise DrivelabError("C211", f"another run {doing}", where=drive.path, do=do) from error


def _opened(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            # nobody has ever locked it
            return None
    except OSError as error:
        raise DrivelabError("R409", f"no lock can be had: {error.strerror}", where=str(path)) from error


def _lock_name(drive: DriveFacts) -> str:
    identity = drive.identity
    name = identity.wwn or (identity.serials[0] if identity.serials else f"{identity.name}-{identity.diskseq}")
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name) + ".lock"
