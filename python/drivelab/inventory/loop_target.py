"""Looks at a loop device as the drive that it is to whoever measures it."""

from __future__ import annotations

from dataclasses import replace

from drivelab.inventory.drives import read_drives
from drivelab.inventory.raid import with_members
from drivelab.inventory.target import resolve_target
from drivelab.model.target import TargetFacts


def with_loop_as_drive(target: TargetFacts) -> TargetFacts:
    """The same target; where it is a loop device, or lies on one, that is its drive.

    Settings and commands are those of the loop device then: what lies below
    its file is another matter, and often the drive that the system runs from.
    """
    if target.kind == "raid" and target.raid is not None:
        return with_members(target, [with_loop_as_drive(member) for member in target.raid.members])
    loops = [layer.name for layer in target.devices if layer.kind == "loop"]
    return replace(target, drives=tuple(read_drives(loops[-1:]))) if loops else target


def resolve_measured(text: str) -> TargetFacts:
    """Facts about a target that is going to be measured, with a loop device as its drive.

    Raises
    ------
    DrivelabError
        As `drivelab.inventory.target.resolve_target`.
    """
    return with_loop_as_drive(resolve_target(text))
