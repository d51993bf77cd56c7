"""Finds out whether anybody has a block device open."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import device_node, directory_of, number_of_node
from drivelab.inventory.filesystem import NETWORK_TYPES
from drivelab.inventory.mounts import parse_mountinfo
from drivelab.inventory.sysfs import entries, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths


@dataclass(frozen=True, slots=True)
class Opener:
    """A process that has a device open."""

    process_id: int
    command: str


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
        Opener(process, read_text(paths.proc / str(process) / "comm") or "?")
        for process in processes
        if number and number in _open_device_numbers(paths.proc / str(process))
    ]


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
