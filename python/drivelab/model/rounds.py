"""What the rounds of a phase came to: whether what is tracked was steady, and which rounds are the measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from drivelab.model.estimate import Unit
from drivelab.model.judged_metric import RATE
from drivelab.model.plain import Plain

# why no further round is begun; empty while one is to follow
PhaseEnd = Literal["", "steady", "capacities", "rounds"]
# bounds of the criterion of five rounds, as shares of their average
RANGE_MAX, SLOPE_MAX = 0.20, 0.10
# what a first round has more than so many times is a fall
FALLS = 1.25


@dataclass(frozen=True, slots=True)
class FiveRounds:
    """What the criterion of five rounds says.

    Attributes
    ----------
    average : float
        Of the five.
    range_share, slope_share : float
        Highest less lowest, and what the least-squares line rises or falls by from the first to the last round,
        over the average.
    slope : float
        Of that line, for each round; it passes the middle round at the average.
    is_steady : bool
        Whether both are within their bounds.
    """

    average: float
    range_share: float
    slope_share: float
    slope: float
    is_steady: bool


@dataclass(frozen=True, slots=True)
class TrackedSeries:
    """One number over the rounds of a phase.

    Attributes
    ----------
    workload, metric, unit : str
        Of what combination, and which number.
    values : tuple of float or None
        One for each round that was begun; None where a round has no such number.
    window : FiveRounds or None
        The criterion over the window of the phase; None where that has fewer rounds, and for what is only shown.
    title : str
        What the workload is called; empty where nothing tells.
    lasting_per_s : float or None
        What is left of IOPS that a write cache or a burst gave, as trials of the window say; None where none does.
    is_perhaps_burst : bool
        Whether IOPS are at a rate of which nobody can know yet whether it is the burst of a volume.
    """

    workload: str
    levels: Mapping[str, str]
    metric: str
    unit: Unit
    values: tuple[float | None, ...]
    window: FiveRounds | None = None
    title: str = ""
    lasting_per_s: float | None = None
    is_perhaps_burst: bool = False

    @property
    def first(self) -> float | None:
        """The number of the first round that has one."""
        return next((value for value in self.values if value is not None), None)

    @property
    def has_fallen(self) -> bool:
        """Whether IOPS were far higher in the first round than in the window."""
        if self.window is None or self.metric != RATE or self.first is None:
            return False
        return self.first > FALLS * self.window.average


@dataclass(frozen=True, slots=True)
class WindowAverage:
    """What one combination came to over the rounds of the measurement.

    Attributes
    ----------
    iops, throughput_bytes_per_s, latency_ns_mean : float or None
        Means over these rounds, a mean latency that of all operations of a mix.
    latency_ns_max : float or None
        The longest of all of them.
    """

    workload: str
    levels: Mapping[str, str]
    rounds: int
    iops: float | None
    throughput_bytes_per_s: float | None
    latency_ns_mean: float | None
    latency_ns_max: float | None


@dataclass(frozen=True, slots=True)
class PhaseRounds(Plain):
    """The rounds of a phase on one target.

    Attributes
    ----------
    target, phase : str
        Label of the target, and name of the phase.
    rounds_at_most, rounds : int
        As planned, and those that were done.
    ended_by : str
        Why it ended; empty for one that has not.
    window : (int, int)
        First and last round of the measurement: the last five, of fewer all.
    beside : tuple of TrackedSeries
        Other combinations of what is tracked that differ from it in the last factor alone, for the figure.
    averages : tuple of WindowAverage
        Of every combination of the phase, over the window.
    is_scaled_down : bool
        Whether it was done with ``--quick``.
    """

    TOLD = ("is_steady",)

    target: str
    phase: str
    rounds_at_most: int
    rounds: int
    ended_by: PhaseEnd
    window: tuple[int, int]
    tracked: tuple[TrackedSeries, ...] = ()
    beside: tuple[TrackedSeries, ...] = ()
    averages: tuple[WindowAverage, ...] = ()
    is_scaled_down: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether everything that is tracked met the criterion in the window."""
        return bool(self.tracked) and all(one.window is not None and one.window.is_steady for one in self.tracked)


@dataclass(frozen=True, slots=True)
class ChosenPoint(Plain):
    """A combination that was chosen by what was measured of it.

    Attributes
    ----------
    target, workload, which : str
        On what, of which workload, and ``max`` or ``mid``.
    """

    target: str
    workload: str
    which: str
    trial: str
    levels: Mapping[str, str]
    iops: float
    latency_ns_mean: float
