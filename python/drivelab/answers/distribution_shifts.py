"""Distributions of stored runs beside each other: the histograms of all trials of each run, workload by workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.analyse.comparison import ComparedTrial
from drivelab.analyse.quantile_shift import quantile_shift
from drivelab.model.comparison import DistributionShift
from drivelab.model.histogram import Histogram, merge
from drivelab.store import layout
from drivelab.store.read import StoredRun
from drivelab.store.selection import rows_of_trials

Pair = tuple[Sequence[ComparedTrial], Sequence[ComparedTrial]]
# operation, and the latencies of each run
_ByOperation = dict[str, list[Histogram]]


def distribution_shifts(
    pairs: Sequence[Pair], base: Sequence[StoredRun], new: Sequence[StoredRun]
) -> Iterator[DistributionShift]:
    """Of each combination that both sides have, and of each operation of it.

    Parameters
    ----------
    pairs : sequence of (sequence of ComparedTrial, sequence of ComparedTrial)
        Trials of BASE and of NEW of each combination.

    Raises
    ------
    DrivelabError
        S506: a table of a run cannot be read.
    """
    stored = [_stored(runs, [one for pair in pairs for one in pair[side]]) for side, runs in enumerate((base, new))]
    for pair in pairs:
        ours, theirs = (_by_operation(trials, known) for trials, known in zip(pair, stored, strict=True))
        part = pair[0][0].trial.part
        # a part of a mix has the latencies of its operation
        for operation in (one for one in ours if one in theirs and part in ("", one)):
            if points := quantile_shift(ours[operation], theirs[operation]):
                yield _shift(pair, operation, points=points, runs=(len(ours[operation]), len(theirs[operation])))


def _shift(pair: Pair, operation: str, **facts: object) -> DistributionShift:
    first, last = pair[0][0], pair[1][0]
    levels = {name: level for name, level in last.trial.levels.items() if first.trial.levels.get(name) == level}
    label = last.label or last.workload
    return DistributionShift(last.workload, label, last.trial.target, levels, operation, **facts)  # type: ignore[arg-type]


def _stored(runs: Sequence[StoredRun], trials: Sequence[ComparedTrial]) -> list[dict[str, dict[str, Histogram]]]:
    """Of each run, the total latencies of these trials by trial and operation."""
    found: list[dict[str, dict[str, Histogram]]] = []
    for number, run in enumerate(runs):
        names = list(dict.fromkeys(one.trial.name for one in trials if one.run == number))
        by_trial: dict[str, dict[str, Histogram]] = {}
        for row in rows_of_trials(run, layout.HISTOGRAMS, names).to_pylist():
            if row["latency"] == "total":
                by_trial.setdefault(row["trial"], {})[row["operation"]] = Histogram.from_row(row)
        found.append(by_trial)
    return found


def _by_operation(trials: Sequence[ComparedTrial], stored: Sequence[dict[str, dict[str, Histogram]]]) -> _ByOperation:
    """The latencies of each run; an operation that some trial did not do is left out."""
    runs: dict[int, list[dict[str, Histogram]]] = {}
    for one in trials:
        runs.setdefault(one.run, []).append(stored[one.run].get(one.trial.name, {}))
    members = [histograms for known in runs.values() for histograms in known]
    everywhere = [name for name in members[0] if all(one.get(name) is not None for one in members)] if members else []
    return {name: [merge([one[name] for one in known]) for known in runs.values()] for name in everywhere}
