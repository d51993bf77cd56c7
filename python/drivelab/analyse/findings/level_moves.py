"""The level of the latency moves so slowly that the window holds only a few of its movements."""

from __future__ import annotations

import numpy as np

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.interval_series import IntervalSeries, series_from_measurement
from drivelab.analyse.ordered_sample import IntervalSample
from drivelab.analyse.quantile import sample_rank
from drivelab.model.finding import MEASURE_LONGER, Finding

CODE = "level-moves"
# so few degrees of freedom are left where it is told, and so many times what chance alone would make it vary
DEGREES_BELOW = 3
INFLATION_FROM = 4
# smaller movements are real now and then, and matter to nobody
RATIO_MIN = 1.1
STRETCHES = 10
INTERVALS_MIN = 10


def find(evidence: TrialEvidence) -> list[Finding]:
    """How far apart the medians of tenths of the window lie, where the median has an interval from few movements."""
    series = series_from_measurement(evidence.measured, evidence.summary.operation, "total")
    if series is None or series.length < INTERVALS_MIN or not series.merged.total_count:
        return []
    median = IntervalSample(series).share_below(sample_rank(0.5, series.merged.total_count), inclusive=True)
    if median.degrees_of_freedom >= DEGREES_BELOW or median.inflation < INFLATION_FROM:
        return []
    low, high = _lowest_and_highest(series)
    if high < RATIO_MIN * low:
        return []
    text = (
        f"level moves: x{high / low:.2g} within the window, between medians of tenths of it; the intervals are wide "
        "for it, and what it is in the long run only a longer trial can tell"
    )
    facts = {"lowest_tenth_ns_p50": low, "highest_tenth_ns_p50": high, "highest_over_lowest_ratio": high / low}
    return [Finding(CODE, "note", text, evidence.name, facts, MEASURE_LONGER)]


def _lowest_and_highest(series: IntervalSeries) -> tuple[float, float]:
    """The lowest and the highest median of tenths of the window, in ns."""
    buckets, place = np.unique(series.entry_bucket, return_inverse=True)
    stretch = series.entry_interval * STRETCHES // series.length
    counts = np.zeros((STRETCHES, buckets.shape[0]))
    np.add.at(counts, (stretch, place), series.entry_count)
    running = counts[counts.sum(axis=1) > 0].cumsum(axis=1)
    middles = (running < running[:, -1:] / 2).sum(axis=1)
    medians = series.merged.midpoints_ns()[np.searchsorted(series.merged.bucket, buckets[middles])]
    return float(medians.min()), float(medians.max())
