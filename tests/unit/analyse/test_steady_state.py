"""When a throughput is called steady, held against the published simulation and scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from drivelab.analyse.byte_bins import IntervalBytes
from drivelab.analyse.reference_drift import theil_sen
from drivelab.analyse.steady_state import (
    PROFILE,
    ROUND_CAPACITY_SHARE,
    mann_kendall_p_value,
    passes_five_rounds,
    steady_state,
    swing_period_bytes,
)

Floats = NDArray[np.float64]
CAPACITY = 100e9
ROUND = ROUND_CAPACITY_SHARE * CAPACITY
LEVEL = 1e8
# mean of the window over the level that the drive comes to, as a window may have it and still pass
PUBLISHED = {2: 0.06, 4: 0.11, 6: 0.18, 10: 0.33, 20: 1.00}


def written(rate_after: Callable[[Floats], Floats], capacities: float, noise: float = 0.02, seed: int = 1):
    """A trial whose throughput depends on the bytes written so far."""
    count = round(2000 * capacities)
    each = capacities * CAPACITY / count
    rate = rate_after((np.arange(count) + 0.5) * each)
    rate = rate * np.exp(noise * np.random.default_rng(seed).standard_normal(count))
    return IntervalBytes(np.full(count, each), each / rate * 1e9, each / 8)


def approach(rounds: float, excess: float) -> Callable[[Floats], Floats]:
    """Exponential approach to the level with a time constant in rounds, so much above it at the beginning."""
    return lambda moved: LEVEL * (1 + excess * np.exp(-moved / (rounds * ROUND)))


@pytest.mark.parametrize(("tau", "published"), PUBLISHED.items())
def test_five_rounds_accept_what_was_published(tau: int, published: float) -> None:
    heights = np.exp(np.linspace(np.log(1e-3), np.log(1e2), 4000))
    windows = [1 + height * np.exp(-np.arange(5) / tau) for height in heights]
    accepted = max(float(window.mean()) - 1 for window in windows if passes_five_rounds(window))
    assert round(accepted, 2) == published


@pytest.mark.parametrize(("tau", "published"), PUBLISHED.items())
def test_the_stricter_conditions_refuse_these(tau: int, published: float) -> None:
    # the window of the last five of 25 rounds lies as far above the level as the five rounds accept
    rounds = 25
    mean = float(np.exp(-(np.arange(rounds - 5, rounds) + 0.5) / tau).mean())
    series = written(approach(tau, 0.95 * published / mean), rounds * ROUND_CAPACITY_SHARE, noise=0.001)
    state = steady_state(series, CAPACITY)
    assert state.passes_five_rounds
    assert (state.verdict, state.bytes_until_steady) == ("not steady", None)
    assert state.drift_ratio is not None
    assert state.drift_ratio < 0.95
    assert "over the last capacity it still falls" in state.why


def test_range_and_slope_are_those_of_the_specification() -> None:
    # range of exactly 20 % of the mean, without a slope
    assert passes_five_rounds([110, 90, 100, 90, 110])
    assert not passes_five_rounds([110.2, 90, 100, 90, 110.2])
    # slope of exactly 10 % over the window: 2.5 a round
    assert passes_five_rounds([95, 97.5, 100, 102.5, 105])
    assert not passes_five_rounds([94.9, 97.45, 100, 102.55, 105.1])
    values = [101.0, 95.0, 103.0, 99.0, 97.0]
    fit = stats.linregress(range(5), values)
    assert abs(fit.slope) * 4 <= 0.1 * np.mean(values)
    assert passes_five_rounds(values)


def test_a_level_after_a_cliff_is_steady_and_says_from_where() -> None:
    state = steady_state(written(lambda moved: np.where(moved < 0.3 * CAPACITY, 5e8, LEVEL), 2, seed=2), CAPACITY)
    assert state.verdict == "steady"
    assert state.bytes_until_steady == pytest.approx(0.3 * CAPACITY, abs=ROUND)
    assert state.bytes_per_s.low is not None
    assert state.bytes_per_s.low <= LEVEL <= (state.bytes_per_s.high or 0)
    assert state.window_end_bytes - state.window_begin_bytes == pytest.approx(5 * ROUND, rel=0.01)
    assert PROFILE == "pts-like"


def test_a_steady_throughput_is_seldom_called_unsteady() -> None:
    verdicts = [
        steady_state(written(lambda moved: LEVEL + 0 * moved, 1.2, 0.3, seed), CAPACITY).verdict for seed in range(200)
    ]
    assert verdicts.count("steady") >= 190


def test_too_little_is_undecided_and_says_what_is_missing() -> None:
    little = steady_state(written(lambda moved: LEVEL + 0 * moved, 0.2), CAPACITY)
    assert (little.verdict, little.passes_five_rounds, little.bytes_per_s.value) == ("undecided", None, None)
    assert "5 are needed" in little.why
    half = steady_state(written(lambda moved: LEVEL + 0 * moved, 0.6), CAPACITY)
    assert (half.verdict, half.passes_five_rounds) == ("undecided", True)
    assert "the whole capacity" in half.why


def test_intervals_longer_than_a_round_are_undecided() -> None:
    coarse = IntervalBytes(np.full(60, 4 * ROUND), np.full(60, 1e10))
    state = steady_state(coarse, CAPACITY)
    assert (state.verdict, state.round_count) == ("undecided", 60)
    assert "shorter intervals are needed" in state.why
    # whole intervals may make a round a little longer
    state = steady_state(IntervalBytes(np.full(60, 0.7 * ROUND), np.full(60, 1e10)), CAPACITY)
    assert (state.verdict, state.round_count) == ("steady", 30)


def test_rounds_that_lie_apart_are_not_steady() -> None:
    falling = steady_state(written(lambda moved: LEVEL * np.exp(-moved / CAPACITY), 2), CAPACITY)
    assert (falling.verdict, falling.passes_five_rounds) == ("not steady", False)
    assert "the last five rounds" in falling.why


def test_a_slow_swing_is_not_averaged_over_a_part_of_it() -> None:
    def swinging(period: float) -> IntervalBytes:
        return written(lambda moved: LEVEL * (1 + 0.08 * np.sin(2 * np.pi * moved / (period * CAPACITY))), 3, 0.002)

    slow = steady_state(swinging(0.11), CAPACITY)
    assert slow.verdict == "undecided"
    assert "period" in slow.why
    assert steady_state(swinging(0.04), CAPACITY).verdict == "steady"
    assert swing_period_bytes(swinging(0.11), 0) == pytest.approx(0.11 * CAPACITY, rel=0.05)
    assert swing_period_bytes(written(lambda moved: LEVEL + 0 * moved, 3, 0.2), 0) == 0


class TestTrend:
    @pytest.mark.parametrize("count", [3, 5, 10, 40])
    def test_small_series_are_counted_out_as_scipy_does(self, count: int) -> None:
        random = np.random.default_rng(count)
        for _ in range(20):
            values = random.standard_normal(count)
            oracle = stats.kendalltau(range(count), values, method="exact").pvalue
            assert mann_kendall_p_value(values) == pytest.approx(oracle)

    @pytest.mark.parametrize("levels", [0, 5])
    def test_long_series_and_equal_values_are_as_scipy_has_them(self, levels: int) -> None:
        random = np.random.default_rng(levels)
        values = random.integers(0, levels, 30).astype(float) if levels else random.standard_normal(80)
        oracle = stats.kendalltau(range(values.size), values, method="asymptotic").pvalue
        assert mann_kendall_p_value(values) == pytest.approx(oracle)

    def test_two_values_and_equal_ones_have_no_trend(self) -> None:
        assert mann_kendall_p_value([1, 2]) == 1
        assert mann_kendall_p_value([1.0] * 9) == 1

    def test_the_drift_is_scipys_slope(self) -> None:
        values = np.random.default_rng(9).standard_normal(21)
        assert theil_sen(values).slope == pytest.approx(stats.theilslopes(values).slope)
