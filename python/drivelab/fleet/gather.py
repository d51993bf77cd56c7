"""Brings runs from their hosts here, whole or not at all, and goes on where it stopped."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from drivelab.fleet import host_tasks
from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import Centre
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import NOT_HERE, FleetItem
from drivelab.store.durable import make_directory, storage_error, sync_directory, write_json
from drivelab.store.layout import RUN_JSON
from drivelab.store.regular_file import opened_regular, read_regular

# of a run that is on its way; of one that was not as it came, when it came once more; the list of files of one
_PARTIAL, _DAMAGED, _LIST = ".partial", ".damaged", ".files.json"
_LIST_BYTES_MAX = 64 * 1024**2
_WITHIN_S = 300
# name, size, SHA-256; name, offset, number of bytes
_Listed = tuple[str, int, str]
_Piece = tuple[str, int, int]


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
        F910: what came is not what the host has, or it has the run no more. S501 to S503: it cannot be written.

    Notes
    -----
    What has the name of the run here and is not as it came, gives way to what comes, and is kept beside it:
    ``.NAME.damaged-NUMBER``.
    """
    name = _safe(f"{item.key.replace('/', '_')}-{PurePosixPath(item.run).name}")
    whole, partial = parent / name, parent / f".{name}{_PARTIAL}"
    if os.path.lexists(whole) and await asyncio.to_thread(is_as_it_came, whole):
        return name
    told: bytes = await centre.ask(item.host, host_tasks.files, item.run, within_s=_WITHIN_S)
    head, _, came = told.partition(b"\n")
    listed: list[_Listed] = json.loads(head)
    for file, _, _ in listed:
        _safe(file)
    if RUN_JSON not in {file for file, _, _ in listed}:
        raise DrivelabError("F910", f"{item.run} is not there any more", where=item.host)
    try:
        if came:
            await asyncio.to_thread(_put_at_once, item, listed, came, partial, whole)
        else:
            await _fetch_all(centre, item, listed, partial)
            await asyncio.to_thread(_put_fetched, item, listed, partial, whole)
    except OSError as error:
        raise storage_error(error, partial) from error
    return name


def forget_damaged(book: FleetBook) -> None:
    """Have runs brought once more that are not here as they came: the items say so until they are."""
    for key, item in list(book.fleet.items.items()):
        if item.gathered and not is_as_it_came(book.fleet.directory / item.gathered):
            book.change(key, gathered="", reason=NOT_HERE)


def is_as_it_came(run: Path) -> bool:
    """Whether a run that was brought here still has all files that its host told of, as they were."""
    try:
        content, _ = read_regular(_list_of(run), bytes_max=_LIST_BYTES_MAX)
        return all(_is_file(run / _safe(file), size, digest) for file, size, digest in json.loads(content)["files"])
    except (OSError, ValueError, KeyError, TypeError, DrivelabError):
        return False


def _is_file(path: Path, size: int, digest: str) -> bool:
    with opened_regular(path) as file:
        if path.is_symlink() or os.fstat(file.fileno()).st_size != size:
            return False
        return hashlib.file_digest(file, "sha256").hexdigest() == digest  # type: ignore[arg-type]


def _list_of(run: Path) -> Path:
    """What a host told of the files of a run, beside the run here."""
    return run.with_name(f".{run.name}{_LIST}")


def _put_at_once(item: FleetItem, listed: Sequence[_Listed], came: bytes, partial: Path, whole: Path) -> None:
    """Have a run here of which all files came with one answer: each is opened once."""
    _require_bytes(item, came, sum(size for _, size, _ in listed))
    at = 0
    for file, size, digest in listed:
        content = came[at : at + size]
        at += size
        _require_digest(item, file, hashlib.sha256(content), digest)
        make_directory((partial / file).parent)
        with _opened(partial / file) as out:
            out.write(content)
            # what was here of it may be longer
            out.truncate()
            os.fsync(out.fileno())
    _put_in_place(listed, partial, whole)


async def _fetch_all(centre: Centre, item: FleetItem, listed: Sequence[_Listed], partial: Path) -> None:
    """Have all files here, many small ones with one question."""
    missing = await asyncio.to_thread(_missing, listed, partial)
    while missing:
        wanted, missing = _portion(missing)
        came = await centre.ask(item.host, host_tasks.pieces, item.run, wanted, within_s=_WITHIN_S)
        await asyncio.to_thread(_append, item, partial, wanted, came)


def _missing(listed: Sequence[_Listed], partial: Path) -> list[_Piece]:
    """What of which file is not here yet."""
    found = []
    for file, size, _ in listed:
        path = partial / file
        make_directory(path.parent)
        with _opened(path) as out:
            if (here := out.seek(0, os.SEEK_END)) > size:
                out.truncate(0)
                here = 0
        if here < size:
            found.append((file, here, size - here))
    return found


def _portion(missing: Sequence[_Piece]) -> tuple[list[_Piece], list[_Piece]]:
    """As much as one question asks for, and the rest."""
    wanted: list[_Piece] = []
    room = host_tasks.PIECE_BYTES_MAX
    for number, (file, offset, count) in enumerate(missing):
        taken = min(count, room)
        wanted.append((file, offset, taken))
        room -= taken
        if not room:
            rest = [(file, offset + taken, count - taken)] if taken < count else []
            return wanted, [*rest, *missing[number + 1 :]]
    return wanted, []


def _append(item: FleetItem, partial: Path, wanted: Sequence[_Piece], came: bytes) -> None:
    _require_bytes(item, came, sum(count for _, _, count in wanted))
    at = 0
    for file, offset, count in wanted:
        with _opened(partial / file) as out:
            out.seek(offset)
            out.write(came[at : at + count])
        at += count


def _put_fetched(item: FleetItem, listed: Sequence[_Listed], partial: Path, whole: Path) -> None:
    """Have a run here that came in pieces, once it is known to be what the host has."""
    for file, _, digest in listed:
        with _opened(partial / file) as out:
            try:
                _require_digest(item, file, hashlib.file_digest(out, "sha256"), digest)
            except DrivelabError:
                (partial / file).unlink()
                raise
            os.fsync(out.fileno())
    _put_in_place(listed, partial, whole)


def _require_bytes(item: FleetItem, came: bytes, count: int) -> None:
    if len(came) != count:
        raise DrivelabError("F910", f"files of {item.run} changed while they came over", where=item.host)


def _require_digest(item: FleetItem, file: str, found: hashlib._Hash, digest: str) -> None:
    if found.hexdigest() != digest:
        raise DrivelabError("F910", f"{file} of {item.run} came over damaged", where=item.host)


def _put_in_place(listed: Sequence[_Listed], partial: Path, whole: Path) -> None:
    """Give what came its name, durably; its files are durable already."""
    for directory in {parent for file, _, _ in listed for parent in PurePosixPath(file).parents}:
        sync_directory(partial / directory)
    write_json(_list_of(whole), {"files": listed})
    if os.path.lexists(whole):
        whole.rename(whole.with_name(f".{whole.name}{_DAMAGED}-{secrets.token_hex(2)}"))
    partial.rename(whole)
    sync_directory(whole.parent)


def _opened(path: Path) -> io.BufferedRandom:
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644), "r+b")


def _safe(file: str) -> str:
    """A name from another machine, which must lead below the directory that it is for.

    Raises
    ------
    DrivelabError
        F910: it does not.
    """
    path = PurePosixPath(file)
    if path.is_absolute() or not path.parts or any(part in ("..", ".") for part in path.parts) or "\0" in file:
        raise DrivelabError("F910", f"'{file}' is no name of a file of a run")
    return file
