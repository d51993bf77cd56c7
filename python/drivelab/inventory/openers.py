"""Finds out whether anybody has a block device open, and whether that is drivelab itself."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import device_node, directory_of, number_of_node
from drivelab.inventory.filesystem import NETWORK_TYPES
from drivelab.inventory.mounts import parse_mountinfo
from drivelab.inventory.sysfs import entries, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths

# udev, blkid, losetup and the like open every drive for a moment
_LOOKS, _BETWEEN_LOOKS_S = 6, 0.1
# where whoever measures a drive holds a lock for it
_LOCK = ("drivelab/locks/", ".lock")
# what helps where a drive is measured already
WAIT = "wait until it has ended, or choose another drive"


@dataclass(frozen=True, slots=True)
class Opener:
    """A process that has a device open.

    Attributes
    ----------
    process_id : int
        Which one.
    command : str
        What the kernel calls it.
    measures : str
        Of drivelab itself what it does with drives, ``run NAME``; empty for any other program.
    """

    process_id: int
    command: str
    measures: str = ""


def is_claimed(name: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether the kernel refuses exclusive use: mounted anywhere, swap, or held by dm, md, btrfs, ZFS or a program.

    Notes
    -----
    The probe opens for reading only: closing a device that was open for writing
    makes udev scan it again.

    Raises
    ------
    OSError
        The device could not be opened for another reason.
    """
    try:
        descriptor = os.open(device_node(name, paths), os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        raise
    os.close(descriptor)
    return False


def openers_of(name: str, paths: SystemPaths = SYSTEM) -> list[Opener]:
    """Other processes that have a device open, by whatever node, as far as this user may see them.

    A virtual machine or a database that opened a raw drive without claiming it
    is noticed only this way.
    """
    number = read_text(directory_of(name, paths) / "dev")
    processes = [int(entry) for entry in entries(paths.proc) if entry.isdigit() and int(entry) != os.getpid()]
    return [
        Opener(process, read_text(paths.proc / str(process) / "comm") or "?", _measures(paths.proc / str(process)))
        for process in processes
        if number and number in _open_device_numbers(paths.proc / str(process))
    ]


def openers_that_stay(look: Callable[[], list[Opener]]) -> list[Opener]:
    """Who has a device open, and not for a moment only; `look` tells who has it open now."""
    for number in range(_LOOKS):
        if number:
            time.sleep(_BETWEEN_LOOKS_S)
        openers = look()
        if not openers:
            break
    return openers


def holder_in(lock: str, process_id: int | None = None) -> str:
    """Who has a drive, by what stands in its lock, a line each: a process and what it does.

    Parameters
    ----------
    lock : str
        The lines; several share a drive.
    process_id : int, optional
        Who is meant, if it is among them: a container counts its processes anew. Else the last one.
    """
    known = [line.partition(" ")[::2] for line in lock.splitlines()]
    own = [doing for process, doing in known if process == str(process_id)]
    return next(reversed(own or [doing for _, doing in known]), "")


def _measures(process: Path) -> str:
    """What a process of drivelab does with drives, by the locks that it holds; empty for any other program."""
    begin, end = _LOCK
    for entry in entries(process / "fd"):
        try:
            file = os.readlink(process / "fd" / entry)
        except OSError:
            continue
        if begin in file and file.endswith(end):
            return holder_in(read_text(process / "fd" / entry) or "", int(process.name)) or f"process {process.name}"
    return ""


def _open_device_numbers(process: Path) -> Iterator[str]:
    risky = _mounts_that_may_hang(process)
    for entry in entries(process / "fd"):
        descriptor = process / "fd" / entry
        try:
            file = os.readlink(descriptor)
        except OSError:
            continue
        # sockets, pipes and the like are no paths
        if file.startswith("/") and not (risky and _mount_id(process / "fdinfo" / entry) in risky):
            number = number_of_node(descriptor)
            if number:
                yield number


def _mounts_that_may_hang(process: Path) -> frozenset[int]:
    """Mounts of a process where asking about a file may wait for another machine or program for ever."""
    mounts = parse_mountinfo(read_text(process / "mountinfo") or "")
    return frozenset(
        mount.mount_id
        for mount in mounts
        if mount.filesystem in NETWORK_TYPES or mount.filesystem.partition(".")[0] == "fuse"
    )


def _mount_id(descriptor_facts: Path) -> int | None:
    lines = (read_text(descriptor_facts) or "").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("mnt_id:")), None)
