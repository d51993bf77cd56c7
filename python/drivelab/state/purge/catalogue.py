"""The list of purges by their names, and the order of steps that all of them share."""

from __future__ import annotations

import mmap
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from drivelab.inventory.block_devices import SECTOR_BYTES, device_node, directory_of, disk_of
from drivelab.inventory.consent import require_same_identity
from drivelab.inventory.sysfs import read_int
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted_of
from drivelab.model.target import TargetFacts
from drivelab.state.exclusive import held_alone
from drivelab.state.held_device import look_before_writing
from drivelab.state.journal import Journal
from drivelab.state.programs import require_root
from drivelab.state.purge.ata_secure_erase import KIND, AtaSecureErase, undo_ata_password
from drivelab.state.purge.method import PurgeMethod, PurgeProgress
from drivelab.state.purge.nvme_format import NvmeFormat
from drivelab.state.purge.nvme_sanitize import NvmeSanitize

_MARK_BYTES = 4096
_PLACES = 16
_METHODS: tuple[PurgeMethod, ...] = (NvmeFormat(), NvmeSanitize(), AtaSecureErase())
PURGES: dict[str, PurgeMethod] = {method.name: method for method in _METHODS}
# the first of them that the drive takes
ANY_PURGE = "any"
UNDO: dict[str, Callable[..., str]] = {KIND: undo_ata_password}


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did.

    Attributes
    ----------
    method : str
        A name of `PURGES`.
    seconds : float
        From the first command to the drive until it had ended.
    marks : int
        Blocks of known data that were on the drive before, from its first to
        its last, and that could not be read any more afterwards.
    """

    method: str
    seconds: float
    marks: int


def purge_reason(drive: DriveFacts, method: str, paths: SystemPaths = SYSTEM) -> str:
    """Why a drive cannot be purged that way; empty when it can."""
    return PURGES[method].reason(drive, paths)


def any_purge(drive: DriveFacts | None) -> str:
    """The first way in which a drive can be purged; ``any`` where there is none, which no drive takes."""
    return next((name for name in PURGES if drive is not None and not purge_reason(drive, name)), ANY_PURGE)


def purge(
    target: TargetFacts,
    method: str,
    journal: Journal,
    progress: PurgeProgress = lambda _: None,
    paths: SystemPaths = SYSTEM,
) -> Purged:
    """Have a drive erase all that it holds, and make sure that it did.

    Consent was asked for before; that it still is the same drive, and that
    nobody uses it, is made sure of once more.

    Parameters
    ----------
    target : TargetFacts
        A whole drive, as resolved.
    method : str
        A name of `PURGES`.
    journal : Journal
        Learns of what would have to be undone when the purge is interrupted.
    progress : callable, optional
        Called with the part that is done, 0 to 1.

    Raises
    ------
    DrivelabError
        C201 to C209: the drive may not be written to any more. R401: not root. R402,
        R403: a program is not installed, or failed. R410: the drive cannot be purged that way. R411: the drive did
        not do it, or what was on it can still be read.
    """
    require_root("a purge")
    name = require_same_identity(target, paths)
    drive = target.drive
    if drive is None or drive.name != name or disk_of(name, paths) != name:
        what = f"{target.path} is no whole drive, and a purge erases the whole drive"
        raise DrivelabError("R410", what, where=target.text)
    reason = purge_reason(drive, method, paths)
    if reason:
        raise DrivelabError("R410", f"{target.path} cannot be purged by {method}: {reason}", where=target.text)
    node = str(device_node(name, paths))
    look_before_writing(node)
    with held_alone(node):
        size_bytes = read_int(directory_of(name, paths) / "size") * SECTOR_BYTES
        marks = _write_marks(node, size_bytes)
        begun = time.monotonic()
        PURGES[method].purge(name, journal, progress, paths)
        seconds = time.monotonic() - begun
    found, count = marks.read_again(), len(marks.content_by_offset)
    if found.left:
        held = counted_of(found.left, count, "block", "hold")
        what = f"of those looked at, {held} what was there before {method}"
        raise DrivelabError("R411", what, where=node, do="do not trust the drive to erase anything")
    if not found.readable:
        do = "unplug the drive's power and plug it in again, then look: drivelab drives"
        raise DrivelabError("R411", f"no block can be read after {method}", where=node, do=do)
    return Purged(method, seconds, count)


@dataclass(frozen=True, slots=True)
class MarksRead:
    """What was found where marks had been written.

    Attributes
    ----------
    readable : int
        Blocks that can be read at all.
    left : int
        Those that still hold their mark.
    """

    readable: int
    left: int


@dataclass(frozen=True, slots=True)
class Marks:
    """Blocks of random data that were written to a drive.

    Attributes
    ----------
    content_by_offset : dict of int to bytes
        What was written where, in bytes from the beginning.
    """

    node: str
    content_by_offset: dict[int, bytes]

    def read_again(self) -> MarksRead:
        """What can be read of them now."""
        readable = left = 0
        with _opened(self.node, os.O_RDONLY) as descriptor, mmap.mmap(-1, _MARK_BYTES) as buffer:
            for offset, content in self.content_by_offset.items():
                try:
                    got = os.preadv(descriptor, [buffer], offset)
                except OSError:
                    # some drives answer so for a block that they have erased
                    continue
                readable += 1
                left += buffer[:got] == content
        return MarksRead(readable, left)


def _write_marks(node: str, size_bytes: int) -> Marks:
    """Write marks to a drive, from its first block to its last; what was there is lost."""
    last = (size_bytes - _MARK_BYTES) // _MARK_BYTES
    offsets = sorted({last * place // (_PLACES - 1) * _MARK_BYTES for place in range(_PLACES)})
    contents = {offset: secrets.token_bytes(_MARK_BYTES) for offset in offsets}
    try:
        with _opened(node, os.O_WRONLY) as descriptor, mmap.mmap(-1, _MARK_BYTES) as buffer:
            for offset, content in contents.items():
                buffer[:] = content
                os.pwritev(descriptor, [buffer], offset)
            os.fsync(descriptor)
    except OSError as error:
        raise DrivelabError("R403", f"it cannot be written: {error.strerror}", where=node) from error
    marks = Marks(node, contents)
    if marks.read_again().left != len(contents):
        raise DrivelabError("R403", "what was written to it cannot be read again", where=node)
    return marks


@contextmanager
def _opened(node: str, flags: int) -> Iterator[int]:
    """The drive, past the page cache: a drive that erases itself tells the cache nothing."""
    descriptor = os.open(node, flags | os.O_DIRECT | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
