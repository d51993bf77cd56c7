"""Means and rates: exact values, and intervals of sensible width."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from drivelab.analyse.quantile import quantile_estimate_from_series
from drivelab.analyse.ratio import (
    floored_mean,
    mean_estimate_from_series,
    rate_estimate_from_intervals,
    ratio_estimate,
)


def test_the_mean_is_exact_and_its_interval_near_students() -> None:
    values = np.random.default_rng(1).normal(100, 5, 200)
    estimate = mean_estimate_from_series(values)
    exact = stats.t.interval(0.95, 199, values.mean(), stats.sem(values))
    assert estimate.value == pytest.approx(values.mean())
    assert (estimate.low, estimate.high) == pytest.approx(exact, abs=0.25)
    assert estimate.sample_count == 200


def test_the_mean_of_long_series_includes_every_value() -> None:
    values = np.random.default_rng(2).exponential(1, 200_001)
    estimate = mean_estimate_from_series(values)
    assert estimate.value == pytest.approx(values.mean(), rel=1e-12)
    assert estimate.sample_count == 200_001


def test_skewed_data_reach_further_up_than_down() -> None:
    values = np.random.default_rng(3).pareto(2.5, 2000)
    estimate = mean_estimate_from_series(values)
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.high - estimate.value > 1.1 * (estimate.value - estimate.low)


def test_a_mean_of_few_stalls_does_not_reach_below_what_most_operations_took() -> None:
    rng = np.random.default_rng(7)
    floors, hits, reached_further = 0, [0, 0], 0
    for _ in range(300):
        stalls = np.where(rng.random(300) < 0.01, rng.exponential(20e6, 300), 0.0)
        values = rng.gamma(16, 100e3 / 16, 300) + stalls
        plain, median = mean_estimate_from_series(values), quantile_estimate_from_series(values, 0.5)
        floored = floored_mean(plain, median, values.min())
        for place, one in enumerate((plain, floored)):
            assert one.low is not None
            assert one.high is not None
            hits[place] += one.low <= 100e3 + 0.01 * 20e6 <= one.high
        floors += floored != plain
        reached_further += (plain.low or 0.0) < 50e3
        assert (floored.value, floored.high) == (plain.value, plain.high)
        assert floored.low is not None
        # half of them took 100 us and more, the rest at least the shortest
        assert floored.low > 60e3
    assert floors > 20
    assert reached_further > 5
    assert hits[0] == hits[1], "the interval misses no more often"


def test_a_short_last_interval_has_its_own_weight() -> None:
    counts = np.array([100.0, 102.0, 98.0, 100.0, 1.0])
    durations_ns = np.array([1e8, 1e8, 1e8, 1e8, 1e6])
    estimate = rate_estimate_from_intervals(counts, durations_ns)
    assert estimate.value == pytest.approx(401 / 0.401)
    assert estimate.low == pytest.approx(1000, rel=0.05)
    assert estimate.high == pytest.approx(1000, rel=0.05)


def test_an_interval_in_which_nothing_completed_counts() -> None:
    steady = rate_estimate_from_intervals(np.full(20, 10.0), np.full(20, 1e8))
    stalled = rate_estimate_from_intervals(np.tile([20.0, 0.0], 10), np.full(20, 1e8))
    assert steady.value == stalled.value == pytest.approx(100)
    assert (steady.low, steady.high) == (steady.value, steady.value)
    assert stalled.low is not None
    assert stalled.low < 95


def test_a_rate_lies_within_its_interval_also_where_a_short_interval_pulls_it_below_all_others() -> None:
    # a disk that turns 120 times a second, and was cut off in mid-turn
    durations_ns = np.append(np.full(26, 5e7), 23_205_398.0)
    estimate = rate_estimate_from_intervals(np.append(np.full(26, 6.0), 2.0), durations_ns)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= (estimate.value or 0.0) < 120 <= estimate.high


def test_one_interval_has_no_neighbour_to_differ_from() -> None:
    estimate = rate_estimate_from_intervals(np.array([50.0]), np.array([1e9]))
    assert (estimate.value, estimate.low, estimate.high) == (50.0, None, None)


def test_two_intervals_give_a_very_wide_answer() -> None:
    estimate = rate_estimate_from_intervals(np.array([100.0, 110.0]), np.array([1e9, 1e9]))
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.high - estimate.low > 80  # t with one degree of freedom is 12.7


def test_nothing_done_in_no_time_is_no_data() -> None:
    assert ratio_estimate(np.empty(0), np.empty(0), "1/s").value is None
    assert str(ratio_estimate(np.zeros(3), np.zeros(3), "1/s")) == "no data"


def test_nothing_done_for_a_while_is_a_rate_of_zero() -> None:
    estimate = rate_estimate_from_intervals(np.zeros(10), np.full(10, 1e8))
    assert (estimate.value, estimate.low, estimate.high) == (0.0, 0.0, 0.0)


def test_a_rate_of_what_was_done_is_above_zero() -> None:
    estimate = rate_estimate_from_intervals(np.array([0.0, 0.0, 0.0, 5.0]), np.full(4, 1e9))
    assert estimate.low is not None
    assert 0 < estimate.low < 0.1


@pytest.mark.parametrize("intervals", [8, 20, 80])
def test_a_lower_end_that_zero_would_have_cut_is_missed_no_more_often_than_it_may(intervals: int) -> None:
    """Of skewed rates and of rates that wander; they know nothing of logarithms that are as wide as values."""
    random = np.random.default_rng(intervals)
    for kind in ("skewed", "wanders"):
        missed = wide = 0
        for _ in range(1500):
            noise = random.normal(0, 1, intervals)
            if kind == "wanders":
                for place in range(1, intervals):
                    noise[place] = 0.7 * noise[place - 1] + 0.714 * noise[place]
            spread = 1.5 if kind == "skewed" else 1.0
            found = rate_estimate_from_intervals(1000 * np.exp(spread * noise), np.full(intervals, 1e9))
            assert found.low is not None
            missed += found.low > 1000 * np.exp(spread**2 / 2)
            wide += found.low < 0.37 * (found.value or 0.0)
        assert wide > 15
        assert missed / 1500 <= 0.025 + 2 * (0.025 * 0.975 / 1500) ** 0.5


def test_a_rate_with_two_levels_has_no_interval_beyond_what_was_seen() -> None:
    rates = np.array([2894.1, 2915.0, 775.9, 461.4, 482.3, 474.0, 0.0])
    durations = np.array([50e6] * 6 + [1e6])
    estimate = rate_estimate_from_intervals(rates * durations / 1e9, durations)
    assert (estimate.low, estimate.high) == (pytest.approx(461.4), pytest.approx(2915.0))


def test_a_rate_that_wanders_keeps_its_wide_interval() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        steps = rng.normal(0, 10, 40)
        level = np.array([100.0] * 40)
        for place in range(1, 40):
            level[place] = 100 + 0.97 * (level[place - 1] - 100) + steps[place]
        plain = ratio_estimate(level, np.full(40, 1.0), "1/s")
        assert rate_estimate_from_intervals(level, np.full(40, 1e9)) == plain
