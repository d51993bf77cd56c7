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

from drivelab.held_directory import HeldDirectory, HeldFile, aside_name
from drivelab.model.errors import DrivelabError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SPECIAL = {
    stat.S_IFBLK: "a drive",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
}
_REFUSED = (
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL),
)
# a value of a JSON file stands on one line as long as it fits, or when it lies this deep
_LINE_COLUMNS_MAX = 120
_EXPANDED_LEVELS = 3
_ENCODED = json.JSONEncoder(ensure_ascii=False).encode


@contextmanager
def written_aside(path: Path, *, inside: HeldDirectory | None = None) -> Iterator[Path]:
    """A path to write to; what was written becomes `path`, durably, when the block ends well.

    When the block raises, nothing is left behind and what `path` held before
    is still there. A link in its place is replaced itself; what a user typed
    may be one, and is looked up before (`followed`).

    Parameters
    ----------
    path : Path
        The file to become.
    inside : HeldDirectory, optional
        A directory above it, from which on no link is followed.

    Raises
    ------
    DrivelabError
        S501: the directory does not take files, or `path` is a device, a pipe
        or the like. S502: no room. S503: the disk failed.
    """
    aside = AsideFile(path, inside=inside)
    try:
        yield aside.reopened
        aside.put_in_place()
    except BaseException as error:
        aside.discard()
        if isinstance(error, OSError):
            raise storage_error(error, path) from error
        raise


class AsideFile:
    """A file under a name that nobody can have guessed, until it is whole: the parameters are those of `written_aside`.

    Attributes
    ----------
    reopened : Path
        A path to write to, which leads to exactly this file.

    Raises
    ------
    DrivelabError
        S501 to S503, when it is made. Its methods raise what the operating system does.
    """

    def __init__(self, path: Path, *, inside: HeldDirectory | None = None) -> None:
        self._path = path
        self._inside = inside
        try:
            self._directory = _parent_of(path, inside)
            try:
                self._refuse_special()
                self._file = HeldFile(self._directory, aside_name(path.name))
            except BaseException:
                self._let_go()
                raise
        except OSError as error:
            raise storage_error(error, path) from error
        self.reopened = self._file.reopened

    def put_in_place(self) -> None:
        """Make the content durable, and then the name."""
        os.fsync(self._file.descriptor)
        self._refuse_special()
        self._directory.rename(self._file.path.name, self._path.name)
        self._directory.sync()
        self._file.close()
        self._let_go()

    def discard(self) -> None:
        """Forget it; no file appears."""
        # where nothing can be written nothing can be removed either, and the first failure is the one to tell
        if self._file.is_open:
            with suppress(OSError):
                self._directory.remove(self._file.path.name, self._file.descriptor)
            self._file.close()
            self._let_go()

    def _let_go(self) -> None:
        """Close what was opened here: a file system can be unmounted as soon as nothing is written to it."""
        if self._directory is not self._inside:
            self._directory.close()

    def _refuse_special(self) -> None:
        """Refuse to put a file in the place of a device node, a pipe or a socket: others would miss it."""
        mode = self._directory.mode(self._path.name)
        if mode is None or stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            return
        what = f"{self._path} is {_SPECIAL.get(stat.S_IFMT(mode), 'no regular file')}"
        raise DrivelabError("S501", what, where=str(self._path.parent), do="name a file, or a new one")


def _parent_of(path: Path, inside: HeldDirectory | None = None) -> HeldDirectory:
    """The directory of a file, held open; below `inside` through no link."""
    if inside is None:
        return HeldDirectory.open_trusted(path.parent)
    directory = inside
    for name in path.relative_to(inside.path).parts[:-1]:
        directory = directory.below(name)
    return directory


def followed(path: Path) -> Path:
    """The file that a path leads to, for paths that a user typed: a link stays, and what it points to is written.

    Raises
    ------
    DrivelabError
        S501: it is a link in a circle.
    """
    if not path.is_symlink():
        return path
    # realpath stops at links in a circle, on every version of Python
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise DrivelabError("S501", f"cannot write {path.name}: it is a link in a circle", where=str(path.parent))
    return file


def append_durably(descriptor: int, content: Sequence[bytes | pa.Buffer], *, at: int) -> int:
    """Write behind what an open file holds, durably; the file's new size in bytes.

    Parameters
    ----------
    descriptor : int
        The file, open for writing.
    content : sequence of bytes or buffers
        What to write.
    at : int
        Where, in bytes: what a failure left beyond is cut off first.

    Raises
    ------
    OSError
        It cannot be written; the file ends at `at` then.
    """
    os.ftruncate(descriptor, at)
    os.lseek(descriptor, at, os.SEEK_SET)
    try:
        size = at + _write_all(descriptor, b"".join(content))
        os.fdatasync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(descriptor, at)
        raise
    return size


def require_one_name(descriptor: int, path: Path) -> None:
    """Return only if an open file has no other name: a second one may be that of somebody else's file.

    Raises
    ------
    DrivelabError
        S501: it has.
    """
    if os.fstat(descriptor).st_nlink > 1:
        what = f"cannot write {path.name}: the file has other names, and may be somebody else's"
        raise DrivelabError("S501", what, where=str(path.parent), do=f"make it a file of its own: cp {path.name} new")


def write_json(path: Path, value: dict[str, Any], *, inside: HeldDirectory | None = None) -> None:
    """Replace a JSON file as a whole."""
    # the escape of a lone surrogate (a file name that is no UTF-8) is also JSON's
    content = (_json_text(value) + "\n").encode("utf-8", "backslashreplace")
    with written_aside(path, inside=inside) as aside:
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
    if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and path.parent.is_symlink()):
        what = f"cannot write {path.name}: a link is in its way, and none is followed there"
        return DrivelabError("S501", what, where=str(path.parent), do="remove the link")
    if error.errno in _REFUSED:
        return DrivelabError("S501", f"cannot write {path.name}: {text}", where=str(path.parent))
    return DrivelabError("S503", f"storing {path.name} failed: {text}", where=str(path.parent))


def _json_text(value: Any, level: int = 0) -> str:
    """JSON for people, expanded down to some level: Python's own indentation takes seconds for a long plan."""
    if level == _EXPANDED_LEVELS or not isinstance(value, dict | list | tuple):
        return _ENCODED(value)
    if isinstance(value, dict):
        left, right = "{", "}"
        items = [f"{_json_key(key)}: {_json_text(inner, level + 1)}" for key, inner in value.items()]
    else:
        left, right = "[", "]"
        items = [_json_text(inner, level + 1) for inner in value]
    text = f"{left}{', '.join(items)}{right}"
    # what has lines does not fit: in a string they are escaped
    if len(text) + level <= _LINE_COLUMNS_MAX and "\n" not in text:
        return text
    indent = " " * level
    return left + "\n" + ",\n".join(f"{indent} {item}" for item in items) + f"\n{indent}{right}"


def _json_key(key: Any) -> str:
    """A key as json.dumps writes it: numbers, booleans and null become text."""
    return _ENCODED(key) if isinstance(key, str) else _ENCODED({key: 0})[1:-4]


def _write_all(descriptor: int, content: bytes) -> int:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    return len(content)


def typed_file(path: Path) -> Path:
    """What a typed path leads to: a link there is meant, and one in the way of names that drivelab makes up is not.

    Raises
    ------
    DrivelabError
        O802: it is a link in a circle.
    """
    try:
        return path if path.is_dir() else followed(path)
    except DrivelabError as error:
        raise DrivelabError("O802", error.what, where=str(path)) from error
