"""A private directory for the files that are written on a target, removed with all that is in it."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from drivelab.file_identity import identity_of
from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal

_PREFIX = "drivelab-data-"


def make_data_directory(parent: Path, journal: Journal) -> HeldDirectory:
    """A new directory in `parent`, held open; the journal knows of it.

    Raises
    ------
    DrivelabError
        R403: it cannot be made. R459: another one was put in its place at once.
    """
    name = f"{_PREFIX}{secrets.token_hex(6)}"
    path = parent / name
    journal.will_change("data_directory", path=str(path))
    try:
        with HeldDirectory.open(parent) as held:
            held.make(name, 0o700)
            directory = held.below(name)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT):
            raise exchanged(path) from error
        raise DrivelabError("R403", f"no directory can be made: {error.strerror}", where=str(parent)) from error
    if directory.names():
        raise exchanged(path)
    # the name alone could be given to another directory before this one is removed
    journal.will_change("data_directory", path=str(path), identity=identity_of(directory.descriptor))
    return directory


def undo_data_directory(path: str, identity: str = "") -> str:
    """Remove the directory and what is in it; what was done, in words, or nothing.

    Parameters
    ----------
    path : str
        What it was called.
    identity : str
        Which directory it is; of one that is not known only an empty one is removed.

    Raises
    ------
    DrivelabError
        R406: something in it cannot be removed.
    """
    name = os.path.basename(path)
    assert name.startswith(_PREFIX), f"{path} is no directory of ours"
    try:
        with HeldDirectory.open(Path(path).parent) as parent, parent.below(name) as directory:
            if identity:
                if identity_of(directory.descriptor) != identity:
                    return _left_alone(path)
                # through the descriptor: the name may be given to another directory at any moment
                directory.remove_all()
                if not parent.leads_to(name, directory.descriptor):
                    return _left_alone(path)
            os.rmdir(name, dir_fd=parent.descriptor)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ""
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOTEMPTY):
            return _left_alone(path) if identity else ""
        raise DrivelabError("R406", f"cannot be removed: {error.strerror}", where=path) from error
    return f"removed {path}"


def exchanged(path: Path) -> DrivelabError:
    """The error that something else bears the name of what was made."""
    return DrivelabError("R459", f"{path} is not what drivelab made there: somebody exchanged it", where=str(path))


def _left_alone(path: str) -> str:
    return f"left {path} alone: it is not the directory that drivelab made"
