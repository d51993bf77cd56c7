"""Scratch drives: a loop device over a file that drivelab makes, fills, and removes.

The file is filled with random data before it is used. In a sparse or merely
preallocated file every first write to a block makes the file system below
allocate or convert it, which costs a journal commit there with every flush: the
first writes would be several times slower than all later ones, and would
measure the file system below.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import secrets
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drivelab.file_identity import identity_of
from drivelab.held_directory import HeldDirectory
from drivelab.inventory.mounts import mount_of_path
from drivelab.inventory.owned_loop import disown_scratch_file, own_scratch_file
from drivelab.model.errors import DrivelabError
from drivelab.model.units import format_bytes
from drivelab.state.journal import Journal
from drivelab.state.loop_device import attach_loop
from drivelab.state.programs import require_root
from drivelab.state.settings.attribute import set_attribute

_PREFIX, _SUFFIX = "drivelab-scratch-", ".img"
_FILL_BYTES = 8 * 2**20
# left free beside a scratch drive: a full disk harms everyone on it
_MARGIN_BYTES = 512 * 2**20
_MEMORY = ("tmpfs", "ramfs", "devtmpfs", "hugetlbfs")
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs")
# linux/fs.h: _IOR('f', 1, long), _IOW('f', 2, long); a copy-on-write file would move with every write
_FS_IOC_GETFLAGS, _FS_IOC_SETFLAGS, _FS_NOCOW_FL = 0x80086601, 0x40086602, 0x00800000

FillProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ScratchDrive:
    """A scratch drive that is ready.

    Attributes
    ----------
    backing_file : Path
        The file that holds its blocks.
    notes : tuple of str
        What its numbers mean, and where it is not what was asked.
    """

    path: str
    backing_file: Path
    notes: tuple[str, ...]


def make_scratch(size_bytes: int, journal: Journal, progress: FillProgress | None = None) -> ScratchDrive:
    """A new scratch drive, filled with random data.

    Parameters
    ----------
    size_bytes : int
        Size, rounded up to whole 4 KiB.
    journal : Journal
        Learns of every change before it is made; undoing it removes the drive.
    progress : callable, optional
        Called with the bytes filled so far, and all bytes.

    Raises
    ------
    DrivelabError
        R401: not root. R402, R403: losetup is not there, or failed.
        R404: its write cache cannot be set. R405: no directory has room for it.
    """
    require_root("a scratch drive")
    size_bytes = -(-size_bytes // 4096) * 4096
    directory = choose_directory(size_bytes)
    file = directory / f"{_PREFIX}{secrets.token_hex(6)}{_SUFFIX}"
    change = journal.will_change("scratch_file", path=str(file))
    _fill(file, size_bytes, progress, lambda identity: journal.note(change, identity=identity))
    loop = attach_loop(file, journal)
    # this setting stays on the loop's number when it is detached: whoever had it last may have changed it
    set_attribute(loop.name, "queue/write_cache", "write back", journal)
    mount = mount_of_path(directory)
    below = f"{mount.filesystem} of {mount.source}" if mount else "an unknown file system"
    notes = [f"scratch drive: a loop device over a file, filled with random data, on {below}; it measures all of these"]
    if loop.logical_block_size_bytes != 512:
        notes.append(f"its logical blocks have {loop.logical_block_size_bytes} B: those of the drive below")
    if not loop.bypasses_page_cache:
        notes.append("the page cache lies between it and its file: its reads and plain writes measure memory")
    return ScratchDrive(loop.path, file, tuple(notes))


def make_sparse_scratch(size_bytes: int, room_bytes: int, journal: Journal) -> str:
    """Device node of a scratch drive that is not filled: to try things on, never to measure.

    Parameters
    ----------
    size_bytes, room_bytes : int
        Its size, and how much of it is going to be written at most.
    journal : Journal
        Learns of every change before it is made; undoing it removes the drive.

    Raises
    ------
    DrivelabError
        R402, R403: losetup is not there, or failed. R405: no directory has room.
    """
    file = choose_directory(room_bytes) / f"{_PREFIX}{secrets.token_hex(6)}{_SUFFIX}"
    change = journal.will_change("scratch_file", path=str(file))
    try:
        with file.open("xb") as made:
            own_scratch_file(str(file), made.fileno())
            journal.note(change, identity=identity_of(made.fileno()))
            made.truncate(size_bytes)
    except OSError as error:
        raise DrivelabError("R405", f"no scratch drive can be made: {error.strerror}", where=str(file)) from error
    return attach_loop(file, journal).path


def choose_directory(size_bytes: int) -> Path:
    """A directory on a disk with room for a scratch drive.

    ``$DRIVELAB_SCRATCH`` when it is set, else the first that fits of
    ``/var/tmp``, the working directory, the home directory and ``/tmp``.

    Raises
    ------
    DrivelabError
        R405: none has room, or lies on a disk of this machine.
    """
    reasons = []
    for directory in _candidates():
        reason = _unfit(directory, size_bytes)
        if not reason:
            return directory.resolve()
        reasons.append(f"{directory} {reason}")
    raise DrivelabError("R405", f"no directory for a scratch drive of {format_bytes(size_bytes)}: {'; '.join(reasons)}")


def undo_scratch_file(path: str, identity: str = "") -> str:
    """Delete the file of a scratch drive; what was done, in words, or nothing.

    Parameters
    ----------
    identity : str
        Which file it is (`drivelab.file_identity.identity_of`); empty where it was not known yet.

    Raises
    ------
    DrivelabError
        R406: it cannot be deleted.
    """
    file = Path(path)
    assert file.name.startswith(_PREFIX), f"{path} is no scratch file"
    disown_scratch_file(path)
    try:
        with HeldDirectory.open(file.parent) as parent:
            descriptor = parent.open_file(file.name)
            try:
                if identity and identity_of(descriptor) != identity:
                    return f"left {path} alone: it is not the file that drivelab made"
                parent.remove(file.name, descriptor)
            finally:
                os.close(descriptor)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL):
            # gone, or something else bears its name
            return ""
        raise DrivelabError("R406", f"cannot be deleted: {error.strerror}", where=path) from error
    return f"deleted {path}"


def _candidates() -> Iterator[Path]:
    asked = os.environ.get("DRIVELAB_SCRATCH")
    if asked:
        yield Path(asked)
        return
    yield from dict.fromkeys((Path("/var/tmp"), Path.cwd(), Path.home(), Path("/tmp")))


def _unfit(directory: Path, size_bytes: int) -> str:
    """Why a directory cannot hold a scratch drive; empty when it can."""
    if not directory.is_dir():
        return "is no directory"
    if not os.access(directory, os.W_OK | os.X_OK):
        return "cannot be written"
    mount = mount_of_path(directory)
    if mount is not None and mount.filesystem in _MEMORY:
        return f"lies in memory ({mount.filesystem})"
    if mount is not None and mount.filesystem in _NETWORK:
        return f"lies on another machine ({mount.filesystem})"
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    needed = size_bytes + _MARGIN_BYTES
    return "" if free >= needed else f"has {format_bytes(free)} free of {format_bytes(needed)}"


def _fill(file: Path, size_bytes: int, progress: FillProgress | None, made: Callable[[str], None]) -> None:
    """Write random data to every block of a new file, past the page cache where that is possible."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        own_scratch_file(str(file), descriptor)
        made(identity_of(descriptor))
        _never_copy_on_write(descriptor)
        os.posix_fallocate(descriptor, 0, size_bytes)
        _bypass_page_cache(descriptor)
        generator = np.random.Generator(np.random.SFC64())
        with mmap.mmap(-1, _FILL_BYTES) as buffer:
            for begin in range(0, size_bytes, _FILL_BYTES):
                buffer[:] = generator.bytes(_FILL_BYTES)
                length = min(_FILL_BYTES, size_bytes - begin)
                with memoryview(buffer)[:length] as chunk:
                    if os.pwrite(descriptor, chunk, begin) != length:
                        raise DrivelabError("R405", "the disk of the scratch drive is full", where=str(file.parent))
                if progress is not None:
                    progress(begin + length, size_bytes)
        os.fsync(descriptor)
    except OSError as error:
        raise DrivelabError("R405", f"the scratch drive cannot be filled: {error.strerror}", where=str(file)) from error
    finally:
        os.close(descriptor)


def _bypass_page_cache(descriptor: int) -> None:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_DIRECT)
    except OSError:
        # the file system knows no direct I/O; the file is synced at the end either way
        pass


def _never_copy_on_write(descriptor: int) -> None:
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
        fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, struct.pack("l", flags | _FS_NOCOW_FL))
    except OSError:
        # only btrfs takes it, and only there it is needed
        pass
