"""Recognises the loop devices that drivelab made itself, which may be erased without being asked for."""

from __future__ import annotations

from drivelab.inventory.block_devices import backing_file_of, disk_of
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.target import is_scratch_file


def is_owned_loop(name: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether a block device is, or is a partition of, a loop device over a scratch file of drivelab.

    Parameters
    ----------
    name : str
        Kernel name.
    """
    backing = backing_file_of(disk_of(name, paths), paths)
    return backing is not None and is_scratch_file(backing)
