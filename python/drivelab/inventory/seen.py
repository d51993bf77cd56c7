"""What stands on a block device when its owner gives it up, so that what somebody makes there later is noticed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from drivelab.inventory import wipefs
from drivelab.inventory.block_devices import SECTOR_BYTES, device_node, directory_of, disk_of, kind_of, partitions_of
from drivelab.inventory.contents import device_reader
from drivelab.inventory.signatures import find_signatures
from drivelab.inventory.sysfs import read_int
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import find_tool, run_tool

# partition tables, and the superblocks of a file system made on the whole disk, begin within so much of it
_TABLE_BYTES_MAX = 128 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """What was recognised on a device and, when it is a partition, around it.

    Attributes
    ----------
    formats : frozenset of (str, str, str)
        Kernel name of the device or of a partition on it, format, and UUID where it has one.
    start_bytes : int
        Where a partition begins; 0 for any other device.
    table : str
        Digest of what stands before a partition on its disk; empty for any other device.
    """

    formats: frozenset[tuple[str, str, str]]
    start_bytes: int
    table: str

    def made_since(self, before: Seen) -> list[str]:
        """What somebody has made on the device since an earlier look, in words."""
        return [f"{kind} on {name}" for name, kind, _ in sorted(self.formats - before.formats)]


def look_at(name: str, paths: SystemPaths = SYSTEM) -> Seen:
    """What is recognised on a block device now.

    Parameters
    ----------
    name : str
        Kernel name.

    Raises
    ------
    OSError
        It cannot be read.
    """
    formats = frozenset(found for each in (name, *partitions_of(name, paths)) for found in _formats_on(each, paths))
    if kind_of(name, paths) != "part":
        return Seen(formats, 0, "")
    start_bytes = read_int(directory_of(name, paths) / "start") * SECTOR_BYTES
    with device_reader(disk_of(name, paths), paths) as read_at:
        before = read_at(0, min(start_bytes, _TABLE_BYTES_MAX))
    return Seen(formats, start_bytes, hashlib.sha256(before).hexdigest())


def _formats_on(name: str, paths: SystemPaths) -> list[tuple[str, str, str]]:
    size_bytes = read_int(directory_of(name, paths) / "size") * SECTOR_BYTES
    with device_reader(name, paths) as read_at:
        suspected = find_signatures(read_at, size_bytes)
    if not suspected or find_tool("wipefs") is None:
        return [(name, kind, "") for kind in suspected]
    # data that are random look like a superblock now and then: wipefs looks closer
    identified = wipefs.identified(run_tool(wipefs.command(device_node(name, paths))).text)
    return [(name, kind, uuid) for kind, uuid in identified]
