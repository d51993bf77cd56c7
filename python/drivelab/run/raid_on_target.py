"""The RAID set of a target: made of its members right before the first step, looked at again before and after each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from drivelab.inventory.consent import Consent
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.raid import member_drives, with_members
from drivelab.inventory.target import resolve_target
from drivelab.model.drive import DriveIdentity
from drivelab.model.raid import RaidFacts
from drivelab.model.target import TargetFacts
from drivelab.state.held_device import HeldDevice
from drivelab.state.journal import Journal
from drivelab.state.raid import make_raid
from drivelab.state.scratch import make_scratch
from drivelab.state.undo import undo

# told how many bytes of all scratch drives are filled, and of how many
Filled = Callable[[int, int], None]


def make_raid_target(
    facts: TargetFacts, journal: Journal, consent: Consent, filled: Filled
) -> tuple[TargetFacts, tuple[str, ...]]:
    """A RAID set that is there, as the block device that it is now, and what its numbers mean.

    Parameters
    ----------
    facts : TargetFacts
        A target of the kind raid, as resolved.
    consent : Consent
        What the owners of the members typed after ``--erase``.
    filled : callable
        Told of each piece of a scratch drive that is filled.

    Raises
    ------
    DrivelabError
        C201 to C209: a member may not be written to. R401, R402, R450, R455,
        R456: the set cannot be made. R403 to R405: nor can a scratch drive. What was made until then is gone again.
    """
    assert facts.raid is not None, "a target of the kind raid has a set"
    known = {change.number for change in journal.outstanding}
    try:
        with ExitStack() as held:
            members, notes = _members(facts.raid, journal, filled)
            for member in members:
                # held from here on: no name may come to mean another drive meanwhile
                hold = HeldDevice(member)
                held.callback(hold.release)
                hold.give_up(consent.erase)
            made = make_raid(facts.raid, [member.path for member in members], journal)
    except BaseException:
        for change in journal.outstanding:
            if change.number not in known:
                undo(change, journal)
        raise
    found = with_members(replace(facts, raid=made.facts), members)
    return look_at_raid(made.path, found), (*made.facts.notes, *notes)


def look_at_raid(path: str, asked: TargetFacts, identity: DriveIdentity | None = None) -> TargetFacts:
    """A RAID set as the block device that it is now.

    Parameters
    ----------
    path : str
        Its device node.
    asked : TargetFacts
        The target: what was typed, and the set as it was made.
    identity : DriveIdentity, optional
        As it was when the set was made; without it, as it is now.
    """
    now = member_drives(resolve_target(path))
    return replace(now, text=asked.text, raid=asked.raid, identity=identity or now.identity)


def _members(raid: RaidFacts, journal: Journal, filled: Filled) -> tuple[list[TargetFacts], tuple[str, ...]]:
    """The members as block devices, scratch drives made, and what is to be known about these."""
    members: list[TargetFacts] = []
    notes: dict[str, None] = {}
    done_bytes = 0
    for member in raid.members:
        if member.kind != "scratch":
            members.append(member)
            continue
        scratch = make_scratch(
            member.size_bytes, journal, partial(_filled_more, filled, done_bytes, raid.scratch_bytes)
        )
        done_bytes += member.size_bytes
        notes.update(dict.fromkeys(scratch.notes))
        members.append(replace(resolve_measured(scratch.path), text=member.text))
    return members, tuple(notes)


def _filled_more(filled: Filled, before_bytes: int, all_bytes: int, some_bytes: int, _: int) -> None:
    """Tell of one scratch drive as a part of all of them."""
    filled(before_bytes + some_bytes, all_bytes)
