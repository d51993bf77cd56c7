"""What many drives gave over dates: of each its runs, what changed, and whether its newest run is an exception."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from drivelab.model.comparison import MetricComparison
from drivelab.model.drive_values import FIRMWARE, FleetDrive
from drivelab.model.history import HistoryRow, JudgedRun

_WEAR = "wear"


@dataclass(frozen=True, slots=True)
class DriveHistory:
    """One drive over dates.

    Attributes
    ----------
    drive : FleetDrive
        As its newest run knows it.
    rows : tuple of HistoryRow
        Its runs, the oldest first.
    judged : tuple of JudgedRun
        Of each kind of run the newest, held against earlier ones, and corrected for the numbers of all drives.
    is_simulated : bool
        Whether it is a model, which has no scatter to hold a run against.
    """

    drive: FleetDrive
    rows: tuple[HistoryRow, ...]
    judged: tuple[JudgedRun, ...]
    is_simulated: bool = False

    @property
    def changed(self) -> tuple[tuple[JudgedRun, MetricComparison], ...]:
        """The numbers that changed with the run that shows it: slower before faster, the largest change first."""
        found = [(one, row) for one in self.judged for row in one.changed]
        return tuple(sorted(found, key=lambda one: (one[1].verdict != "slower", -abs((one[1].slowdown or 1.0) - 1.0))))

    @property
    def is_slower(self) -> bool:
        """Whether some number became worse."""
        return any(row.verdict == "slower" for _, row in self.changed)

    @property
    def missing_count(self) -> int:
        """How many more runs it takes until anything can be judged; 0 where something was."""
        if any(one.rows for one in self.judged):
            return 0
        return min((one.missing_count for one in self.judged), default=0)

    @property
    def like_count(self) -> int:
        """The most runs of one kind that tell something of it."""
        return max((one.earlier_count + 1 for one in self.judged), default=0)

    @property
    def why_unjudged(self) -> str:
        """Why no number of runs would do: ``simulated``, ``busy machine``; empty where only more are missing."""
        if self.is_simulated:
            return "simulated"
        return "" if self.judged else ", ".join(dict.fromkeys(row.left_out for row in self.rows if row.left_out))

    @property
    def firmware_changes(self) -> tuple[tuple[HistoryRow, str, str], ...]:
        """The run before which the firmware was another, what it was, and what it is."""
        return tuple(self._changes(FIRMWARE))

    @property
    def wear_percent(self) -> tuple[tuple[HistoryRow, float], ...]:
        """The share of its life that is used, in per cent, in each run that knows it."""
        known = [(row, row.facts[_WEAR].removesuffix("%").strip()) for row in self.rows if _WEAR in row.facts]
        return tuple((row, float(text)) for row, text in known)

    @property
    def wear_grown(self) -> float:
        """By how many per cent of its life it wore from the first run that knows it to the last; 0 where none does."""
        wear = self.wear_percent
        return wear[-1][1] - wear[0][1] if wear else 0.0

    def _changes(self, fact: str) -> Iterator[tuple[HistoryRow, str, str]]:
        known = ""
        for row in self.rows:
            level = row.facts.get(fact, known)
            if known and level != known:
                yield row, known, level
            known = level

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "drive": asdict(self.drive),
            "is_slower": self.is_slower,
            "firmware_changes": [
                {"run": row.run, "started_utc": row.started_utc, "before": before, "after": after}
                for row, before, after in self.firmware_changes
            ],
            "wear_percent": [[row.started_utc, wear] for row, wear in self.wear_percent],
            "judged": [one.to_json() for one in self.judged],
            "runs": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True, slots=True)
class FleetHistory:
    """Many drives over dates.

    Attributes
    ----------
    drives : tuple of DriveHistory
        Those that became slower first, then those that became faster, had their firmware changed, or wore most.
    notes : tuple of str
        What was left out.
    """

    drives: tuple[DriveHistory, ...]
    notes: tuple[str, ...] = ()

    @property
    def judged_drives(self) -> tuple[DriveHistory, ...]:
        """Those with runs enough to judge the newest."""
        return tuple(one for one in self.drives if any(judged.rows for judged in one.judged))

    @property
    def comparison_count(self) -> int:
        """Numbers of all drives that were judged."""
        return sum(len(judged.rows) for one in self.drives for judged in one.judged)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "comparison_count": self.comparison_count,
            "notes": list(self.notes),
            "drives": [one.to_json() for one in self.drives],
        }
