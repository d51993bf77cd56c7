"""Writes files whole or not at all, and turns a full disk into a clear error."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from drivelab.model.errors import DrivelabError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SPECIAL = {
    stat.S_IFBLK: "a drive",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
}
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
# a value of a JSON file stands on one line as long as it fits, or when it lies this deep
_LINE_COLUMNS_MAX = 120
_EXPANDED_LEVELS = 3


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it becomes `path`, durably, when the block ends well.

    When the block raises, nothing is left behind and what `path` held before
    is still there. A link stays, and what it points to is written.

    Raises
    ------
    DrivelabError
        S501: the directory does not take files, or `path` is a device, a pipe
        or the like. S502: no room. S503: the disk failed.
    """
    path = _file_to_replace(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield aside
        sync_file(aside)
        _refuse_special(path)
        aside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        _discard(aside)
        raise storage_error(error, path) from error
    except BaseException:
        _discard(aside)
        raise


def _discard(aside: Path) -> None:
    # where nothing can be written nothing can be removed either, and the first failure is the one to tell
    with suppress(OSError):
        aside.unlink()


def _file_to_replace(path: Path) -> Path:
    _refuse_special(path)
    if not path.is_symlink():
        return path
    # realpath stops at links in a circle, on every version of Python
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise DrivelabError("S501", f"cannot write {path.name}: it is a link in a circle", where=str(path.parent))
    return file


def _refuse_special(path: Path) -> None:
    """Refuse to put a file in the place of a device node, a pipe or a socket: others would miss it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        # not there, or a directory above is not: writing will tell
        return
    if not stat.S_ISREG(mode):
        what = f"{path} is {_SPECIAL.get(stat.S_IFMT(mode), 'no regular file')}"
        raise DrivelabError("S501", what, where=str(path.parent), do="name a file, or a new one")


def append_durably(path: Path, content: Sequence[bytes | pa.Buffer], *, at: int) -> int:
    """Write behind what a file holds, durably; the file's new size in bytes.

    Parameters
    ----------
    path : Path
        The file; it is made when it does not exist.
    content : sequence of bytes or buffers
        What to write.
    at : int
        Where, in bytes: what a failure left beyond is cut off first.

    Raises
    ------
    DrivelabError
        S501: the file cannot be written. S502: no room. S503: the disk failed.
        The file ends at `at` then.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.ftruncate(descriptor, at)
            os.lseek(descriptor, at, os.SEEK_SET)
            try:
                size = at + _write_all(descriptor, b"".join(content))
                os.fdatasync(descriptor)
                if at == 0:
                    sync_directory(path.parent)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(descriptor, at)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise storage_error(error, path) from error
    return size


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file as a whole."""
    # the escape of a lone surrogate (a file name that is no UTF-8) is also JSON's
    content = (_json_text(value) + "\n").encode("utf-8", "backslashreplace")
    with written_aside(path) as aside:
        aside.write_bytes(content)


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


def sync_file(path: Path) -> None:
    """Make what a file holds durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    if error.errno == errno.ENOENT and not path.parent.exists():
        what = f"cannot write {path.name}: there is no directory {path.parent}"
        return DrivelabError("S501", what, where=str(path.parent))
    if error.errno in _REFUSED or error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG):
        return DrivelabError("S501", f"cannot write {path.name}: {text}", where=str(path.parent))
    return DrivelabError("S503", f"storing {path.name} failed: {text}", where=str(path.parent))


def _json_text(value: Any, level: int = 0) -> str:
    """JSON for people, expanded down to some level: Python's own indentation takes seconds for a long plan."""
    text = json.dumps(value, ensure_ascii=False)
    if level == _EXPANDED_LEVELS or len(text) + level <= _LINE_COLUMNS_MAX:
        return text
    indent = " " * level
    if isinstance(value, dict):
        items = [f"{_json_key(key)}: {_json_text(inner, level + 1)}" for key, inner in value.items()]
        return "{\n" + ",\n".join(f"{indent} {item}" for item in items) + f"\n{indent}}}"
    if isinstance(value, list | tuple):
        items = [_json_text(inner, level + 1) for inner in value]
        return "[\n" + ",\n".join(f"{indent} {item}" for item in items) + f"\n{indent}]"
    return text


def _json_key(key: Any) -> str:
    """A key as json.dumps writes it: numbers, booleans and null become text."""
    return json.dumps({key: 0}, ensure_ascii=False)[1:-4]


def _write_all(descriptor: int, content: bytes) -> int:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    return len(content)
