"""Which parts of a file were really written, as the file system's own map says (FIEMAP).

A read of a hole, or of space that was reserved and never written, is answered
with zeros by the file system: the drive does nothing, and the latency is
fantasy. The map tells before a read trial what its answers can be worth.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields

from drivelab.model.plain import Plain

# linux/fiemap.h and linux/fs.h
_FS_IOC_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQQQLLLL")
_EXTENTS_PER_CALL = 512
_FLAG_SYNC = 0x1
_LAST, _UNKNOWN, _DELALLOC, _ENCODED = 0x1, 0x2, 0x4, 0x8
_ENCRYPTED, _INLINE, _TAIL, _UNWRITTEN, _SHARED = 0x80, 0x200, 0x400, 0x800, 0x2000


@dataclass(frozen=True, slots=True)
class Extent:
    """One stretch of a file and what its map says about it."""

    logical_bytes: int
    physical_bytes: int
    length_bytes: int
    flags: int


@dataclass(frozen=True, slots=True)
class ExtentShares(Plain):
    """How many bytes of a range are in which state.

    Attributes
    ----------
    method : str
        ``fiemap``, or empty when the map could not be read.
    reason : str
        Why it could not be read.
    range_bytes : int
        Length of the range within the file.
    written_bytes : int
        Data that lie at a known place on the drive: the only bytes that a read fetches from there.
    unwritten_bytes, hole_bytes : int
        Reserved and never written; not even reserved. Both read as zeros without any I/O.
    delayed_bytes : int
        In memory only, not placed yet.
    inline_bytes : int
        Inside the file system's own blocks.
    encoded_bytes : int
        Compressed or encrypted by the file system (counted as written, too).
    shared_bytes : int
        Shared with another file (counted as written, too).
    extent_count : int
        Stretches that the range consists of.
    """

    TOLD = ("written_share",)

    method: str
    reason: str
    range_bytes: int = 0
    written_bytes: int = 0
    unwritten_bytes: int = 0
    hole_bytes: int = 0
    delayed_bytes: int = 0
    inline_bytes: int = 0
    encoded_bytes: int = 0
    shared_bytes: int = 0
    extent_count: int = 0

    @property
    def written_share(self) -> float | None:
        """Written part of the range, 0..1; None when it is not known."""
        return self.written_bytes / self.range_bytes if self.method and self.range_bytes else None


def extent_shares(path: str, *, start_bytes: int = 0, length_bytes: int = 0, sync: bool = False) -> ExtentShares:
    """State of a range of a file, by the file system's map.

    Parameters
    ----------
    path : str
        A regular file; for anything else there is no map, and the reason says so.
    start_bytes, length_bytes : int
        The range; a length of 0 is up to the end. It is cut at the end of the file.
    sync : bool
        Write out the file first, so that no data lack their place. Only for files of our own.

    Returns
    -------
    ExtentShares
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return ExtentShares("", f"cannot open it for reading: {error.strerror}")
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return ExtentShares("", "only files have a map of extents")
        end = min(facts.st_size, start_bytes + length_bytes) if length_bytes else facts.st_size
        if end <= start_bytes:
            return ExtentShares("fiemap", "")
        extents = read_extents(descriptor, start_bytes, end - start_bytes, sync=sync)
    except OSError as error:
        return ExtentShares("", f"the file system gives no map of extents: {error.strerror}")
    finally:
        os.close(descriptor)
    return shares_of(extents, start_bytes, end)


def read_extents(descriptor: int, start_bytes: int, length_bytes: int, *, sync: bool = False) -> list[Extent]:
    """The extents that overlap a range of an open file, ascending.

    Raises
    ------
    OSError
        The file system has no such map.
    """
    found: list[Extent] = []
    end = start_bytes + length_bytes
    position = start_bytes
    while position < end:
        buffer = bytearray(_HEADER.size + _EXTENTS_PER_CALL * _EXTENT.size)
        flags = _FLAG_SYNC if sync else 0
        _HEADER.pack_into(buffer, 0, position, end - position, flags, 0, _EXTENTS_PER_CALL, 0)
        fcntl.ioctl(descriptor, _FS_IOC_FIEMAP, buffer)
        mapped = _HEADER.unpack_from(buffer, 0)[3]
        batch = [_extent(buffer, index) for index in range(mapped)]
        found += batch
        if not batch or batch[-1].flags & _LAST:
            break
        position = batch[-1].logical_bytes + batch[-1].length_bytes
    return found


def is_placed(extent: Extent) -> bool:
    """Whether the extent has a place of its own on the device, and lies there as it is."""
    return not extent.flags & (_UNKNOWN | _DELALLOC | _ENCODED | _INLINE | _TAIL)


def _extent(buffer: bytearray, index: int) -> Extent:
    fields = _EXTENT.unpack_from(buffer, _HEADER.size + index * _EXTENT.size)
    return Extent(logical_bytes=fields[0], physical_bytes=fields[1], length_bytes=fields[2], flags=fields[5])


def in_all(found: Sequence[ExtentShares]) -> ExtentShares:
    """The state of the same range of several files together; not known where it is not known of one of them."""
    unknown = next((each for each in found if not each.method), None)
    if unknown is not None:
        return unknown
    counted = [field.name for field in fields(ExtentShares) if field.name not in ("method", "reason")]
    sums = {name: sum(getattr(each, name) for each in found) for name in counted}
    return ExtentShares(found[0].method, "", **sums)


def shares_of(extents: list[Extent], start_bytes: int, end_bytes: int) -> ExtentShares:
    """State of a range, given the extents that overlap it."""
    counted = dict.fromkeys(("written", "unwritten", "delayed", "inline", "encoded", "shared"), 0)
    covered = pieces = 0
    for extent in extents:
        first = max(extent.logical_bytes, start_bytes)
        size = min(extent.logical_bytes + extent.length_bytes, end_bytes) - first
        if size <= 0:
            continue
        pieces += 1
        covered += size
        counted[_state(extent.flags)] += size
        if extent.flags & (_ENCODED | _ENCRYPTED):
            counted["encoded"] += size
        if extent.flags & _SHARED:
            counted["shared"] += size
    return ExtentShares(
        method="fiemap",
        reason="",
        range_bytes=end_bytes - start_bytes,
        written_bytes=counted["written"],
        unwritten_bytes=counted["unwritten"],
        hole_bytes=end_bytes - start_bytes - covered,
        delayed_bytes=counted["delayed"],
        inline_bytes=counted["inline"],
        encoded_bytes=counted["encoded"],
        shared_bytes=counted["shared"],
        extent_count=pieces,
    )


def _state(flags: int) -> str:
    if flags & _UNWRITTEN:
        return "unwritten"
    # delayed allocation also sets UNKNOWN, so it has to be asked first
    if flags & (_DELALLOC | _UNKNOWN):
        return "delayed"
    if flags & (_INLINE | _TAIL):
        return "inline"
    return "written"
