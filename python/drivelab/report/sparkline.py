"""A histogram small enough to stand in a line of a table, as SVG that needs no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.latency_histogram import mark_positions_ns
from drivelab.report.latency_bins import bar_counts, bar_edges_ns
from drivelab.report.numerals import latency_text, round_latency_text

WIDTH, HEIGHT = 150, 27
# where the bars stand; the marks of the quantiles hang below
BASE = 20
_TICKS_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Shapes of one small histogram, in a box of `WIDTH` by `HEIGHT`.

    Attributes
    ----------
    outline : str
        SVG path of the bars; empty when nothing completed.
    marks : tuple of (name, x)
        Where the quantiles lie.
    words : str
        The same in words.
    """

    outline: str
    marks: tuple[tuple[str, float], ...]
    words: str


class SparklineAxis:
    """The logarithmic latency axis that all small histograms of a table share.

    Parameters
    ----------
    trials : sequence of TrialContent
        All trials of the table.
    """

    def __init__(self, trials: Sequence[TrialContent]) -> None:
        self._edges = bar_edges_ns([trial.histogram for trial in trials])
        self._low = math.log10(self._edges[0])
        self._span = math.log10(self._edges[-1]) - self._low

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Position and text of the labels below the axis."""
        return [
            (self._x(value), round_latency_text(value))
            for value in theme.latency_ticks(self._edges[0], self._edges[-1], at_most=_TICKS_AT_MOST)
        ]

    def draw(self, trial: TrialContent) -> Sparkline:
        """The histogram of one trial on this axis."""
        histogram = trial.histogram
        if not histogram.total_count:
            return Sparkline("", (), "nothing completed")
        counts = bar_counts(histogram, self._edges)
        first, last = np.flatnonzero(counts)[[0, -1]]
        path = [f"M{self._x(self._edges[first]):.1f} {BASE}"]
        for index in range(first, last + 1):
            top = BASE - (BASE - 1) * counts[index] / counts.max()
            path.append(f"V{top:.1f}H{self._x(self._edges[index + 1]):.1f}")
        positions = mark_positions_ns(histogram)
        marks = tuple((name, round(self._x(value), 1)) for name, value in positions.items())
        words = ", ".join(f"{theme.QUANTILE_LABELS[name]} {latency_text(value)}" for name, value in positions.items())
        return Sparkline("".join([*path, f"V{BASE}Z"]), marks, words)

    def _x(self, value_ns: float) -> float:
        return WIDTH * (math.log10(max(value_ns, 1.0)) - self._low) / self._span
