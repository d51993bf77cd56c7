"""The cells of an experiment: every workload under every combination of its factors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from drivelab.model.experiment import (
    Experiment,
    ExperimentWorkload,
    FileSystemLevel,
    WorkloadFactor,
    WorkloadPattern,
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One workload under one combination of factors.

    Attributes
    ----------
    filesystem : FileSystemLevel or None
        What is made on the target; None when the experiment does not vary it.
    workload, title : str
        Name of the workload, and what it is for people.
    pattern : WorkloadPattern
        What is issued, the factors applied.
    levels : mapping of str to str
        Level of every factor that touches this workload.
    """

    filesystem: FileSystemLevel | None
    workload: str
    title: str
    pattern: WorkloadPattern
    levels: Mapping[str, str]


def cells_of(experiment: Experiment, *, quick: bool) -> tuple[tuple[Cell, ...], ...]:
    """The cells, one group for each file system: what is hard to change comes first.

    Returns
    -------
    tuple of tuple of Cell
        As many groups as there are levels of the file system (one when it is
        not varied), in the order of the experiment's file.
    """
    factor = experiment.filesystem_factor
    filesystems: tuple[FileSystemLevel | None, ...] = factor.levels if factor else (None,)
    return tuple(
        tuple(
            cell
            for workload in experiment.workloads
            for cell in _cells_of_workload(experiment, workload, filesystem, quick=quick)
        )
        for filesystem in filesystems
    )


def _cells_of_workload(
    experiment: Experiment, workload: ExperimentWorkload, filesystem: FileSystemLevel | None, *, quick: bool
) -> list[Cell]:
    factors = [factor for factor in _workload_factors(experiment) if _varies(factor, workload)]
    outer = {"filesystem": filesystem.name} if filesystem else {}
    pattern = workload.pattern(quick=quick)
    cells = []
    for chosen in itertools.product(*(range(len(factor.levels)) for factor in factors)):
        values = {factor.name: factor.levels[index] for factor, index in zip(factors, chosen, strict=True)}
        names = {factor.name: factor.level_names[index] for factor, index in zip(factors, chosen, strict=True)}
        varied = pattern.changed(**values) if values else pattern
        cells.append(Cell(filesystem, workload.name, workload.title or workload.name, varied, {**outer, **names}))
    return cells


def _workload_factors(experiment: Experiment) -> list[WorkloadFactor]:
    return [factor for factor in experiment.factors if isinstance(factor, WorkloadFactor)]


def _varies(factor: WorkloadFactor, workload: ExperimentWorkload) -> bool:
    return not factor.workloads or workload.name in factor.workloads
