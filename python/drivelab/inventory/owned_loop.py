"""Recognises the loop devices that drivelab made itself, which may be erased without being asked for."""

from __future__ import annotations

import fnmatch
from pathlib import Path

from drivelab.inventory.block_devices import backing_file_of, disk_of
from drivelab.inventory.system_paths import SYSTEM, SystemPaths

SCRATCH_FILE_PATTERN = "drivelab-scratch-*.img"


def is_owned_loop(name: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether a block device is, or is a partition of, a loop device over a scratch file of drivelab.

    Parameters
    ----------
    name : str
        Kernel name.
    """
    backing = backing_file_of(disk_of(name, paths), paths)
    return backing is not None and fnmatch.fnmatchcase(Path(backing).name, SCRATCH_FILE_PATTERN)
