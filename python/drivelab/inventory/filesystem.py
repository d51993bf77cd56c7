"""The file system that a path lies on, and the block devices right beneath it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import name_of_node, name_of_number
from drivelab.inventory.mounts import Mount, mount_of_path
from drivelab.inventory.sysfs import entries
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.target import FilesystemFacts

NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "afs", "beegfs", "gpfs", "orangefs", "coda", "glusterfs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.davfs", "fuse.juicefs"}
)
HOST_TYPES = frozenset({"9p", "virtiofs", "vboxsf", "vmhgfs", "fuse.vmhgfs-fuse"})
MEMORY_TYPES = frozenset(
    {"tmpfs", "ramfs", "devtmpfs", "rootfs", "proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "configfs"}
    | {"securityfs", "hugetlbfs", "mqueue", "devpts", "bpf", "pstore", "efivarfs", "binfmt_misc", "fusectl"}
)
_OVERLAYS_DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class DevicesBeneath:
    """Block devices that a file system keeps its data on, or why there are none."""

    names: tuple[str, ...]
    reason: str = ""


def filesystem_of(path: Path, paths: SystemPaths = SYSTEM) -> FilesystemFacts | None:
    """Facts about the file system that an existing path lies on; None when no mount covers it.

    Raises
    ------
    OSError
        The path vanished or may not be looked at.
    """
    mount = mount_of_path(path, paths)
    if mount is None:
        return None
    space = os.statvfs(path)
    return FilesystemFacts(
        type=mount.filesystem,
        source=mount.source,
        mount_point=mount.mount_point,
        options=mount.options,
        device_number=mount.device_number,
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bfree * space.f_frsize,
        available_bytes=space.f_bavail * space.f_frsize,
        block_size_bytes=space.f_bsize,
        is_read_only="ro" in mount.options,
        is_network=mount.filesystem in NETWORK_TYPES,
        is_memory=mount.filesystem in MEMORY_TYPES,
        is_fuse=mount.filesystem.split(".")[0] in ("fuse", "fuseblk"),
        no_device_reason=devices_of_mount(mount, paths).reason,
        free_inodes=space.f_favail if space.f_files else None,
    )


def devices_of_path(path: Path, paths: SystemPaths = SYSTEM) -> DevicesBeneath:
    """Block devices right beneath the file system that a path lies on."""
    mount = mount_of_path(path, paths)
    return DevicesBeneath((), f"no mount covers {path}") if mount is None else devices_of_mount(mount, paths)


def devices_of_mount(mount: Mount, paths: SystemPaths = SYSTEM, depth: int = 0) -> DevicesBeneath:
    """Block devices right beneath a mount, or why there are none."""
    reason = _reason_for_none(mount)
    if reason:
        return DevicesBeneath((), reason)
    if mount.filesystem == "overlay":
        return _devices_of_overlay(mount, paths, depth)
    if not mount.device_number.startswith("0:"):
        name = name_of_number(mount.device_number, paths)
        return DevicesBeneath((name,)) if name else DevicesBeneath((), _not_visible(mount))
    # btrfs and bcachefs have a number of their own; their source names one or all devices
    nodes = mount.source.split(":") if mount.source.startswith("/dev/") else []
    names = [name for node in nodes if (name := name_of_node(node, paths))]
    members = [member for name in names for member in btrfs_members(name, paths)]
    found = tuple(dict.fromkeys(members or names))
    return DevicesBeneath(found) if found else DevicesBeneath((), _not_visible(mount))


def btrfs_members(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """All devices of the mounted btrfs file system that a device belongs to; empty when it belongs to none."""
    root = paths.sys / "fs" / "btrfs"
    members = [entries(root / uuid / "devices") for uuid in entries(root)]
    return next((devices for devices in members if name in devices), [])


def _reason_for_none(mount: Mount) -> str:
    kind = mount.filesystem
    if kind in MEMORY_TYPES:
        return f"{kind} keeps its files in memory"
    if kind in NETWORK_TYPES:
        return f"{kind} keeps its files on another machine ({mount.source})"
    if kind in HOST_TYPES:
        return f"{kind} shows a directory of the machine around this one ({mount.source})"
    if kind == "zfs":
        return f"the drives of the ZFS pool {mount.source.split('/')[0]} are not looked up: zpool status names them"
    if kind == "fuse" or kind.startswith("fuse."):
        return f"{kind} is run by a program, which alone knows where the files are"
    return ""


def _devices_of_overlay(mount: Mount, paths: SystemPaths, depth: int) -> DevicesBeneath:
    """Devices of the upper layer, which takes all writes."""
    upper = next((option.removeprefix("upperdir=") for option in mount.options if option.startswith("upperdir=")), "")
    if not upper:
        return DevicesBeneath((), "overlay without an upper layer: nothing can be written")
    if depth >= _OVERLAYS_DEPTH_MAX or not Path(upper).exists():
        return DevicesBeneath((), f"the upper layer of this overlay ({upper}) is not visible from here")
    below = mount_of_path(Path(upper), paths)
    if below is None or below == mount:
        return DevicesBeneath((), f"no mount covers the upper layer of this overlay ({upper})")
    return devices_of_mount(below, paths, depth + 1)


def _not_visible(mount: Mount) -> str:
    return f"the kernel shows no block device for {mount.filesystem} on {mount.source} ({mount.device_number})"
