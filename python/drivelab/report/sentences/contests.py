"""Every workload and combination of settings that several drives, or runs of one, have in common, as contests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.stored_experiment import EXPLAINED
from drivelab.model.units import format_bytes
from drivelab.report.judged_order import JUDGED, judged_order
from drivelab.report.parts_of_text import shortened
from drivelab.report.sentences.contest import Contest, Levels, Subject

QUEUE_DEPTH, BLOCK_SIZE = "queue_depth", "block_size"
# the level of a factor at which it does nothing: what does not know the factor is beside that
_LEFT_ALONE = {"shift": "0", "mount": "nodiscard"}


def contests(
    sets: Sequence[ResultSet], identities: Mapping[Subject, tuple[str, ...]] | None = None
) -> Iterator[Contest]:
    """Every workload and combination of settings that at least two drives, or runs of one, have in common."""
    workloads: dict[tuple[object, ...], list[Observation]] = {}
    every = [one for each in sets for one in each.observations]
    # where the size or the depth is a factor it is one of the settings
    sized, deep = (
        {one.workload for one in every} - {one.workload for one in every if factor not in one.levels}
        for factor in (BLOCK_SIZE, QUEUE_DEPTH)
    )
    for one in (one for one in every if one.metric in JUDGED):
        size = None if one.workload in sized else one.block_size_bytes
        # a page tells a durable write as one with an option, as dd has it
        operation = one.operation.removeprefix("durable_") if one.is_durable else one.operation
        depth = None if one.workload in deep else one.queue_depth
        # one name stands for whatever was explained
        what = one.title if one.workload == EXPLAINED else one.workload
        kind = (what, operation, size, depth, one.is_durable)
        workloads.setdefault(kind, []).append(one)
    titles = Counter(members[0].title for members in workloads.values())
    for members in workloads.values():
        metric = _judged(members)
        if metric:
            title = members[0].title if titles[members[0].title] == 1 else _longer_title(members[0])
            title = shortened(title)
            found = _contests(title, metric, [one for one in members if one.metric == metric])
            yield from (replace(one, identities=identities or {}) for one in found)


def _longer_title(one: Observation) -> str:
    parts = [one.title or one.workload]
    if one.block_size_bytes is not None:
        parts.append(format_bytes(one.block_size_bytes))
    if one.queue_depth is not None:
        parts.append(f"{one.queue_depth} outstanding")
    return ", ".join(parts)


def _judged(members: Sequence[Observation]) -> str:
    """The metric that most of the drives have; empty where no two have one in common."""
    order = judged_order(members)
    counts = {metric: len({subject_of(one) for one in members if one.metric == metric}) for metric in order}
    most = max(counts.values())
    return next(metric for metric in order if counts[metric] == most) if most > 1 else ""


def _contests(title: str, metric: str, members: Sequence[Observation]) -> Iterator[Contest]:
    """The combinations of the factors that all drives have; one that stands for several of a drive is none."""
    names: dict[Subject, set[str]] = {}
    for one in members:
        names.setdefault(subject_of(one), set()).update(one.levels)
    for name, level in _LEFT_ALONE.items():
        if any(name not in known for known in names.values()):
            members = [one for one in members if one.levels.get(name, level) == level]
    common = set.intersection(*names.values())
    combinations: dict[Levels, dict[Subject, list[Observation]]] = {}
    for one in members:
        levels = tuple((name, level) for name, level in one.levels.items() if name in common)
        key = tuple(sorted(levels))
        combinations.setdefault(key, {}).setdefault(subject_of(one), []).append(one)
    for levels, drives in combinations.items():
        single = {subject: found[0] for subject, found in drives.items() if len(found) == 1}
        sound = [(s, one) for s, one in single.items() if one.estimate.value is not None and not one.invalid_trials]
        if len(sound) > 1:
            sign = 1 if sound[0][1].is_better_when_low else -1
            ranked = sorted(sound, key=lambda item: sign * (item[1].estimate.value or 0.0))
            left_out = tuple(subject for subject, one in single.items() if one.invalid_trials)
            yield Contest(title, metric, levels, tuple(ranked), left_out)


def subject_of(one: Observation) -> Subject:
    """The drive of a number, and its machine."""
    return one.drive, one.machine


def goodness(contest: Contest) -> float:
    """What contests of one workload are ordered by: the best number of all has the least."""
    best = contest.ranked[0][1]
    value = best.estimate.value or 0.0
    return value if best.is_better_when_low else -value
