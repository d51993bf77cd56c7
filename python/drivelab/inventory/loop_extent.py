"""Which bytes of which file a loop device consists of, and which other devices consist of the same."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from dataclasses import dataclass

from drivelab.inventory.block_devices import (
    SECTOR_BYTES,
    backing_file_of,
    device_node,
    directory_of,
    disk_of,
    kind_of,
    partitions_of,
)
from drivelab.inventory.sysfs import entries, read_int
from drivelab.inventory.system_paths import SYSTEM, SystemPaths

# linux/loop.h: its 232 bytes begin with lo_device, lo_inode, lo_rdevice, lo_offset
_LOOP_GET_STATUS64 = 0x4C05
_STATUS_BYTES = 232

# device and inode of a file, or 0 and the number of a block device
FileIdentity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LoopExtent:
    """A range of bytes of a backing file.

    Attributes
    ----------
    file : tuple of int, or str
        Device and inode; for a block device 0 and its number. Where neither
        the kernel nor the path tells them, the path.
    begin_bytes, end_bytes : int
        From, and up to but without.
    """

    file: FileIdentity | str
    begin_bytes: int
    end_bytes: int

    def overlaps(self, other: LoopExtent) -> bool:
        """Whether both have bytes in common."""
        return self.file == other.file and self.begin_bytes < other.end_bytes and other.begin_bytes < self.end_bytes


def backing_identity(name: str, paths: SystemPaths = SYSTEM) -> FileIdentity | None:
    """Which file, or block device, a loop device lies on; None when it cannot be found out, or is none.

    Notes
    -----
    The kernel is asked first: the path that it was attached by may have been
    deleted, or mean another file by now.
    """
    backing = backing_file_of(name, paths)
    if backing is None:
        return None
    told = _told_by_kernel(name, paths)
    if told is not None:
        return told
    try:
        return file_identity(os.stat(backing))
    except OSError:
        return None


def file_identity(status: os.stat_result) -> FileIdentity:
    """What a file is known by, whatever it is called."""
    return (0, status.st_rdev) if stat.S_ISBLK(status.st_mode) else (status.st_dev, status.st_ino)


def loops_over_file(status: os.stat_result, paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of the loop devices that lie on a file, by whatever path they were attached to it."""
    identity = file_identity(status)
    return [name for name in _attached_loops(paths) if backing_identity(name, paths) == identity]


def devices_sharing(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Other loop devices, and partitions of them, that have bytes of their file in common with a device.

    Parameters
    ----------
    name : str
        Kernel name of a loop device, or of a partition of one; others share nothing.
    """
    disk = disk_of(name, paths)
    own = loop_extent(name, paths)
    if own is None:
        return []
    others = [loop for loop in _attached_loops(paths) if loop != disk]
    candidates = [device for loop in others for device in (loop, *partitions_of(loop, paths))]
    return [device for device in candidates if (extent := loop_extent(device, paths)) and own.overlaps(extent)]


def loop_extent(name: str, paths: SystemPaths = SYSTEM) -> LoopExtent | None:
    """The bytes of a file that a loop device, or a partition of one, consists of; None for any other device."""
    disk = disk_of(name, paths)
    backing = backing_file_of(disk, paths)
    if backing is None:
        return None
    directory = directory_of(name, paths)
    begin_bytes = read_int(directory_of(disk, paths) / "loop" / "offset")
    if kind_of(name, paths) == "part":
        begin_bytes += read_int(directory / "start") * SECTOR_BYTES
    size_bytes = read_int(directory / "size") * SECTOR_BYTES
    return LoopExtent(backing_identity(disk, paths) or backing, begin_bytes, begin_bytes + size_bytes)


def _attached_loops(paths: SystemPaths) -> list[str]:
    loops = [name for name in entries(paths.sys / "block") if name.startswith("loop")]
    return [name for name in loops if backing_file_of(name, paths) is not None]


def _told_by_kernel(name: str, paths: SystemPaths) -> FileIdentity | None:
    """What the kernel itself says; only those who may open the device may ask."""
    status = bytearray(_STATUS_BYTES)
    try:
        descriptor = os.open(device_node(name, paths), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, status)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    device, inode, block_device = struct.unpack_from("=QQQ", status)
    return (0, block_device) if block_device else (device, inode)
