"""The order of an experiment with phases: workload after workload, combination after combination, round after round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from drivelab.model.experiment import Experiment
from drivelab.model.factor import WorkloadFactor
from drivelab.model.phase import Phase, Tracked
from drivelab.plan.cells import Cell
from drivelab.plan.order import Turn


def planned_phases(experiment: Experiment, *, quick: bool) -> tuple[Phase, ...]:
    """The phases of an experiment with the rounds of one scale, and with every level of what is tracked as text."""
    return tuple(
        phase.model_copy(
            update={
                "rounds": phase.rounds_at(quick=quick),
                "quick_rounds": None,
                "track": tuple(_tracked(experiment, tracked, quick=quick) for tracked in phase.track),
            }
        )
        for phase in experiment.phases
    )


def _tracked(experiment: Experiment, tracked: Tracked, *, quick: bool) -> Tracked:
    levels = {}
    for factor in experiment.factors:
        # a setting of one level stays as it was found where it cannot be set
        is_varied = isinstance(factor, WorkloadFactor) or len(factor.levels_at(quick=quick)) > 1
        if is_varied and (not factor.workloads or tracked.workload in factor.workloads):
            given = tracked.levels.get(factor.name, factor.levels_at(quick=quick)[0])
            levels[factor.name] = factor.name_of(factor.level_of(given, quick=quick))
    return tracked.model_copy(update={"levels": levels})


def phase_notes(phases: Sequence[Phase], cells: Mapping[str, Sequence[Cell]]) -> Iterator[str]:
    """Of what is tracked and not measured on some target."""
    for target, own in cells.items():
        for phase in phases:
            for tracked in phase.track:
                if not any(tracked.is_of(cell.workload, cell.levels) for cell in own):
                    words = ", ".join(f"{name} {level}" for name, level in tracked.levels.items())
                    yield (
                        f"{tracked.workload} ({words}) on {target}: it is not measured there, "
                        f"so {phase.name} is not judged by it"
                    )


def turns_of_phases(cells: Mapping[str, Sequence[Cell]], phases: Sequence[Phase]) -> list[Turn]:
    """Every turn of an experiment with phases, in order: one target after the other; none where there are no phases.

    Parameters
    ----------
    cells : mapping of str to sequence of Cell
        The cells of every target, by its label, in the order of the experiment's file.
    phases : sequence of Phase
        With their rounds at most.

    Notes
    -----
    A block is one round. In it the workloads of the phase follow each other in its order, each with all its
    combinations, the first factor outermost.
    """
    block = 0
    found: list[Turn] = []
    for target, own in cells.items():
        seen: Counter[Hashable] = Counter()
        for phase in phases:
            members = [cell for name in phase.workloads for cell in own if cell.workload == name]
            for number in range(1, phase.rounds + 1):
                block += 1
                for cell in members:
                    key = (cell.workload, tuple(cell.levels.items()))
                    seen[key] += 1
                    found.append(Turn(target, cell, block, seen[key], phase=phase.name, round=number))
    return found
