"""Quantiles: exact values, honest bounds, speed, and the same answer from intervals."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latency_histograms import histogram_of
from numpy.typing import NDArray

from drivelab.analyse.interval_series import series_from_histograms
from drivelab.analyse.quantile import (
    monotone,
    quantile_estimate_from_intervals,
    quantile_estimate_from_series,
    quantile_estimates_from_histogram,
    quantile_estimates_from_intervals,
    quantile_estimates_from_series,
)
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import EMPTY, Histogram, bucket_high_ns, bucket_low_ns, merge


@pytest.fixture(scope="module")
def latencies_ns() -> NDArray[np.float64]:
    return np.round(np.random.default_rng(1).lognormal(12, 0.5, 5000))


@pytest.mark.parametrize("at", [0.5, 0.9, 0.99])
def test_the_value_is_the_observation_of_that_rank(latencies_ns: NDArray[np.float64], at: float) -> None:
    estimate = quantile_estimate_from_series(latencies_ns, at)
    assert estimate.value == np.quantile(latencies_ns, at, method="inverted_cdf")
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < estimate.value < estimate.high
    assert (estimate.unit, estimate.sample_count) == ("ns", 5000)


def test_independent_data_are_worth_about_their_number(latencies_ns: NDArray[np.float64]) -> None:
    assert quantile_estimate_from_series(latencies_ns, 0.5).effective_sample_count > 3500


def test_a_quantile_of_too_few_is_a_bound_and_not_the_largest_by_habit() -> None:
    values = np.arange(1.0, 301.0)
    np.random.default_rng(2).shuffle(values)
    estimate = quantile_estimate_from_series(values, 0.99)
    assert estimate.value is None
    assert estimate.high is None
    # P(Binomial(300, 0.99) <= 293) is 3.4 %, <= 294 is 8.3 %: the observation of rank 294
    assert estimate.low == 294.0
    assert estimate.observed == 297.0
    assert str(estimate).startswith("at least")


def test_bounds_do_not_contradict_each_other() -> None:
    # three bursts: the p99 has its bound within them, the data of the p99.9 alone would give a lower one
    lower, higher = (Estimate(None, low, None, "ns", 100, 9.0, "") for low in (5.0, 4.0))
    assert [one.low for one in monotone([lower, higher], [0.99, 0.999])] == [5.0, 5.0]
    assert [one.low for one in monotone([higher, lower], [0.999, 0.99])] == [5.0, 5.0]
    known = [Estimate(2.0, 1.0, 4.0, "ns", 9, 9.0, ""), Estimate(3.0, 0.5, 3.5, "ns", 9, 9.0, ""), higher]
    assert [(one.low, one.high) for one in monotone(known, [0.5, 0.9, 0.99])] == [(1, 3.5), (1, 3.5), (4, None)]


def known(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, "ns", 100, 9.0, "")


def bound(low: float | None) -> Estimate:
    return Estimate(None, low, None, "ns", 100, 9.0, "", observed=7.0)


def test_a_bound_below_a_lower_quantile_is_none() -> None:
    found = monotone([known(6.63e6, 2e6, 8e6), bound(3.07e6), bound(9e6)], [0.5, 0.99, 0.999])
    assert [str(one) for one in found] == ["6.63 ms", "too few data", "too few data"]
    assert found[1].observed == 7.0
    kept = monotone([known(2e6, 1e6, 3e6), bound(3.07e6), bound(9e6)], [0.5, 0.99, 0.999])
    assert [one.low for one in kept] == [1e6, 3.07e6, 9e6]


def test_no_quantile_has_a_bound_where_a_lower_one_has_none() -> None:
    found = monotone([bound(314e3), bound(None), known(5e5, 4e5, 6e5)], [0.99, 0.5, 0.9])
    assert [one.low for one in found] == [None, None, 4e5]


def test_a_bound_in_the_bucket_of_a_lower_quantile_is_raised_to_it() -> None:
    value = 1_000_000.0
    found = monotone([known(value, value, value), bound(value * (1 - 1 / 1024))], [0.99, 0.999])
    assert found[1].low == value


@given(seed=st.integers(0, 300))
def test_no_bound_lies_below_a_lower_quantile(seed: int) -> None:
    """Stalls in one stretch: the data of a high quantile are worth little."""
    random = np.random.default_rng(seed)
    values = random.lognormal(0, 1, 40) * np.repeat(random.lognormal(0, 2, 4), 10)
    intervals = [histogram_of(np.round(part * 1e6)) for part in np.array_split(values, 4)]
    at = [0.5, 0.9, 0.99, 0.999]
    series = series_from_histograms(intervals)
    for estimates in (
        quantile_estimates_from_series(values, at),
        quantile_estimates_from_intervals(series, at),
        quantile_estimates_from_histogram(series.merged, at, series),
    ):
        floor: float | None = 0.0
        for one in estimates:
            if one.value is None and one.low is not None:
                assert floor is not None
                assert one.low >= floor
            number = one.low if one.value is None else one.value
            floor = None if number is None or floor is None else max(floor, number)


@given(seed=st.integers(0, 200))
def test_bounds_grow_with_the_quantile(seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(0, 2, 400) * np.repeat([1, 50, 1, 80], 100)
    lows = [one.low for one in quantile_estimates_from_series(values, [0.5, 0.9, 0.99, 0.999])]
    known = [low for low in lows if low is not None]
    assert known == sorted(known)


def test_the_median_of_three_is_not_known_at_all() -> None:
    estimate = quantile_estimate_from_series(np.array([1.0, 2.0, 3.0]), 0.5)
    assert (estimate.value, estimate.low, estimate.high, estimate.sample_count) == (None, None, None, 3)


def test_no_data_give_no_estimate() -> None:
    assert quantile_estimate_from_series(np.empty(0), 0.5).sample_count == 0
    assert str(quantile_estimate_from_series(np.empty(0), 0.5)) == "no data"
    assert quantile_estimate_from_intervals([EMPTY, EMPTY], 0.5).value is None


def test_equal_latencies_have_an_interval_of_no_width() -> None:
    estimate = quantile_estimate_from_series(np.full(1000, 42.0), 0.99)
    assert (estimate.low, estimate.value, estimate.high) == (42.0, 42.0, 42.0)


@given(scale=st.floats(1e-3, 1e6), seed=st.integers(0, 1000))
def test_intervals_scale_with_the_unit(scale: float, seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(0, 1, 500)
    one, scaled = (quantile_estimate_from_series(series, 0.9) for series in (values, values * scale))
    assert (scaled.low, scaled.value) == pytest.approx((one.low * scale, one.value * scale))  # type: ignore[operator]


def test_a_million_latencies_take_less_than_a_second() -> None:
    values = np.random.default_rng(3).lognormal(0, 1, 1_000_000)
    start = perf_counter()
    estimates = quantile_estimates_from_series(values, [0.5, 0.9, 0.99, 0.999, 0.9999])
    assert perf_counter() - start < 3.0  # 0.2 s on an idle core
    assert all(estimate.value is not None for estimate in estimates)


def test_a_million_in_bursts_are_worth_as_much_as_without_adding_up() -> None:
    slow = np.repeat(np.random.default_rng(4).standard_normal(10_000), 100)
    values = np.exp(slow + np.random.default_rng(5).standard_normal(1_000_000))
    # the sign of slow + noise: correlation asin(1/2) / asin(1) = 1/3 within a block of 100
    effective = quantile_estimate_from_series(values, 0.5).effective_sample_count
    assert effective == pytest.approx(1_000_000 / (1 + 99 / 3), rel=0.2)


class TestFromIntervals:
    """The same from a histogram per interval."""

    def test_one_piece_or_many_give_the_same_value(self, latencies_ns: NDArray[np.float64]) -> None:
        parts = [histogram_of(part) for part in np.split(latencies_ns, 50)]
        for at in (0.5, 0.99):
            estimate = quantile_estimate_from_intervals(parts, at)
            assert estimate.value == merge(parts).quantile_ns(at)

    def test_the_interval_is_near_that_of_the_raw_series(self, latencies_ns: NDArray[np.float64]) -> None:
        parts = [histogram_of(part) for part in np.split(latencies_ns, 100)]
        for at in (0.5, 0.99):
            exact, binned = quantile_estimate_from_series(latencies_ns, at), quantile_estimate_from_intervals(parts, at)
            assert (binned.low, binned.high) == pytest.approx((exact.low, exact.high), rel=0.05)

    def test_empty_intervals_count(self, latencies_ns: NDArray[np.float64]) -> None:
        parts = [histogram_of(part) for part in np.split(latencies_ns, 50)]
        gaps = [piece for part in parts for piece in (part, EMPTY)]
        assert quantile_estimate_from_intervals(gaps, 0.9).value == quantile_estimate_from_intervals(parts, 0.9).value

    def test_one_interval_gives_a_value_without_an_interval(self, latencies_ns: NDArray[np.float64]) -> None:
        estimate = quantile_estimate_from_intervals([histogram_of(latencies_ns)], 0.5)
        assert estimate.value is not None
        assert (estimate.low, estimate.high) == (None, None)

    def test_few_intervals_that_differ_widen_the_result(self, latencies_ns: NDArray[np.float64]) -> None:
        scales = np.repeat([1.0, 1.3, 0.9, 1.1, 0.8], 1000)
        parts = [histogram_of(part) for part in np.split(np.round(latencies_ns * scales), 5)]
        pieces = [histogram_of(part) for part in np.split(np.round(latencies_ns * np.tile(scales[::1000], 1000)), 5)]
        slow, mixed = (quantile_estimate_from_intervals(given, 0.5) for given in (parts, pieces))
        assert width(slow) > 4 * width(mixed)

    def test_values_that_share_one_bucket_are_enclosed_by_it(self) -> None:
        parts = [Histogram(np.array([5000]), np.array([100]), 0, 10**9, 0)] * 20
        estimate = quantile_estimate_from_intervals(parts, 0.5)
        bucket = np.array([5000])
        assert estimate.low == bucket_low_ns(bucket)[0]
        assert estimate.high == bucket_high_ns(bucket)[0]


def width(estimate: object) -> float:
    low, high = estimate.low, estimate.high  # type: ignore[attr-defined]
    return float(high - low)
