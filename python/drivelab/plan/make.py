"""Makes the plan of an experiment on given targets: pure, so the same input gives the same plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan, PlannedStep, PlannedTarget
from drivelab.model.setting import AS_FOUND, SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.availability import action_facts
from drivelab.plan.budget import (
    CHANGE_SETTING_NS,
    MAKE_FILESYSTEM_NS,
    actions_ns,
    bytes_written,
    expected_step_ns,
    fill_ns,
)
from drivelab.plan.cells import Cell, cells_of, reference_cell
from drivelab.plan.fit import is_on_device
from drivelab.plan.fitting import Fitting
from drivelab.plan.order import Turn, turns
from drivelab.plan.targets import changes_text, planned_targets


def make_plan(
    experiment: Experiment,
    targets: Sequence[TargetFacts],
    *,
    seed: int,
    quick: bool = False,
    settings: Sequence[Mapping[str, SettingFacts]] = (),
    skip_unavailable: bool = False,
    labels: Sequence[str] = (),
) -> Plan:
    """The ordered steps that the experiment becomes.

    Parameters
    ----------
    experiment : Experiment
        What is asked.
    targets : sequence of TargetFacts
        Where; at least one.
    seed : int
        Decides the order and every workload's addresses and contents.
    quick : bool
        Whether to take the experiment's scaled-down sizes and repeats.
    settings : sequence of mapping of str to SettingFacts
        What is known about the settings of each target, in the same order.
    skip_unavailable : bool
        Whether levels that a target cannot have are left out; a scratch drive
        has hardly any setting, and there they always are.
    labels : sequence of str
        What the user calls the targets, in the same order; may be fewer.

    Returns
    -------
    Plan
        Blocks in the order of `drivelab.plan.order.turns`.

    Raises
    ------
    DrivelabError
        P704, P707: a factor or a level that a target cannot have. P705: a target too small.
        P706: a workload that cannot be issued there. P708: nothing is left.
        P709: labels that do not fit the targets.
    """
    cells = cells_of(experiment, quick=quick)
    planned = _planned(cells, targets, labels)
    fitting = Fitting(_known(planned, targets, settings), skip_unavailable=skip_unavailable)
    fitted = {target.label: fitting.cells(cells, target) for target in planned}
    reference = reference_cell(experiment, quick=quick)
    references = _references(reference, planned, fitting)
    fitting.refuse()
    planned = tuple(
        replace(target, changes=changes_text(facts, _changed_settings(fitted[target.label])))
        for target, facts in zip(planned, targets, strict=True)
    )
    repeats = experiment.repeats.quick if quick else experiment.repeats.full
    generator = np.random.default_rng(seed)
    order = list(turns(fitted, references, repeats=repeats, generator=generator))
    scratch_bytes = sum(target.size_bytes for target in planned if target.kind == "scratch")
    return Plan(
        experiment=experiment.name,
        question=experiment.question,
        quick=quick,
        seed=seed,
        targets=planned,
        steps=tuple(_steps(order, planned, generator)),
        preparation_ns=_preparation_ns(order, planned) + fill_ns(scratch_bytes),
        preparation_bytes=scratch_bytes,
        notes=fitting.notes,
        left_out=fitting.left_out,
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
        overwrites_devices=any(_overwrites_device(cell) for cell in cells),
        purges=any(_purges(cell) for cell in cells),
        labels=labels,
    )


def _writes_whole(cell: Cell) -> bool:
    return cell.actions.get("trim") == "device" or cell.actions.get("precondition") == "sequential"


def _changed_settings(cells: Sequence[Cell]) -> list[str]:
    changed = (name for cell in cells for name, level in cell.settings.items() if level != AS_FOUND)
    return list(dict.fromkeys(changed))


def _overwrites_device(cell: Cell) -> bool:
    makes_filesystem = cell.filesystem is not None and cell.filesystem.type != "raw"
    return makes_filesystem or cell.pattern.writes or _writes_whole(cell) or _purges(cell)


def _purges(cell: Cell) -> bool:
    return cell.actions.get("purge", "none") != "none"


def _steps(
    order: Sequence[Turn], targets: Sequence[PlannedTarget], generator: np.random.Generator
) -> Iterator[PlannedStep]:
    digits = max(4, len(str(len(order))))
    by_label = {target.label: target for target in targets}
    for number, turn in enumerate(order, start=1):
        cell, target = turn.cell, by_label[turn.target]
        words = [turn.target] if len(targets) > 1 else []
        words += ["reference"] if turn.is_reference else []
        words += [cell.workload, *cell.levels.values()]
        title = f"reference: {cell.title}" if turn.is_reference else cell.title
        yield PlannedStep(
            number=number,
            trial=_trial_name(f"{number:0{digits}}", words, turn.repeat),
            target=turn.target,
            workload=cell.workload,
            label=", ".join([title, *cell.levels.values()]),
            pattern=cell.pattern,
            filesystem=cell.filesystem,
            levels=cell.levels,
            block=turn.block,
            repeat=turn.repeat,
            seed=int(generator.integers(1, 2**32)),
            expected_ns=expected_step_ns(cell.pattern, cell.filesystem, pace=target.pace) + actions_ns(cell.actions),
            bytes_written=bytes_written(cell.pattern, cell.filesystem, pace=target.pace),
            settings=cell.settings,
            actions=cell.actions,
            is_reference=turn.is_reference,
        )


def _preparation_ns(order: Sequence[Turn], targets: Sequence[PlannedTarget]) -> int:
    """Guessed time for making file systems and changing settings, between the trials that need them."""
    by_label = {target.label: target for target in targets}
    before: dict[str, Turn] = {}
    total = 0
    for turn in order:
        last = before.get(turn.target)
        cell = turn.cell
        is_new_place = last is None or (last.cell.filesystem, last.block) != (cell.filesystem, turn.block)
        if is_new_place and cell.filesystem is not None and not is_on_device(cell, by_label[turn.target]):
            total += MAKE_FILESYSTEM_NS
        old = last.cell.settings if last is not None else {}
        total += CHANGE_SETTING_NS * sum(level != old.get(name) for name, level in cell.settings.items())
        before[turn.target] = turn
    return total


def _trial_name(number: str, words: Sequence[str], repeat: int) -> str:
    """``0003-small-write-ext4-r1``: sorts in the order of the plan, and can name a file."""
    parts = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-.")[:40] for word in words]
    return "-".join([number, *(part for part in parts if part)])[:150] + f"-r{repeat}"
