"""What is needed to go on with a run that was cut off: its plan, its targets, and which trials it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from drivelab.inventory.drives import list_drives
from drivelab.inventory.loop_target import with_loop_as_drive
from drivelab.inventory.raid import resolve_raid
from drivelab.inventory.target import SCRATCH_PREFIX, resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.store.read import StoredRun


@dataclass(frozen=True, slots=True)
class Resumption:
    """The rest of a run.

    Attributes
    ----------
    plan : Plan
        The whole plan, as it was made when the run began.
    targets : dict of str to TargetFacts
        The targets as they are now, by label.
    completed : frozenset of str
        Trials that are stored already.
    notes : tuple of str
        What has changed since the run began.
    """

    plan: Plan
    targets: dict[str, TargetFacts]
    completed: frozenset[str]
    notes: tuple[str, ...]


def plan_resumption(run: StoredRun) -> Resumption:
    """What is left of a run, on the same targets.

    Raises
    ------
    DrivelabError
        R421: nothing is left. R422: it has no plan that can be read. C207: a
        target is not the one that the run began on. Others when a target is gone.
    """
    plan = _stored_plan(run)
    completed = frozenset(run.completed_trials())
    if all(step.trial in completed for step in plan.steps):
        raise DrivelabError("R421", f"all {len(plan.steps)} trials of the run are there", where=str(run.directory))
    stored = {target["label"]: target.get("facts_before") or {} for target in run.run_json.get("targets", ())}
    targets, notes = {}, []
    for planned in plan.targets:
        facts = _same_target(planned, stored.get(planned.label, {}))
        if facts.path != stored.get(planned.label, {}).get("path", facts.path) and facts.kind == "block_device":
            notes.append(f"{planned.label} was {stored[planned.label]['path']} and is {facts.path} now")
        targets[planned.label] = with_loop_as_drive(facts)
    return Resumption(plan, targets, completed, tuple(notes))


def _stored_plan(run: StoredRun) -> Plan:
    document = run.run_json.get("plan")
    if run.run_json.get("imported"):
        raise DrivelabError("R422", "it was imported: drivelab measured nothing that could be gone on with")
    if not document:
        raise DrivelabError("R422", "it was made without a plan: only what 'drivelab run' began can be resumed")
    try:
        return Plan.from_json(document)
    except (KeyError, TypeError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        what = f"its plan was written by drivelab {run.run_json.get('drivelab_version')} and cannot be read: {reason}"
        raise DrivelabError("R422", what, where=str(run.directory)) from error


def _same_target(planned: PlannedTarget, stored: Mapping[str, Any]) -> TargetFacts:
    """The target as it is now, found again by what cannot change."""
    if planned.kind == "scratch":
        return resolve_target(planned.text)
    if planned.kind == "raid":
        return _same_members(planned, stored)
    if planned.kind != "block_device":
        return _same_place(planned, stored)
    return _same_device(planned.text, stored)


def _same_device(text: str, stored: Mapping[str, Any]) -> TargetFacts:
    before = stored.get("identity") or {}
    for path in (text, *_paths_by_serial(stored)):
        try:
            found = resolve_target(path)
        except DrivelabError:
            continue
        if _is_same(before, found):
            return replace(found, text=text)
    what = f"{text} is not the drive that the run began on ({_called(before)})"
    raise DrivelabError("C207", what, where=text, do="plug that drive in again, or run the experiment again")


def _same_members(planned: PlannedTarget, stored: Mapping[str, Any]) -> TargetFacts:
    """A RAID set of the drives that the run began on, wherever they are now; it is going to be made again."""
    before = iter((stored.get("raid") or {}).get("members", ()))

    def found_again(name: str) -> TargetFacts:
        member = next(before, None)
        if member is None:
            raise DrivelabError("R422", f"it does not tell of what drives {planned.text} was made", where=planned.text)
        return resolve_target(name) if name.startswith(SCRATCH_PREFIX) else _same_device(name, member)

    return resolve_raid(planned.text, found_again)


def _paths_by_serial(stored: Mapping[str, Any]) -> Iterator[str]:
    """Where the drive may be now: kernel names move when a computer starts again, and the serial does not."""
    serials = set((stored.get("identity") or {}).get("serials", ()))
    layers = stored.get("devices") or [{}]
    for drive in list_drives():
        if not serials & set(drive.serials):
            continue
        if layers[-1].get("kind") != "part":
            yield drive.path
            continue
        number = str(layers[-1]["name"]).removeprefix(str(layers[-2]["name"])).removeprefix("p")
        yield f"{drive.path}{'p' if drive.name[-1].isdigit() else ''}{number}"


def _is_same(before: Mapping[str, Any], now: TargetFacts) -> bool:
    identity = now.identity
    if identity is None or before.get("size_bytes") != identity.size_bytes:
        return False
    serials, wwn = tuple(before.get("serials", ())), before.get("wwn")
    if not serials and not wwn:
        # without a serial only the kernel's name and its count of disks tell devices apart
        return (before.get("name"), before.get("diskseq")) == (identity.name, identity.diskseq)
    return (serials, wwn) == (tuple(identity.serials), identity.wwn)


def _same_place(planned: PlannedTarget, stored: Mapping[str, Any]) -> TargetFacts:
    facts = resolve_target(planned.text)
    before = stored.get("filesystem") or {}
    now = facts.filesystem
    if now is not None and before and (before["type"], before["source"]) != (now.type, now.source):
        what = (
            f"{planned.text} lies on {now.type} of {now.source} now, and lay on {before['type']} of {before['source']}"
        )
        raise DrivelabError("C207", what, where=planned.text, do="mount it as it was, or run the experiment again")
    return facts


def _called(identity: Mapping[str, Any]) -> str:
    names = [*identity.get("serials", ()), *([identity["wwn"]] if identity.get("wwn") else [])]
    return f"serial {', '.join(names)}" if names else str(identity.get("name", "unknown"))
