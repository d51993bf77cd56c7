"""A directory that is held open: what is made in it lies in it, whatever its name leads to by now.

Directories that drivelab writes to may belong to somebody else, who can rename
what lies there and put links in its place at any moment. So nothing there is
reached by its path: names are looked up one by one below a descriptor, and no
link is followed; files are made afresh, and used from then on through the
descriptor that made them.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from drivelab.model.held_target import HeldTarget

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NAME_BYTES_MAX = 255
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class HeldDirectory:
    """A directory by its descriptor.

    Parameters
    ----------
    path : Path
        What it was called when it was opened: for messages only.
    descriptor : int
        The open directory; it is closed with this object.

    Raises
    ------
    OSError
        From every method: what the operating system refuses. ``ELOOP`` and ``ENOTDIR`` are a link in the way.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        # also when nobody closes it: a file system that is held can't be unmounted
        self._closed = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The directory that a path leads to now, links included: for paths that a user typed."""
        try:
            return cls(path, os.open(path, _DIRECTORY))
        except PermissionError:
            # one that may be written and not read: names can be made in it, and neither listed nor synced
            return cls(path, os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))

    @classmethod
    def open_trusted(cls, path: Path) -> Self:
        """The directory that a path leads to; a link in its place counts only if it is ours, or root's."""
        try:
            return cls(path, os.open(path, _DIRECTORY | os.O_NOFOLLOW))
        except PermissionError:
            return cls.open(path)
        except OSError as error:
            found = os.lstat(path)
            if not stat.S_ISLNK(found.st_mode):
                raise
            if found.st_uid not in (0, os.geteuid()):
                why = "it is a link of another user, and may lead elsewhere at any moment"
                raise OSError(errno.ELOOP, why, str(path)) from error
            return cls.open(path)

    @property
    def reopened(self) -> Path:
        """A path to exactly this directory, for what takes no descriptor."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def is_in_place(self) -> bool:
        """Whether its path still leads to this directory, and through no link in its last part."""
        try:
            return is_same(os.lstat(self.path), os.fstat(self.descriptor))
        except OSError:
            return False

    def below(self, name: str) -> HeldDirectory:
        """A directory in this one; a link is none."""
        descriptor = os.open(_plain(name), _DIRECTORY | os.O_NOFOLLOW, dir_fd=self.descriptor)
        return HeldDirectory(self.path / name, descriptor)

    def make(self, name: str, mode: int = 0o777) -> None:
        """Make a directory that is not there yet."""
        os.mkdir(_plain(name), mode, dir_fd=self.descriptor)

    def new_file(self, name: str, mode: int = 0o666, flags: int = os.O_RDWR) -> int:
        """Descriptor of a file that was not there before."""
        return os.open(_plain(name), flags | os.O_CREAT | os.O_EXCL | _FILE, mode, dir_fd=self.descriptor)

    def open_file(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Descriptor of a regular file that is there; of anything else ``EINVAL``, and nothing waits for a pipe."""
        descriptor = os.open(_plain(name), flags | _FILE, dir_fd=self.descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", str(self.path / name))

    def below_or_made(self, name: str) -> HeldDirectory:
        """A directory in this one, durably made when it is not there."""
        try:
            self.make(name)
        except FileExistsError:
            pass
        else:
            self.sync()
        return self.below(name)

    def mode(self, name: str) -> int | None:
        """Kind and permissions of what bears a name, a link among them; None when nothing does."""
        try:
            return os.stat(_plain(name), dir_fd=self.descriptor, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    def leads_to(self, name: str, descriptor: int) -> bool:
        """Whether a name still means what is open."""
        try:
            found = os.stat(_plain(name), dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return False
        return is_same(found, os.fstat(descriptor))

    def remove(self, name: str, descriptor: int) -> bool:
        """Remove the name of an open file, if it still is its name; whether it was."""
        if not self.leads_to(name, descriptor):
            return False
        os.unlink(name, dir_fd=self.descriptor)
        return True

    def remove_name(self, name: str) -> None:
        """Remove a file's name, or a link itself; nothing happens when it isn't there."""
        try:
            os.unlink(_plain(name), dir_fd=self.descriptor)
        except FileNotFoundError:
            pass

    def remove_directory(self, name: str) -> None:
        """Remove a directory with all that is in it, and follow no link on the way."""
        if stat.S_ISLNK(self.mode(name) or 0):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(self.path / name))
        shutil.rmtree(name, dir_fd=self.descriptor)

    def remove_all(self) -> None:
        """Remove everything that is in it."""
        with os.scandir(self.descriptor) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_directory in found:
            if is_directory:
                self.remove_directory(name)
            else:
                self.remove_name(name)

    def rename(self, old: str, new: str, *, into: HeldDirectory | None = None) -> None:
        """Give a file another name, here or in another directory; what bore that, a link too, is replaced itself."""
        there = self if into is None else into
        os.replace(_plain(old), _plain(new), src_dir_fd=self.descriptor, dst_dir_fd=there.descriptor)

    def names(self) -> list[str]:
        """Names of what lies in it, sorted."""
        return sorted(os.listdir(self.descriptor))

    def sync(self) -> None:
        """Make the names in it durable."""
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Let go of the directory."""
        self._closed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class HeldFile:
    """A file that was made afresh in a directory, open as long as it is used.

    Parameters
    ----------
    directory : HeldDirectory
        Where it is made.
    name : str
        What it is called; there must be nothing yet.
    mode : int
        Who may read and write it.
    """

    def __init__(self, directory: HeldDirectory, name: str, mode: int = 0o666) -> None:
        self.path = directory.path / name
        self.descriptor = directory.new_file(name, mode)
        self._directory = directory
        self._closed = weakref.finalize(self, os.close, self.descriptor)

    @property
    def target(self) -> HeldTarget:
        """What tells the engine to use exactly this file."""
        return held_target(self.descriptor)

    @property
    def reopened(self) -> Path:
        """A path to exactly this file, for what takes no descriptor."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    @property
    def is_in_place(self) -> bool:
        """Whether its name still means this file."""
        return self._directory.leads_to(self.path.name, self.descriptor)

    @property
    def is_open(self) -> bool:
        """Whether it was neither closed nor removed."""
        return self._closed.alive

    def remove(self) -> None:
        """Remove it; where somebody has taken its name from it, it is emptied, so that no room stays lost."""
        if not self.is_open:
            return
        try:
            if not self._directory.remove(self.path.name, self.descriptor):
                os.ftruncate(self.descriptor, 0)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the file, which stays."""
        self._closed()


def held_target(descriptor: int) -> HeldTarget:
    """What tells the engine to use exactly what is open."""
    found = os.fstat(descriptor)
    return HeldTarget(descriptor=descriptor, device=found.st_dev, inode=found.st_ino)


def is_same(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether two looks were at the same file."""
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def aside_name(name: str) -> str:
    """A name that nobody can have guessed, for what becomes `name` when it is whole."""
    ending = f".{secrets.token_hex(8)}"
    is_short = len(os.fsencode(name)) + len(ending) < _NAME_BYTES_MAX
    return f".{name if is_short else 'drivelab'}{ending}"


def _plain(name: str) -> str:
    if "/" in name or name in ("", ".", ".."):
        raise OSError(errno.EINVAL, "this is no name of something in a directory", name)
    return name
