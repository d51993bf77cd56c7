"""Working files in a directory of somebody else's: written down, so that `restore` finds those of a killed run.

What is removed is found below the very directory that was used, by the names
that drivelab gave, and no link is followed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import begin_journal, journal_directory
from drivelab.state.signals import signals_held, signals_obeyed

KIND_FILES, KIND_TREE, KIND_EMPTY = "working_files", "working_tree", "followed_directory"
FILE_PREFIX = ".drivelab-check-"
# as the engine calls them: crates/drivelab-engine/src/tree
_TREE, _TREE_MARK, _TREE_FILES = "drivelab-tree", "made-by-drivelab", "files"


@contextmanager
def files_in_journal(directory: str, owner: str, command: str) -> Iterator[None]:
    """While the block runs, a journal says that working files of a process lie in a directory.

    Parameters
    ----------
    directory : str
        Where they are made.
    owner : str
        What their names hold of the process (`drivelab.run.process_owner.owner_tag`).
    command : str
        What is being done, for whoever finds the journal.
    """
    facts = {"prefix": f"{FILE_PREFIX}{owner}-"}
    with signals_held(), _in_journal(KIND_FILES, facts, directory, command), signals_obeyed():
        yield


@contextmanager
def tree_in_journal(directory: str, command: str) -> Iterator[None]:
    """While the block runs, a journal says that a tree of files of ours lies in a directory."""
    with signals_held(), _in_journal(KIND_TREE, {}, directory, command), signals_obeyed():
        yield


@contextmanager
def empty_in_journal(directory: str, command: str) -> Iterator[None]:
    """While the block runs, a journal says that a directory of ours may be empty; after it, such a one is removed."""
    with signals_held(), _in_journal(KIND_EMPTY, {}, directory, command), signals_obeyed():
        yield


@contextmanager
def _in_journal(kind: str, more: dict[str, str], directory: str, command: str) -> Iterator[None]:
    path = os.path.realpath(directory)
    try:
        identity = os.stat(path)
        journal = begin_journal(journal_directory(), command=command)
    except (DrivelabError, OSError):
        # a service user may have nowhere to keep one; whoever comes next in that directory still tidies up
        yield
        return
    facts: dict[str, Any] = {"directory": path, "device": identity.st_dev, "inode": identity.st_ino, **more}
    try:
        change = journal.will_change(kind, **facts)
        try:
            yield
        finally:
            # what could not be removed stays on the list
            with suppress(DrivelabError):
                UNDO[kind](**facts)
                journal.was_undone(change)
    finally:
        journal.close()


def undo_working_files(directory: str, device: int, inode: int, prefix: str) -> str:
    """Remove the working files of a killed check; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R406: one of them cannot be removed. R408: that is no name of ours.
    """
    if not prefix.startswith(FILE_PREFIX) or "/" in prefix:
        raise DrivelabError("R408", f"{prefix!r} is no name of working files", where=directory)
    removed = 0
    with _opened(directory, device, inode) as found:
        for name in os.listdir(found) if found is not None else ():
            if not name.startswith(prefix):
                continue
            try:
                if stat.S_ISREG(os.stat(name, dir_fd=found, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=found)
                    removed += 1
            except FileNotFoundError:
                # its own process was faster
                continue
            except OSError as error:
                what = f"{name} cannot be removed: {error.strerror}"
                raise DrivelabError("R406", what, where=directory) from error
    return f"removed {removed} working file{'s' if removed > 1 else ''} from {directory}" if removed else ""


def undo_working_tree(directory: str, device: int, inode: int) -> str:
    """Remove the tree of files of a killed measurement; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R406: something in it cannot be removed.
    """
    with _opened(directory, device, inode) as found:
        if found is None or not _is_our_tree(found):
            return ""
        try:
            tree = os.open(_TREE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=found)
            try:
                with suppress(FileNotFoundError):
                    shutil.rmtree(_TREE_FILES, dir_fd=tree)
                if os.listdir(tree) == [_TREE_MARK]:
                    # nothing of anybody else's lies beside the files
                    os.unlink(_TREE_MARK, dir_fd=tree)
                    os.rmdir(_TREE, dir_fd=found)
            finally:
                os.close(tree)
        except OSError as error:
            # Python tells of a link in the way without a number or a reason of the system's
            what = f"{_TREE} cannot be removed: {error.strerror or error}"
            raise DrivelabError("R406", what, where=directory) from error
    return f"removed the files that a measurement had made in {directory}"


def undo_empty_directory(directory: str, device: int, inode: int) -> str:
    """Remove the directory of a killed measurement of which nothing was kept; what was done, in words, or nothing."""
    with _opened(directory, device, inode) as found, suppress(OSError):
        if found is not None:
            os.rmdir(directory)
            return f"removed {directory}, in which nothing was kept"
    return ""


def _is_our_tree(directory: int) -> bool:
    """Whether drivelab made the tree, and no other process works in it."""
    try:
        mark = os.open(f"{_TREE}/{_TREE_MARK}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return False
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(mark)
    return True


@contextmanager
def _opened(directory: str, device: int, inode: int) -> Iterator[int | None]:
    """The directory, open; None when it is gone, or another one has its name."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        status = os.fstat(descriptor)
        yield descriptor if (status.st_dev, status.st_ino) == (device, inode) else None
    finally:
        os.close(descriptor)


UNDO: dict[str, Callable[..., str]] = {
    KIND_FILES: undo_working_files,
    KIND_TREE: undo_working_tree,
    KIND_EMPTY: undo_empty_directory,
}
