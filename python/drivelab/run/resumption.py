"""What is needed to go on with a run that was cut off: its plan, its targets, and which trials it has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from drivelab.answers.rounds import rounds_of_run, stored_values
from drivelab.inventory.drives import list_drives
from drivelab.inventory.loop_target import with_loop_as_drive
from drivelab.inventory.raid import resolve_raid
from drivelab.inventory.target import SCRATCH_PREFIX, resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted_of
from drivelab.model.plan import Plan, PlannedStep, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.plan.sound import fitted_again, require_sound
from drivelab.state.known_settings import known_settings
from drivelab.store.read import StoredRun


@dataclass(frozen=True, slots=True)
class Resumption:
    """The rest of a run.

    Attributes
    ----------
    plan : Plan
        The whole plan, as it was made when the run began; what its targets lose as it is now.
    completed : frozenset of str
        Trials that are stored already.
    notes : tuple of str
        What has changed since the run began.
    left : tuple of PlannedStep
        The steps that are neither stored nor, in phases that have ended, needless.
    """

    plan: Plan
    targets: dict[str, TargetFacts]
    completed: frozenset[str]
    notes: tuple[str, ...]
    left: tuple[PlannedStep, ...]


def plan_resumption(run: StoredRun) -> Resumption:
    """What is left of a run, on the same targets; nothing where only its end was never written.

    Raises
    ------
    DrivelabError
        R421: nothing is left, and its end is written. R422: it has no plan that
        can be read, or none that planning would make. C207: a target is not the
        one that the run began on. P704 to P707, P710: a target cannot have what
        the plan asks for. Others when a target is gone.
    """
    plan = stored_plan(run)
    completed = frozenset(run.completed_trials())
    rounds = rounds_of_run(run)
    done = completed | (rounds.not_needed(stored_values(run)) if rounds else frozenset())
    # a stored plan does not say what becomes of files of the user's
    plan = replace(plan, steps=tuple(replace(step, keeps_file=False) for step in plan.steps))
    left = tuple(step for step in plan.steps if step.trial not in done)
    if not left and run.record.status == "complete":
        raise DrivelabError(
            "R421", f"{counted_of(len(completed), len(completed), 'trial', 'are')} there", where=str(run.directory)
        )
    stored = {target.get("label"): target.get("facts_before") or {} for target in run.record.targets}
    targets, notes = {}, []
    for planned in plan.targets:
        before = stored.get(planned.label, {})
        facts = _same_target(planned, before)
        if facts.kind != planned.kind:
            what = f"{planned.text} was a {planned.kind.replace('_', ' ')} and is a {facts.kind.replace('_', ' ')} now"
            raise DrivelabError("C207", what, where=planned.text, do="put it back, or run the experiment again")
        if facts.path != before.get("path", facts.path) and facts.kind == "block_device":
            notes.append(f"{planned.label} was {before['path']} and is {facts.path} now")
        targets[planned.label] = with_loop_as_drive(facts)
    return Resumption(_fitted(plan, targets, is_done=not left), targets, completed, tuple(notes), left)


def _fitted(plan: Plan, targets: Mapping[str, TargetFacts], *, is_done: bool) -> Plan:
    """The plan as planning would let it be carried out now; there is no need to where nothing is left of it."""
    if is_done:
        return plan
    varied = list(dict.fromkeys(name for step in plan.steps for name in (*step.settings, *step.actions)))
    return fitted_again(plan, targets, {label: known_settings(facts, varied) for label, facts in targets.items()})


def stored_plan(run: StoredRun) -> Plan:
    """The plan of a stored run, held to the rules that every plan keeps; nothing of this computer is looked at.

    Raises
    ------
    DrivelabError
        R422: there is none that can be read, or it is none that planning would make.
    """
    if run.record.imported:
        raise DrivelabError("R422", "it was imported: drivelab measured nothing that could be gone on with")
    if not run.record.plan:
        raise DrivelabError("R422", "it was made without a plan: only what 'drivelab run' began can be resumed")
    if run.record.experiment.get("name") == "check":
        what = "it is a check: only what 'drivelab run' began can be resumed"
        raise DrivelabError("R422", what, where=str(run.directory), do="run it again: drivelab check TARGET")
    try:
        plan = Plan.from_json(run.record.plan)
    except (LookupError, TypeError, ValueError) as error:
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else " ".join(str(error).split())
        what = f"its plan was written by drivelab {run.record.drivelab_version} and cannot be read: {why}"
        raise DrivelabError("R422", what, where=str(run.directory)) from error
    require_sound(plan)
    return plan


def _same_target(planned: PlannedTarget, stored: Mapping[str, Any]) -> TargetFacts:
    """The target as it is now, found again by what cannot change."""
    if planned.kind in ("scratch", "simulated"):
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
    before = iter((stored.get("raid") or {}).get("members") or ())

    def found_again(name: str) -> TargetFacts:
        member = next(before, None)
        if member is None:
            raise DrivelabError("R422", f"it does not tell of what drives {planned.text} was made", where=planned.text)
        return resolve_target(name) if name.startswith(SCRATCH_PREFIX) else _same_device(name, member)

    return resolve_raid(planned.text, found_again)


def _paths_by_serial(stored: Mapping[str, Any]) -> Iterator[str]:
    """Where the drive may be now: kernel names move when a computer starts again, and the serial does not."""
    serials = set((stored.get("identity") or {}).get("serials") or ())
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
    serials, wwn = tuple(before.get("serials") or ()), before.get("wwn")
    if not serials and not wwn:
        # without a serial only the kernel's name and its count of disks tell devices apart
        return (before.get("name"), before.get("diskseq")) == (identity.name, identity.diskseq)
    return (serials, wwn) == (tuple(identity.serials), identity.wwn)


def _same_place(planned: PlannedTarget, stored: Mapping[str, Any]) -> TargetFacts:
    """The directory or file that the run began on, whatever its text means where the run is resumed."""
    path = stored.get("path")
    if not path or not os.path.isabs(path):
        raise DrivelabError("R422", f"it does not tell where {planned.text} lies", where=planned.text)
    facts = resolve_target(path)
    changed = next(_differences(stored, facts), "")
    if changed:
        do = "put it back as it was, or run the experiment again"
        raise DrivelabError("C207", f"{path} {changed}", where=planned.text, do=do)
    return facts


def _differences(before: Mapping[str, Any], now: TargetFacts) -> Iterator[str]:
    """Why a directory or file is not the one that it was, in words."""
    if now.path != before["path"]:
        yield f"is a link to {now.path} now"
    beneath, lies_on = before.get("filesystem") or {}, now.filesystem
    if lies_on is None or not beneath:
        return
    if (beneath.get("type"), beneath.get("source")) != (lies_on.type, lies_on.source):
        yield (
            f"lies on {lies_on.type} of {lies_on.source} now, "
            f"and lay on {beneath.get('type')} of {beneath.get('source')}"
        )
    # other computers, and programs, may number their files afresh
    is_numbered = not (lies_on.is_network or lies_on.is_fuse) and before.get("inode") is not None
    if is_numbered and before["inode"] != now.inode:
        yield "is another one now, under the same name"


def _called(identity: Mapping[str, Any]) -> str:
    names = [*(identity.get("serials") or ()), *([identity["wwn"]] if identity.get("wwn") else [])]
    return f"serial {', '.join(names)}" if names else str(identity.get("name", "unknown"))
