"""The level of the latency moves so slowly that the window holds only a few of its movements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.interval_series import IntervalSeries, series_from_measurement
from drivelab.analyse.ordered_sample import IntervalSample
from drivelab.analyse.quantile import sample_rank
from drivelab.model.finding import MEASURE_LONGER, Finding

Floats = NDArray[np.float64]

CODE = "level-moves"
# so few degrees of freedom are left where it is told, and so many times what chance alone would make it vary
DEGREES_BELOW = 5
INFLATION_FROM = 4
# how much alike neighbouring stretches are where the level moves three times; one that jumps all the time has as few
# degrees of freedom now and then, and neighbours that are not alike
ALIKE_FROM = 0.6
SHORT_STRETCHES = 20
# smaller movements are real now and then, and matter to nobody
RATIO_MIN = 1.1
STRETCHES = 10
INTERVALS_MIN = 10


def find(evidence: TrialEvidence) -> list[Finding]:
    """How far apart the medians of tenths of the window lie, where the median has an interval from few movements.

    Those are long: neighbouring twentieths of the window are alike.
    """
    series = series_from_measurement(evidence.measured, evidence.summary.operation, "total")
    if series is None or series.length < INTERVALS_MIN or not series.merged.total_count:
        return []
    median = IntervalSample(series).share_below(sample_rank(0.5, series.merged.total_count), inclusive=True)
    if median.degrees_of_freedom >= DEGREES_BELOW or median.inflation < INFLATION_FROM:
        return []
    tenths = _medians(series, STRETCHES)
    low, high = float(tenths.min()), float(tenths.max())
    if high < RATIO_MIN * low or _likeness(_medians(series, SHORT_STRETCHES)) < ALIKE_FROM:
        return []
    text = (
        f"level moves: x{high / low:.2g} within the window, between medians of tenths of it; the intervals are wide "
        "for it, and what it is in the long run only a longer trial can tell"
    )
    facts = {"lowest_tenth_ns_p50": low, "highest_tenth_ns_p50": high, "highest_over_lowest_ratio": high / low}
    return [Finding(CODE, "note", text, evidence.name, facts, MEASURE_LONGER)]


def _medians(series: IntervalSeries, number: int) -> Floats:
    """The medians of so many equal stretches of the window, in ns; of those in which something completed."""
    buckets, place = np.unique(series.entry_bucket, return_inverse=True)
    stretch = series.entry_interval * number // series.length
    counts = np.zeros((number, buckets.shape[0]))
    np.add.at(counts, (stretch, place), series.entry_count)
    running = counts[counts.sum(axis=1) > 0].cumsum(axis=1)
    middles = (running < running[:, -1:] / 2).sum(axis=1)
    medians: Floats = series.merged.midpoints_ns()[np.searchsorted(series.merged.bucket, buckets[middles])]
    return medians


def _likeness(medians: Floats) -> float:
    """The correlation of neighbouring medians, of their logarithms: 0 when each is by itself, 1 for a straight line."""
    off = np.log(medians)
    off -= off.mean()
    square = float(off @ off)
    return float(off[1:] @ off[:-1]) / square if square else 0.0
