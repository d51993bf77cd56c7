"""95 % intervals cover the truth: 60 simulated series of each kind, every number that is published.

An interval that is not there is neither hit nor miss, and all but a few have to be there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from simulated_latencies import LAWS, Law, autoregressive, bursts, pareto

from drivelab.analyse.quantile import quantile_estimates_from_intervals, quantile_estimates_from_series
from drivelab.analyse.ratio import (
    mean_estimate_from_intervals,
    mean_estimate_from_series,
    rate_estimate_from_intervals,
)
from drivelab.model.estimate import Estimate
from latency_histograms import interval_series_of
from simulated_drives import hits_at_least

SERIES = 60
LENGTH = 6000
# 93 %, and what chance allows for so many series
HITS_MIN = hits_at_least(0.93, SERIES)
NS_PER_UNIT = 100_000.0


def covers(estimate: Estimate, truth: float) -> bool:
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


def hits(law: Law, estimates: Iterable[list[Estimate]], unit: float = 1.0) -> dict[str, int]:
    """How many of the series have an interval that covers, by metric: p50, p99, mean."""
    truths = [law.quantile(0.5) * unit, law.quantile(0.99) * unit, law.mean * unit]
    found = [[covers(e, truth) for e, truth in zip(of_one, truths, strict=True)] for of_one in estimates]
    return dict(zip(("p50", "p99", "mean"), np.sum(found, axis=0).tolist(), strict=True))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_intervals_from_raw_series_cover_the_truth(law: Law) -> None:
    drawn = law.draw(np.random.default_rng(5), SERIES, LENGTH)
    found = hits(
        law, ([*quantile_estimates_from_series(row, [0.5, 0.99]), mean_estimate_from_series(row)] for row in drawn)
    )
    assert min(found.values()) >= HITS_MIN, found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_intervals_from_sixty_histograms_cover_the_truth(law: Law) -> None:
    found = interval_hits(law, 60)
    assert min(found.values()) >= HITS_MIN, found


@pytest.mark.parametrize("intervals", [4, 10])
@pytest.mark.parametrize(
    "law", [autoregressive(0.0), autoregressive(0.97), bursts(0.05, 20), pareto(2.5)], ids=lambda law: law.name
)
def test_intervals_from_few_histograms_cover_the_truth(law: Law, intervals: int) -> None:
    found = interval_hits(law, intervals)
    assert min(found.values()) >= HITS_MIN, found


def interval_hits(law: Law, intervals: int) -> dict[str, int]:
    drawn = np.round(law.draw(np.random.default_rng(6), SERIES, LENGTH) * NS_PER_UNIT)
    series = (interval_series_of(row, intervals) for row in drawn)
    return hits(
        law,
        ([*quantile_estimates_from_intervals(one, [0.5, 0.99]), mean_estimate_from_intervals(one)] for one in series),
        NS_PER_UNIT,
    )


@pytest.mark.parametrize("intervals", [5, 20, 100])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_of_rates_cover_the_truth(intervals: int, correlation: float) -> None:
    law = autoregressive(correlation, spread=0.3)
    speeds = law.draw(np.random.default_rng(7), SERIES, intervals * 10).reshape(SERIES, intervals, 10).mean(axis=2)
    counts = np.random.default_rng(8).poisson(speeds * 500).astype(float)
    durations_ns = np.full(intervals, 1e8)
    found = [covers(rate_estimate_from_intervals(row, durations_ns), law.mean * 5000) for row in counts]
    assert sum(found) >= HITS_MIN


def test_intervals_are_not_wide_without_need() -> None:
    """In independent data the interval of the median is that of the textbook, within an eighth."""
    law = autoregressive(0.0)
    drawn = law.draw(np.random.default_rng(9), 200, LENGTH)
    widths = []
    for row in drawn:
        estimate = quantile_estimates_from_series(row, [0.5])[0]
        assert estimate.low is not None
        assert estimate.high is not None
        widths.append(estimate.high - estimate.low)
    textbook = 2 * 1.96 * 0.5 * np.sqrt(np.pi / 2 / LENGTH)
    assert np.mean(widths) == pytest.approx(textbook, rel=0.125)
