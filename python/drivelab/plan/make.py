"""Makes the plan of an experiment on given targets: pure, so the same input gives the same plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan, PlannedStep, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.plan.budget import MAKE_FILESYSTEM_NS, bytes_written, expected_step_ns, fill_ns
from drivelab.plan.cells import Cell, cells_of
from drivelab.plan.fit import fit, is_on_device
from drivelab.plan.targets import planned_targets

Groups = tuple[tuple[Cell, ...], ...]
T = TypeVar("T")


def make_plan(experiment: Experiment, targets: Sequence[TargetFacts], *, seed: int, quick: bool = False) -> Plan:
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

    Returns
    -------
    Plan
        One step per cell, target and repeat. A block is one repeat on one
        target; within it the file systems are in random order, and so are the
        workloads within each file system: making one is too slow to do it
        before every trial.

    Raises
    ------
    DrivelabError
        P704: a factor that a target cannot have. P705: a target too small.
        P706: a workload that cannot be issued there.
    """
    groups = cells_of(experiment, quick=quick)
    overwrites = any(cell.filesystem is not None or cell.pattern.writes for group in groups for cell in group)
    planned = planned_targets(targets, overwrites_devices=overwrites)
    notes: dict[str, None] = {}
    fitted: dict[str, Groups] = {}
    for target in planned:
        fitted[target.label] = _fit_all(groups, target, notes)
    repeats = experiment.repeats.quick if quick else experiment.repeats.full
    steps = tuple(_steps(planned, fitted, repeats, seed))
    made = sum(repeats for target in planned for group in fitted[target.label] if _makes_filesystem(group, target))
    scratch_bytes = sum(target.size_bytes for target in planned if target.kind == "scratch")
    return Plan(
        experiment=experiment.name,
        question=experiment.question,
        quick=quick,
        seed=seed,
        targets=planned,
        steps=steps,
        preparation_ns=made * MAKE_FILESYSTEM_NS + fill_ns(scratch_bytes),
        preparation_bytes=scratch_bytes,
        notes=tuple(notes),
    )


def _fit_all(groups: Groups, target: PlannedTarget, notes: dict[str, None]) -> Groups:
    fitted_groups = []
    for group in groups:
        cells = []
        for cell in group:
            fitted, adapted = fit(cell, target)
            cells.append(fitted)
            notes.update(dict.fromkeys(adapted))
        fitted_groups.append(tuple(cells))
    return tuple(fitted_groups)


def _steps(
    targets: Sequence[PlannedTarget], fitted: dict[str, Groups], repeats: int, seed: int
) -> Iterator[PlannedStep]:
    generator = np.random.default_rng(seed)
    count = repeats * sum(len(group) for groups in fitted.values() for group in groups)
    digits = max(4, len(str(count)))
    number = block = 0
    for repeat in range(1, repeats + 1):
        for target in _shuffled(targets, generator):
            block += 1
            for group in _shuffled(fitted[target.label], generator):
                for cell in _shuffled(group, generator):
                    number += 1
                    prefix = [target.label] if len(targets) > 1 else []
                    words = [*prefix, cell.workload, *cell.levels.values()]
                    yield PlannedStep(
                        number=number,
                        trial=_trial_name(f"{number:0{digits}}", words, repeat),
                        target=target.label,
                        workload=cell.workload,
                        label=", ".join([cell.title, *cell.levels.values()]),
                        pattern=cell.pattern,
                        filesystem=cell.filesystem,
                        levels=cell.levels,
                        block=block,
                        repeat=repeat,
                        seed=int(generator.integers(1, 2**32)),
                        expected_ns=expected_step_ns(cell.pattern, cell.filesystem, is_rotational=target.is_rotational),
                        bytes_written=bytes_written(cell.pattern, cell.filesystem, is_rotational=target.is_rotational),
                    )


def _shuffled(items: Sequence[T], generator: np.random.Generator) -> list[T]:
    return [items[index] for index in generator.permutation(len(items))]


def _trial_name(number: str, words: Sequence[str], repeat: int) -> str:
    """``0003-small-write-ext4-r1``: sorts in the order of the plan, and can name a file."""
    parts = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-.")[:40] for word in words]
    return "-".join([number, *(part for part in parts if part)])[:150] + f"-r{repeat}"


def _makes_filesystem(group: tuple[Cell, ...], target: PlannedTarget) -> bool:
    return any(cell.filesystem is not None and not is_on_device(cell, target) for cell in group)
