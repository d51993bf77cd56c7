"""How the throughput of a trial went: its levels, the changes between them, and whether it was steady at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.model.estimate import Estimate
from drivelab.model.plain import Plain
from drivelab.model.units import format_decimal_bytes, format_rate_bytes_per_s

SteadyVerdict = Literal["steady", "not steady", "undecided"]


@dataclass(frozen=True, slots=True)
class ThroughputLevel:
    """A stretch of a trial in which the throughput stayed on one level.

    Attributes
    ----------
    begin_bytes, end_bytes : int
        Bytes moved when it began and when it ended, from the start of the measured window.
    begin_ns, end_ns : int
        The same in time.
    bytes_per_s : Estimate
        Throughput within it.
    """

    begin_bytes: int
    end_bytes: int
    begin_ns: int
    end_ns: int
    bytes_per_s: Estimate


@dataclass(frozen=True, slots=True)
class ThroughputChange:
    """Where one level ends and the next begins.

    Attributes
    ----------
    at_bytes, at_ns : int
        Bytes moved, and time passed, until then.
    low_bytes, high_bytes : int
        95 % interval of `at_bytes`.
    ratio : Estimate
        Level after over level before.
    """

    at_bytes: int
    at_ns: int
    low_bytes: int
    high_bytes: int
    before: Estimate
    after: Estimate
    ratio: Estimate


@dataclass(frozen=True, slots=True)
class SteadyState(Plain):
    """Whether the throughput was steady at the end of a trial.

    Attributes
    ----------
    verdict : str
        steady, not steady, or undecided.
    why : str
        What decided it, or what is missing, in one sentence.
    round_bytes : int
        Bytes of one round.
    round_count : int
        Whole rounds that the trial had.
    window_begin_bytes, window_end_bytes, window_begin_ns, window_end_ns : int
        The last five rounds, in bytes moved and in time; all 0 where there were fewer.
    bytes_per_s : Estimate
        Mean throughput over that window, with its 95 % interval.
    passes_five_rounds : bool or None
        Whether the window passes the criterion of five rounds (range and slope); None where there are fewer.
    bytes_until_steady : int or None
        Bytes moved before the first window from which on every later one passed that criterion;
        None unless the verdict is steady.
    drift_ratio, trend_p_value : float or None
        End over start of the trend through the rounds of the last capacity, and the p-value of there being none.
    """

    verdict: SteadyVerdict
    why: str
    round_bytes: int
    round_count: int
    window_begin_bytes: int
    window_end_bytes: int
    window_begin_ns: int
    window_end_ns: int
    bytes_per_s: Estimate
    passes_five_rounds: bool | None = None
    bytes_until_steady: int | None = None
    drift_ratio: float | None = None
    trend_p_value: float | None = None


@dataclass(frozen=True, slots=True)
class ThroughputCourse(Plain):
    """The levels of a trial's throughput, in order, and whether it was steady at the end.

    Attributes
    ----------
    levels : tuple of ThroughputLevel
        At least one, unless `undecided` says why not.
    changes : tuple of ThroughputChange
        Between neighbouring levels, one fewer than levels.
    cliff : ThroughputChange or None
        The first fall to 0.7 or less that lasted; several changes in quick succession are one.
    cliff_lasts_to_end : bool
        Whether the trial ended before 2 % of the capacity had been moved at the lower level.
    moved_bytes : int
        Bytes of the whole window.
    steady : SteadyState or None
        None where nothing is known of the capacity.
    undecided : str
        Why no changes could be looked for; empty when they were.
    """

    TOLD = ("text",)

    levels: tuple[ThroughputLevel, ...] = ()
    changes: tuple[ThroughputChange, ...] = ()
    cliff: ThroughputChange | None = None
    cliff_lasts_to_end: bool = False
    moved_bytes: int = 0
    steady: SteadyState | None = None
    undecided: str = ""

    @property
    def text(self) -> str:
        """The levels in words: ``503 MB/s until 1.02 GB, then 105 MB/s``; empty without changes."""
        if not self.changes:
            return ""
        words = [
            f"{format_rate_bytes_per_s(level.bytes_per_s.value or 0)} until {format_decimal_bytes(level.end_bytes)}"
            for level in self.levels[:-1]
        ]
        return ", then ".join([*words, format_rate_bytes_per_s(self.levels[-1].bytes_per_s.value or 0)])
