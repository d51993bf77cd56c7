"""Brings runs from their hosts here, whole or not at all, and goes on where it stopped."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path, PurePosixPath

from drivelab.fleet import host_tasks
from drivelab.fleet.centre import Centre
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetItem
from drivelab.store.durable import make_directory, storage_error

_PARTIAL = ".partial"
_WITHIN_S = 300


async def gathered(centre: Centre, item: FleetItem, parent: Path) -> str:
    """The name of the directory that an item's run has here, once all of it is here.

    Parameters
    ----------
    centre : Centre
        Asks its host.
    item : FleetItem
        Complete there.
    parent : Path
        The directory of the fleet.

    Raises
    ------
    HostGone
        The host left meanwhile; what is here already is kept for the next time.
    DrivelabError
        F910: what came is not what the host has. S501 to S503: it cannot be written.
    """
    name = str(_safe(f"{item.key.replace('/', '_')}-{PurePosixPath(item.run).name}"))
    whole, partial = parent / name, parent / f".{name}{_PARTIAL}"
    if whole.is_dir():
        return name
    make_directory(partial)
    for file, size in await centre.ask(item.host, host_tasks.files, item.run, within_s=_WITHIN_S):
        path = partial / _safe(file)
        try:
            await _fetch(centre, item, file, size, path)
        except OSError as error:
            raise storage_error(error, path) from error
        if _digest(path) != await centre.ask(item.host, host_tasks.digest, item.run, file, within_s=_WITHIN_S):
            path.unlink()
            raise DrivelabError("F910", f"{file} of {item.run} came over damaged", where=item.host)
    for directory in (path for path in partial.rglob("*") if path.is_dir()):
        _sync(directory)
    _sync(partial)
    partial.rename(whole)
    _sync(parent)
    return name


async def _fetch(centre: Centre, item: FleetItem, file: str, size: int, path: Path) -> None:
    """Have all of a file here."""
    make_directory(path.parent)
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644), "r+b") as out:
        out.seek(0, os.SEEK_END)
        if out.tell() > size:
            out.truncate(0)
        while (offset := out.tell()) < size:
            piece = await centre.ask(item.host, host_tasks.piece, item.run, file, offset, within_s=_WITHIN_S)
            if not piece:
                raise DrivelabError("F910", f"{file} of {item.run} ends too early", where=item.host)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())


def _safe(file: str) -> Path:
    """A name from another machine, which must lead below the directory that it is for.

    Raises
    ------
    DrivelabError
        F910: it does not.
    """
    path = PurePosixPath(file)
    if path.is_absolute() or not path.parts or any(part in ("..", ".") for part in path.parts) or "\0" in file:
        raise DrivelabError("F910", f"'{file}' is no name of a file of a run")
    return Path(*path.parts)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
