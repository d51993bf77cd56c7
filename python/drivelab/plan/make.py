"""Makes the plan of an experiment on given targets: pure, so the same input gives the same plan."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from drivelab.model.experiment import Experiment
from drivelab.model.level_words import levels_phrase
from drivelab.model.plan import PREPARATIONS, Plan, PlannedStep, PlannedTarget, TraceChoice
from drivelab.model.setting import AS_FOUND, SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.availability import action_facts
from drivelab.plan.budget import (
    actions_ns,
    bytes_written,
    expected_step_ns,
    write_ns,
)
from drivelab.plan.cells import Cell, cells_of, overwrites_device, purges, reference_cell
from drivelab.plan.fitting import Fitting
from drivelab.plan.order import Turn, turns
from drivelab.plan.phases import phase_notes, planned_phases, turns_of_phases
from drivelab.plan.preparation import Preparation, Preparations
from drivelab.plan.suitable import refuse_overlaps, refuse_unanswerable
from drivelab.plan.targets import changes_text, planned_targets, target_notes


def make_plan(
    experiment: Experiment,
    targets: Sequence[TargetFacts],
    *,
    seed: int,
    quick: bool = False,
    settings: Sequence[Mapping[str, SettingFacts]] = (),
    skip_unavailable: bool = False,
    labels: Sequence[str] = (),
    trace: TraceChoice | None = None,
) -> Plan:
    """The ordered steps that the experiment becomes.

    Parameters
    ----------
    targets : sequence of TargetFacts
        Where; at least one.
    seed : int
        Decides the order and every workload's addresses and contents.
    quick : bool
        Whether to take the experiment's scaled-down sizes and repeats.
    settings : sequence of mapping of str to SettingFacts
        What is known about the settings of each target, in the same order.
    skip_unavailable : bool
        Whether levels that a target cannot have are left out; on a scratch drive they always are.
    labels : sequence of str
        What the user calls the targets, in the same order; may be fewer.
    trace : str, optional
        Source by which every trial is traced once more.

    Returns
    -------
    Plan
        Blocks in the order of `drivelab.plan.order.turns`, or of the experiment's phases.

    Raises
    ------
    DrivelabError
        P704, P707: a factor or level that a target cannot have. P705: too small. P706: a workload that cannot be
        issued there. P708: nothing is left. P709: labels. P710: targets that overlap. P711: no answer there.
    """
    refuse_unanswerable(experiment, targets)
    cells = cells_of(experiment, quick=quick)
    planned = _planned(cells, targets, labels)
    refuse_overlaps(targets, erased=[bool(target.destroys) for target in planned])
    known = _known(planned, targets, settings)
    fitting = Fitting(known, skip_unavailable=skip_unavailable)
    fitted = {target.label: fitting.cells(cells, target) for target in planned}
    references = _references(reference_cell(experiment, quick=quick), planned, fitting)
    fitting.refuse()
    phases = planned_phases(experiment, quick=quick)
    generator = np.random.default_rng(seed)
    order = turns_of_phases(fitted, phases) or _at_random(experiment, fitted, references, generator, quick=quick)
    prepared = _prepared(order, planned, targets, is_traced=trace is not None)
    return Plan(
        experiment=experiment.name,
        question=experiment.question,
        quick=quick,
        seed=seed,
        targets=_with_changes(planned, targets, fitted, known),
        steps=tuple(_steps(order, prepared, planned, generator)),
        preparation_ns=write_ns(_filled_bytes(planned), pace="loop"),
        preparation=_preparation_bytes(prepared, filled_bytes=_filled_bytes(planned)),
        notes=(*fitting.notes, *target_notes(targets), *phase_notes(phases, fitted)),
        left_out=fitting.left_out,
        trace=trace,
        phases=phases,
    )


def _at_random(
    experiment: Experiment,
    cells: dict[str, tuple[Cell, ...]],
    references: dict[str, Cell],
    generator: np.random.Generator,
    *,
    quick: bool,
) -> list[Turn]:
    repeats = experiment.repeats.quick if quick else experiment.repeats.full
    return list(turns(cells, references, repeats=repeats, generator=generator))


def _with_changes(
    planned: Sequence[PlannedTarget],
    targets: Sequence[TargetFacts],
    cells: Mapping[str, Sequence[Cell]],
    known: Mapping[str, Mapping[str, SettingFacts]],
) -> tuple[PlannedTarget, ...]:
    return tuple(
        replace(target, changes=changes_text(facts, _changed_settings(cells[target.label], known[target.label])))
        for target, facts in zip(planned, targets, strict=True)
    )


def _references(reference: Cell | None, planned: Sequence[PlannedTarget], fitting: Fitting) -> dict[str, Cell]:
    """The reference as each target can have it, by the target's label."""
    asked = (reference,) if reference else ()
    return {target.label: found for target in planned for found in fitting.cells(asked, target)}


def _known(
    planned: Sequence[PlannedTarget],
    targets: Sequence[TargetFacts],
    settings: Sequence[Mapping[str, SettingFacts]],
) -> dict[str, dict[str, SettingFacts]]:
    """What is known about each target's settings and about what can be done to it, by its label."""
    read = [settings[place] if place < len(settings) else {} for place in range(len(targets))]
    return {
        target.label: {**action_facts(facts), **one} for target, facts, one in zip(planned, targets, read, strict=True)
    }


def _planned(cells: Sequence[Cell], targets: Sequence[TargetFacts], labels: Sequence[str]) -> tuple[PlannedTarget, ...]:
    return planned_targets(
        targets,
        overwrites_devices=any(map(overwrites_device, cells)),
        purges=any(map(purges, cells)),
        labels=labels,
    )


def _changed_settings(cells: Sequence[Cell], known: Mapping[str, SettingFacts]) -> list[str]:
    """The settings that are not left as they were found; one that cannot be set is."""
    changed = (name for cell in cells for name, level in cell.settings.items() if level != AS_FOUND)
    return [name for name in dict.fromkeys(changed) if name not in known or not known[name].reason]


def _steps(
    order: Sequence[Turn],
    prepared: Sequence[Preparation],
    targets: Sequence[PlannedTarget],
    generator: np.random.Generator,
) -> Iterator[PlannedStep]:
    digits = max(4, len(str(len(order))))
    by_label = {target.label: target for target in targets}
    durations = _durations_ns(order, by_label)
    for number, (turn, before, duration_ns) in enumerate(zip(order, prepared, durations, strict=True), start=1):
        cell, target = turn.cell, by_label[turn.target]
        words = [turn.target] if len(targets) > 1 else []
        words += ["reference"] if turn.is_reference else []
        told = [level for level in cell.levels.values() if level != AS_FOUND]
        words += [cell.workload, *told]
        title = f"reference: {cell.title}" if turn.is_reference else cell.title
        yield PlannedStep(
            number=number,
            trial=trial_name(f"{number:0{digits}}", words, turn.repeat),
            target=turn.target,
            workload=cell.workload,
            label=", ".join(filter(None, [title, levels_phrase(cell.levels)])),
            pattern=cell.pattern,
            filesystem=cell.filesystem,
            levels=cell.levels,
            block=turn.block,
            repeat=turn.repeat,
            seed=int(generator.integers(1, 2**32)),
            expected_ns=before.duration_ns + actions_ns(cell.actions) + duration_ns,
            bytes_written=bytes_written(cell.pattern, cell.filesystem, pace=target.pace),
            settings=cell.settings,
            actions=cell.actions,
            is_reference=turn.is_reference,
            preparation_bytes=before.bytes_written,
            together=turn.together,
            phase=turn.phase,
            round=turn.round,
            point=cell.point,
        )


def _durations_ns(order: Sequence[Turn], targets: Mapping[str, PlannedTarget]) -> list[int]:
    """Guessed duration of every trial; of those that run at the same time the longest alone takes time."""
    found = [
        expected_step_ns(turn.cell.pattern, turn.cell.filesystem, pace=targets[turn.target].pace) for turn in order
    ]
    return longest_alone(found, [turn.together for turn in order])


def longest_alone(durations_ns: Sequence[int], together: Sequence[int]) -> list[int]:
    """Durations of steps, of which each group of `together` takes no longer than its longest."""
    kept = list(durations_ns)
    for _, group in itertools.groupby(range(len(kept)), key=lambda place: together[place] or -place - 1):
        places = list(group)
        longest = max(places, key=lambda place: durations_ns[place])
        for place in places:
            kept[place] = durations_ns[place] if place == longest else 0
    return kept


def _prepared(
    order: Sequence[Turn], planned: Sequence[PlannedTarget], targets: Sequence[TargetFacts], *, is_traced: bool
) -> list[Preparation]:
    """What is written before each turn, and by the pass that counts or is traced after it."""
    mounted = zip(planned, (facts.filesystem for facts in targets), strict=True)
    types = {target.label: found.type for target, found in mounted if found}
    preparations = Preparations(planned, types, is_traced=is_traced)
    return [preparations.of(turn) for turn in order]


def _filled_bytes(targets: Sequence[PlannedTarget]) -> int:
    """Bytes of the scratch drives that are filled when they are made."""
    return sum(target.scratch_bytes for target in targets)


def _preparation_bytes(prepared: Sequence[Preparation], *, filled_bytes: int) -> dict[str, int]:
    """What is written beside the workloads, by what it is for, in a fixed order."""
    found = {"scratch": filled_bytes}
    for one in prepared:
        for what, written in one.bytes_for.items():
            found[what] = found.get(what, 0) + written
    return {what: found[what] for what in PREPARATIONS if found.get(what)}


def trial_name(number: str, words: Sequence[str], repeat: int) -> str:
    """Name of a trial, ``0003-small-write-ext4-r1``: sorts in the order of the plan, and can name a file."""
    parts = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-.")[:40] for word in words]
    return "-".join([number, *(part for part in parts if part)])[:150] + f"-r{repeat}"
