"""The directory in which Dask keeps its files: nobody else can enter it, and none is left of those who were killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import dask

_PREFIX = "drivelab-fleet-"
# one that is just being made is not locked yet
_MADE_WITHIN_S = 60


@contextmanager
def own_scratch() -> Iterator[None]:
    """Have Dask keep its files in a directory of its own while the block runs.

    Dask's choice has a name that everybody knows, below a directory in which everybody may write: who makes it first
    can have any file of root's emptied by a link in the place of a lock.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as directory:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # held for as long as this process lives
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with dask.config.set({"temporary-directory": directory}):
                yield
        finally:
            os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove our directories whose processes are gone."""
    for path in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                status = os.fstat(descriptor)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _MADE_WITHIN_S:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path)
            finally:
                os.close(descriptor)
