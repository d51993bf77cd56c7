"""The interval of a comparison: Welch's t of scipy for one number, and moderated over several as it is said to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from simulated_sides import scatter

from drivelab.analyse.comparison_interval import Shift, shifts_between
from drivelab.model.apart import RUNS_MIN

Floats = NDArray[np.float64]
Pairs = list[tuple[Floats, Floats]]


def one_shift(base: Floats, new: Floats) -> Shift:
    """Of one number by itself."""
    (found,) = shifts_between([(base, new)])
    return found


def made(count: int, noise: float, random: np.random.Generator, rows: int = 12) -> Pairs:
    base, new = scatter(noise)(random, rows, count, count)
    return list(zip(base, new, strict=True))


@pytest.mark.parametrize("counts", [(3, 3), (4, 3), (3, 8), (8, 20)])
def test_one_number_by_itself_has_the_statistic_of_welch_and_the_degrees_of_the_smaller_side(
    counts: tuple[int, int],
) -> None:
    random = np.random.default_rng(1)
    base, new = (random.normal(0, 0.1, count) for count in counts)
    found = one_shift(base, new)
    test = stats.ttest_ind(new, base, equal_var=False)
    freedom = min(counts) - 1
    assert found.value / found.error == pytest.approx(test.statistic)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(test.statistic), freedom), rel=1e-6)
    half = stats.t.isf(0.025, freedom) * found.error
    assert found.ends == pytest.approx((found.value - half, found.value + half))
    half = stats.t.isf(0.05, freedom) * found.error
    assert found.inner_ends == pytest.approx((found.value - half, found.value + half))
    # it is never narrower than Welch's own, whose degrees of freedom are estimated and often too many
    expected = test.confidence_interval(0.95)
    assert found.ends is not None
    assert found.ends[0] <= expected.low
    assert found.ends[1] >= expected.high


def test_fewer_runs_than_it_takes_have_a_ratio_and_nothing_else() -> None:
    for counts in ((1, 1), (1, 9), (RUNS_MIN - 1, 9)):
        found = one_shift(np.zeros(counts[0]), np.full(counts[1], 0.5))
        assert found.value == 0.5
        assert (found.ends, found.inner_ends, found.p_value, found.detectable(0.05)) == (None, None, None, None)
        assert "3 a side" in found.method


def test_numbers_with_too_few_runs_do_not_touch_the_others() -> None:
    random = np.random.default_rng(2)
    pairs = made(4, 0.03, random)
    few = (np.array([0.0, 9.0]), np.array([5.0]))
    assert shifts_between([few, *pairs])[1:] == shifts_between(pairs)


def test_a_number_that_hardly_scatters_by_chance_does_not_look_certain() -> None:
    random = np.random.default_rng(3)
    pairs = made(3, 0.03, random)
    lucky = np.array([0.0, 1e-5, 2e-5]), np.array([0.06, 0.06001, 0.06002])
    alone, among = one_shift(*lucky), shifts_between([lucky, *pairs])[0]
    assert alone.p_value is not None
    assert among.p_value is not None
    assert alone.p_value < 0.005 < 0.01 < among.p_value
    assert among.error == pytest.approx(0.03 * math.sqrt(2 / 3), rel=0.4)


def test_a_number_that_scatters_ten_times_as_far_keeps_most_of_its_scatter() -> None:
    random = np.random.default_rng(4)
    pairs = made(5, 0.01, random)
    wild = random.normal(0, 0.2, 5), random.normal(0, 0.2, 5)
    alone, among = one_shift(*wild), shifts_between([wild, *pairs])[0]
    assert 0.7 * alone.error < among.error <= alone.error


@pytest.mark.parametrize("counts", [(3, 3), (5, 5), (3, 8), (8, 8)])
def test_intervals_cover_the_truth(counts: tuple[int, int]) -> None:
    random = np.random.default_rng(11)
    truth = math.log(1.2)
    hits = total = 0
    for law in ("normal", "unequal", "heavy", "skewed", "stalls"):
        for _ in range(40):
            sizes = (0.01, 0.06) if law == "unequal" else (0.04, 0.04)
            sides = [size * _values(random, law, (6, n)) for size, n in zip(sizes, counts, strict=True)]
            for found in shifts_between(list(zip(sides[0], sides[1] + truth, strict=True))):
                assert found.ends is not None
                hits += found.ends[0] <= truth <= found.ends[1]
                total += 1
    assert hits / total >= 0.95


def _values(random: np.random.Generator, law: str, shape: tuple[int, int]) -> Floats:
    if law == "heavy":
        return random.standard_t(3, shape)
    if law == "skewed":
        return random.exponential(1, shape)
    if law == "stalls":
        return random.normal(0, 1, shape) + 12 * (random.random(shape) < 0.1)
    return random.normal(0, 1, shape)


def test_a_difference_as_large_as_the_margin_is_called_equivalent_in_5_percent_at_most() -> None:
    random, margin = np.random.default_rng(13), math.log(1.05)
    called = total = 0
    for count in (3, 5, 8):
        for _ in range(40):
            for found in shifts_between([(base, new + margin) for base, new in made(count, 0.01, random)]):
                assert found.inner_ends is not None
                called += -margin < found.inner_ends[0] and found.inner_ends[1] < margin
                total += 1
    assert 0.005 <= called / total <= 0.05


@pytest.mark.parametrize("count", [3, 5, 10])
def test_what_is_said_to_be_found_is_found_four_times_out_of_five(count: int) -> None:
    random = np.random.default_rng(14)
    families = [made(count, 0.04, random) for _ in range(60)]
    told = float(np.median([one.detectable(0.05 / 12) or 0 for pairs in families for one in shifts_between(pairs)]))
    found = 0
    for pairs in families:
        (base, new), *others = pairs
        one = shifts_between([(base, new + told), *others])[0]
        assert one.p_value is not None
        assert one.ends is not None
        found += one.p_value <= 0.05 / 12 and one.ends[0] > 0
    assert 0.65 <= found / len(families) <= 0.97


def test_values_that_are_all_the_same_are_known_no_better_than_a_bucket() -> None:
    for count in (5, 10):
        found = one_shift(np.zeros(count), np.zeros(count))
        assert found.ends is not None
        assert found.ends[0] <= -(2**-9) < 0 < 2**-9 <= found.ends[1]
        assert found.p_value == pytest.approx(1.0)
