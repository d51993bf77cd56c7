"""What two sides of runs come to beside each other: ratios, verdicts, and what differs between the sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from drivelab.model.apart import are_apart
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.plain import Plain
from drivelab.model.run_answer import CommandChange
from drivelab.model.trace import ExplanationDifference
from drivelab.model.units import format_percent

ComparisonVerdict = Literal["slower", "faster", "equivalent", "no difference shown", "not comparable", "seen only"]
# of a pull request one wants to see first what became worse, then what nobody knows
VERDICTS: tuple[ComparisonVerdict, ...] = (
    "slower",
    "not comparable",
    "no difference shown",
    "faster",
    "equivalent",
    "seen only",
)
_EQUIVALENT_WORDS = "equivalent within"
# what an operation costs
_COSTS = ("_per_operation", "_per_issued_byte", "bytes_until_steady")


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run of one side.

    Attributes
    ----------
    started_utc, status : str
        When it began, and how it ended; empty when unknown.
    is_simulated : bool
        Whether all its drives are models, which do the same again.
    """

    name: str
    directory: str
    started_utc: str = ""
    status: str = ""
    is_quick: bool = False
    is_simulated: bool = False


@dataclass(frozen=True, slots=True)
class SideDifference:
    """A fact that is not the same on both sides; the comparison goes on: it may be what is being compared.

    Attributes
    ----------
    what : str
        ``kernel``, ``drive``, ``file system``.
    base, new : tuple of str
        What it is on each side, each value once; empty where it is unknown.
    """

    what: str
    base: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideValues:
    """One metric of one combination on one side.

    Attributes
    ----------
    value : float
        Of all runs, their geometric mean, of which the ratio is made; of each run, the median of its repeats.
    lowest, highest : float
        Over all repeats of all runs.
    run_count, repeat_count : int
        Runs that have it, and trials of all of them together.
    """

    value: float
    lowest: float
    highest: float
    run_count: int
    repeat_count: int


@dataclass(frozen=True, slots=True)
class MetricComparison(Plain):
    """One metric of one combination of workload, levels and target, NEW beside BASE.

    Attributes
    ----------
    workload, label : str
        Name of the workload, and what it is for people.
    target_base, target_new : str
        Labels of the targets.
    levels : mapping of str to str
        Level of every factor that is the same on both sides.
    is_judged : bool
        Whether it is the number that the workload is about, or was asked for by name; others are told beside it.
    base, new : SideValues or None
        None where the side has no value of it.
    ratio : Estimate
        NEW over BASE with its 95 % interval; without ends where a side had too few runs.
    equivalence : (float, float) or None
        The 90 % interval: equivalent when it lies within the margin (two one-sided tests at 5 %).
    p_value, adjusted_p_value : float or None
        Of no difference at all; adjusted for all judged numbers of the comparison (Holm).
    verdict : str
        slower, faster, equivalent, no difference shown, not comparable, or seen only: too few runs, or not judged.
    why : tuple of str
        Why it is not comparable, or how few runs there were.
    detectable_ratio : float or None
        A ratio this far from 1, either way, would have been found 4 times out of 5.
    margin : float
        What still counts as the same: 0.05 is 5 %.
    pattern : str
        What kind of I/O it is: ``durable writes``, ``sequential I/O``, ``random I/O``; empty where it is none of these.
    """

    TOLD = (
        "slowdown",
        "is_beyond_margin",
        "is_surely_beyond_margin",
        "is_regression",
        "is_undecided",
        "verdict_text",
    )

    workload: str
    label: str
    target_base: str
    target_new: str
    levels: Mapping[str, str]
    metric: str
    unit: Unit
    is_judged: bool
    base: SideValues | None
    new: SideValues | None
    ratio: Estimate
    equivalence: tuple[float, float] | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    verdict: ComparisonVerdict = "no difference shown"
    why: tuple[str, ...] = ()
    detectable_ratio: float | None = None
    margin: float = 0.05
    commands: tuple[CommandChange, ...] = ()
    pattern: str = ""

    @property
    def slowdown(self) -> float | None:
        """How many times worse NEW is: above 1 is slower, whichever way the metric goes; None without a ratio."""
        if self.ratio.value is None:
            return None
        return self.ratio.value if self.is_more_worse else 1 / self.ratio.value

    @property
    def is_more_worse(self) -> bool:
        """Whether the larger number is the worse one: times and what an operation costs, but not rates."""
        return self.unit == "ns" or self.metric.endswith(_COSTS)

    @property
    def is_beyond_margin(self) -> bool:
        """Whether the ratio itself lies outside the margin, either way."""
        value = self.ratio.value
        return value is not None and max(value, 1 / value) > 1 + self.margin

    @property
    def is_surely_beyond_margin(self) -> bool:
        """Whether the whole 95 % interval lies outside the margin, on one side."""
        low, high = self.ratio.low, self.ratio.high
        return low is not None and high is not None and (low > 1 + self.margin or high < 1 / (1 + self.margin))

    @property
    def is_beyond_repeats(self) -> bool:
        """Whether the two lie further apart than the repeats of each side scatter, whatever other runs would do."""
        if self.base is None or self.new is None:
            return False
        counts = (self.base.repeat_count, self.new.repeat_count)
        base, new = (
            Estimate(side.value, side.lowest, side.highest, self.unit, side.repeat_count, float(side.repeat_count), "")
            for side in (self.base, self.new)
        )
        return min(counts) > 1 and are_apart(base, new, counts) is True

    @property
    def is_regression(self) -> bool:
        """Whether NEW is slower beyond noise, and measured beyond the margin."""
        return self.verdict == "slower" and self.is_beyond_margin

    @property
    def is_undecided(self) -> bool:
        """Whether neither a difference nor equivalence was shown of a number that is judged."""
        return self.verdict == "no difference shown" or (self.is_judged and self.verdict == "seen only")

    @property
    def is_judged_at_all(self) -> bool:
        """Whether there is a verdict, whichever it is: the judged number of a workload, with enough runs of it."""
        return self.verdict not in ("not comparable", "seen only")

    @property
    def verdict_text(self) -> str:
        """The verdict in a few words."""
        within = f"{_EQUIVALENT_WORDS} {format_percent(self.margin)}"
        if self.verdict == "seen only" and self.why:
            return f"{self.verdict}: {self.why[0]}"
        return within if self.verdict == "equivalent" else self.verdict


@dataclass(frozen=True, slots=True)
class QuantileShift:
    """One height of the distributions of both sides.

    Attributes
    ----------
    quantile : float
        0.999 is p99.9.
    base_ns, new_ns : float
        Geometric means over the runs of each side.
    ratio : float
        NEW over BASE.
    low, high : float or None
        Its 95 % interval, for this height by itself; None where a side had too few runs.
    """

    quantile: float
    base_ns: float
    new_ns: float
    ratio: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class DistributionShift:
    """The latencies of one operation of one combination on both sides.

    Attributes
    ----------
    workload, label, target : str
        What, for people, and where in NEW.
    levels : mapping of str to str
        Level of every factor that is the same on both sides.
    operation : str
        As in the histograms table.
    points : tuple of QuantileShift
        From the lowest quantile to the highest.
    runs : (int, int)
        Runs of BASE and of NEW.
    """

    workload: str
    label: str
    target: str
    levels: Mapping[str, str]
    operation: str
    points: tuple[QuantileShift, ...]
    runs: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything about two sides beside each other.

    Attributes
    ----------
    rows : tuple of MetricComparison
        The worst first.
    differences : tuple of SideDifference
        What is not the same on both sides.
    only_base, only_new : tuple of str
        Combinations that the other side does not have.
    left_out_base, left_out_new : tuple of str
        Targets with nothing on the other side to be compared with, where others have that.
    perhaps_bursts : mapping of str to float
        Targets that may have lived on burst credit, with the I/Os a second at which they did.
    part_differences : tuple of ExplanationDifference
        Where both sides were traced: which part of the latency differs.
    distributions : tuple of DistributionShift
        Of what could be compared, the combinations with the worst numbers first; where they were asked for.
    """

    base: tuple[ComparedRun, ...]
    new: tuple[ComparedRun, ...]
    margin: float
    rows: tuple[MetricComparison, ...] = ()
    differences: tuple[SideDifference, ...] = ()
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    left_out_base: tuple[str, ...] = ()
    left_out_new: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    perhaps_bursts: Mapping[str, float] = field(default_factory=dict)
    part_differences: tuple[ExplanationDifference, ...] = ()
    distributions: tuple[DistributionShift, ...] = ()
    counts: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Count the rows of each verdict."""
        found = {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in VERDICTS}
        object.__setattr__(self, "counts", found)

    @property
    def regressions(self) -> tuple[MetricComparison, ...]:
        """Rows that became slower beyond noise and beyond the margin."""
        return tuple(row for row in self.rows if row.is_regression)

    @property
    def is_anything_compared(self) -> bool:
        """Whether some row could be compared at all."""
        return any(row.verdict != "not comparable" for row in self.rows)

    @property
    def is_anything_judged(self) -> bool:
        """Whether some row had enough runs on both sides to be judged."""
        return any(row.is_judged_at_all for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; `schema` counts changes of its form."""
        return {
            "schema": 3,
            "base": [asdict(run) for run in self.base],
            "new": [asdict(run) for run in self.new],
            "margin": self.margin,
            "counts": dict(self.counts),
            "regression_count": len(self.regressions),
            "is_anything_compared": self.is_anything_compared,
            "differences": [asdict(one) for one in self.differences],
            "rows": [row.to_json() for row in self.rows],
            "only_base": list(self.only_base),
            "only_new": list(self.only_new),
            "left_out_base": list(self.left_out_base),
            "left_out_new": list(self.left_out_new),
            "notes": list(self.notes),
            "perhaps_bursts": dict(self.perhaps_bursts),
            "part_differences": [one.to_json() for one in self.part_differences],
            "distributions": [asdict(one) for one in self.distributions],
        }
