"""Files that may be written to although they are there: drivelab made them, or their owner said so.

A mark on what drivelab made tells which file it is and how drivelab left it. A copy of the file,
or the same file with somebody's data in it, has the mark and is not meant.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from drivelab.file_identity import identity_of
from drivelab.held_directory import HeldDirectory, held_target
from drivelab.inventory.loop_extent import loops_over_file
from drivelab.model.errors import DrivelabError
from drivelab.model.held_target import HeldTarget

_MARK = "user.drivelab.made"


def mark_as_made(descriptor: int) -> None:
    """Mark an open file as it is now; where a file system keeps no such notes, writing to it again needs consent."""
    with suppress(OSError):
        os.setxattr(descriptor, _MARK, _text(descriptor).encode())


def _was_made_here(descriptor: int) -> bool:
    """Whether drivelab made an open file, and nobody has changed it since."""
    try:
        return os.getxattr(descriptor, _MARK) == _text(descriptor).encode()
    except OSError:
        return False


def require_overwritable(path: Path, descriptor: int, *, may_overwrite_file: bool) -> None:
    """Return only if an open file may be written: it is drivelab's own, empty, or its owner said so.

    Raises
    ------
    DrivelabError
        C204: it is the file of a loop device. C220: it would overwrite a file that drivelab did not make.
    """
    found = os.fstat(descriptor)
    loops = loops_over_file(found)
    if loops:
        what = f"{path} is the file beneath {', '.join(loops)}"
        do = f"name another file, or if nothing uses it: losetup --detach /dev/{loops[0]}"
        raise DrivelabError("C204", what, where=f"{path}; nothing was written", do=do)
    if found.st_size and not may_overwrite_file and not _was_made_here(descriptor):
        raise DrivelabError("C220", f"{path} exists, and its contents would be destroyed", where=str(path))


class FileInPlace:
    """A file that was there before, open as long as it is used.

    Parameters
    ----------
    flags : int
        How it is opened.

    Raises
    ------
    OSError
        It cannot be opened, or is no regular file.
    """

    def __init__(self, directory: HeldDirectory, name: str, flags: int = os.O_RDONLY) -> None:
        self.path = directory.path / name
        self.descriptor = directory.open_file(name, flags)
        self._is_ours = _was_made_here(self.descriptor)
        self._is_given_up = False

    @property
    def target(self) -> HeldTarget:
        """What tells the engine to use exactly this file."""
        return held_target(self.descriptor)

    @property
    def size_bytes(self) -> int:
        """How large it is now."""
        return os.fstat(self.descriptor).st_size

    def require_given_up(self, *, may_overwrite: bool) -> None:
        """Return only if it may be written to, or replaced.

        Raises
        ------
        DrivelabError
            C204: it is the file of a loop device. C220: it is somebody's, who has not said so.
        """
        if not self._is_given_up:
            require_overwritable(self.path, self.descriptor, may_overwrite_file=may_overwrite)
            self._is_given_up = True

    def remove(self) -> None:
        """Let go of it: what was there before stays."""
        self.close()

    def close(self) -> None:
        """Let go of the file, which stays; one that drivelab made is still known for it."""
        if self._is_ours and self._is_given_up:
            mark_as_made(self.descriptor)
        os.close(self.descriptor)


def _text(descriptor: int) -> str:
    found = os.fstat(descriptor)
    return f"{identity_of(descriptor)}:{found.st_size}:{found.st_mtime_ns}"
