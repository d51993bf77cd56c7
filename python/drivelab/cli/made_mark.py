"""The mark of a file that drivelab made: writing to it again destroys nothing of anybody else's.

The mark tells which file it is and how drivelab left it. A copy of the file,
or the same file with somebody's data in it, has the mark and is not meant.
"""

from __future__ import annotations

import os
from contextlib import suppress

from drivelab.file_identity import identity_of

_MARK = "user.drivelab.made"


def mark_as_made(descriptor: int) -> None:
    """Mark an open file as it is now; where a file system keeps no such notes, writing to it again needs consent."""
    with suppress(OSError):
        os.setxattr(descriptor, _MARK, _text(descriptor).encode())


def was_made_here(descriptor: int) -> bool:
    """Whether drivelab made an open file, and nobody has changed it since."""
    try:
        return os.getxattr(descriptor, _MARK) == _text(descriptor).encode()
    except OSError:
        return False


def _text(descriptor: int) -> str:
    found = os.fstat(descriptor)
    return f"{identity_of(descriptor)}:{found.st_size}:{found.st_mtime_ns}"
