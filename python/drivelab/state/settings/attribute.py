"""One attribute of the kernel's about a drive: set and read back, put back and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.settings.drive_reference import Reference, find_queue, is_same_reference, reference_to
from drivelab.state.settings.kernel_attribute import drive_node, has_attribute, read_attribute, write_attribute
from drivelab.state.settings.queue_values import CONSEQUENCES, MOVED_ALONG, Goals, goals_of, known_values, queue_values
from drivelab.state.undo_context import NO_CONTEXT, UndoContext

KIND = "drive_attribute"
_SCHEDULER = "queue/scheduler"


def set_attribute(name: str, attribute: str, value: str, journal: Journal, paths: SystemPaths = SYSTEM) -> None:
    """Set an attribute, and read it back; nothing happens when it has the value already.

    Raises
    ------
    DrivelabError
        R404: the kernel has no such attribute, refuses the value, or keeps
        another one; then it is as it was.
    """
    old = read_attribute(name, attribute, paths)
    if old == value:
        return
    if not has_attribute(name, attribute, paths):
        raise DrivelabError("R404", f"there is no {attribute}", where=drive_node(name))
    before = queue_values(name, paths, but=attribute)
    reference = reference_to(name, paths)
    change = journal.will_change(KIND, drive=reference, attribute=attribute, old=old, new=value, others=before)
    try:
        write_attribute(name, attribute, value, paths)
        now = read_attribute(name, attribute, paths)
        if now != value:
            raise DrivelabError("R404", f"{attribute} was set to {value} and is {now}", where=drive_node(name))
        unasked = {other: text for other, text in before.items() if other not in CONSEQUENCES.get(attribute, ())}
        Goals(unasked).bring(name, paths)
    except DrivelabError:
        journal.note(change, is_cut_off=True)
        Goals(before | ({attribute: old} if old is not None else {})).bring(name, paths)
        journal.was_undone(change)
        raise
    journal.note(change, moved=queue_values(name, paths, but=attribute))


def undo_attribute(
    drive: Reference,
    attribute: str,
    old: str | None,
    new: str,
    others: Mapping[str, str],
    moved: Mapping[str, str] | None = None,
    is_cut_off: bool = False,
    *,
    context: UndoContext = NO_CONTEXT,
    paths: SystemPaths = SYSTEM,
) -> str:
    """Put an attribute back, and what the kernel changed along with it; what was done, in words, or nothing.

    A value that is neither what drivelab set nor what the kernel made of that
    was set by someone else, and stays; with a queue that the kernel has no
    more it is gone.

    Parameters
    ----------
    drive : mapping
        Names the drive.
    attribute, old, new
        What was changed, from and to.
    others : mapping of str to str
        The rest of the queue right before.
    moved : mapping of str to str, optional
        The rest of the queue right after; unknown where drivelab was killed before it could look.
    is_cut_off : bool
        Whether an undo has begun before, and did not come to its end.

    Raises
    ------
    DrivelabError
        R406: something is not as it was, because the kernel refuses; or there
        are two drives of that name.
    """
    name = find_queue(drive, paths)
    if name is None or old is None:
        return ""
    now = {attribute: read_attribute(name, attribute, paths) or ""} | queue_values(name, paths, but=attribute)
    facts = {"attribute": attribute, "old": old, "new": new, "others": others, "moved": moved}
    beside = [one for one in context.beside if is_same_reference(one.facts["drive"], drive)]
    newer = [one for one in context.newer if one in beside]
    ours = known_values([facts, *(one.facts for one in beside)])
    made = {new, *(one.facts["new"] for one in newer if one.facts["attribute"] == attribute)}
    made |= {old} if moved is not None or is_cut_off else set()
    is_made = now[attribute] in made or (is_cut_off and attribute in MOVED_ALONG)
    if not is_made or _is_of_another_scheduler(attribute, now, ours):
        return ""
    goals = goals_of(others, now, ours, is_cut_off=is_cut_off or moved is None)
    goals.required[attribute] = old
    if all(now.get(one) == text for one, text in goals.required.items()):
        return ""
    for change in newer:
        # it could not be put back; what it goes back to must no longer be what this one had made
        context.note(change, is_cut_off=True, **_without(change.facts, goals.required))
        goals.leave_to_others(change.facts["attribute"], but=attribute)
    # until it is done nobody knows what the kernel makes of the first half
    context.note(is_cut_off=True)
    try:
        goals.bring(name, paths)
    except DrivelabError:
        context.note(is_cut_off=False, moved=queue_values(name, paths, but=attribute))
        raise
    changed = [one for one, text in goals.required.items() if one != attribute and now.get(one) != text]
    along = "".join(f", {one} to {goals.required[one]}" for one in changed)
    return f"set {attribute} of {drive_node(name)} back to {old}{along}"


def _is_of_another_scheduler(attribute: str, now: Mapping[str, str], ours: Mapping[str, set[str]]) -> bool:
    """Whether a value came with a scheduler that somebody else has chosen since."""
    return attribute in CONSEQUENCES[_SCHEDULER] and _SCHEDULER in ours and now.get(_SCHEDULER) not in ours[_SCHEDULER]


def _without(facts: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """What a change goes back to after an older one was put back to what was found before it."""
    others = {other: found.get(other, text) for other, text in facts["others"].items()}
    return {"others": others, "old": found.get(facts["attribute"], facts["old"])}
