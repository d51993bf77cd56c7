"""Factorial effects beside the textbooks' numbers, the closed form, and least squares with sum coding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from simulated_designs import factorial_of, split_plot, trial

from drivelab.analyse.trial_value import TrialValue

Floats = NDArray[np.float64]

# Box, Hunter, Hunter (2005), Statistics for experimenters, table 9.1: corrosion resistance of steel bars, six heats of
# a furnace, four coatings in each
HEATS = (
    (1, "360", {"C1": 67, "C2": 73, "C3": 83, "C4": 89}),
    (1, "370", {"C1": 65, "C2": 91, "C3": 87, "C4": 86}),
    (1, "380", {"C1": 155, "C2": 127, "C3": 147, "C4": 212}),
    (2, "380", {"C1": 108, "C2": 100, "C3": 90, "C4": 153}),
    (2, "370", {"C1": 140, "C2": 142, "C3": 121, "C4": 150}),
    (2, "360", {"C1": 33, "C2": 8, "C3": 46, "C4": 54}),
)


def test_a_split_plot_of_a_textbook() -> None:
    trials = [
        trial(block, value / 100, {"filesystem": heat, "coating": coating})
        for block, heat, values in HEATS
        for coating, value in values.items()
    ]
    found = factorial_of(trials, {"filesystem": ("360", "370", "380"), "coating": ("C1", "C2", "C3", "C4")})
    # sums of squares as published, by Faraway as well; the rest is scatter between heats and between bars
    total = sum(value**2 for _, _, values in HEATS for value in values.values())
    means = [np.mean([value for n, _, values in HEATS if n == block for value in values.values()]) for block in (1, 2)]
    within = total - 12 * sum(mean**2 for mean in means)
    squares = {term.name: term.share * within for term in found.terms}
    assert [round(square) for square in squares.values()] == [26519, 4289, 3270]
    assert found.scatter_share == pytest.approx(1 - sum(term.share for term in found.terms))


@pytest.mark.parametrize("blocks", [3, 6])
def test_two_levels_of_two_factors_are_a_t_test_of_the_blocks(blocks: int) -> None:
    """One interaction lends its scatter to no other."""
    names = {"one": ("low", "high"), "other": ("low", "high")}
    trials = split_plot(names, blocks, {}, seed=3, of_trials=0.3)
    (pair,) = factorial_of(trials, names).interactions
    logs = np.log([each.value for each in trials]).reshape(blocks, 4)
    test = stats.ttest_1samp(logs @ np.array([1, -1, -1, 1]), 0)
    interval = test.confidence_interval(0.95)
    assert (pair.ratio.low, pair.ratio.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert pair.p_value == pytest.approx(test.pvalue, rel=1e-6)


def test_effects_are_those_of_least_squares_with_sum_coding() -> None:
    factors = {"access": ("a", "b", "c"), "direct": ("on", "off"), "block_size": ("4KiB", "16KiB")}
    truth = {("b",): 0.5, ("off",): -1.0, ("b", "off"): 0.7, ("c", "16KiB"): -0.4}
    trials = split_plot(factors, 4, truth, seed=5, of_trials=0.2)
    found = factorial_of(trials, factors)
    matrix, log, columns = sum_coded(trials, factors)
    solution, _, rank, _ = np.linalg.lstsq(matrix, log, rcond=None)
    assert rank == matrix.shape[1]
    degrees = len(log) - rank
    scatter = float(((log - matrix @ solution) ** 2).sum() / degrees)
    for pair in found.interactions:
        low, high = ({pair.factor: level} for level in (pair.baseline, pair.level))
        base, other = ({pair.other_factor: level} for level in (pair.other_baseline, pair.other_level))
        weights = columns((high | other, 1.0), (low | other, -1.0), (high | base, -1.0), (low | base, 1.0))
        assert pair.ratio.value == pytest.approx(math.exp(weights @ solution))
        weights = columns((high | other, 1.0), (low | other, -1.0))
        assert pair.at_other_level.value == pytest.approx(math.exp(weights @ solution))
    within = log - np.repeat([log[n : n + 12].mean() for n in range(0, 48, 12)], 12)
    for term in found.terms:
        kept = np.array([name != term.factors for name in columns_of(factors)])
        without = log - matrix[:, kept] @ np.linalg.lstsq(matrix[:, kept], log, rcond=None)[0]
        more = float((without**2).sum()) - scatter * degrees
        assert term.share == pytest.approx(more / float((within**2).sum()))
    shares = sum(term.share for term in found.terms) + found.higher_order_share + found.scatter_share
    assert shares == pytest.approx(1)


def columns_of(factors: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """The factors of every column but those of blocks: all interactions are there."""
    names = []
    for size in range(1, len(factors) + 1):
        for some in itertools.combinations(factors, size):
            names += [some] * math.prod(len(factors[name]) - 1 for name in some)
    return [("mean",), ("block",), ("block",), ("block",), *names]


def sum_coded(
    trials: Sequence[TrialValue], factors: Mapping[str, Sequence[str]]
) -> tuple[Floats, Floats, Callable[..., Floats]]:
    """The matrix of a full model with four blocks, the logarithms, and the weights of sums of cell means."""

    def codes(name: str, level: str | None) -> Floats:
        known = factors[name]
        if level is None:
            return np.zeros(len(known) - 1)
        return np.array([float(level == each) - float(level == known[-1]) for each in known[:-1]])

    def row(levels: Mapping[str, str], block: int | None) -> list[float]:
        blocks = [0.0] * 3 if block is None else [float(block == n) - float(block == 4) for n in (1, 2, 3)]
        found = [1.0, *blocks]
        for size in range(1, len(factors) + 1):
            for some in itertools.combinations(factors, size):
                product = np.array([1.0])
                for name in some:
                    product = np.outer(product, codes(name, levels.get(name))).ravel()
                found += product.tolist()
        return found

    def columns(*weighted: tuple[Mapping[str, str], float]) -> Floats:
        # a factor that is not named is averaged over: its codes add up to nothing
        return np.sum([weight * np.array(row(levels, None)) for levels, weight in weighted], axis=0)

    matrix = np.array([row(each.levels, each.block) for each in trials])
    return matrix, np.log([each.value for each in trials]), columns
