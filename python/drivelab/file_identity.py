"""Which file something is, for as long as the file system keeps it: also after the computer was started again."""

from __future__ import annotations

import ctypes
import os
import struct

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_STATX_BYTES = 256
# linux/stat.h, struct statx: stx_mask, and stx_btime as seconds and nanoseconds
_MASK, _BIRTH = struct.Struct("=I"), struct.Struct("=qI")
_BIRTH_OFFSET = 80
_libc = ctypes.CDLL(None, use_errno=True)


def _birth_ns(descriptor: int) -> int:
    """When an open file was made, in ns since 1970; 0 where the file system or the kernel keeps no such time."""
    if not hasattr(_libc, "statx"):
        return 0
    found = ctypes.create_string_buffer(_STATX_BYTES)
    if _libc.statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, found):
        return 0
    if not _MASK.unpack_from(found.raw, 0)[0] & _STATX_BTIME:
        return 0
    seconds, nanoseconds = _BIRTH.unpack_from(found.raw, _BIRTH_OFFSET)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def identity_of(descriptor: int) -> str:
    """Number and birth of an open file or directory: another one that gets its number has another birth."""
    return f"{os.fstat(descriptor).st_ino}:{_birth_ns(descriptor)}"
