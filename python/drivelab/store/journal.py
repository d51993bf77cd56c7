"""The journal of a run directory, which is also the lock that keeps a second writer out."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.durable import storage_error, sync_directory


class LockedJournal:
    """The journal of a run, open for one writer: the kernel lets go of the lock when the process ends, however it does.

    Parameters
    ----------
    directory : Path
        The run directory.

    Raises
    ------
    DrivelabError
        S507: another process writes this run. S501, S502, S503: the journal
        cannot be opened.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / layout.JOURNAL
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise storage_error(error, self.path) from error
        # also when nobody closes it: the lock must not outlive its writer
        self._closed = weakref.finalize(self, os.close, self._descriptor)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._end_last_line()
            sync_directory(directory)
        except OSError as error:
            self.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                what = "another drivelab is writing this run"
                raise DrivelabError("S507", what, where=str(directory)) from error
            raise storage_error(error, self.path) from error

    def append(self, line: dict[str, Any]) -> None:
        """Append a line, durably.

        Raises
        ------
        DrivelabError
            S502, S503: it cannot be written.
        """
        size = os.fstat(self._descriptor).st_size
        try:
            os.write(self._descriptor, (json.dumps(line) + "\n").encode())
            os.fdatasync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise storage_error(error, self.path) from error

    @property
    def is_open(self) -> bool:
        """Whether the lock is held."""
        return self._closed.alive

    def close(self) -> None:
        """Close the journal, and let others write the run."""
        self._closed()

    def _end_last_line(self) -> None:
        """Keep a line that a crash cut off from spoiling the next one."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")
