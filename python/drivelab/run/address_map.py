"""Where the bytes of a target lie on the traced disk: by it, commands of asynchronous operations are told apart."""

from __future__ import annotations

import os
from dataclasses import dataclass

from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.run.extents import is_placed, read_extents

# here the map of a file tells bytes of the block device; btrfs and others tell addresses of their own
_MAPPED = ("ext2", "ext3", "ext4", "xfs", "f2fs")


@dataclass(frozen=True, slots=True)
class DiskExtent:
    """A stretch of a target, and where it begins on the disk; all in bytes."""

    offset_bytes: int
    disk_offset_bytes: int
    length_bytes: int


def disk_extents(target: TargetRange, facts: TargetFacts) -> tuple[DiskExtent, ...]:
    """The stretches of a target on the whole device beneath, a disk or a volume; none where that is not known.

    Parameters
    ----------
    target : TargetRange
        The path that I/O was sent to. A file is written out first, so that all of it has a place.
    facts : TargetFacts
        What lies beneath.
    """
    begin_bytes = _begin_of_layer(facts)
    if begin_bytes is None:
        return ()
    if facts.kind == "block_device":
        return (DiskExtent(0, begin_bytes, facts.size_bytes),)
    if facts.filesystem is None or facts.filesystem.type not in _MAPPED:
        return ()
    try:
        descriptor = os.open(target.opened_by, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = read_extents(descriptor, 0, os.fstat(descriptor).st_size, sync=True)
        finally:
            os.close(descriptor)
    except OSError:
        return ()
    return tuple(
        DiskExtent(extent.logical_bytes, begin_bytes + extent.physical_bytes, extent.length_bytes)
        for extent in found
        if is_placed(extent)
    )


def _begin_of_layer(facts: TargetFacts) -> int | None:
    """Where the target's device begins on the whole device that it is, which is the uppermost that is traced."""
    return facts.devices[-1].start_bytes if facts.devices else None
