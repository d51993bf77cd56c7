"""How much of a file lies in the page cache, and how to get it out.

Direct I/O should leave no page behind. Where it does, the file system has
quietly buffered it, and what was measured is memory.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass

# the number is the same on every architecture (Linux 6.5)
_SYS_CACHESTAT = 451
_READ_BYTES = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


class _CachestatRange(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Cachestat(ctypes.Structure):
    _fields_ = (
        ("cached", ctypes.c_uint64),
        ("dirty", ctypes.c_uint64),
        ("writeback", ctypes.c_uint64),
        ("evicted", ctypes.c_uint64),
        ("recently_evicted", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True)
class Residency:
    """Bytes of a range that lie in the page cache.

    Attributes
    ----------
    method : str
        ``cachestat`` or ``mincore``; empty when neither could tell.
    reason : str
        Why neither could.
    resident_bytes, dirty_bytes : int or None
        In the page cache; of these not yet written out. None when not known.
    """

    method: str
    reason: str
    resident_bytes: int | None = None
    dirty_bytes: int | None = None


def in_all(found: Sequence[Residency]) -> Residency:
    """What several files have in the page cache together; not known where it is not known of one of them."""
    unknown = next((each for each in found if each.resident_bytes is None), None)
    if unknown is not None or len(found) == 1:
        return unknown or found[0]
    resident, dirty = ([getattr(each, name) for each in found] for name in ("resident_bytes", "dirty_bytes"))
    return Residency(found[0].method, "", sum(resident), None if None in dirty else sum(dirty))


def residency(path: str, *, start_bytes: int = 0, length_bytes: int = 0) -> Residency:
    """How much of a range of a file or block device is in the page cache.

    Parameters
    ----------
    start_bytes, length_bytes : int
        The range; a length of 0 is up to the end.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return Residency("", f"cannot open it for reading: {error.strerror}")
    try:
        return _residency_of(descriptor, start_bytes, length_bytes)
    finally:
        os.close(descriptor)


def _residency_of(descriptor: int, start_bytes: int = 0, length_bytes: int = 0) -> Residency:
    """How much of a range of an open file is in the page cache."""
    asked = _CachestatRange(start_bytes, length_bytes)
    answer = _Cachestat()
    result = _libc.syscall(_SYS_CACHESTAT, descriptor, ctypes.byref(asked), ctypes.byref(answer), 0)
    if result == 0:
        page = mmap.PAGESIZE
        return Residency("cachestat", "", answer.cached * page, (answer.dirty + answer.writeback) * page)
    refusal = ctypes.get_errno()
    if refusal != errno.ENOSYS:
        return Residency("", f"cachestat: {os.strerror(refusal)}")
    return residency_by_mincore(descriptor, start_bytes, length_bytes)


def residency_by_mincore(descriptor: int, start_bytes: int = 0, length_bytes: int = 0) -> Residency:
    """How much of a range of an open file is in the page cache, on kernels before 6.5.

    Notes
    -----
    To a user who neither owns the file nor may write to it the kernel says that
    every page is resident, so such a user gets no answer here.
    """
    facts = os.fstat(descriptor)
    if os.geteuid() not in (0, facts.st_uid) and not os.access(f"/proc/self/fd/{descriptor}", os.W_OK):
        return Residency("", "mincore tells only the owner of a file")
    end = os.lseek(descriptor, 0, os.SEEK_END)
    start = start_bytes - start_bytes % mmap.PAGESIZE
    stop = min(end, start_bytes + length_bytes) if length_bytes else end
    if stop <= start:
        return Residency("mincore", "", 0)
    try:
        resident_pages = _count_resident_pages(descriptor, start, stop - start)
    except OSError as error:
        return Residency("", f"mincore: {error.strerror}")
    return Residency("mincore", "", resident_pages * mmap.PAGESIZE)


def _count_resident_pages(descriptor: int, start: int, length: int) -> int:
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, start)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        vector = (ctypes.c_ubyte * (-(-length // mmap.PAGESIZE)))()
        result = _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), vector)
        if result != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return sum(page & 1 for page in bytes(vector))
    finally:
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))


def read_into_page_cache(path: str, start_bytes: int = 0, length_bytes: int = 0) -> Residency:
    """What is in the page cache after a range of a file or block device was read.

    Memory that is short may give up what was read first: the answer is read back.

    Parameters
    ----------
    start_bytes, length_bytes : int
        The range; a length of 0 is up to the end.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return Residency("", f"cannot open it for reading: {error.strerror}")
    try:
        buffer, at = bytearray(_READ_BYTES), start_bytes
        end = start_bytes + length_bytes if length_bytes else os.lseek(descriptor, 0, os.SEEK_END)
        try:
            while at < end and (taken := os.preadv(descriptor, [memoryview(buffer)[: end - at]], at)):
                at += taken
        except OSError as error:
            return Residency("", f"cannot be read at byte {at}: {error.strerror}")
        return _residency_of(descriptor, start_bytes, length_bytes)
    finally:
        os.close(descriptor)


def drop_from_page_cache(path: str) -> Residency:
    """What is still in the page cache after a file was written out and its pages were given up.

    The kernel takes ``POSIX_FADV_DONTNEED`` as advice: pages that another
    program has mapped stay, and a file system in memory keeps everything.
    That is why the answer is read back instead of believed.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return Residency("", f"cannot open it for reading: {error.strerror}")
    try:
        try:
            os.fsync(descriptor)
        except OSError:
            # a read-only file system has nothing to write out
            pass
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return _residency_of(descriptor)
    finally:
        os.close(descriptor)
