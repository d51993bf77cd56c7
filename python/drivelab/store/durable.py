"""Writes files whole or not at all, and turns a full disk into a clear error."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it becomes `path`, durably, when the block ends well.

    When the block raises, nothing is left behind and what `path` held before
    is still there.

    Raises
    ------
    DrivelabError
        S501: the directory does not take files. S502: no room. S503: the disk failed.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield aside
        _sync_file(aside)
        aside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise storage_error(error, path) from error
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file as a whole."""
    with written_aside(path) as aside:
        aside.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def make_directory(path: Path) -> None:
    """Make a directory that may exist already, and its parents, durably.

    Raises
    ------
    DrivelabError
        S501: it cannot be made. S502: no room.
    """
    if path.is_dir():
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise storage_error(error, path) from error


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def storage_error(error: OSError, path: Path) -> DrivelabError:
    """The error with a stable code that a failure to store `path` is."""
    # Arrow keeps the number of the system's error in its text only
    text = error.strerror or str(error).splitlines()[0]
    if error.errno in _FULL or "No space left" in text:
        return DrivelabError("S502", f"no room left to store {path.name}", where=str(path.parent))
    if error.errno in _REFUSED or error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG):
        return DrivelabError("S501", f"cannot write {path.name}: {text}", where=str(path.parent))
    return DrivelabError("S503", f"storing {path.name} failed: {text}", where=str(path.parent))


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
