"""Reads files that somebody else may have put there: regular ones only, and no more of them than is sensible."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFBLK: "a drive",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
}


def read_regular(path: Path | str, *, bytes_max: int) -> tuple[bytes, os.stat_result]:
    """All of a regular file, and the status of the very file that was read.

    Raises
    ------
    OSError
        It cannot be opened or read; it is no regular file (EINVAL); it is larger (EFBIG). Its ``strerror`` says so.
    """
    with opened_regular(path) as file:
        status = os.fstat(file.fileno())
        # a file may grow while it is read
        content = file.read(bytes_max + 1) if status.st_size <= bytes_max else b""
        if max(status.st_size, len(content)) > bytes_max:
            raise OSError(errno.EFBIG, f"it is larger than {bytes_max // 1024} KiB")
    return content, status


def opened_regular(path: Path | str) -> BinaryIO:
    """A regular file that is open for reading.

    Raises
    ------
    OSError
        It cannot be opened; it is no regular file (EINVAL). Its ``strerror`` says so.

    Notes
    -----
    Nothing is waited for: a pipe that nobody writes to is refused as well.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, "a path holds no NUL character") from error
    try:
        _refuse_others(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def require_regular(path: Path | str) -> None:
    """Return only if a path leads to a regular file: for libraries that open it themselves, and would wait for a pipe.

    Raises
    ------
    OSError
        It leads to none.
    """
    _refuse_others(os.stat(path))


def _refuse_others(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, and no regular file")
