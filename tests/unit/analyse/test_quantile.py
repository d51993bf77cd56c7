"""Quantiles: exact values, honest bounds, speed, and the same answer from intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from counted_time import at_most_processor_s
from drivelab.analyse.ordered_sample import RawSample
from drivelab.analyse.quantile import (
    monotone,
    quantile_estimate_from_series,
    quantile_estimates_from_intervals,
    quantile_estimates_from_series,
)
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import EMPTY, Histogram, bucket_high_ns, bucket_low_ns, merge
from latency_histograms import histogram_of, interval_series_of, quantile_of_histograms, series_from_histograms


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


def shuffled(count: int) -> NDArray[np.float64]:
    return np.random.default_rng(2).permutation(np.arange(1.0, count + 1))


@pytest.mark.parametrize(("count", "at"), [(60, 0.5), (500, 0.1), (2000, 0.99), (25_000, 0.999)])
def test_ends_of_independent_data_are_hardly_farther_than_the_binomial_ones(count: int, at: float) -> None:
    estimate = quantile_estimate_from_series(shuffled(count), at)
    ranks = np.arange(1, count + 1)
    low = ranks[stats.binom.cdf(ranks - 1, count, at) <= 0.025].max()
    high = ranks[stats.binom.sf(ranks - 1, count, at) <= 0.025].min()
    assert estimate.low is not None
    assert estimate.high is not None
    assert low - (at * count - low) / 2 <= estimate.low <= low
    assert high <= estimate.high <= high + (high - at * count) / 2


def test_a_variance_that_one_burst_makes_is_hardly_known() -> None:
    slow = np.zeros(6400)
    slow[::160] = 100.0
    steady = RawSample(shuffled(6400) / 6400 + slow).share_below(6361, inclusive=False)
    burst = RawSample(shuffled(6400) / 6400 + np.sort(slow)).share_below(6361, inclusive=False)
    assert steady.share == burst.share
    assert steady.inflation < 1.01
    assert steady.degrees_of_freedom > 30
    assert burst.inflation > 20
    assert burst.degrees_of_freedom <= 3


def test_a_quantile_with_few_beyond_it_has_a_value_and_one_end() -> None:
    estimate = quantile_estimate_from_series(shuffled(300), 0.99)
    assert (estimate.value, estimate.high, estimate.observed) == (297.0, None, None)
    # P(Binomial(300, 0.99) <= 293) is 3.4 %, <= 294 is 8.3 %: the observation of rank 294 at most
    assert estimate.low is not None
    assert 292.0 <= estimate.low <= 294.0
    assert estimate.interval_text().startswith("at least")


def test_a_quantile_beyond_all_that_was_seen_is_a_bound() -> None:
    estimate = quantile_estimate_from_series(shuffled(300), 0.999)
    assert (estimate.value, estimate.high, estimate.observed) == (None, None, 300.0)
    # P(Binomial(300, 0.999) <= 298) is 3.7 %: the observation of rank 299 at most
    assert estimate.low is not None
    assert 297.0 <= estimate.low <= 299.0
    assert str(estimate).startswith("at least")


@pytest.mark.parametrize(("count", "at"), [(1, 0.5), (2, 0.5), (99, 0.01), (100, 0.01), (100, 0.99), (1000, 0.999)])
def test_the_value_is_there_from_one_observation_beyond_it_on(count: int, at: float) -> None:
    estimate = quantile_estimate_from_series(shuffled(count), at)
    assert (estimate.value is not None) == (count * min(at, 1 - at) >= 1 - 1e-9)


@pytest.mark.parametrize(("count", "at"), [(9, 0.5), (10, 0.5), (499, 0.01), (500, 0.01), (499, 0.99), (5000, 0.999)])
def test_there_are_two_ends_from_five_observations_beyond_it_on(count: int, at: float) -> None:
    estimate = quantile_estimate_from_series(shuffled(count), at)
    assert (None not in (estimate.low, estimate.high)) == (count * min(at, 1 - at) >= 5 - 1e-9)


def test_the_half_below_the_median_mirrors_the_other() -> None:
    values = np.random.default_rng(8).lognormal(0, 1, 800)
    low, high = quantile_estimate_from_series(values, 0.0025), quantile_estimate_from_series(-values, 0.9975)
    assert low.low is None
    assert high.high is None
    assert high.low is not None
    assert low.high == -high.low


def test_a_level_that_moves_makes_the_interval_wide_and_not_empty() -> None:
    """A fall of the level by a fifth, of which each half alone is well known."""
    random = np.random.default_rng(9)
    values = np.repeat([500e3, 405e3], [500, 1500]).repeat(20) * np.exp(0.1 * random.standard_normal(40_000))
    parts = [histogram_of(np.round(part)) for part in np.array_split(values, 40)]
    at = [0.5, 0.9, 0.99, 0.999]
    for one in quantile_estimates_from_intervals(series_from_histograms(parts), at):
        assert one.value is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.value < one.high
    median = quantile_estimates_from_intervals(series_from_histograms(parts), at)[0]
    assert median.low is not None
    assert median.high is not None
    assert 300e3 < median.low < 405e3 < median.high < 700e3


def test_bounds_do_not_contradict_each_other() -> None:
    # three bursts: the p99 has its bound within them, the data of the p99.9 alone would give a lower one
    lower, higher = (Estimate(None, low, None, "ns", 100, 9.0, "") for low in (5.0, 4.0))
    assert [one.low for one in monotone([lower, higher], [0.99, 0.999])] == [5.0, 5.0]
    assert [one.low for one in monotone([higher, lower], [0.999, 0.99])] == [5.0, 5.0]
    known = [Estimate(2.0, 1.0, 4.0, "ns", 9, 9.0, ""), Estimate(3.0, 0.5, 3.5, "ns", 9, 9.0, ""), higher]
    assert [(one.low, one.high) for one in monotone(known, [0.5, 0.9, 0.99])] == [(1, 3.5), (1, 3.5), (4, None)]


def test_a_bound_of_the_slowest_hundredth_is_not_below_the_median_of_the_sample() -> None:
    estimates = [
        Estimate(1.33e6, 1.1e6, 1.5e6, "ns", 16, 16.0, ""),
        Estimate(1.4e6, 1.2e6, 1.6e6, "ns", 16, 16.0, ""),
        Estimate(None, 1.28e6, None, "ns", 16, 16.0, "", 1.9e6),
    ]
    # of the quantile 0.9 that is not certain
    assert [one.low for one in monotone(estimates, [0.5, 0.9, 0.99])] == [1.1e6, 1.2e6, 1.33e6]


@given(seed=st.integers(0, 200))
def test_bounds_grow_with_the_quantile(seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(0, 2, 400) * np.repeat([1, 50, 1, 80], 100)
    lows = [one.low for one in quantile_estimates_from_series(values, [0.5, 0.9, 0.99, 0.999])]
    known = [low for low in lows if low is not None]
    assert known == sorted(known)


def test_the_median_of_three_is_the_middle_one_and_nothing_more() -> None:
    estimate = quantile_estimate_from_series(np.array([1.0, 2.0, 3.0]), 0.5)
    assert (estimate.value, estimate.low, estimate.high, estimate.sample_count) == (2.0, None, None, 3)


def test_no_data_give_no_estimate() -> None:
    assert quantile_estimate_from_series(np.empty(0), 0.5).sample_count == 0
    assert str(quantile_estimate_from_series(np.empty(0), 0.5)) == "no data"
    assert quantile_of_histograms([EMPTY, EMPTY], 0.5).value is None


def test_equal_latencies_have_an_interval_of_no_width() -> None:
    estimate = quantile_estimate_from_series(np.full(1000, 42.0), 0.99)
    assert (estimate.low, estimate.value, estimate.high) == (42.0, 42.0, 42.0)


@given(scale=st.floats(1e-3, 1e6), seed=st.integers(0, 1000))
def test_intervals_scale_with_the_unit(scale: float, seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(0, 1, 500)
    one, scaled = (quantile_estimate_from_series(series, 0.9) for series in (values, values * scale))
    assert (scaled.low, scaled.value) == pytest.approx((one.low * scale, one.value * scale))  # type: ignore[operator]


def test_a_million_latencies_take_little_of_the_processor() -> None:
    values = np.random.default_rng(3).lognormal(0, 1, 1_000_000)
    with at_most_processor_s(3):  # 0.2 s on an idle core
        estimates = quantile_estimates_from_series(values, [0.5, 0.9, 0.99, 0.999, 0.9999])
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
            estimate = quantile_of_histograms(parts, at)
            assert estimate.value == merge(parts).quantile_ns(at)

    def test_the_interval_is_near_that_of_the_raw_series(self, latencies_ns: NDArray[np.float64]) -> None:
        parts = [histogram_of(part) for part in np.split(latencies_ns, 100)]
        for at in (0.5, 0.99):
            exact, binned = quantile_estimate_from_series(latencies_ns, at), quantile_of_histograms(parts, at)
            assert (binned.low, binned.high) == pytest.approx((exact.low, exact.high), rel=0.05)

    def test_empty_intervals_count(self, latencies_ns: NDArray[np.float64]) -> None:
        parts = [histogram_of(part) for part in np.split(latencies_ns, 50)]
        gaps = [piece for part in parts for piece in (part, EMPTY)]
        assert quantile_of_histograms(gaps, 0.9).value == quantile_of_histograms(parts, 0.9).value

    def test_one_interval_gives_a_value_without_an_interval(self, latencies_ns: NDArray[np.float64]) -> None:
        estimate = quantile_of_histograms([histogram_of(latencies_ns)], 0.5)
        assert estimate.value is not None
        assert (estimate.low, estimate.high) == (None, None)

    def test_few_intervals_that_differ_widen_the_result(self, latencies_ns: NDArray[np.float64]) -> None:
        scales = np.repeat([1.0, 1.3, 0.9, 1.1, 0.8], 1000)
        parts = [histogram_of(part) for part in np.split(np.round(latencies_ns * scales), 5)]
        pieces = [histogram_of(part) for part in np.split(np.round(latencies_ns * np.tile(scales[::1000], 1000)), 5)]
        slow, mixed = (quantile_of_histograms(given, 0.5) for given in (parts, pieces))
        assert width(slow) > 4 * width(mixed)

    def test_values_that_share_one_bucket_are_enclosed_by_it(self) -> None:
        parts = [Histogram(np.array([5000]), np.array([100]), 0, 10**9, 0)] * 20
        estimate = quantile_of_histograms(parts, 0.5)
        bucket = np.array([5000])
        assert estimate.low == bucket_low_ns(bucket)[0]
        assert estimate.high == bucket_high_ns(bucket)[0]


def width(estimate: object) -> float:
    low, high = estimate.low, estimate.high  # type: ignore[attr-defined]
    return float(high - low)


def test_of_many_intervals_neighbours_are_added_up_and_the_bounds_stay() -> None:
    """A drive of 4 TB that is written twice at 20 ms an interval has two million of them."""
    random = np.random.default_rng(4)
    count = 1_000_000
    # bursts, so that neighbours are alike
    slow = np.repeat(random.random(count // 100) < 0.05, 100)
    values = np.round(random.lognormal(12, 0.1, count) * np.where(slow, 3, 1))
    series = interval_series_of(values, count)
    with at_most_processor_s(3):  # 0.2 s on an idle core, 11 s with a sum for each
        fine = quantile_estimates_from_intervals(series, (0.5, 0.9, 0.99))
    coarse = quantile_estimates_from_intervals(interval_series_of(values, 8000), (0.5, 0.9, 0.99))
    assert [one.value for one in fine] == [one.value for one in coarse]
    for one, other in zip(fine, coarse, strict=True):
        assert one.low == pytest.approx(other.low, rel=0.02)
        assert one.high == pytest.approx(other.high, rel=0.02)


@pytest.mark.parametrize("exponent", [0.1, 0.5])
def test_where_not_even_the_largest_is_too_high_the_end_follows_the_tail_beyond_it(exponent: float) -> None:
    # 100 levels of 250 operations each tell as much of p99.9 as 100 operations do
    random = np.random.default_rng(5)
    levels = random.permutation(1e5 * (np.arange(1, 101) / 100.5) ** -exponent)
    series = np.repeat(levels, 250) * random.lognormal(0, 0.01 * exponent, 25_000)
    estimate = quantile_estimate_from_series(series, 0.999)
    assert estimate.high is not None
    # a largest of 100 has 3.6 % beyond it at worst; that is led to 0.1 %, at most from tenfold
    times = (estimate.high / series.max()) ** (1 / exponent)
    assert 3 <= times <= 30


def test_the_end_of_independent_data_is_one_of_them() -> None:
    for at, count in ((0.99, 2500), (0.999, 25_000)):
        series = np.random.default_rng(count).lognormal(10, 1.0, count)
        assert quantile_estimate_from_series(series, at).high in series
