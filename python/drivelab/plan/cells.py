"""The cells of an experiment: every workload under every combination of factors that is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from drivelab.model.experiment import Experiment, ExperimentWorkload
from drivelab.model.factor import (
    ActionFactor,
    Factor,
    FileSystemFactor,
    FileSystemLevel,
    MountFactor,
    SettingFactor,
    WorkloadFactor,
)
from drivelab.model.phase import Point
from drivelab.model.plan import PlannedStep
from drivelab.model.stored_experiment import titled
from drivelab.model.workload_pattern import WorkloadPattern

Combination = tuple[tuple[Factor, Any], ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One workload under one combination of factors.

    Attributes
    ----------
    filesystem : FileSystemLevel or None
        What is made on the target, with the options it is mounted with; None
        when the experiment does not vary it.
    levels : mapping of str to str
        Level of every factor that touches this workload.
    settings, actions : mapping of str to str
        Those of them that are settings, and those that are done before a trial.
    together : tuple of str
        The workloads that run at the same time, this one among them; empty when it runs alone.
    point : Point or None
        What it takes over from what is measured before it.
    """

    filesystem: FileSystemLevel | None
    workload: str
    title: str
    pattern: WorkloadPattern
    levels: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)
    together: tuple[str, ...] = ()
    point: Point | None = None


def units_of(cells: Sequence[Cell]) -> tuple[tuple[Cell, ...], ...]:
    """The cells as they are measured: one alone, or those that run at the same time.

    A combination of which not all workloads are there is left out: it would be another question.
    """
    found: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        key = (cell.together or cell.workload, tuple(cell.levels.items()))
        found.setdefault(key, []).append(cell)
    return tuple(tuple(unit) for unit in found.values() if len(unit) == max(1, len(unit[0].together)))


def made_as(level: FileSystemLevel | None) -> Hashable:
    """What has to be alike so that a file system need not be made afresh; None for none at all."""
    return None if level is None or level.type == "raw" else (level.type, level.mkfs_options)


def cells_of(experiment: Experiment, *, quick: bool) -> tuple[Cell, ...]:
    """The cells, in the order of the experiment's file, each once.

    Notes
    -----
    Mount options and fstrim are nothing that a bare drive could have: there
    the combinations that differ only in them are one cell. Workloads that run
    at the same time have the levels of all their factors: what one of them
    does is part of what the others are measured under.
    """
    cells: dict[tuple[str, tuple[tuple[str, str], ...]], Cell] = {}
    for unit in experiment.units:
        patterns: dict[Hashable, WorkloadPattern] = {}
        for combination in _combinations(experiment, unit, quick=quick):
            for workload in unit:
                cell = _cell(workload, combination, patterns, quick=quick)
                if cell is not None:
                    title = titled([one.title or one.name for one in unit], unit.index(workload))
                    found = replace(cell, title=title, together=_together_of(unit))
                    cells.setdefault((cell.workload, tuple(cell.levels.items())), found)
    return tuple(cells.values())


def _together_of(unit: Sequence[ExperimentWorkload]) -> tuple[str, ...]:
    """Names of the workloads that run at the same time; empty for one that runs alone."""
    return tuple(workload.name for workload in unit) if len(unit) > 1 else ()


def reference_cell(experiment: Experiment, *, quick: bool) -> Cell | None:
    """The cell that is measured again and again; None when the experiment has none."""
    if experiment.reference is None:
        return None
    asked = experiment.reference
    workload = next(workload for workload in experiment.workloads if workload.name == asked.workload)
    combination = []
    for factor in _factors_of(experiment, (workload,)):
        first = factor.levels_at(quick=quick)[0]
        named = factor.name in asked.levels
        combination.append((factor, factor.level_of(asked.levels[factor.name], quick=quick) if named else first))
    return _cell(workload, tuple(combination), {}, quick=quick)


def _factors_of(experiment: Experiment, unit: Sequence[ExperimentWorkload]) -> list[Factor]:
    names = {workload.name for workload in unit}
    return [factor for factor in experiment.factors if not factor.workloads or names & set(factor.workloads)]


def _combinations(experiment: Experiment, unit: Sequence[ExperimentWorkload], *, quick: bool) -> Iterator[Combination]:
    factors = _factors_of(experiment, unit)
    columns = [[(factor, level) for level in factor.levels_at(quick=quick)] for factor in factors]
    if experiment.design == "full":
        yield from itertools.product(*columns)
        return
    base = tuple(column[0] for column in columns)
    yield base
    for place, column in enumerate(columns):
        for changed in column[1:]:
            yield (*base[:place], changed, *base[place + 1 :])


def _cell(
    workload: ExperimentWorkload,
    combination: Combination,
    patterns: dict[Hashable, WorkloadPattern],
    *,
    quick: bool,
) -> Cell | None:
    """The cell of a combination; None when no such thing exists."""
    filesystem: FileSystemLevel | None = None
    varies_filesystem = False
    levels, settings, actions = {}, {}, {}
    values: dict[str, Any] = {}
    for factor, level in combination:
        if isinstance(factor, FileSystemFactor):
            filesystem, varies_filesystem = level, True
    has_files = filesystem is not None and filesystem.type != "raw"
    for factor, level in combination:
        if isinstance(factor, MountFactor):
            if not has_files:
                continue
            assert filesystem is not None
            filesystem = filesystem.mounted_with(level.options)
        elif isinstance(factor, ActionFactor):
            if level == "fstrim" and varies_filesystem and not has_files:
                return None
            actions[factor.name] = level
        elif isinstance(factor, SettingFactor):
            settings[factor.name] = level
        elif isinstance(factor, WorkloadFactor) and (not factor.workloads or workload.name in factor.workloads):
            values[factor.name] = level
        levels[factor.name] = factor.name_of(level)
    whole = (workload.name,)
    if whole not in patterns:
        patterns[whole] = workload.pattern(quick=quick)
    key = (*whole, *values.values())
    if key not in patterns:
        patterns[key] = patterns[whole].changed(**values)
    title = workload.title or workload.name
    return Cell(filesystem, workload.name, title, patterns[key], levels, settings, actions, point=workload.point)


def overwrites_device(one: Cell | PlannedStep) -> bool:
    """Whether what a block device holds is lost to it."""
    makes_filesystem = one.filesystem is not None and one.filesystem.type != "raw"
    return makes_filesystem or one.pattern.writes or _writes_whole(one) or purges(one)


def purges(one: Cell | PlannedStep) -> bool:
    """Whether the drive is purged first."""
    return one.actions.get("purge", "none") != "none"


def _writes_whole(one: Cell | PlannedStep) -> bool:
    return one.actions.get("trim") == "device" or one.actions.get("precondition", "none") != "none"
