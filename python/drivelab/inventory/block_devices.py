"""Block devices in sysfs: what each is, what lies below it and what lies on top of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from drivelab.inventory.sysfs import chosen, entries, link_target_name, read_flag, read_int, read_names, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.target import BlockLayer, LayerKind

SECTOR_BYTES = 512  # the kernel counts sizes and starts in these, whatever the drive's blocks are
_DELETED = " (deleted)"


def directory_of(name: str, paths: SystemPaths = SYSTEM) -> Path:
    """The sysfs directory of a block device, links followed."""
    link = f"{paths.sys}/class/block/{name}"
    try:
        return Path(os.path.normpath(f"{paths.sys}/class/block/{os.readlink(link)}"))
    except OSError:
        # there is none, and whoever reads of it finds nothing
        return Path(link)


def device_node(name: str, paths: SystemPaths = SYSTEM) -> Path:
    """The device node of a kernel name; sysfs writes ``!`` for the ``/`` of ``cciss/c0d0``."""
    return paths.dev / name.replace("!", "/")


def device_exists(name: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether the kernel has a block device of this name."""
    return (paths.sys / "class" / "block" / name).exists()


def name_of_number(number: str, paths: SystemPaths = SYSTEM) -> str | None:
    """Kernel name of the block device ``major:minor``; None when there is none."""
    return link_target_name(paths.sys / "dev" / "block" / number)


def number_of_node(path: str | Path) -> str | None:
    """``major:minor`` of a block device node; None when the path is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISBLK(status.st_mode):
        return None
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def name_of_node(path: str | Path, paths: SystemPaths = SYSTEM) -> str | None:
    """Kernel name of the block device behind a node or a link to one; None when it is none."""
    node = paths.dev / Path(path).relative_to("/dev") if Path(path).is_relative_to("/dev") else Path(path)
    number = number_of_node(node)
    if number is not None:
        return name_of_number(number, paths)
    # a name whose node is not there (no udev, a container) is still a device of the kernel
    name = node.name
    return name if node.parent == paths.dev and not node.exists() and device_exists(name, paths) else None


def kind_of(name: str, paths: SystemPaths = SYSTEM) -> LayerKind:
    """Whether a block device is a disk, part, dm, md or loop."""
    directory = directory_of(name, paths)
    if (directory / "partition").exists():
        return "part"
    if (directory / "dm").is_dir():
        return "dm"
    if (directory / "md").is_dir():
        return "md"
    return "loop" if name.startswith("loop") else "disk"


def disk_of(name: str, paths: SystemPaths = SYSTEM) -> str:
    """The disk that a partition is on; any other device is its own."""
    return directory_of(name, paths).parent.name if kind_of(name, paths) == "part" else name


def partitions_of(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of the partitions of a disk, in the order of their place on it."""
    directory = directory_of(name, paths)
    found = [entry for entry in entries(directory) if (directory / entry / "partition").exists()]
    return sorted(found, key=lambda entry: read_int(directory / entry / "start"))


def holders_of(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of the dm, md and bcache devices that hold a device."""
    return entries(directory_of(name, paths) / "holders")


def slaves_of(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of the devices that a dm or md device lies on."""
    return entries(directory_of(name, paths) / "slaves")


def backing_file_of(name: str, paths: SystemPaths = SYSTEM) -> str | None:
    """The file or device behind a loop device, as its file system spells it; None when it has none."""
    text = read_names(paths.sys / "class" / "block" / name / "loop" / "backing_file")
    return text.removesuffix("\n").removesuffix(_DELETED) if text else None


def loops_over(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Loop devices whose backing file is this very block device; the kernel lists them nowhere."""
    number = read_text(directory_of(name, paths) / "dev")
    loops = [entry for entry in entries(paths.sys / "block") if entry.startswith("loop")]
    behind = {loop: backing_file_of(loop, paths) for loop in loops}
    return [loop for loop, file in behind.items() if file and number and number_of_node(file) == number]


def detail_of(name: str, paths: SystemPaths = SYSTEM) -> str:
    """What a device is beyond its kind: dm volume, array level, backing file; else empty."""
    directory = directory_of(name, paths)
    kind = kind_of(name, paths)
    if kind == "dm":
        owner = (read_text(directory / "dm" / "uuid") or "").partition("-")[0]
        return f"{owner or 'device mapper'} volume {read_text(directory / 'dm' / 'name') or name}"
    if kind == "md":
        return read_text(directory / "md" / "level") or "array"
    # to be read, not opened
    return os.fsencode(backing_file_of(name, paths) or "").decode(errors="replace") if kind == "loop" else ""


def read_layer(name: str, paths: SystemPaths = SYSTEM) -> BlockLayer:
    """Facts about one block device, as the kernel sees it."""
    directory = directory_of(name, paths)
    kind = kind_of(name, paths)
    # partitions have no queue of their own
    queue = (directory.parent if kind == "part" else directory) / "queue"
    return BlockLayer(
        name=name,
        path=str(device_node(name, paths)),
        device_number=read_text(directory / "dev") or "",
        kind=kind,
        size_bytes=read_int(directory / "size") * SECTOR_BYTES,
        start_bytes=read_int(directory / "start") * SECTOR_BYTES,
        logical_block_size_bytes=read_int(queue / "logical_block_size", 512),
        physical_block_size_bytes=read_int(queue / "physical_block_size", 512),
        write_cache=read_text(queue / "write_cache"),
        uses_fua=read_flag(queue / "fua"),
        is_rotational=bool(read_flag(queue / "rotational")),
        is_read_only=bool(read_flag(directory / "ro")),
        scheduler=chosen(read_text(queue / "scheduler")),
        detail=detail_of(name, paths),
    )
