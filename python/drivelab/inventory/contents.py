"""What a block device holds, as far as it can be known: lsblk, udev's database, the device itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from drivelab.inventory import lsblk, wipefs
from drivelab.inventory.block_devices import SECTOR_BYTES, device_node, directory_of, kind_of
from drivelab.inventory.lsblk import LsblkDevice
from drivelab.inventory.signatures import ReadAt, find_signatures
from drivelab.inventory.sysfs import read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import run_tool, why_refused


@dataclass(frozen=True, slots=True)
class Contents:
    """What was recognised on a device.

    ``kind`` is empty when nothing was recognised, and None when it could not
    be found out, for the reason given.
    """

    kind: str | None
    label: str = ""
    uuid: str = ""
    reason: str = ""


def ask_lsblk() -> tuple[dict[str, LsblkDevice], str]:
    """What lsblk says about every block device, and why it says nothing."""
    output = run_tool(lsblk.COMMAND)
    return lsblk.parse(output.text), output.reason


def contents_of(name: str, listed: Mapping[str, LsblkDevice], paths: SystemPaths = SYSTEM) -> Contents:
    """What a device holds; a sleeping disk is woken only when neither lsblk nor udev knows.

    Parameters
    ----------
    name : str
        Kernel name.
    listed : mapping of str to LsblkDevice
        What lsblk said, by kernel name.
    """
    told = listed.get(name)
    # lsblk repeats the partition table of the disk for its partitions
    table = told.partition_table if told is not None and kind_of(name, paths) != "part" else ""
    if told is not None and (told.contents or table):
        return Contents(told.contents or table, told.label, told.uuid)
    number = read_text(directory_of(name, paths) / "dev") or ""
    udev = read_text(paths.root / "run" / "udev" / "data" / f"b{number}")
    if udev is not None and told is not None:
        return Contents("")
    try:
        with device_reader(name, paths) as read_at:
            return Contents(", ".join(find_signatures(read_at, _size_bytes(name, paths))))
    except PermissionError:
        return Contents(None, reason=why_refused(device_node(name, paths)))
    except OSError as error:
        return Contents(None, reason=f"{device_node(name, paths)}: {error.strerror}")


def all_signatures(name: str, paths: SystemPaths = SYSTEM) -> tuple[str, ...]:
    """Every format recognised on a device now, by reading it and by asking wipefs too.

    Raises
    ------
    OSError
        The device cannot be opened or read.
    """
    with device_reader(name, paths) as read_at:
        found = find_signatures(read_at, _size_bytes(name, paths))
    return tuple(dict.fromkeys((*_told_by_wipefs(name, paths), *found)))


def _told_by_wipefs(name: str, paths: SystemPaths = SYSTEM) -> tuple[str, ...]:
    """What wipefs recognises on a device now; nothing where it is not installed."""
    return tuple(wipefs.parse(run_tool(wipefs.command(device_node(name, paths))).text))


@contextmanager
def device_reader(name: str, paths: SystemPaths = SYSTEM) -> Iterator[ReadAt]:
    """A function that reads from a device while the context lasts.

    Raises
    ------
    OSError
        The device cannot be opened.
    """
    descriptor = os.open(device_node(name, paths), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield lambda offset, length: os.pread(descriptor, length, offset)
    finally:
        os.close(descriptor)


def _size_bytes(name: str, paths: SystemPaths) -> int:
    return read_int(directory_of(name, paths) / "size") * SECTOR_BYTES
