"""The journal of a run directory, which is also the lock that keeps a second writer out."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import weakref
from contextlib import suppress
from typing import Any

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.durable import require_one_name, storage_error


class LockedJournal:
    """The journal of a run, open for one writer: the kernel lets go of the lock when the process ends, however it does.

    Parameters
    ----------
    directory : HeldDirectory
        The run directory.

    Raises
    ------
    DrivelabError
        S507: another process writes this run. S501, S502, S503: the journal
        cannot be opened, or what bears its name is no journal.
    """

    def __init__(self, directory: HeldDirectory) -> None:
        self.path = directory.path / layout.JOURNAL
        try:
            self._descriptor = _opened(directory)
        except OSError as error:
            raise storage_error(error, self.path) from error
        # also when nobody closes it: the lock must not outlive its writer
        self._closed = weakref.finalize(self, os.close, self._descriptor)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            require_one_name(self._descriptor, self.path)
            self._require_journal()
            self._end_last_line()
            directory.sync()
        except DrivelabError:
            self.close()
            raise
        except OSError as error:
            self.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                what = "another drivelab is writing this run"
                raise DrivelabError("S507", what, where=str(directory.path)) from error
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

    def _require_journal(self) -> None:
        """Return only if it is empty or looks like a journal: nobody else's file shall get lines of ours."""
        if os.pread(self._descriptor, 1, 0) not in (b"", b"{"):
            what = f"cannot write {self.path.name}: it is no journal of a run"
            raise DrivelabError("S501", what, where=str(self.path.parent), do=f"move it away: {self.path.name}")

    def _end_last_line(self) -> None:
        """Keep a line that a crash cut off from spoiling the next one."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")


def _opened(directory: HeldDirectory) -> int:
    flags = os.O_RDWR | os.O_APPEND
    try:
        return directory.new_file(layout.JOURNAL, 0o644, flags)
    except FileExistsError:
        return directory.open_file(layout.JOURNAL, flags)
