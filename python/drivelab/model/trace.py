"""Where the time of an operation went: what a traced pass of a workload tells.

The words are the block layer's: a *bio* is what is handed to it (Q), a
*command* what the driver hands to the device (D) until it is completed (C).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from drivelab.model.estimate import Estimate
from drivelab.model.trace_conduct import TraceConduct as TraceConduct

Part = Literal["fs_in", "layers", "queue", "device", "flush", "between", "return"]

# In the order in which an operation goes through them. At every instant the first of flush, device, queue that
# applies is charged, then the layer furthest down in which something is, otherwise software: before the first bio,
# between, after the last completion.
PARTS: tuple[Part, ...] = ("fs_in", "queue", "device", "flush", "between", "return")
# the seventh, where layers lie between the program and its drives: each of them is a part of its own
LAYERS: Part = "layers"
# traced and untraced medians this far apart are not of the same operation
_ANOTHER_FROM = 1.4
# medians of repeats so many times as far apart are told as a range
_RANGE_FROM = 2.0
PART_TITLES: Mapping[Part, str] = {
    "fs_in": "file system in",
    "layers": "layers",
    "queue": "queue and scheduler",
    "device": "device",
    "flush": "flush",
    "between": "between",
    "return": "return",
}
PART_MEANINGS: Mapping[Part, str] = {
    "fs_in": "from the call until its first bio",
    "layers": "a bio is in a layer above the drives (device mapper, md, loop), and in none below that",
    "queue": "a bio waits for the driver (Q to D)",
    "device": "a read or write is at the device (D to C)",
    "flush": "the device empties its write cache (D to C of a flush)",
    "between": "nothing of the call is at the device: journal, wake-ups, hand-over",
    "return": "from the last completion until the call returns",
}
SOFTWARE: tuple[Part, ...] = ("fs_in", "queue", "between", "return")

# What an operation of a traced pass was: its place is its code in the column `operation`, as in the engine's join. The
# last is a write together with its own sync call.
OPERATION_NAMES = ("read", "write", "trim", "sync", "durable_write")

# What one operation made the drive do; counts of the commands and bios that are charged to it.
DEVICE_WORK = (
    "device_writes",
    "journal_writes",
    "device_reads",
    "flushes",
    "fua_writes",
    "preflush_writes",
    "bytes_written",
    "bytes_read",
    "journal_bytes",
    "bios",
)


@dataclass(frozen=True, slots=True)
class PartSummary:
    """One part of the latency over all operations of a traced pass; times in ns.

    Attributes
    ----------
    part : str
        One of `PARTS`, or `LAYERS`.
    mean, p50, p99 : Estimate
        With their intervals, unit ns.
    typical_ns, slowest_ns : float
        Mean over the typical operations, and over the slowest 1 %: these sum
        to the latency of that group.
    """

    part: Part
    mean: Estimate
    p50: Estimate
    p99: Estimate
    typical_ns: float
    slowest_ns: float
    layer: str = ""

    @property
    def title(self) -> str:
        """What it is for people."""
        return self.layer or PART_TITLES[self.part]

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "part": self.part,
            "title": self.title,
            "mean_ns": self.mean.to_json(),
            "p50_ns": self.p50.to_json(),
            "p99_ns": self.p99.to_json(),
            "typical_ns": self.typical_ns,
            "slowest_ns": self.slowest_ns,
        }


@dataclass(frozen=True, slots=True)
class MemberTime:
    """One of several drives beneath: what it was sent for the operations, and how long that took.

    Attributes
    ----------
    drive : str
        Kernel name.
    commands : int
        Reads, writes and flushes for the operations.
    mean_ns : float
        Mean time of one at the drive (D to C).
    """

    drive: str
    commands: int
    mean_ns: float


@dataclass(frozen=True, slots=True)
class CommandCheck:
    """Counted commands of an operation beside what this kind of kernel and drive should issue.

    Attributes
    ----------
    verdict : str
        ok, too_few_flushes (a durability alarm), too_many (an unrecognised layer), unknown.
    text : str
        In words, with both numbers.
    """

    verdict: Literal["ok", "too_few_flushes", "too_many", "unknown"]
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the time of the operations of one trial went.

    Attributes
    ----------
    trial, label : str
        Name within the run, and the trial for people.
    untraced_ns, traced_ns : Estimate or None
        Median latency of the timed pass, which nobody traced, and of the traced one.
    untraced_repeats_ns, traced_repeats_ns : tuple of float
        The same of each repeat.
    mean_ns : float
        Mean latency of the traced operations: the parts' means sum to it.
    typical_ns, slowest_ns : float
        Mean latency of the typical operations (the middle fifth by latency), and of the slowest 1 %.
    typical_count, slowest_count : int
        How many operations these groups have.
    parts : tuple of PartSummary
        In the order of `PARTS`.
    work : mapping of str to float
        Mean device work of an operation, keys of `DEVICE_WORK`.
    amplification : float or None
        Bytes written to the drive per byte that the program wrote.
    residual_ns : int
        Largest difference between an operation's latency and the sum of its parts; 0 by construction.
    shared_operations : int
        Operations that waited together with others for the same commands.
    conduct : TraceConduct
        How the trace was taken.
    check : CommandCheck
        The self-check of the counts.
    refusal : str
        Why there is no answer (losses could change it); empty when there is
        one. With a refusal there are no parts and no work: the latencies are
        those that the program saw, and stand.
    target, workload : str
        Where and what, as the experiment names them.
    trials : tuple of str
        Trials behind it: the repeats of one combination of factors together.
    left_out : tuple of str
        Repeats whose trace was not whole, each with the reason.
    traced_p99_ns, traced_mean_ns : Estimate or None
        99 % quantile of the traced latency, and its mean: `mean_ns` with its interval.
    tracing_cost : Estimate or None
        Traced over untraced median.
    q2c_ns : float or None
        Mean Q2C that btt would print of this trace: data only, without what
        was split. None when the single bios are not known.
    layers : tuple of str
        Devices between the program and the traced one that were not traced: their time is in the parts of software.
    members : tuple of MemberTime
        How long each drive took for a command, where several lie beneath.
    without_requests : tuple of str
        Drives that take bios as they are (brd, zram, pmem): the kernel does not tell when they begin with one.
    answered_for : str
        The drive beneath a loop device's file, where the page cache answered in its place; empty elsewhere.
    reached_share : float
        How much of what was issued came to that drive: the most of its trials.
    """

    trial: str
    label: str
    operation: str
    operations: int
    untraced_ns: Estimate | None
    traced_ns: Estimate | None
    mean_ns: float
    typical_ns: float
    slowest_ns: float
    typical_count: int
    slowest_count: int
    parts: tuple[PartSummary, ...]
    work: Mapping[str, float]
    amplification: float | None
    residual_ns: int
    shared_operations: int
    conduct: TraceConduct
    check: CommandCheck
    refusal: str = ""
    target: str = ""
    workload: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    traced_p99_ns: Estimate | None = None
    traced_mean_ns: Estimate | None = None
    tracing_cost: Estimate | None = None
    q2c_ns: float | None = None
    layers: tuple[str, ...] = ()
    members: tuple[MemberTime, ...] = ()
    without_requests: tuple[str, ...] = ()
    answered_for: str = ""
    reached_share: float = 1.0
    untraced_repeats_ns: tuple[float, ...] = ()
    traced_repeats_ns: tuple[float, ...] = ()

    @property
    def is_unsettled(self) -> bool:
        """Whether there is no answer yet: tracing seems to change the operation, or repeats lie far apart."""
        ratio = self.tracing_cost.value if self.tracing_cost else None
        is_another = ratio is not None and not 1 / _ANOTHER_FROM < ratio < _ANOTHER_FROM
        return is_another or are_far_apart(self.traced_repeats_ns) or are_far_apart(self.untraced_repeats_ns)

    def part(self, part: Part) -> PartSummary:
        """One of its parts; an answer that was refused has none."""
        return next(summary for summary in self.parts if summary.part == part)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "trial": self.trial,
            "trials": list(self.trials),
            "left_out": list(self.left_out),
            "label": self.label,
            "target": self.target,
            "layers": list(self.layers),
            "members": [asdict(member) for member in self.members],
            "drives_without_requests": list(self.without_requests),
            "answered_for_drive": self.answered_for,
            "reached_share": self.reached_share,
            "workload": self.workload,
            "levels": dict(self.levels),
            "operation": self.operation,
            "operations": self.operations,
            "refusal": self.refusal,
            "untraced_median_ns": _json_of(self.untraced_ns),
            "traced_median_ns": _json_of(self.traced_ns),
            "untraced_repeats_ns": list(self.untraced_repeats_ns),
            "traced_repeats_ns": list(self.traced_repeats_ns),
            "traced_p99_ns": _json_of(self.traced_p99_ns),
            "tracing_cost_ratio": _json_of(self.tracing_cost),
            "traced_mean_ns": _json_of(self.traced_mean_ns),
            "mean_ns": self.mean_ns,
            "typical": _group_json(self.typical_count, self.typical_ns, self.parts, "typical_ns"),
            "slowest": _group_json(self.slowest_count, self.slowest_ns, self.parts, "slowest_ns"),
            "parts": [summary.to_json() for summary in self.parts],
            "residual_ns": self.residual_ns,
            "work_per_operation": dict(self.work),
            "amplification_ratio": self.amplification,
            "shared_operations": self.shared_operations,
            "btt_q2c_mean_ns": self.q2c_ns,
            "check": asdict(self.check),
            "trace": self.conduct.to_json(),
        }


def are_far_apart(repeats_ns: Sequence[float]) -> bool:
    """Whether medians of repeats are to be told as a range, since no one of them is the answer."""
    return bool(repeats_ns) and max(repeats_ns) >= _RANGE_FROM * min(repeats_ns)


def _json_of(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.to_json()


def _group_json(count: int, latency_ns: float, parts: tuple[PartSummary, ...], of: str) -> dict[str, Any]:
    """A group of operations: its mean latency, and the parts that sum to it."""
    means = {f"{summary.part}_ns": getattr(summary, of) for summary in parts if not summary.layer}
    layers = {summary.layer: getattr(summary, of) for summary in parts if summary.layer}
    found = {"operations": count, "latency_ns": latency_ns, "parts": means}
    return found | ({"layers_ns": layers} if layers else {})


@dataclass(frozen=True, slots=True)
class PartDifference:
    """How much one part differs between two sides, per operation.

    Attributes
    ----------
    part : str
        One of `PARTS`, or ``total``.
    base_ns, new_ns : float
        Mean of each side.
    difference_ns : Estimate
        New minus base, with its interval.
    is_beyond_noise : bool
        Whether the interval, corrected for the number of parts, leaves out 0.
    p_value, adjusted_p_value : float or None
        Of no difference at all; adjusted for the number of parts (Holm). None with too few operations.
    """

    part: str
    base_ns: float
    new_ns: float
    difference_ns: Estimate
    is_beyond_noise: bool
    p_value: float | None = None
    adjusted_p_value: float | None = None


@dataclass(frozen=True, slots=True)
class ExplanationDifference:
    """Two explanations beside each other: which part differs, by how much.

    Attributes
    ----------
    base, new : str
        Names of the sides.
    parts : tuple of PartDifference
        The total first, then in the order of `PARTS`.
    work : mapping of str to (float, float)
        Device work of an operation on each side, where it differs.
    units : str
        What the intervals are made of: repeats, or operations where a side has
        too few repeats; then what a repeat would change is not in them. Calls of a
        program that was followed, which nobody repeats.
    operation, label : str
        What both did, as in `Explanation`, and for people.
    operations : (int, int)
        Operations of each side.
    unsettled : tuple of str
        Names of the sides that are no answer yet by themselves (`Explanation.is_unsettled`).
    """

    base: str
    new: str
    parts: tuple[PartDifference, ...]
    work: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    units: Literal["repeats", "operations", "calls"] = "operations"
    operation: str = ""
    label: str = ""
    operations: tuple[int, int] = (0, 0)
    unsettled: tuple[str, ...] = ()

    @property
    def total(self) -> PartDifference:
        """The difference of the whole latency; those of the parts sum to it."""
        return self.parts[0]

    def part(self, part: Part) -> PartDifference:
        """The difference of one part."""
        return next(one for one in self.parts if one.part == part)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "base": self.base,
            "new": self.new,
            "label": self.label,
            "operation": self.operation,
            "operations": {"base": self.operations[0], "new": self.operations[1]},
            "units": self.units,
            "unsettled": list(self.unsettled),
            "parts": [asdict(one) for one in self.parts],
            "work_per_operation": {name: {"base": old, "new": new} for name, (old, new) in self.work.items()},
        }
