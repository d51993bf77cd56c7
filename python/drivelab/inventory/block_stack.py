"""The way from a target down to its drives, through partitions, volumes, arrays and loop devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import backing_file_of, device_exists, disk_of, kind_of, name_of_node, slaves_of
from drivelab.inventory.filesystem import DevicesBeneath, devices_of_path
from drivelab.inventory.system_paths import SYSTEM, SystemPaths


@dataclass(frozen=True, slots=True)
class Stack:
    """Kernel names of the devices beneath something.

    Attributes
    ----------
    names : tuple of str
        Every device once, each after all that it lies on: drives first.
    drives : tuple of str
        Those that lie on no other device.
    """

    names: tuple[str, ...]
    drives: tuple[str, ...]


def stack_under(tops: Iterable[str], paths: SystemPaths = SYSTEM) -> Stack:
    """All devices from the drives up to and including `tops`.

    Notes
    -----
    A loop device whose backing file lies on no block device (in memory, on
    another machine) is a drive itself: there is nothing beneath to look at.
    """
    names: list[str] = []
    drives: list[str] = []
    visiting: set[str] = set()

    def visit(name: str) -> None:
        if name in names or name in visiting or not device_exists(name, paths):
            return
        visiting.add(name)
        below = devices_below(name, paths).names
        for lower in below:
            visit(lower)
        names.append(name)
        if not below:
            drives.append(name)

    for top in tops:
        visit(top)
    return Stack(tuple(names), tuple(drives))


def devices_below(name: str, paths: SystemPaths = SYSTEM) -> DevicesBeneath:
    """Devices that a block device directly lies on, or why there are none."""
    kind = kind_of(name, paths)
    if kind == "part":
        return DevicesBeneath((disk_of(name, paths),))
    if kind == "loop":
        return _below_loop(backing_file_of(name, paths), paths)
    return DevicesBeneath(tuple(slaves_of(name, paths)))


def _below_loop(backing: str | None, paths: SystemPaths) -> DevicesBeneath:
    if backing is None:
        return DevicesBeneath((), "no file is attached")
    node = name_of_node(backing, paths)
    if node is not None:
        return DevicesBeneath((node,))
    path = Path(backing)
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        # a deleted backing file lay in a directory that is most likely still there
        is_file = path.parent.is_dir()
        path = path.parent
    return devices_of_path(path, paths) if is_file else DevicesBeneath((), f"{backing} is not visible from here")
