"""The interval of a comparison: it covers, it raises no false alarms, and what it says it would have found, it finds.

The rates are those of thousands of simulated pairs of sides, all from fixed seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from comparison_power import shares_found
from drivelab.analyse.comparison_interval import Shift, bootstrap_shifts, shift_between
from drivelab.analyse.effects import holm

Floats = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], Floats]
NOISE = 0.04
LAWS: dict[str, Law] = {
    "normal": lambda random, n: random.normal(0, NOISE, n),
    "heavy tails": lambda random, n: NOISE * random.standard_t(3, n),
    "skewed": lambda random, n: NOISE * random.exponential(1, n),
    "stalls": lambda random, n: random.normal(0, NOISE, n) + 0.5 * (random.random(n) < 0.1),
}


@dataclass(frozen=True)
class Kind:
    """Runs a side, repeats a run, and the scatter between runs."""

    runs: tuple[int, int]
    repeats: tuple[int, int]
    between: float = 0.0

    def side(self, which: int, law: Law, random: np.random.Generator, shift: float = 0.0) -> list[Floats]:
        """One side: its runs, each with what all its repeats have in common."""
        return [
            shift + law(random, self.repeats[which]) + self.between * random.normal() for _ in range(self.runs[which])
        ]


KINDS = [
    Kind((1, 1), (3, 3)),
    Kind((1, 1), (5, 5)),
    Kind((1, 1), (10, 10)),
    Kind((1, 1), (3, 10)),
    Kind((3, 3), (3, 3), 0.05),
    Kind((3, 3), (5, 5), 0.1),
    Kind((3, 3), (5, 5), 0.0),
    Kind((2, 5), (5, 5), 0.05),
    Kind((8, 8), (3, 3), 0.05),
]
COVERAGE_PAIRS, FAMILIES, CELLS, DRAWS = 100, 30, 3, 120


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_intervals_cover_the_truth(kind: Kind) -> None:
    truth, covered, total = math.log(1.2), 0, 0
    for law in LAWS.values():
        random = np.random.default_rng(11)
        for number in range(COVERAGE_PAIRS):
            found = shift_between(kind.side(0, law, random), kind.side(1, law, random, truth), number, DRAWS)
            assert found.ends is not None
            covered += found.ends[0] <= truth <= found.ends[1]
            total += 1
    # 95 % less three standard errors of such a simulation
    assert covered / total >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / total)


def test_sides_that_are_alike_raise_a_false_alarm_in_5_percent_of_comparisons_at_most() -> None:
    alarms = families = 0
    for kind in KINDS:
        for law in LAWS.values():
            random = np.random.default_rng(12)
            for number in range(FAMILIES):
                found = [
                    shift_between(kind.side(0, law, random), kind.side(1, law, random), number, DRAWS)
                    for _ in range(CELLS)
                ]
                alarms += any(_alarms(found))
                families += 1
    assert families >= 1000
    assert alarms / families <= 0.05


def _alarms(found: list[Shift]) -> list[bool]:
    adjusted = holm([one.p_value or 0.0 for one in found])
    return [
        p <= 0.05 and one.ends is not None and not one.ends[0] <= 0 <= one.ends[1]
        for p, one in zip(adjusted, found, strict=True)
    ]


def test_a_difference_as_large_as_the_margin_is_called_equivalent_in_5_percent_at_most() -> None:
    margin, called, total = math.log(1.05), 0, 0
    for kind in KINDS:
        random = np.random.default_rng(13)
        small: Law = lambda random, n: random.normal(0, 0.01, n)  # noqa: E731
        for number in range(100):
            one = Kind(kind.runs, kind.repeats, min(kind.between, 0.01))
            found = shift_between(one.side(0, small, random), one.side(1, small, random, margin), number, DRAWS)
            assert found.inner_ends is not None
            called += -margin < found.inner_ends[0] and found.inner_ends[1] < margin
            total += 1
    assert called / total <= 0.05


@pytest.mark.parametrize("count", [3, 5, 10])
def test_what_is_said_to_be_found_is_found_four_times_out_of_five(count: int) -> None:
    random = np.random.default_rng(14)
    pairs = [(random.normal(0, NOISE, count), random.normal(0, NOISE, count)) for _ in range(200)]
    sizes = [shift_between([base], [new], n, DRAWS).detectable(0.05) for n, (base, new) in enumerate(pairs)]
    told = float(np.median([size for size in sizes if size is not None]))
    found = 0
    for number, (base, new) in enumerate(pairs):
        one = shift_between([base], [new + told], number, DRAWS)
        found += (one.p_value or 1.0) <= 0.05 and one.ends is not None and one.ends[0] > 0
    assert 0.7 <= found / len(pairs) <= 0.92


def test_more_runs_that_scatter_are_not_more_certain_than_their_scatter() -> None:
    random = np.random.default_rng(15)
    kind = Kind((3, 3), (10, 10), 0.2)
    found = shift_between(kind.side(0, LAWS["normal"], random), kind.side(1, LAWS["normal"], random))
    assert found.units == "runs"
    assert found.unit_counts == (3, 3)
    together = shift_between([np.concatenate(kind.side(0, LAWS["normal"], random))], [np.zeros(30) + 0.1])
    assert together.ends is not None
    assert found.ends is not None
    assert found.ends[1] - found.ends[0] > together.ends[1] - together.ends[0]


def test_one_trial_each_has_a_ratio_and_nothing_else() -> None:
    found = shift_between([np.array([1.0])], [np.array([1.5])])
    assert found.value == 0.5
    assert (found.ends, found.inner_ends, found.p_value, found.detectable(0.05)) == (None, None, None, None)


def test_one_run_beside_three_is_judged_by_their_scatter() -> None:
    base = [np.array([value]) for value in (0.0, 0.1, 0.2)]
    found = shift_between(base, [np.array([0.3])])
    half = stats.t.isf(0.025, 2) * 0.1 * math.sqrt(1 + 1 / 3)
    assert found.ends == pytest.approx((0.2 - half, 0.2 + half))
    assert shift_between(base[:2], [np.array([0.3])]).ends is None
    # of a single repeat nobody knows what happened to it
    assert shift_between([np.concatenate(base)], [np.array([0.3])]).ends is None


def test_the_interval_of_few_values_is_that_of_welch_in_scipy() -> None:
    base, new = np.array([0.0, 0.02, 0.05, 0.03]), np.array([0.1, 0.16, 0.12])
    found = shift_between([base], [new])
    test = stats.ttest_ind(new, base, equal_var=False)
    expected = test.confidence_interval(0.95)
    assert found.p_value == pytest.approx(test.pvalue, rel=1e-6)
    assert found.ends == pytest.approx((expected.low, expected.high), rel=1e-6)
    inner = test.confidence_interval(0.90)
    assert found.inner_ends == pytest.approx((inner.low, inner.high), rel=1e-6)


def test_the_bootstrap_of_one_run_each_is_that_of_scipy() -> None:
    random = np.random.default_rng(16)
    base, new = random.normal(0, 1, 12), random.normal(1, 1, 9)

    def shift(one: Floats, other: Floats) -> float:
        return float(np.median(np.subtract.outer(other, one)))

    expected = stats.bootstrap((base, new), shift, method="percentile", n_resamples=4000, vectorized=False, rng=random)
    found = np.quantile(bootstrap_shifts([base], [new], seed=3), [0.025, 0.975])
    interval = expected.confidence_interval
    assert found == pytest.approx([interval.low, interval.high], abs=0.06)


def test_the_bootstrap_of_runs_is_the_slow_one() -> None:
    random = np.random.default_rng(17)
    sides = [[random.normal(level, 0.1, 4) + random.normal(0, 0.3) for _ in range(4)] for level in (0.0, 0.5)]
    slow = []
    for _ in range(3000):
        units = []
        for side in sides:
            chosen = [side[place] for place in random.integers(0, 4, 4)]
            units.append(np.array([np.median(random.choice(run, 4)) for run in chosen]))
        slow.append(np.median(np.subtract.outer(units[1], units[0])))
    found = np.quantile(bootstrap_shifts(*sides, seed=5), [0.05, 0.5, 0.95])
    assert found == pytest.approx(np.quantile(slow, [0.05, 0.5, 0.95]), abs=0.03)


def test_the_same_seed_gives_the_same_interval() -> None:
    random = np.random.default_rng(18)
    base, new = [random.normal(0, 1, 30)], [random.normal(0, 1, 30)]
    assert shift_between(base, new, 7) == shift_between(base, new, 7)


def test_values_that_are_all_the_same_are_known_no_better_than_a_bucket() -> None:
    for count in (5, 10):
        found = shift_between([np.zeros(count)], [np.zeros(count)])
        assert found.ends is not None
        assert found.ends[0] <= -(2**-9) < 0 < 2**-9 <= found.ends[1]
        assert found.p_value == pytest.approx(1.0)


@pytest.mark.parametrize(("noise", "count", "enough"), [(0.02, 6, True), (0.05, 6, False)])
def test_the_table_of_repeats_that_are_needed_holds(noise: float, count: int, enough: bool) -> None:
    assert (shares_found(count, noise, (1,))[0] >= 0.8) == enough


def test_two_repeats_have_no_interval_and_two_runs_have() -> None:
    """A drive with two modes: two repeats in the same one look certain."""
    pair = [np.array([0.0, 0.01])]
    three = [np.array([0.5, 0.51, 0.505])]
    assert shift_between(pair, [np.array([0.5, 0.51])]).ends is None
    assert shift_between(pair, three).ends is None
    assert shift_between([np.array([0.0, 0.01, 0.005])], three).ends is not None
    assert shift_between(pair * 2, three * 2).ends is not None


def test_a_drive_of_two_modes_raises_no_more_alarms_than_chance() -> None:
    random = np.random.default_rng(11)

    def side(count: int) -> list[np.ndarray]:
        return [0.1 * (random.random(count) < 0.3) + random.normal(0, 0.005, count)]

    for count in (2, 3, 4):
        found = [shift_between(side(count), side(count), 1, 2000) for _ in range(400)]
        alarms = sum(one.ends is not None and not one.ends[0] <= 0 <= one.ends[1] for one in found)
        assert alarms / 400 <= 0.05
