"""Whether another round of a phase follows, and which combination is chosen: a resumed run decides the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from drivelab.analyse.steady_state import five_rounds
from drivelab.model.judged_metric import MEAN_LATENCY, RATE, THROUGHPUT
from drivelab.model.metric import metric_of
from drivelab.model.phase import POINT_LATENCY_BELOW_NS, WINDOW_ROUNDS, Phase, Tracked, WhichPoint
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.rounds import ChosenPoint, PhaseEnd, PhaseRounds, TrackedSeries, WindowAverage

# of each trial that was stored its numbers by metric, those that it has
Values = Mapping[str, Mapping[str, float]]
WINDOW_NS = "measured_ns"
LONGEST = "total_latency_ns_max"
# what findings say of it: I/Os a second that are left in the end, and those that are perhaps a burst
LASTING, PERHAPS_BURST = "lasting_per_s", "perhaps_burst_per_s"
# a rate that is so near to another is that
_SAME_RATE = 0.1
_DIRECTIONS = ("read", "write")
# of the most IOPS: what a round less or more would change
_AS_MANY = 0.99
# what has to be known of a trial
NEEDED = (
    *(RATE, THROUGHPUT, MEAN_LATENCY, LONGEST, WINDOW_NS),
    *(f"{name}_{metric}" for name in _DIRECTIONS for metric in (RATE, THROUGHPUT, MEAN_LATENCY, LONGEST)),
)


class RoundsOfPlan:
    """Follows the rounds of a plan's phases.

    Parameters
    ----------
    plan : Plan
        With or without phases.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._phases = {phase.name: phase for phase in plan.phases}
        self._steps: dict[tuple[str, str], list[list[PlannedStep]]] = {}
        for step in plan.steps:
            if step.phase:
                rounds = self._steps.setdefault((step.target, step.phase), [])
                rounds += [[] for _ in range(step.round - len(rounds))]
                rounds[step.round - 1].append(step)
        # a phase that has ended stays so, and a round that was judged is not judged again
        self._judged: dict[tuple[str, str, int], PhaseEnd] = {}

    def is_needed(self, step: PlannedStep, values: Values) -> bool:
        """Whether a step is to be done: its phase had not ended before its round.

        Parameters
        ----------
        values : mapping of str to mapping of str to float
            The numbers of all trials of the rounds before, by trial and metric (`NEEDED`).
        """
        return not step.phase or not any(
            self._end_after(step.target, step.phase, number, values) for number in range(1, step.round)
        )

    def not_needed(self, values: Values) -> frozenset[str]:
        """The trials that are not to be measured any more, by what was measured."""
        return frozenset(step.trial for step in self._plan.steps if not self.is_needed(step, values))

    def needless_after(self, step: PlannedStep, values: Values) -> list[PlannedStep]:
        """The steps of later rounds that are not needed after this step; none unless it is the last of its round."""
        rounds = self._steps.get((step.target, step.phase), [])
        if not rounds or rounds[step.round - 1][-1].trial != step.trial:
            return []
        # later rounds are not asked: what has no values yet would be judged for good
        has_ended = self._end_after(step.target, step.phase, step.round, values)
        return [one for later in rounds[step.round :] for one in later] if has_ended else []

    def outside(self, values: Values) -> frozenset[str]:
        """The trials of rounds before the window: they led there, and are no measurement."""
        found = []
        for result in self.results(values):
            rounds = self._steps[result.target, result.phase]
            if self._phases[result.phase].track:
                found += [step.trial for steps in rounds[: result.window[0] - 1] for step in steps]
        return frozenset(found)

    def results(self, values: Values) -> tuple[PhaseRounds, ...]:
        """What came of each phase that was begun, target by target in the order of the plan."""
        found = []
        for (target, name), rounds in self._steps.items():
            phase = self._phases[name]
            begun = [place for place, steps in enumerate(rounds) if any(step.trial in values for step in steps)]
            if begun:
                count = begun[-1] + 1
                found.append(self._result(target, phase, count, values))
        return tuple(found)

    def chosen(self, step: PlannedStep, values: Values) -> ChosenPoint | None:
        """The combination that a step takes its levels from; None where none was measured that could be it."""
        assert step.point is not None
        done: dict[str, list[PlannedStep]] = {}
        for other in self._plan.steps[: step.number - 1]:
            if (other.target, other.workload) == (step.target, step.point.of) and other.trial in values:
                done.setdefault(repr(other.levels), []).append(other)
        return _chosen_point([steps[-WINDOW_ROUNDS:] for steps in done.values()], values, step.point.which)

    def points(self, values: Values) -> tuple[ChosenPoint, ...]:
        """All that were chosen, each once."""
        found: dict[tuple[str, str, str], ChosenPoint] = {}
        for step in self._plan.steps:
            if step.point is not None and (chosen := self.chosen(step, values)) is not None:
                found[step.target, step.point.of, step.point.which] = chosen
        return tuple(found.values())

    def _end_after(self, target: str, name: str, number: int, values: Values) -> PhaseEnd:
        """Why a phase ends with a round; empty where another one follows."""
        key = (target, name, number)
        if key not in self._judged:
            self._judged[key] = self._judge(target, self._phases[name], number, values)
        return self._judged[key]

    def _judge(self, target: str, phase: Phase, number: int, values: Values) -> PhaseEnd:
        tracked = list(self._tracked(target, phase, number, values))
        if tracked and all(one.window is not None and one.window.is_steady for one in tracked):
            return "steady"
        size_bytes = self._plan.target(target).size_bytes
        if phase.capacities and self._written_bytes(target, phase, number, values) >= phase.capacities * size_bytes:
            return "capacities"
        return "rounds" if number >= phase.rounds else ""

    def _result(self, target: str, phase: Phase, count: int, values: Values) -> PhaseRounds:
        tracked = tuple(self._tracked(target, phase, count, values))
        return PhaseRounds(
            target=target,
            phase=phase.name,
            rounds_at_most=phase.rounds,
            rounds=count,
            ended_by=self._end_after(target, phase.name, count, values),
            window=(max(1, count - WINDOW_ROUNDS + 1), count),
            tracked=tracked,
            beside=tuple(self._beside(target, phase, count, values)),
            averages=tuple(_averages(self._steps[target, phase.name][max(0, count - WINDOW_ROUNDS) : count], values)),
            is_scaled_down=self._plan.quick,
        )

    def _tracked(self, target: str, phase: Phase, count: int, values: Values) -> Iterator[TrackedSeries]:
        for tracked in phase.track:
            for levels in self._combinations(target, phase, tracked):
                if tracked.is_of(tracked.workload, levels):
                    found = _series(self._steps[target, phase.name][:count], tracked, levels, values)
                    known = [value for value in found.values[-WINDOW_ROUNDS:] if value is not None]
                    window = five_rounds(known) if len(known) == WINDOW_ROUNDS else None
                    is_burst = window is not None and self._is_perhaps_burst(target, window.average, values)
                    yield replace(found, window=window, is_perhaps_burst=tracked.metric == RATE and is_burst)

    def _is_perhaps_burst(self, target: str, per_s: float, values: Values) -> bool:
        """Whether some trial of a target has such a rate, and it could be a burst."""
        steps = (
            step for (place, _), rounds in self._steps.items() if place == target for one in rounds for step in one
        )
        seen = [rate for step in steps if (rate := values.get(step.trial, {}).get(PERHAPS_BURST))]
        return any(abs(per_s / rate - 1) < _SAME_RATE for rate in seen)

    def _beside(self, target: str, phase: Phase, count: int, values: Values) -> Iterator[TrackedSeries]:
        """What differs from the first tracked combination in the level of the last factor alone."""
        for tracked in phase.track[:1]:
            for levels in self._combinations(target, phase, tracked):
                if levels and tracked.is_of(tracked.workload, dict(list(levels.items())[:-1])):
                    yield _series(self._steps[target, phase.name][:count], tracked, levels, values)

    def _combinations(self, target: str, phase: Phase, tracked: Tracked) -> list[Mapping[str, str]]:
        return [step.levels for step in self._steps[target, phase.name][0] if step.workload == tracked.workload]

    def _written_bytes(self, target: str, phase: Phase, count: int, values: Values) -> float:
        rounds = self._steps[target, phase.name][:count]
        return sum(written_bytes(step, values.get(step.trial, {})) for steps in rounds for step in steps)


def _series(
    rounds: Sequence[Sequence[PlannedStep]], tracked: Tracked, levels: Mapping[str, str], values: Values
) -> TrackedSeries:
    """A combination over the rounds that were begun."""
    members = [
        next((one.trial for one in steps if (one.workload, one.levels) == (tracked.workload, levels)), "")
        for steps in rounds
    ]
    found = tuple(values.get(trial, {}).get(tracked.metric) for trial in members)
    lasting = _mean(values.get(trial, {}).get(LASTING) for trial in members[-WINDOW_ROUNDS:])
    unit = metric_of(tracked.metric).unit
    return TrackedSeries(
        *(tracked.workload, levels, tracked.metric, unit, found),
        lasting_per_s=lasting if tracked.metric == RATE else None,
    )


def _averages(window: Sequence[Sequence[PlannedStep]], values: Values) -> Iterator[WindowAverage]:
    """Every combination of a phase over the rounds of its measurement."""
    cells: dict[tuple[str, tuple[tuple[str, str], ...]], list[Mapping[str, float]]] = {}
    for step in (step for steps in window for step in steps):
        if step.trial in values:
            cells.setdefault((step.workload, tuple(step.levels.items())), []).append(values[step.trial])
    for (workload, levels), members in cells.items():
        longest = [one[name] for one in members for name in one if name.endswith(LONGEST)]
        yield WindowAverage(
            workload=workload,
            levels=dict(levels),
            rounds=len(members),
            iops=_mean(one.get(RATE) for one in members),
            throughput_bytes_per_s=_mean(one.get(THROUGHPUT) for one in members),
            latency_ns_mean=_mean(map(mean_latency_ns, members)),
            latency_ns_max=max(longest, default=None),
        )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def written_bytes(step: PlannedStep, found: Mapping[str, float]) -> float:
    """What a trial wrote, by its throughput and its length."""
    if not step.pattern.writes:
        return 0.0
    per_s = found.get(f"write_{THROUGHPUT}", found.get(THROUGHPUT, 0.0))
    return per_s * found.get(WINDOW_NS, 0.0) / 1e9


def mean_latency_ns(found: Mapping[str, float]) -> float | None:
    """The mean latency of everything that a trial issued: of a mix, that of its operations by their rates."""
    rates = {name: rate for name in _DIRECTIONS if (rate := found.get(f"{name}_{RATE}"))}
    main = found.get(MEAN_LATENCY)
    # the operation that the trial is about has no prefix
    means = {name: found.get(f"{name}_{MEAN_LATENCY}", main) for name in rates}
    if not rates or None in means.values():
        return main
    return sum(rate * (means[name] or 0.0) for name, rate in rates.items()) / sum(rates.values())


def _chosen_point(
    combinations: Sequence[Sequence[PlannedStep]], values: Values, which: WhichPoint
) -> ChosenPoint | None:
    """The combination with most IOPS among those with a mean latency below 5 ms, or the one nearest to the middle."""
    points = []
    for steps in combinations:
        mean_ns = _mean(mean_latency_ns(values[step.trial]) for step in steps)
        iops = _mean(values[step.trial].get(RATE) for step in steps)
        if iops is not None and mean_ns is not None and mean_ns < POINT_LATENCY_BELOW_NS:
            points.append((iops, mean_ns, steps[-1]))
    if not points:
        return None
    most, fewest = (end(iops for iops, _, _ in points) for end in (max, min))
    if which == "max":
        # nobody waits longer for what is no more
        iops, mean_ns, step = min((one for one in points if one[0] >= _AS_MANY * most), key=lambda point: point[1])
    else:
        aim = (most + fewest) / 2
        iops, mean_ns, step = min(points, key=lambda point: abs(point[0] - aim))
    return ChosenPoint(step.target, step.workload, which, step.trial, step.levels, iops, mean_ns)
