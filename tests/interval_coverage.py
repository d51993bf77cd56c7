"""How often intervals hold what they promise: quantiles of simulated windows against the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.quantile import quantile_estimates_from_intervals
from drivelab.model.estimate import Estimate
from latency_histograms import interval_series_of
from simulated_drives import SimulatedDrive

INTERVAL_S = 0.05
_AT_ONCE = 50


@dataclass(frozen=True)
class Coverage:
    """What became of one quantile in many windows; an interval that is not there is neither hit nor miss.

    Attributes
    ----------
    windows : int
        How many there were.
    intervals : int
        Of these, those with a value and both ends.
    hits : int
        Of these, those that hold the truth.
    width : float
        Middle half width, in logarithms, over that of an oracle which knows how the sample's quantile scatters.
    """

    windows: int
    intervals: int
    hits: int
    width: float

    @property
    def printed(self) -> float:
        """Share of the windows that have an interval."""
        return self.intervals / self.windows

    @property
    def share(self) -> float:
        """Share of the intervals that hold the truth."""
        return self.hits / self.intervals if self.intervals else 0.0

    def __str__(self) -> str:
        return f"{self.printed:.2f}/{self.share:.3f}/{self.width:.2f}"


def coverage(
    drive: SimulatedDrive, at: list[float], windows: int, operations: int = 25_000, window_s: float = 2.0
) -> list[Coverage]:
    """Coverage of each quantile over so many windows, cut into intervals of 50 ms."""
    random = np.random.default_rng(sum(map(ord, drive.name)))
    cut = max(2, round(window_s / INTERVAL_S))
    whole = operations // cut * cut
    found: list[list[Estimate]] = []
    for first in range(0, windows, _AT_ONCE):
        drawn = np.round(drive.draw(random, min(_AT_ONCE, windows - first), operations, window_s))
        found += [quantile_estimates_from_intervals(interval_series_of(row[:whole], cut), at) for row in drawn]
    return [_of_one([each[place] for each in found], drive.quantile_ns(q)) for place, q in enumerate(at)]


def _of_one(estimates: list[Estimate], truth_ns: float) -> Coverage:
    known = [(one.value, one.low, one.high) for one in estimates if one.high is not None and one.low is not None]
    if not known:
        return Coverage(len(estimates), 0, 0, 0.0)
    values, lows, highs = (np.array(column, dtype=np.float64) for column in zip(*known, strict=True))
    hits = int(((lows <= truth_ns) & (truth_ns <= highs)).sum())
    return Coverage(len(estimates), len(known), hits, _width(values, lows, highs))


def _width(values: NDArray[np.float64], lows: NDArray[np.float64], highs: NDArray[np.float64]) -> float:
    ideal = 1.96 * float(np.log(values).std())
    return float(np.median(np.log(highs / lows)) / 2 / ideal) if ideal > 1e-6 else float("nan")
