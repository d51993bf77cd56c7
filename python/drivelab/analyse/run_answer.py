"""What a run came to: its trials brought together by combination, the effects of levels, the drift of the reference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from drivelab.analyse.command_changes import Bounds
from drivelab.analyse.effects import level_effects, level_pairs, overall_effects
from drivelab.analyse.factorial import factorials
from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.analyse.reference_drift import ReferenceValue, reference_drift
from drivelab.analyse.repeats import repeated_bounds, repeated_metric
from drivelab.analyse.surface_shape import surface_shapes
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.estimate import Unit
from drivelab.model.factorial import Factorial
from drivelab.model.metric import COMMANDS
from drivelab.model.operations_apart import operations_apart
from drivelab.model.reference_drift import ReferenceDrift
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.setting import AS_FOUND, SETTING_NAMES

# writes and flushes belong to an operation only where it waits for them
_READS = ("device_reads_per_operation",)


@dataclass(frozen=True, slots=True)
class RunTrial:
    """One trial of a run, as far as only several of them together tell something.

    Attributes
    ----------
    levels, achieved : mapping of str to str
        Level of every factor as asked, and as read back where that was done.
    kind : TrialKind
        What decides which of its numbers it is judged by.
    values : mapping of str to float or None
        Its numbers by metric; None where it has no such number.
    ends : mapping of str to (float or None, float or None)
        Ends of the 95 % interval, or bounds, of those that have them.
    is_reference : bool
        Whether it was measured only to see a drift.
    session : int
        Session of the run in which it was measured, from 1.
    is_invalid : bool
        Whether a finding says that it does not describe the drive.
    seen : collection of str
        Metrics whose value is the sample's own, for want of independent I/Os for an interval.
    operation : str
        What its metrics without a prefix are of.
    part : str
        Of a trial that mixes operations, the one that alone is reported: ``read``, ``read and write``.
    at_first : mapping of str to float
        Of rates that are told by what lasts, what they were before.
    """

    name: str
    target: str
    workload: str
    block: int
    levels: Mapping[str, str]
    achieved: Mapping[str, str]
    kind: TrialKind
    values: Mapping[str, float | None]
    ends: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    is_reference: bool = False
    session: int = 1
    is_invalid: bool = False
    seen: Collection[str] = ()
    operation: str = ""
    part: str = ""
    at_first: Mapping[str, float] = field(default_factory=dict)

    @property
    def found(self) -> dict[str, str]:
        """What was read back of the settings that it left as they were found."""
        return {
            name: self.achieved[name]
            for name, asked in self.levels.items()
            if asked == AS_FOUND and name in SETTING_NAMES and name in self.achieved
        }

    @property
    def refused(self) -> dict[str, str]:
        """What was read back of the settings that did not take the level asked for."""
        return {
            name: self.achieved[name]
            for name, asked in self.levels.items()
            if asked != AS_FOUND and name in SETTING_NAMES and self.achieved.get(name, asked) != asked
        }


@dataclass(frozen=True, slots=True)
class ExperimentOrder:
    """An experiment's words in the order of its file, and its targets in that of the command line.

    Attributes
    ----------
    titles : mapping of str to str
        What each workload is for people.
    factors : mapping of str to sequence of str
        Levels of every factor.
    is_one_at_a_time : bool
        Whether every combination differs in one level from the first.
    is_in_rounds : bool
        Whether it goes on in rounds until a state is steady, so that several trials of a combination are rounds.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_one_at_a_time: bool = False
    targets: Sequence[str] = ()
    is_in_rounds: bool = False

    def target_place(self, name: str) -> int:
        """Where a target stands; behind all others where it is unknown."""
        return self.targets.index(name) if name in self.targets else len(self.targets)

    def level_places(self, levels: Mapping[str, str]) -> tuple[int, ...]:
        """Where the levels of a combination stand, of each known factor; behind all others where they are unknown."""
        places = {factor: {level: place for place, level in enumerate(of)} for factor, of in self.factors.items()}
        return tuple(of.get(levels.get(factor, ""), len(of)) for factor, of in places.items())


def run_answer(
    trials: Iterable[RunTrial],
    order: ExperimentOrder,
    units: Mapping[str, Unit],
    *,
    with_effects: bool,
    factorial_metrics: Sequence[str] = (),
) -> RunAnswer:
    """Everything that only the trials of a run together can tell.

    Parameters
    ----------
    trials : iterable of RunTrial
        In the order in which they ran.
    order : ExperimentOrder
        As the experiment's author wrote it.
    factorial_metrics : sequence of str
        Metrics whose main effects and interactions are wanted beside those of
        the judged one (``total_latency_ns_p99``).

    Returns
    -------
    RunAnswer
        Trials of the reference are behind its drifts; neither combinations nor effects have them, but where they stand
        in for a repeat (`stand_ins`), where both have. Effects that the experiment does not ask for are its contrasts.
    """
    known = sorted(trials, key=lambda trial: order.target_place(trial.target))
    ordinary = [trial for trial in known if not trial.is_reference]
    references: dict[tuple[str, str], list[RunTrial]] = {}
    for trial in known:
        if trial.is_reference:
            references.setdefault((trial.target, trial.workload), []).append(trial)
    repeats = [*ordinary, *(one for members in references.values() for one in stand_ins(members, ordinary))]
    metrics = _judged_metrics(repeats)
    values = _trial_values(repeats, metrics)
    effects = tuple(level_effects(values, order.factors, metrics))
    combinations = tuple(_combinations(repeats, order, units, metrics))
    parts = [part for trial in repeats for part in trials_apart(trial)]
    return RunAnswer(
        combinations=combinations,
        effects=effects if with_effects else (),
        drifts=tuple(drift for members in references.values() if (drift := _drift(members)) is not None),
        trial_count=len(ordinary),
        contrasts=() if with_effects else effects,
        pairs=tuple(level_pairs(values, order.factors, metrics)),
        overall=tuple(overall_effects(values, order.factors, metrics)),
        shapes=surface_shapes(combinations),
        apart=tuple(_combinations(parts, order, units, metrics)) if len(parts) > len(repeats) else (),
        factorials=() if order.is_one_at_a_time else tuple(_factorials(repeats, order, metrics, factorial_metrics)),
    )


def stand_ins(references: Sequence[RunTrial], ordinary: Sequence[RunTrial]) -> Iterator[RunTrial]:
    """Trials of the reference that take the place of a repeat which a block lacks.

    Notes
    -----
    A reference stands at the beginning of its block, where a drive is often slower or faster than later, and not in the
    block's random order: beside a trial of the same levels it is no further repeat. A block whose baseline failed, or
    was measured in another session, would be lost to every level; there it is used, unless it does not describe the
    drive.
    """
    measured = {(one.target, one.workload, *_sorted_levels(one)) for one in ordinary}
    blocks = {_block(one) for one in ordinary}
    taken = {(_block(one), _sorted_levels(one)) for one in ordinary}
    for one in references:
        place = (_block(one), _sorted_levels(one))
        is_wanted = (one.target, one.workload, *_sorted_levels(one)) in measured and _block(one) in blocks
        if is_wanted and place not in taken and not one.is_invalid:
            taken.add(place)
            yield one


def _block(one: RunTrial) -> tuple[str, str, int, int]:
    return one.target, one.workload, one.block, one.session


def _sorted_levels(one: RunTrial) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(one.levels.items()))


def trials_apart(trial: RunTrial) -> list[RunTrial]:
    """A trial that mixes operations as one of each of them, and one of all together without latencies; else itself."""
    return [
        replace(
            trial,
            values={name: trial.values[key] for name, key in names.items()},
            ends={name: trial.ends[key] for name, key in names.items() if key in trial.ends},
            seen={name for name, key in names.items() if key in trial.seen},
            kind=_kind_of_part(trial.kind, part),
            part=part,
        )
        for part, names in operations_apart(trial.values, trial.operation).items()
    ] or [trial]


def _kind_of_part(kind: TrialKind, part: str) -> TrialKind:
    if " and " in part:
        return replace(kind, is_durable=False, has_latency=False, has_response=False, has_mean=False)
    return replace(kind, is_durable=kind.is_durable and part in ("write", "durable_write"))


def reference_value(trial: RunTrial, metric: str) -> ReferenceValue | None:
    """The judged number of a reference trial; None when it has none."""
    value = trial.values.get(metric)
    return ReferenceValue(value, trial.is_invalid) if value else None


def _judged_metrics(trials: Sequence[RunTrial]) -> dict[str, str]:
    """The metric that each workload is judged by."""
    kinds: dict[str, list[TrialKind]] = {}
    for trial in trials:
        kinds.setdefault(trial.workload, []).append(trial.kind)
    return {workload: judged_metric(members) for workload, members in kinds.items()}


def _combinations(
    trials: Sequence[RunTrial], order: ExperimentOrder, units: Mapping[str, Unit], metrics: Mapping[str, str]
) -> list[CombinationResult]:
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...], str], list[RunTrial]] = {}
    for trial in trials:
        groups.setdefault((trial.target, trial.workload, tuple(trial.levels.items()), trial.part), []).append(trial)
    found = []
    for (target, workload, levels, part), members in groups.items():
        kinds = [trial.kind for trial in members]
        sizes = {kind.block_size_bytes for kind in kinds}
        found.append(
            CombinationResult(
                target=target,
                workload=workload,
                label=order.titles.get(workload) or workload,
                levels=dict(levels),
                achieved=_read_back(members),
                metrics=_repeated(members, units, are_rounds=order.is_in_rounds),
                judged_metric=metrics[workload],
                trials=tuple(trial.name for trial in members),
                block_size_bytes=sizes.pop() if len(sizes) == 1 else None,
                is_durable=all(kind.is_durable for kind in kinds),
                invalid_trials=sum(trial.is_invalid for trial in members),
                bounds=_bounds(members, units),
                operation=part,
                is_phase=all(kind.is_phase for kind in kinds),
            )
        )
    return sorted(found, key=_place_in_file(order))


def _place_in_file(order: ExperimentOrder) -> Callable[[CombinationResult], tuple[int, int, list[int]]]:
    """Where the experiment's file has a combination."""
    workloads = {name: place for place, name in enumerate(order.titles)}
    factors = {name: {level: place for place, level in enumerate(known)} for name, known in order.factors.items()}
    # one at a time: level by level of the first factor, then of the second
    names = list(reversed(factors)) if order.is_one_at_a_time else list(factors)

    def place(one: CombinationResult) -> tuple[int, int, list[int]]:
        levels = [factors[name].get(one.levels.get(name, ""), -1) for name in names]
        return workloads.get(one.workload, len(workloads)), order.target_place(one.target), levels

    return place


def _read_back(members: Sequence[RunTrial]) -> dict[str, tuple[str, ...]]:
    """Settings that were not read back as asked, or that were left as found: what they were."""
    found: dict[str, dict[str, None]] = {}
    for trial in members:
        for name, asked in trial.levels.items():
            achieved = trial.achieved.get(name)
            if name in SETTING_NAMES and achieved is not None and (asked == AS_FOUND or achieved != asked):
                found.setdefault(name, {})[achieved] = None
    return {name: tuple(values) for name, values in found.items()}


def _repeated(members: Sequence[RunTrial], units: Mapping[str, Unit], *, are_rounds: bool) -> dict[str, RepeatedMetric]:
    found = {}
    for metric, unit in units.items():
        repeated = repeated_metric(
            [trial.values.get(metric) for trial in members],
            unit,
            is_seen=any(metric in trial.seen for trial in members),
            ends=[trial.ends.get(metric, (None, None)) for trial in members],
            are_rounds=are_rounds,
        )
        if repeated is not None:
            before = [trial.at_first[metric] for trial in members if metric in trial.at_first]
            found[metric] = replace(repeated, at_first=median(before)) if before else repeated
    return found


def _bounds(members: Sequence[RunTrial], units: Mapping[str, Unit]) -> dict[str, tuple[float, float | None]]:
    """Of what some repeat has no value of: between what it lies."""
    found = {}
    for metric in units:
        values = [trial.values.get(metric) for trial in members]
        if None in values:
            bounds = repeated_bounds(values, [trial.ends.get(metric, (None, None)) for trial in members])
            if bounds is not None:
                found[metric] = bounds
    return found


def _factorials(
    trials: Sequence[RunTrial], order: ExperimentOrder, metrics: Mapping[str, str], more: Sequence[str]
) -> Iterator[Factorial]:
    """Those of the judged metrics, then of each further one; of what has factors that were varied together."""
    for wanted in (metrics, *(dict.fromkeys(metrics, metric) for metric in more)):
        yield from factorials(_trial_values(trials, wanted), order.factors, wanted)


def _trial_values(trials: Sequence[RunTrial], metrics: Mapping[str, str]) -> list[TrialValue]:
    return [
        TrialValue(
            target=trial.target,
            workload=trial.workload,
            block=trial.block,
            levels=trial.levels,
            value=value,
            commands=_commands(trial),
            session=trial.session,
            found=trial.found,
            refused=trial.refused,
            is_invalid=trial.is_invalid,
        )
        for trial in trials
        if trial.workload in metrics and (value := trial.values.get(metrics[trial.workload]))
    ]


def _commands(trial: RunTrial) -> dict[str, Bounds]:
    found: dict[str, Bounds] = {}
    for metric in COMMANDS if trial.kind.is_durable else _READS:
        value = trial.values.get(metric)
        low, high = trial.ends.get(metric, (None, None))
        if value is not None:
            found[metric] = (value, value)
        elif low is not None and high is not None:
            found[metric] = (low, high)
    return found


def _drift(members: Sequence[RunTrial]) -> ReferenceDrift | None:
    metric = judged_metric(trial.kind for trial in members)
    values = [value for trial in members if (value := reference_value(trial, metric)) is not None]
    return reference_drift(members[0].target, members[0].workload, metric, values) if values else None
