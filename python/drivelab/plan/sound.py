"""Holds a plan to what every plan is: its names name files and nothing else, its numbers are those of its order.

A plan that was stored may have been changed since, by a damage or by somebody.
What planning makes is held to the same rules, so a stored plan can ask for
nothing that a fresh one could not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from drivelab.model.errors import DrivelabError
from drivelab.model.factor import ACTION_LEVELS
from drivelab.model.plan import Plan, PlannedStep, PlannedTarget
from drivelab.model.setting import AS_FOUND, SETTING_NAMES, SettingFacts, canonical_level
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.availability import action_facts, in_words, refusals
from drivelab.plan.cells import Cell, overwrites_device, purges
from drivelab.plan.fit import fit, refuse_unless_together
from drivelab.plan.suitable import refuse_overlaps
from drivelab.plan.targets import changes_text, planned_targets

_TRIAL_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,199}")
_FAILED_ATTEMPT = re.compile(r"\.failed[0-9]+$")
_FACTOR_NAMES = {"filesystem", "mount", *ACTION_LEVELS, *SETTING_NAMES, *WorkloadPattern.model_fields}
_FILE_NAME_BYTES_MAX = 255
# what columns, the engine and the kernel can hold
_MOST = {"block": 2**31 - 1, "repeat": 2**31 - 1, "together": 2**31 - 1, "seed": 2**64 - 1} | dict.fromkeys(
    ("expected_ns", "bytes_written", "preparation_bytes"), 2**63 - 1
)


def require_sound(plan: Plan) -> None:
    """Return only if a plan is one that planning could have made, as far as it tells by itself.

    Raises
    ------
    DrivelabError
        R422: it is not; the error names the step.
    """
    labels = [target.label for target in plan.targets]
    if not plan.steps or not plan.targets:
        raise _unsound("it has no steps" if plan.targets else "it has no targets")
    if len(set(labels)) < len(labels) or not all(label.strip() for label in labels):
        raise _unsound("its targets do not have a label each")
    seen: set[str] = set()
    # steps share their patterns, and looking at one takes longer than at all else
    flaws = {id(step.pattern): _flaw_of_pattern(step.pattern) for step in _one_for_each_pattern(plan)}
    for place, step in enumerate(plan.steps, start=1):
        flaw = "another one has its name" if step.trial in seen else next(_flaws(step, place, labels), "")
        flaw = flaw or flaws[id(step.pattern)]
        if flaw:
            raise _unsound(f"step {place}: {flaw}")
        seen.add(step.trial)


def fitted_again(
    plan: Plan, targets: Mapping[str, TargetFacts], settings: Mapping[str, Mapping[str, SettingFacts]]
) -> Plan:
    """A stored plan on its targets as they are now, if planning would still let its steps go there.

    Returns
    -------
    Plan
        What its targets lose and what their owners type is found out again.

    Raises
    ------
    DrivelabError
        P704 to P707, P710, T101: as in planning. R422: a step that no plan has.
    """
    plan = replace(plan, targets=tuple(_targets_now(plan, targets)))
    refuse_overlaps([targets[target.label] for target in plan.targets], erased=[bool(t.destroys) for t in plan.targets])
    known = {label: {**action_facts(facts), **settings[label]} for label, facts in targets.items()}
    by_label = {target.label: target for target in plan.targets}
    different = {
        (step.target, id(step.pattern), id(step.filesystem), *step.settings.items(), *step.actions.items()): step
        for step in plan.steps
    }
    for step in different.values():
        target, cell = by_label[step.target], _cell(step)
        refused = refusals(cell, target, known[step.target])
        if refused:
            raise DrivelabError("P707", "; ".join(in_words(refused)))
        # of phases a stored plan knows the bytes alone, and no more how many times the whole target they are
        found, notes = fit(cell, target, goes_round=plan.is_listed or bool(plan.phases))
        if found is None:
            raise _unsound(f"step {step.number}: {'; '.join(notes)}")
    for unit in plan.units:
        _refuse_crowd(plan, unit)
    return plan


def _flaws(step: PlannedStep, place: int, labels: Sequence[str]) -> Iterator[str]:
    """What no step of a plan has."""
    if step.number != place:
        yield f"its number is {step.number}"
    if not _TRIAL_NAME.fullmatch(step.trial) or _FAILED_ATTEMPT.search(step.trial):
        yield f"{step.trial!a} cannot name a trial"
    if step.target not in labels:
        yield f"there is no target {step.target!a}"
    if step.file_name and not _is_plain_name(step.file_name):
        yield f"{step.file_name!a} is no name of a file in a directory"
    for name, most in _MOST.items():
        if not 0 <= getattr(step, name) <= most:
            yield f"its {name} is {getattr(step, name)}"
    unknown = sorted(step.levels.keys() - _FACTOR_NAMES)
    if unknown:
        yield f"there is no factor {unknown[0]!a}"
    for name, level in step.settings.items():
        if name not in SETTING_NAMES or not _is_level(name, level):
            yield f"no setting {name!a} has the level {level!a}"
    for name, level in step.actions.items():
        if level not in ACTION_LEVELS.get(name, ()):
            yield f"nothing that is done before a trial is {name!a} {level!a}"


def _one_for_each_pattern(plan: Plan) -> Collection[PlannedStep]:
    return {id(step.pattern): step for step in plan.steps}.values()


def _flaw_of_pattern(pattern: WorkloadPattern) -> str:
    """Why a pattern cannot be issued to anything; empty when it can."""
    try:
        pattern.on(TargetRange(path=""), seed=1)
    except ValidationError as error:
        return f"its workload cannot be issued: {error.errors()[0]['msg']}"
    return ""


def _is_plain_name(name: str) -> bool:
    return (
        "/" not in name
        and "\0" not in name
        and name not in (".", "..")
        and len(name.encode("utf-8", "surrogatepass")) <= _FILE_NAME_BYTES_MAX
    )


def _is_level(name: str, level: str) -> bool:
    try:
        return canonical_level(name, level) == level
    except ValueError:
        return False


def _targets_now(plan: Plan, targets: Mapping[str, TargetFacts]) -> Iterator[PlannedTarget]:
    """The plan's targets as planning makes them of what they are now, each under its own label."""
    fresh = planned_targets(
        [targets[target.label] for target in plan.targets],
        overwrites_devices=any(map(overwrites_device, plan.steps)),
        purges=any(map(purges, plan.steps)),
        labels=[target.label for target in plan.targets],
    )
    for target in fresh:
        steps = [step for step in plan.steps if step.target == target.label]
        changed = dict.fromkeys(name for step in steps for name, level in step.settings.items() if level != AS_FOUND)
        found = replace(target, changes=changes_text(targets[target.label], list(changed)))
        is_only_read = plan.is_listed and not any(step.pattern.writes for step in steps)
        yield replace(found, destroys=(), erase_argument="") if is_only_read else found


def _cell(step: PlannedStep) -> Cell:
    return Cell(
        filesystem=step.filesystem,
        workload=step.workload,
        title=step.label,
        pattern=step.pattern,
        levels=step.levels,
        settings=step.settings,
        actions=step.actions,
    )


def _refuse_crowd(plan: Plan, unit: Sequence[PlannedStep]) -> None:
    """Refuse steps at the same time whose files have no room together; those of the same name are one."""
    by_target = itertools.groupby(sorted(unit, key=lambda step: step.target), key=lambda step: step.target)
    for label, steps in by_target:
        files = {step.file_name or str(step.number): _cell(step) for step in steps}
        refuse_unless_together(list(files.values()), plan.target(label))


def _unsound(what: str) -> DrivelabError:
    return DrivelabError("R422", f"its plan is none that drivelab makes: {what}")
