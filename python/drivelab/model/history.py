"""What one drive or directory gave over time: a row for each run, and what changed between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from drivelab.model.comparison import MetricComparison
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.metric import FLUSHES
from drivelab.model.names import counted
from drivelab.model.plain import Plain

# the trial and the metric behind each number: those of every check, so that like stands beside like
DURABLE, SEQUENTIAL, RANDOM = "sync-write-4096", "sequential-write-qd8", "random-read-qd32"
NUMBERS: Mapping[str, tuple[str, str]] = {
    "durable_write_p50": (DURABLE, LATENCY),
    "durable_write_p99": (DURABLE, P99),
    "sequential_write": (SEQUENTIAL, THROUGHPUT),
    "random_read": (RANDOM, RATE),
    "flushes": (DURABLE, FLUSHES),
}
# earlier runs that the newest is held against, at least: a drive that has one of two speeds in each run had one in five
# runs, and the other in the next, once in 32 times
EARLIER_MIN = 6


@dataclass(frozen=True, slots=True)
class JudgedRun(Plain):
    """The newest run of its kind beside the earlier ones like it.

    Attributes
    ----------
    kind : tuple of str
        What like runs have in common: the experiment, ``quick`` or ``full``, the file system.
    earlier_count : int
        Earlier runs that it was held against.
    missing_count : int
        How many more it takes before anything is judged.
    rows : tuple of MetricComparison
        Each number that was judged, the newest beside the earlier ones: what changed first. Empty where there were
        too few runs.
    """

    run: str
    kind: tuple[str, ...]
    earlier_count: int
    missing_count: int
    rows: tuple[MetricComparison, ...] = ()

    @property
    def changed(self) -> tuple[MetricComparison, ...]:
        """What differs by more than earlier runs scatter."""
        return tuple(row for row in self.rows if row.verdict in ("slower", "faster"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow(Plain):
    """One run in the history of a drive.

    Attributes
    ----------
    run, started_utc, experiment : str
        Its name, when it began, and what was run.
    need, outcome, answer : str
        The one program that was asked about, how it ended in a word (``pass``, ``complete``), and the sentence of
        its verdict.
    outcomes : mapping of str to int
        Of a check for several programs that ended differently: how many of them ended how; else empty.
    wanted_per_s : float or None
        How many commits a second the check was asked for; None where for none.
    numbers : mapping of str to Estimate
        By the names of `NUMBERS`; what a run did not measure is missing.
    facts : mapping of str to str
        What its numbers may depend on: target, kernel, firmware, drivelab, wear; what is unknown is missing.
    changes : tuple of str
        What is another than it was last known to be: ``kernel 6.8 -> 6.9``.
    left_out : str
        Why it is held against no other run: ``busy machine``; empty where it is.
    error : str
        What ended it, where it failed.
    judged : str
        The number that its answer rests on, in words, where that is no yes and no other of its numbers.
    """

    run: str
    started_utc: str
    experiment: str
    need: str
    outcome: str
    outcomes: Mapping[str, int] = field(default_factory=dict)
    answer: str
    wanted_per_s: float | None = None
    numbers: Mapping[str, Estimate]
    facts: Mapping[str, str]
    changes: tuple[str, ...] = ()
    is_quick: bool = False
    left_out: str = ""
    error: str = ""
    judged: str = ""

    @property
    def is_full(self) -> bool:
        """Whether it ran at full length, to its end, on a quiet machine."""
        return not self.is_quick and not self.left_out


def with_changes(rows: Iterable[HistoryRow]) -> tuple[HistoryRow, ...]:
    """The rows, each with what is another than it was in the last of them before it that knows it."""
    known: dict[str, str] = {}
    found = []
    for row in rows:
        changes = [f"{name} {known[name]} -> {new}" for name, new in row.facts.items() if known.get(name, new) != new]
        known |= row.facts
        found.append(replace(row, changes=tuple(changes)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class History:
    """The runs of one drive or directory, the oldest first.

    Attributes
    ----------
    target : str
        What was asked for.
    others : int
        Runs of the same path that another drive was beneath: they are left out.
    judged : tuple of JudgedRun
        Of each kind of run the newest, the kind that was measured last first; empty where it is simulated.
    other_kinds : mapping of str to int
        Experiments whose runs are left out, because they have other numbers, and how many runs that are.
    is_simulated : bool
        Whether it is a model.
    with_other_drives : int
        Runs of it and other targets together: they are left out.
    left_of_burst : str
        What is left of its numbers without burst credit, where a run of it found that; else empty.
    """

    target: str
    rows: tuple[HistoryRow, ...] = field(default_factory=tuple)
    others: int = 0
    judged: tuple[JudgedRun, ...] = ()
    other_kinds: Mapping[str, int] = field(default_factory=dict)
    is_simulated: bool = False
    with_other_drives: int = 0
    left_of_burst: str = ""

    @property
    def has_numbers(self) -> bool:
        """Whether some run has numbers of a check; others are told by what they came to."""
        return any(row.numbers for row in self.rows)

    @property
    def places(self) -> tuple[str, ...]:
        """The paths or labels that its runs were made on, the newest first: one drive may have several."""
        found = (row.facts.get("target", "") for row in reversed(self.rows))
        return tuple(dict.fromkeys(one for one in found if one))

    @property
    def places_words(self) -> str:
        """``Runs at /b, /c are of the same drive``; empty where all were made at one place, and where none was here."""
        others = [one for one in self.places if one != self.target]
        is_told = len(others) < len(self.places) or not self.is_of_other_places
        return f"Runs at {', '.join(others)} are of the same drive" if is_told and others and self.places[1:] else ""

    @property
    def is_of_other_places(self) -> bool:
        """Whether a directory or file was asked for of which no run is kept, but of others on its drive."""
        is_drive = self.target.startswith("/dev/") or not self.target.startswith("/")
        return not is_drive and bool(self.places) and self.target not in self.places

    @property
    def left_of_burst_words(self) -> str:
        """``On burst credit; without it 300 I/Os a second are left, as run NAME found``; empty where none is known."""
        return f"On burst credit; without it {self.left_of_burst}" if self.left_of_burst else ""

    @property
    def with_other_drives_words(self) -> str:
        """``2 runs measured it beside other drives: drivelab runs``; empty where there are none."""
        count = self.with_other_drives
        return f"{counted(count, 'run')} measured it beside other drives: drivelab runs" if count else ""

    @property
    def other_kinds_words(self) -> str:
        """``left out (they measure other things): 2 runs of explain``; empty where there are none."""
        counts = ", ".join(f"{counted(count, 'run')} of {name}" for name, count in self.other_kinds.items())
        return f"left out (they measure other things): {counts}" if counts else ""
