"""Recognises the loop devices that this very process made, which may be erased without being asked for.

A name proves nothing: anybody may call a file as drivelab calls its own. So
whoever makes a scratch file registers it here, and the register ends with the
process.
"""

from __future__ import annotations

import os

from drivelab.inventory.block_devices import disk_of
from drivelab.inventory.loop_extent import FileIdentity, backing_identity, file_identity
from drivelab.inventory.system_paths import SYSTEM, SystemPaths

_made_here: dict[str, FileIdentity] = {}


def own_scratch_file(path: str, descriptor: int) -> None:
    """Register a file that this process has just made, and holds open, as the file of a scratch drive."""
    _made_here[path] = file_identity(os.fstat(descriptor))


def disown_scratch_file(path: str) -> None:
    """Forget a file before it is deleted: its inode is going to be somebody else's."""
    _made_here.pop(path, None)


def is_owned_loop(name: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether a block device is, or is a partition of, a loop device over a scratch file that this process made.

    Parameters
    ----------
    name : str
        Kernel name.
    """
    identity = backing_identity(disk_of(name, paths), paths)
    return identity is not None and identity in _made_here.values()
