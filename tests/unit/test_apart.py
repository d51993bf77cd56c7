"""Two numbers with ranges of repeats: said to be apart by chance in one of twenty pairs at most."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from statistics import median

import numpy as np
import pytest
import scipy.stats

from drivelab.model import apart
from drivelab.model.apart import are_apart, chance_apart, scatter_of, surely_apart, too_few_runs
from drivelab.model.distributions import two_sided_p
from drivelab.model.estimate import Estimate


def told(values: np.ndarray) -> Estimate:
    # of three numbers ten times as quick as numpy, and half a million are told of
    ordered = sorted(values.tolist())
    return Estimate(median(ordered), ordered[0], ordered[-1], "ns", 1000, 1.0, "")


@pytest.mark.parametrize(("first", "second"), [(2, 2), (3, 3), (2, 5), (5, 5), (10, 10), (1, 3), (1, 5)])
@pytest.mark.parametrize("scatter", [0.002, 0.05, 0.5])
def test_of_pairs_that_are_alike_one_in_twenty_at_most_is_apart(first: int, second: int, scatter: float) -> None:
    random = np.random.default_rng(7)
    found = 0
    for _ in range(3000):
        sides = [np.exp(random.normal(12, scatter, count)) for count in (first, second)]
        estimates = [told(side) for side in sides]
        if first == 1:
            # the interval of a trial that is exact within itself
            estimates[0] = Estimate(estimates[0].value, sides[0][0] * 0.9999, sides[0][0] * 1.0001, "ns", 9, 1.0, "")
        found += bool(are_apart(estimates[0], estimates[1], (first, second)))
    # two standard errors above 5 %
    assert found / 3000 <= 0.05 + 2 * (0.05 * 0.95 / 3000) ** 0.5


@pytest.mark.parametrize("scatters", [(1,) * 7, (3, 1, 1, 1, 1, 1, 3), (1, 1, 1, 1, 1, 1, 3), (1, 3, 3, 3, 3, 3, 1)])
def test_with_the_scatter_of_a_curve_one_pair_in_twenty_at_most_is_apart(scatters: tuple[int, ...]) -> None:
    random = np.random.default_rng(11)
    found = 0
    for _ in range(2000):
        curve = [told(np.exp(random.normal(12, 0.1 * scatter, 3))) for scatter in scatters]
        scatter = scatter_of([(one, 3) for one in curve])
        found += bool(are_apart(curve[0], curve[-1], (3, 3), scatter=scatter))
    assert found / 2000 <= 0.05 + 2 * (0.05 * 0.95 / 2000) ** 0.5


def test_a_curve_of_three_repeats_each_tells_half_as_much_again() -> None:
    random = np.random.default_rng(5)
    alone = together = 0
    for _ in range(500):
        curve = [told(np.exp(random.normal(12 + 0.4055 * (place == 6), 0.1, 3))) for place in range(7)]
        scatter = scatter_of([(one, 3) for one in curve])
        alone += bool(are_apart(curve[0], curve[6], (3, 3)))
        together += bool(are_apart(curve[0], curve[6], (3, 3), scatter=scatter))
    assert alone / 500 < 0.7
    assert together / 500 > 0.8


def test_the_scatter_is_that_of_one_repeat() -> None:
    random = np.random.default_rng(2)
    curve = [(told(np.exp(random.normal(place / 200, 0.2, 3))), 3) for place in range(2000)]
    deviation, freedom = scatter_of(curve) or (0.0, 0)
    # a range of three varies itself, and its square is that much more
    assert deviation == pytest.approx(0.2, rel=0.15)
    assert freedom == 4000
    assert scatter_of([(curve[0][0], 1)]) is None


def test_ranges_that_do_not_overlap_are_not_enough() -> None:
    one, other = (Estimate(value, value - 5, value + 5, "ns", 1000, 3.0, "") for value in (100.0, 111.0))
    # one trial each: intervals of 95 %
    assert are_apart(one, other, (1, 1)) is True
    assert are_apart(one, other, (2, 2)) is False
    assert are_apart(one, other, (5, 5)) is True


def test_a_large_difference_is_found_by_three_repeats() -> None:
    one, other = (Estimate(value, 0.97 * value, 1.03 * value, "ns", 1000, 3.0, "") for value in (100.0, 150.0))
    assert are_apart(one, other, (3, 3)) is are_apart(other, one, (3, 3)) is True


def test_without_ends_nothing_is_known() -> None:
    known = Estimate(100.0, 95.0, 105.0, "ns", 1000, 3.0, "")
    assert are_apart(known, Estimate(900.0, None, None, "ns", 1000, 1.0, ""), (3, 1)) is None


@pytest.mark.parametrize("freedom", range(1, 16))
def test_the_tails_are_those_of_students_t(freedom: int) -> None:
    for t in (0.0, 0.1, 1.0, 2.0, 4.3, 12.7, 50.0):
        assert two_sided_p(t, 1.0, freedom) == pytest.approx(2 * scipy.stats.t.sf(t, freedom), abs=1e-12)


def test_two_intervals_that_touch_are_apart_as_a_normal_variable_of_both_would_be() -> None:
    one, other = (Estimate(value, value / 1.1, value * 1.1, "ns", 1000, 1000.0, "") for value in (100.0, 121.1))
    error = np.log(1.1) * np.sqrt(2) / scipy.stats.norm.ppf(0.975)
    expected = 2 * scipy.stats.norm.sf(np.log(1.211) / error)
    for pair in ((one, other), (other, one)):
        assert chance_apart(*pair, (1, 1)) == pytest.approx(expected, rel=1e-5)
    # however little of an interval faces the other
    wide = Estimate(100.0, 1.0, 101.0, "ns", 1000, 1000.0, "")
    assert are_apart(wide, Estimate(103.0, 102.0, 104.0, "ns", 1000, 1000.0, ""), (1, 1)) is True


def test_of_many_differences_chance_makes_some_and_these_are_not_told() -> None:
    random = np.random.default_rng(9)

    def share(count: int, shift: float, moved: int, unlike: float, repeats: int = 3) -> float:
        """Of so many sets some pair is told; numbers scatter as unlike as the deviation of their logarithm says."""
        found = 0
        for _ in range(200):
            scatters = 0.1 * np.exp(random.normal(0, unlike, count))
            pairs = []
            for place, scatter in enumerate(scatters):
                sides = np.exp(random.normal(0, scatter, (2, repeats)))
                sides[1] *= shift if place < moved else 1
                pairs.append((told(sides[0]), told(sides[1])))
            pooled = scatter_of([(one, repeats) for pair in pairs for one in pair])
            alone, together = (
                [chance_apart(*pair, (repeats, repeats), scatter=scatter) or 0.0 for pair in pairs]
                for scatter in (None, pooled)
            )
            found += any(surely_apart(alone, together))
        return found / 200

    for count, unlike, repeats in product((2, 12, 48), (0.0, 0.7, 1.2), (2, 3)):
        assert share(count, 1.0, 0, unlike, repeats) <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5
    # one that is large, and many that are small, are found
    assert share(48, 3.0, 1, 0.0) > 0.95
    assert share(48, 1.3, 48, 0.7) > 0.95
    assert surely_apart([0.04]) == [True]
    assert surely_apart([]) == []


def test_the_expected_ranges_are_those_of_normal_values() -> None:
    random = np.random.default_rng(3)
    for place, value in enumerate(apart._EXPECTED_RANGES):
        assert value == pytest.approx(np.ptp(random.standard_normal((200_000, place + 2)), axis=1).mean(), rel=5e-3)


def test_what_lies_apart_in_two_runs_is_not_judged() -> None:
    one, other = Estimate(100.0, 95.0, 105.0, "ns", 5, 5.0, ""), Estimate(200.0, 195.0, 205.0, "ns", 5, 5.0, "")
    assert are_apart(one, other, (5, 5), ("monday", "monday")) is True
    assert are_apart(one, other, (5, 5), ("monday", "friday")) is None
    assert are_apart(one, one, (5, 5), ("monday", "friday")) is False
    assert [too_few_runs(counts) for counts in ((1, 1), (2, 9), (3, 3))] == ["one run each", "2 and 9 runs", ""]


def test_a_number_without_ends_that_lies_within_the_interval_of_the_other_is_not_apart_from_it() -> None:
    lasting = Estimate(463e6, None, None, "B/s", 1, 1.0, "")
    whole = Estimate(477e6, 452e6, 599e6, "B/s", 1, 1.0, "")
    assert are_apart(lasting, whole, (1, 1)) is are_apart(whole, lasting, (1, 1), ("a", "b")) is False
    assert are_apart(replace(lasting, value=440e6), whole, (1, 1)) is None
