"""Intervals of short closed loops hold the truth, and are not several times as wide as chance makes the numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import closed_loops
from closed_loops import Services, lognormal, window
from drivelab.analyse.interval_series import series_from_measurement
from drivelab.analyse.summary import one_estimate, summarise
from drivelab.model.estimate import Estimate
from drivelab.model.measurement import Measurement
from simulated_drives import hits_at_least

WINDOWS, DEPTH, COUNT = 60, 32, 200
WIDTH_MOST = 3.0
NEAR_CHANCE = ("independent", "AR(1) 0.5", "AR(1) 0.9", "Pareto 2.5")
# no ramp, one that ends before the first of what it issued has completed, one that fills the queue
STARTS = [(0.0, 0.1), (0.1, 0.005), (0.5, 0.1)]


def drawn(services: Services, ramp_s: float, interval_s: float) -> list[Measurement]:
    random = np.random.default_rng(11)
    return [
        window(services, random, depth=DEPTH, count=COUNT, ramp_s=ramp_s, interval_s=interval_s) for _ in range(WINDOWS)
    ]


def hits_and_width(estimates: Iterable[Estimate | None], truth: float) -> tuple[int, float]:
    """How many hold the truth, and the middle half width over that of 95 % of the values."""
    known = [(one.value, one.low, one.high) for one in estimates if one is not None]
    assert len(known) == WINDOWS
    value, low, high = (np.array(column, np.float64) for column in zip(*known, strict=True))
    return int(((low <= truth) & (truth <= high)).sum()), float(np.median(high - low) / 2 / (1.96 * value.std()))


@pytest.mark.parametrize(("ramp_s", "interval_s"), STARTS)
@pytest.mark.parametrize("services", closed_loops.ALL, ids=lambda services: services.name)
def test_rates_of_a_deep_queue_are_held(services: Services, ramp_s: float, interval_s: float) -> None:
    rates = (one_estimate(each, "iops") for each in drawn(services, ramp_s, interval_s))
    hits, width = hits_and_width(rates, COUNT)
    assert hits >= hits_at_least(0.93, WINDOWS)
    if services.name in NEAR_CHANCE:
        assert width <= WIDTH_MOST


def test_a_mean_latency_is_known_although_the_queue_was_empty_at_first() -> None:
    means = (summarise(each).estimates["total_latency_ns_mean"] for each in drawn(lognormal(0.0), 0.0, 0.1))
    hits, width = hits_and_width(means, DEPTH / COUNT * 1e9)
    assert hits >= hits_at_least(0.93, WINDOWS)
    assert width <= WIDTH_MOST


def test_what_completes_after_the_last_issue_has_the_time_it_took() -> None:
    trial = window(closed_loops.limited(), np.random.default_rng(1), depth=DEPTH, count=COUNT, ramp_s=0.0)
    series = series_from_measurement(trial, "read", "total")
    assert series is not None
    # one every 5 ms; the interval in which issuing ended is one with the next
    assert series.length == 11
    rates = series.count / (series.duration_ns / 1e9)
    assert rates[:-1] == pytest.approx(COUNT, rel=0.06)
    assert series.duration_ns.sum() == trial.engine["measured_ns"]


def test_the_time_that_a_ramp_left_to_be_served_is_no_rate_of_zero() -> None:
    trial = window(
        closed_loops.limited(), np.random.default_rng(1), depth=DEPTH, count=COUNT, ramp_s=0.1, interval_s=0.005
    )
    found = summarise(trial).estimates["iops"]
    assert found.low is not None
    assert found.high is not None
    assert found.low == pytest.approx(COUNT, rel=0.05)
    assert found.high == pytest.approx(COUNT, rel=0.05)
    assert found.value == pytest.approx(COUNT, rel=0.01)


def test_no_upper_end_of_a_quantile_lies_far_beyond_all_that_the_tail_shows() -> None:
    """The first I/Os, into an empty queue, take a thirtieth of the others: they say nothing about the slow ones."""
    random, reached_beyond = np.random.default_rng(5), 0
    for _ in range(20):
        trial = window(lognormal(0.5, 0.25), random, depth=DEPTH, count=COUNT, ramp_s=0.0)
        high, largest = one_estimate(trial, "total_latency_ns_p90"), trial.histograms["read", "total"].maximum_ns
        assert high is not None
        assert high.high is not None
        assert high.high < 2 * largest
        reached_beyond += high.high > largest
    assert reached_beyond > 5
