"""Working files in a directory that belongs to somebody else: hidden, locked, and gone afterwards.

A working file keeps its name while it is used. Unlinking it at once would make
cleaning up easy, but btrfs does not log files without a name, so their sync
calls would cost next to nothing. Instead each file carries a lock as long as
its process lives; whoever comes next finds files without one and removes them,
also when the process was killed outright. Whoever owns the directory can take
its name from a file all the same: what is used is the open file.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drivelab.held_directory import HeldDirectory, HeldFile, held_target
from drivelab.model.errors import DrivelabError
from drivelab.model.held_target import HeldTarget
from drivelab.run.engine import remove_tree
from drivelab.run.process_owner import owner_lives, owner_tag
from drivelab.state.data_directory import exchanged
from drivelab.state.signals import signals_held, signals_obeyed
from drivelab.state.working_files import FILE_PREFIX

_FALLOC_FL_KEEP_SIZE = 1
_GONE = "check a directory that stays, or make it again"
_libc = ctypes.CDLL(None, use_errno=True)


class WorkArea:
    """Makes working files in a directory; made by `work_area`, which removes them.

    Attributes
    ----------
    removed_leftovers : tuple of str
        Names of files that dead processes had left here.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.removed_leftovers = remove_leftovers(directory)
        try:
            self._held = HeldDirectory.open(directory)
        except OSError as error:
            raise self._refused(error) from error
        self._files: dict[Path, HeldFile] = {}
        self._has_tree = False

    def new_file(self) -> Path:
        """A new, empty working file.

        Raises
        ------
        DrivelabError
            R451: the directory does not let files be made. T107: it is gone.
        """
        # no file without an entry here, which is what removes it
        with signals_held():
            return self._new_file(self.directory / f"{FILE_PREFIX}{owner_tag()}-{secrets.token_hex(4)}")

    def _new_file(self, path: Path) -> Path:
        try:
            file = HeldFile(self._held, path.name, 0o600)
        except OSError as error:
            raise self._refused(error) from error
        self._files[path] = file
        # a file system without locks (some network ones) leaves the process id to tell
        with suppress(OSError):
            fcntl.flock(file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return path

    def _refused(self, error: OSError) -> DrivelabError:
        if error.errno == errno.ENOENT:
            return DrivelabError("T107", f"{self.directory} is gone", where=str(self.directory), do=_GONE)
        what = f"no working file can be made in {self.directory}: {os.strerror(error.errno or 0)}"
        return DrivelabError("R451", what, where=str(self.directory), do=_advice(error.errno))

    def file(self, path: Path) -> HeldFile:
        """The working file of that name: what is to be used, whatever bears the name by now.

        Raises
        ------
        DrivelabError
            R459: something else does.
        """
        file = self._files[path]
        if not file.is_in_place:
            raise exchanged(path)
        return file

    def remove(self, path: Path) -> None:
        """Remove a working file, and let the file system finish with it before anything else is measured."""
        self._files.pop(path).remove()
        with suppress(OSError):
            self._held.sync()

    def held_for_tree(self) -> HeldTarget:
        """The directory itself, in which the engine makes a tree of files; `remove_tree` removes that."""
        self._has_tree = True
        return held_target(self._held.descriptor)

    def remove_tree(self) -> None:
        """Remove the tree of files, if there is one."""
        with suppress(DrivelabError):
            if self._has_tree:
                remove_tree(str(self._held.reopened))
        self._has_tree = False

    def close(self) -> None:
        """Remove every working file that is left, and the tree."""
        self.remove_tree()
        for path in list(self._files):
            with suppress(OSError):
                self.remove(path)
        self._held.close()


@contextmanager
def work_area(directory: Path) -> Iterator[WorkArea]:
    """A place for working files, which are gone when the context ends, however it ends."""
    with signals_held():
        area = WorkArea(directory)
        try:
            with signals_obeyed():
                yield area
        finally:
            area.close()


def remove_leftovers(directory: Path) -> tuple[str, ...]:
    """Names of the working files whose process is dead, now removed."""
    removed = []
    for path in sorted(directory.glob(f"{FILE_PREFIX}*")):
        if path.is_file() and not path.is_symlink() and _is_abandoned(path):
            with suppress(OSError):
                path.unlink()
                removed.append(path.name)
    return tuple(removed)


def _is_abandoned(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        # somebody else's; it is theirs to remove
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # locked: its process lives, perhaps in another container where its id means nothing to us
        if error.errno == errno.EWOULDBLOCK:
            return False
    finally:
        os.close(descriptor)
    # a file that was made a moment ago may not have its lock yet
    return not owner_lives(path.name.removeprefix(FILE_PREFIX))


def _advice(refusal: int | None) -> str:
    return {
        errno.EACCES: "run it as a user who may write there, or check another directory",
        errno.EPERM: "run it as a user who may write there, or check another directory",
        errno.EROFS: "mount the file system for writing, or check one of its files: it is then only read",
        errno.ENOSPC: "free space there",
        errno.EDQUOT: "free space there: the quota of this user is used up",
    }.get(refusal or 0, "")


def direct_io_refusal(path: Path) -> str:
    """Why the file system of an existing file refuses O_DIRECT; empty when it does not."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EINVAL:
            return "the file system refuses O_DIRECT"
        return f"O_DIRECT: {error.strerror}"
    return ""


def can_preallocate(path: Path) -> bool:
    """Whether the file system can reserve space without writing it; the file's size is left as it is."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        offset, length = ctypes.c_int64(0), ctypes.c_int64(4096)
        result = _libc.fallocate(descriptor, _FALLOC_FL_KEEP_SIZE, offset, length)
        return int(result) == 0
    finally:
        os.close(descriptor)
