"""A private directory for the files that are written on a target, removed with all that is in it."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Change, Journal

_PREFIX = "drivelab-data-"


def make_data_directory(parent: Path, journal: Journal) -> tuple[Path, Change]:
    """A new directory in `parent`, and its entry in the journal.

    Raises
    ------
    DrivelabError
        R403: it cannot be made.
    """
    directory = parent / f"{_PREFIX}{secrets.token_hex(6)}"
    change = journal.will_change("data_directory", path=str(directory))
    try:
        directory.mkdir(mode=0o700)
    except OSError as error:
        raise DrivelabError("R403", f"no directory can be made: {error.strerror}", where=str(parent)) from error
    return directory, change


def undo_data_directory(path: str) -> str:
    """Remove the directory and what is in it; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R406: something in it cannot be removed.
    """
    assert os.path.basename(path).startswith(_PREFIX), f"{path} is no directory of ours"
    if not os.path.isdir(path):
        return ""
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise DrivelabError("R406", f"cannot be removed: {error.strerror}", where=path) from error
    return f"removed {path}"
