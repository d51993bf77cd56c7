"""What the trials of a run come to together: repeats, effects of settings, drift of the drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.factorial import Factorial
from drivelab.model.finding import trials_of
from drivelab.model.judged_metric import MEAN_LATENCY, RATE, is_counted
from drivelab.model.metric import END_SYNC, metric_of
from drivelab.model.plain import Plain
from drivelab.model.reference_drift import ReferenceDrift
from drivelab.model.rounds import ChosenPoint, PhaseRounds
from drivelab.model.surface import SurfaceShape
from drivelab.model.throughput_course import ThroughputCourse
from drivelab.model.timeline import TrialTimeline
from drivelab.model.token_bucket import TokenBucket

# above this share of its bytes at the drive a trial of writes has measured the drive, and not memory
REACHED_WHOLE = 0.98
# matters: it changes the number by enough to care; differs: it changes it, perhaps by less; no effect: not by that
# much; not judged: some of its trials do not describe the drive, or had another level
EffectVerdict = Literal["matters", "differs", "no effect", "not settled", "not judged"]


@dataclass(frozen=True, slots=True)
class RepeatedMetric:
    """One metric over the repeats of a trial.

    Attributes
    ----------
    median, lowest, highest : float
        Over the repeats. The range of n repeats holds the true median with a
        confidence of 1 - 2**(1 - n): 75 % for 3, 94 % for 5.
    unit : str
        As in `Estimate`.
    repeat_count : int
        Repeats that had a value.
    is_seen : bool
        Whether some repeat had too few independent I/Os for an interval of its
        own: then the numbers are those of the samples.
    low, high : float or None
        Ends of the 95 % interval of the only repeat; None where there are several, or it has none.
    mean : float or None
        Over the rounds of a measurement window, of which it is what counts; None of repeats.
    at_first : float or None
        Of a rate that is told by what lasts: what a cache or a burst gave before, as a median; None of any other.
    """

    median: float
    lowest: float
    highest: float
    unit: Unit
    repeat_count: int
    is_seen: bool = False
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    at_first: float | None = None

    @property
    def value(self) -> float:
        """The number that is told: the mean of rounds, the median of repeats."""
        return self.median if self.mean is None else self.mean

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """What stands beside the number: the range over several repeats, or the interval of the only one."""
        return (self.lowest, self.highest) if self.repeat_count > 1 else (self.low, self.high)

    @property
    def estimate(self) -> Estimate:
        """The number with these ends, to be held against another."""
        return Estimate(self.value, *self.ends, self.unit, self.repeat_count, float(self.repeat_count), "")


@dataclass(frozen=True, slots=True)
class CombinationResult(Plain):
    """One combination of target, workload and factors, over its repeats.

    Attributes
    ----------
    target, workload, label : str
        Label of the target, name of the workload, and what it is for people.
    achieved : mapping of str to tuple of str
        What was read back of those settings where that is not what was asked, each value once.
    metrics : mapping of str to RepeatedMetric
        Over the repeats.
    judged_metric : str
        The metric that the workload is about: a median latency or the throughput.
    block_size_bytes : int or None
        Size of one I/O; None when sizes are mixed.
    is_durable : bool
        Whether its latency ends when a write is durable.
    invalid_trials : int
        How many of its trials have a finding that says that they do not describe the drive.
    bounds : mapping of str to (float, float or None)
        Of metrics that some repeat has only bounds of: between what they lie in
        all repeats; without an upper end, "at least".
    operation : str
        Where the trials mix operations, the one that `metrics` are of: ``read``, ``durable_write``, or all
        of them together (``read and write``), which have rates and no latency. Empty where nothing is told apart.
    is_phase : bool
        Whether it goes through a file as a whole, and how fast that is is asked: in bytes, however small its I/Os are.
    """

    TOLD = ("trial_count",)

    target: str
    workload: str
    label: str
    levels: Mapping[str, str]
    achieved: Mapping[str, tuple[str, ...]]
    metrics: Mapping[str, RepeatedMetric]
    judged_metric: str
    trials: tuple[str, ...]
    block_size_bytes: int | None = None
    is_durable: bool = False
    invalid_trials: int = 0
    bounds: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    operation: str = ""
    is_phase: bool = False

    @property
    def trial_count(self) -> int:
        """Trials behind it: its repeats that were completed."""
        return len(self.trials)

    @property
    def is_of_rounds(self) -> bool:
        """Whether its trials are rounds of a measurement window, and its numbers their means."""
        return any(found.mean is not None for found in self.metrics.values())

    @property
    def is_durable_at_end(self) -> bool:
        """Whether one sync call after the last write makes all of its writes durable, and none by itself."""
        return END_SYNC in self.metrics


@dataclass(frozen=True, slots=True)
class CommandChange:
    """Device commands per operation at the baseline and at a level.

    Attributes
    ----------
    metric : str
        ``device_flushes_per_operation`` and the like.
    baseline, level : tuple of float
        Lowest and highest over the trials; the two are equal where commands were counted exactly.
    is_changed : bool
        Whether the level costs another number of them.
    """

    metric: str
    baseline: tuple[float, float]
    level: tuple[float, float]
    is_changed: bool


@dataclass(frozen=True, slots=True)
class LevelEffect(Plain):
    """What a level of a factor does to a workload, beside the factor's first level.

    Attributes
    ----------
    target, workload, factor, level, baseline : str
        Where, and the two levels.
    metric : str
        What was compared: a median latency or the throughput.
    ratio : Estimate
        Level over baseline; without an interval where there were too few blocks.
    block_ratios : tuple of float
        The same in every block, in order.
    verdict : str
        matters, differs (perhaps by less than `bound`), no effect (of `bound` or
        more), not settled, or not judged (there are `invalid_trials`, or it was refused).
    bound : float
        The threshold: an effect smaller than this share is called none (0.05).
    p_value, adjusted_p_value : float or None
        Of no effect at all; adjusted for the number of levels that were tried
        (Holm). None with too few blocks, and where the effect is not judged.
    combination_count : int
        Combinations of the other factors behind it.
    commands : tuple of CommandChange
        What the drive was told to do, with each of the two.
    trial_count, invalid_trials : int
        Trials behind it, those of the baseline included, and how many of them do not describe the drive.
    note : str
        What was left out and why; may be empty.
    blocks : tuple of int
        Number of the block of each of `block_ratios`.
    block_baselines : tuple of float
        The baseline in each of these blocks, in the unit of `metric`: geometric mean.
    split_blocks : tuple of int
        Numbers of blocks that a pause of the run divides, so that nothing in them is compared.
    is_unchanged : bool
        Whether the drive was at the same with both: it was found at the level, or refused it. A change of nothing.
    refused_for : str
        What was read back instead of a level that was not taken; empty where all were.
    blocks_to_show_20_percent, blocks_to_show_factor_2 : int
        Of what is not settled: how many blocks would show such a change; 0 where no advisable number would.
    """

    TOLD = ("verdict_text", "commands_changed")

    target: str
    workload: str
    factor: str
    level: str
    baseline: str
    metric: str
    ratio: Estimate
    block_ratios: tuple[float, ...]
    verdict: EffectVerdict
    bound: float
    p_value: float | None
    adjusted_p_value: float | None
    combination_count: int
    commands: tuple[CommandChange, ...] = ()
    trial_count: int = 0
    invalid_trials: int = 0
    note: str = ""
    blocks: tuple[int, ...] = ()
    block_baselines: tuple[float, ...] = ()
    split_blocks: tuple[int, ...] = ()
    is_unchanged: bool = False
    refused_for: str = ""
    blocks_to_show_20_percent: int = 0
    blocks_to_show_factor_2: int = 0

    @property
    def is_slower(self) -> bool | None:
        """Whether the level is the worse of the two; None where they are equal or nothing is known."""
        if self.ratio.value is None or self.ratio.value == 1:
            return None
        is_more = self.ratio.value > 1
        return is_more if metric_of(self.metric).better == "low" else not is_more

    @property
    def verdict_text(self) -> str:
        """The verdict in a few words."""
        bound = f"{100 * self.bound:.0f} %"
        if self.verdict == "no effect":
            return f"no effect of {bound} or more"
        if self.verdict == "differs":
            return f"differs, perhaps by less than {bound}: {'slower' if self.is_slower else 'faster'}"
        if self.verdict == "not judged" and self.refused_for:
            return f"not taken: {self.refused_for} was read back"
        if self.verdict == "not judged":
            return f"not judged: {trials_of(self.invalid_trials, self.trial_count, 'do not')} describe the drive"
        if self.verdict == "not settled":
            return "not settled"
        return "matters: slower" if self.is_slower else "matters: faster"

    @property
    def commands_changed(self) -> bool:
        """Whether the drive was told to do something else, which explains most differences."""
        return any(change.is_changed for change in self.commands)


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """Everything that only the trials of a run together can tell.

    Attributes
    ----------
    combinations : tuple of CombinationResult
        In the order of the experiment's file.
    effects : tuple of LevelEffect
        Of every level beside the first one of its factor.
    drifts : tuple of ReferenceDrift
        One per target that has a reference.
    trial_count : int
        Trials of the run, those of the reference not counted.
    contrasts : tuple of LevelEffect
        The same as `effects` where the experiment does not ask for a table of them: the sentences are made of it.
    factorials : tuple of Factorial
        Shares of the variance, and where one factor changes another's effect; of full designs.
    courses : mapping of str to ThroughputCourse
        How the throughput of each trial went, by its name, where the experiment asks for it.
    shapes : tuple of SurfaceShape
        Where throughput over file size and record size has troughs, and from where on it falls off.
    apart : tuple of CombinationResult
        The combinations once more as tables show them: one that mixes operations is told by each of them, so that no
        latency stands beside the rate of others.
    pairs : tuple of LevelEffect
        Of every level beside each other one that is not the first of its factor.
    overall : tuple of LevelEffect
        Of every level beside each one before it over all workloads, as the rate that it allows.
    rounds : tuple of PhaseRounds
        Of an experiment with phases, what came of each; its combinations are those of the measurement windows alone.
    points : tuple of ChosenPoint
        Combinations that were chosen by what was measured of them.
    timeline : tuple of TrialTimeline
        How the run went from its first trial to its last, where the experiment asks for it.
    told : str
        What the run came to in its own words, where its trials alone can't tell: how a load did beside its recording.
    buckets : tuple of (str, TokenBucket)
        What trials have seen that watched for the end of a burst, with their targets.
    perhaps_bursts : mapping of str to float
        Targets that may have been on burst credit, with the I/Os a second at which they were.
    pauses : mapping of str to (int, int, int)
        Workloads that issue I/O for so many ns, and then pause for so many; their rates have the pauses in them, and so
        many I/Os that are outstanding when one begins.
    again : mapping of str to str
        Workloads that do once more what an earlier one did, with that one.
    afterwards : mapping of str to str
        Workloads by which rounds are judged, with those that do the same behind all rounds.
    """

    combinations: tuple[CombinationResult, ...] = ()
    effects: tuple[LevelEffect, ...] = ()
    drifts: tuple[ReferenceDrift, ...] = ()
    trial_count: int = 0
    contrasts: tuple[LevelEffect, ...] = ()
    factorials: tuple[Factorial, ...] = ()
    courses: Mapping[str, ThroughputCourse] = field(default_factory=dict)
    shapes: tuple[SurfaceShape, ...] = ()
    apart: tuple[CombinationResult, ...] = ()
    pairs: tuple[LevelEffect, ...] = ()
    overall: tuple[LevelEffect, ...] = ()
    rounds: tuple[PhaseRounds, ...] = ()
    points: tuple[ChosenPoint, ...] = ()
    timeline: tuple[TrialTimeline, ...] = ()
    told: str = ""
    buckets: tuple[tuple[str, TokenBucket], ...] = ()
    perhaps_bursts: Mapping[str, float] = field(default_factory=dict)
    pauses: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    again: Mapping[str, str] = field(default_factory=dict)
    afterwards: Mapping[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[CombinationResult, ...]:
        """What tables show of the combinations: what rounds track first, and last what does not describe the drive.

        Of several phases the last one is first, as in the sentences.
        A workload whose mean latency or IOPS are tracked is judged by these; and beside one whose IOPS are tracked
        other small I/Os are counted, too.
        """
        every = self.apart or self.combinations
        tracked = {series.workload: series.metric for phase in self.rounds for series in phase.tracked}
        described = {one.workload for one in every if not one.invalid_trials}

        def judged_metric(one: CombinationResult) -> str:
            metric = tracked.get(one.workload, "")
            if RATE in tracked.values() and is_counted(one.judged_metric, one.block_size_bytes):
                metric = RATE
            return metric if metric in (MEAN_LATENCY, RATE) and metric in one.metrics else one.judged_metric

        by_phase = [series.workload for phase in reversed(self.rounds) for series in phase.tracked]
        places = {name: place for place, name in enumerate(dict.fromkeys(by_phase))}
        ordered = sorted(every, key=lambda one: (places.get(one.workload, len(places)), one.workload not in described))
        return tuple(replace(one, judged_metric=judged_metric(one)) for one in ordered)

    def tracked_levels(self, workload: str) -> list[Mapping[str, str]]:
        """The levels of what rounds track of a workload, in the order of the experiment."""
        return [one.levels for phase in self.rounds for one in phase.tracked if one.workload == workload]

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "results": [one.to_json() for one in self.apart or self.combinations],
            "effects": [one.to_json() for one in self.effects],
            "pairs": [one.to_json() for one in self.pairs],
            "overall": [one.to_json() for one in self.overall],
            "factorial": [one.to_json() for one in self.factorials],
            "reference": [one.to_json() for one in self.drifts],
            "courses": {name: one.to_json() for name, one in self.courses.items()},
            "shapes": [asdict(one) for one in self.shapes],
            "rounds": [one.to_json() for one in self.rounds],
            "points": [one.to_json() for one in self.points],
            "buckets": [{"target": target, **one.to_json()} for target, one in self.buckets],
        }
