"""Ranks: against scipy, and against every permutation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from drivelab.analyse.distributions import student_t
from drivelab.analyse.rank_shift import hodges_lehmann, mann_whitney_p, moses_interval, smallest_p

SIZES = [(3, 3), (4, 4), (5, 7), (10, 10), (1, 40), (20, 13), (60, 60)]


@pytest.mark.parametrize(("base_count", "new_count"), SIZES)
def test_p_values_are_those_of_scipy(base_count: int, new_count: int) -> None:
    random = np.random.default_rng(base_count)
    for shift in (0.0, 0.4, 1.5):
        base, new = random.normal(0, 1, base_count), random.normal(shift, 1, new_count)
        expected = stats.mannwhitneyu(base, new, method="exact").pvalue
        assert mann_whitney_p(base, new) == pytest.approx(expected, rel=1e-9)


def test_with_many_values_the_normal_approximation_is_close_to_exact() -> None:
    random = np.random.default_rng(5)
    base, new = random.normal(0, 1, 61), random.normal(0.4, 1, 70)
    assert mann_whitney_p(base, new) == pytest.approx(stats.mannwhitneyu(base, new, method="exact").pvalue, rel=0.06)


def test_p_value_counts_every_permutation() -> None:
    values = np.array([0.1, 0.5, 0.9, 1.4, 2.0, 2.2, 3.1])
    base, new = values[[0, 2, 3]], values[[1, 4, 5, 6]]

    def statistic(chosen: tuple[int, ...]) -> int:
        others = [place for place in range(7) if place not in chosen]
        return int((np.subtract.outer(values[list(chosen)], values[others]) > 0).sum())

    seen = [statistic(chosen) for chosen in combinations(range(7), 4)]
    observed = statistic((1, 4, 5, 6))
    upper = sum(one >= observed for one in seen) / len(seen)
    lower = sum(one <= observed for one in seen) / len(seen)
    assert mann_whitney_p(base, new) == pytest.approx(2 * min(upper, lower))


def test_ties_speak_against_a_difference() -> None:
    base, new = np.zeros(10), np.zeros(10)
    assert mann_whitney_p(base, new) == 1.0
    assert mann_whitney_p(base, new + 0.001, resolution=0.002) == 1.0
    assert mann_whitney_p(base, new + 0.003, resolution=0.002) == pytest.approx(smallest_p(10, 10))


def test_the_interval_holds_every_shift_that_the_test_does_not_refuse() -> None:
    random = np.random.default_rng(8)
    base, new = random.normal(0, 1, 9), random.normal(1, 1, 11)
    found = moses_interval(base, new)
    assert found is not None
    inside = np.linspace(found[0] + 1e-9, found[1] - 1e-9, 50)
    assert all(mann_whitney_p(base + shift, new) > 0.05 for shift in inside)
    for outside in (found[0] - 1e-9, found[1] + 1e-9):
        assert mann_whitney_p(base + outside, new) <= 0.05


@pytest.mark.parametrize(("count", "exists"), [(3, False), (4, True)])
def test_an_interval_takes_four_values_a_side(count: int, exists: bool) -> None:
    values = np.arange(count, dtype=float)
    assert (moses_interval(values, values + 1) is not None) == exists


def test_the_shift_is_the_median_of_all_differences() -> None:
    base, new = np.array([1.0, 2.0, 9.0]), np.array([4.0, 5.0])
    assert hodges_lehmann(base, new) == np.median([3, 2, -5, 4, 3, -4])


@pytest.mark.parametrize("tail", [0.2, 0.05, 0.025, 0.0025, 1e-4])
@pytest.mark.parametrize("freedom", [1, 1.7, 4, 12, 300])
def test_points_of_student_s_t_are_those_of_scipy(freedom: float, tail: float) -> None:
    assert student_t(freedom, tail) == pytest.approx(stats.t.isf(tail, freedom), rel=1e-7)
