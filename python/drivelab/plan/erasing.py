"""Which cells of an experiment, and which steps of a plan, overwrite or purge the device that they go to."""

from __future__ import annotations

from drivelab.model.plan import PlannedStep
from drivelab.plan.cells import Cell


def overwrites_device(one: Cell | PlannedStep) -> bool:
    """Whether what a block device holds is lost to it."""
    makes_filesystem = one.filesystem is not None and one.filesystem.type != "raw"
    return makes_filesystem or one.pattern.writes or _writes_whole(one) or purges(one)


def purges(one: Cell | PlannedStep) -> bool:
    """Whether the drive is purged first."""
    return one.actions.get("purge", "none") != "none"


def _writes_whole(one: Cell | PlannedStep) -> bool:
    return one.actions.get("trim") == "device" or one.actions.get("precondition") == "sequential"
