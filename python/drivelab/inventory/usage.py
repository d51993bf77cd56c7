"""What sits on a block device: partitions, file systems, mounts, swap, volumes, arrays, loop devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import (
    SECTOR_BYTES,
    detail_of,
    device_node,
    directory_of,
    holders_of,
    kind_of,
    loops_over,
    name_of_node,
    partitions_of,
)
from drivelab.inventory.contents import Contents, contents_of
from drivelab.inventory.filesystem import btrfs_members
from drivelab.inventory.lsblk import LsblkDevice
from drivelab.inventory.mounts import Mount, read_foreign_mounts, read_mounts, read_swaps
from drivelab.inventory.sysfs import entries, read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import BlockUse

# file systems that keep a directory in /sys/fs for each mounted device, in whatever namespace
_LISTED_FILESYSTEMS = ("ext4", "xfs", "f2fs")
_DEPTH_MAX = 16


@dataclass(frozen=True, slots=True)
class Users:
    """Who uses block devices now: read once, then looked up for each device."""

    mounts: tuple[Mount, ...]
    foreign_mounts: tuple[Mount, ...]
    swaps: tuple[str, ...]


def read_users(paths: SystemPaths = SYSTEM) -> Users:
    """Mounts and swaps of the whole system, as far as they are visible."""
    swaps = (name for file in read_swaps(paths) if (name := name_of_node(file, paths)))
    return Users(tuple(read_mounts(paths)), tuple(read_foreign_mounts(paths)), tuple(swaps))


def usage_of(
    name: str, listed: Mapping[str, LsblkDevice], users: Users, paths: SystemPaths = SYSTEM, depth: int = 0
) -> BlockUse:
    """What a block device holds and everything on top of it.

    Parameters
    ----------
    name : str
        Kernel name of the device.
    listed : mapping of str to LsblkDevice
        What lsblk said, by kernel name; may be empty.
    """
    directory = directory_of(name, paths)
    above = dict.fromkeys((*partitions_of(name, paths), *holders_of(name, paths), *loops_over(name, paths)))
    size_bytes = read_int(directory / "size") * SECTOR_BYTES
    mounts = _mounts_of_device(name, users.mounts, paths)
    mounted = tuple(dict.fromkeys(mount.mount_point for mount in mounts))
    found = contents_of(name, listed, paths) if size_bytes else Contents("")
    if found.kind is None and mounts:
        found = Contents(mounts[0].filesystem)
    return BlockUse(
        name=name,
        path=str(device_node(name, paths)),
        kind=kind_of(name, paths),
        size_bytes=size_bytes,
        start_bytes=read_int(directory / "start") * SECTOR_BYTES,
        contents=found.kind,
        label=found.label,
        uuid=found.uuid,
        detail=detail_of(name, paths),
        mount_points=mounted,
        used_by=_other_uses(name, mounted, users, paths),
        children=tuple(usage_of(child, listed, users, paths, depth + 1) for child in above if depth < _DEPTH_MAX),
    )


def _mounts_of_device(name: str, mounts: tuple[Mount, ...], paths: SystemPaths = SYSTEM) -> list[Mount]:
    """The mounts of a device, in the order of the mount table."""
    number = read_text(directory_of(name, paths) / "dev")
    return [
        mount
        for mount in mounts
        if mount.device_number == number
        # btrfs and the like have a number of their own and name the device as their source
        or (mount.device_number.startswith("0:") and _is_source(mount.source, name, paths))
    ]


def _is_source(source: str, name: str, paths: SystemPaths) -> bool:
    nodes = source.split(":") if source.startswith("/dev/") else []
    return any(Path(node).name == name or name_of_node(node, paths) == name for node in nodes)


def _other_uses(name: str, mounted: tuple[str, ...], users: Users, paths: SystemPaths) -> tuple[str, ...]:
    uses = ["swap"] if name in users.swaps else []
    members = btrfs_members(name, paths)
    if members and not mounted:
        uses.append(f"mounted btrfs file system of {', '.join(members)}")
    elsewhere = dict.fromkeys(mount.mount_point for mount in _mounts_of_device(name, users.foreign_mounts, paths))
    if elsewhere and not mounted:
        uses.append(f"mounted on {', '.join(elsewhere)} outside this container")
    elif not mounted and not members:
        listed = [kind for kind in _LISTED_FILESYSTEMS if name in entries(paths.sys / "fs" / kind)]
        uses += [f"mounted {kind} file system outside this container" for kind in listed]
    return tuple(uses)
