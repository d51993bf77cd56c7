"""Has a file for oneself: the lock lasts as long as a process that holds its descriptor."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.durable import storage_error


@contextmanager
def locked(path: Path, what: str) -> Iterator[int]:
    """The descriptor of a file that nobody else has meanwhile.

    Parameters
    ----------
    path : Path
        The file; made where it is missing.
    what : str
        What it means that somebody else has it.

    Raises
    ------
    DrivelabError
        F907: somebody else has it. S501 to S503: it cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise storage_error(error, path) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    except BlockingIOError as error:
        raise DrivelabError("F907", what, where=str(path.parent)) from error
    finally:
        os.close(descriptor)
