"""Marks on a drive that is about to be purged: what can still be read of them afterwards was not erased."""

from __future__ import annotations

import mmap
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from drivelab.model.errors import DrivelabError

_MARK_BYTES = 4096
_PLACES = 16


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


def write_marks(node: str, size_bytes: int) -> Marks:
    """Write marks to a drive, from its first block to its last; what was there is lost.

    Raises
    ------
    DrivelabError
        R403: they cannot be written.
    """
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
