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

from drivelab.analyse.effects import TrialValue
from drivelab.analyse.strata import f_tail
from drivelab.model.estimate import Estimate

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
    plots, bars = found.strata
    # sums of squares as published, by Faraway as well: 26519, 4289, 3270; then scatter between heats, replicates taken
    # off, and within them
    total = sum(value**2 for _, _, values in HEATS for value in values.values())
    means = [np.mean([value for n, _, values in HEATS if n == block for value in values.values()]) for block in (1, 2)]
    within = total - 12 * sum(mean**2 for mean in means)
    squares = {term.name: term.share * within for term in found.terms}
    assert [round(square) for square in squares.values()] == [26519, 4289, 3270]
    assert (plots.name, plots.degrees_of_freedom) == ("file systems", 2)
    assert (bars.name, bars.degrees_of_freedom) == ("trials", 9)
    assert bars.mean_square is not None
    assert bars.mean_square * 1e4 == pytest.approx(124.5, abs=0.05)
    heat, coating, both = found.terms
    assert coating.f_ratio == pytest.approx(11.48, abs=0.005)
    assert both.f_ratio == pytest.approx(4.376, abs=0.0005)
    # held against the scatter of bars, the heats would look certain
    assert heat.p_value is not None
    assert heat.p_value > 0.3
    assert (heat.stratum, coating.stratum, both.stratum) == ("file systems", "trials", "trials")


@pytest.mark.parametrize(("factors", "blocks"), [(2, 4), (3, 3), (4, 2)])
def test_standard_errors_of_two_levels_are_the_closed_form(factors: int, blocks: int) -> None:
    names = {f"f{n}": ("low", "high") for n in range(factors)}
    trials = split_plot(names, blocks, {}, seed=factors, of_trials=0.3)
    found = factorial_of(trials, names)
    (scatter,) = found.strata
    assert scatter.degrees_of_freedom == (blocks - 1) * (2**factors - 1)
    assert scatter.mean_square is not None
    error = 2 * math.sqrt(scatter.mean_square / (blocks * 2**factors))
    half = stats.t.ppf(0.975, scatter.degrees_of_freedom) * error
    for effect in found.main_effects:
        assert effect.ratio.value is not None
        assert effect.ratio.low is not None
        assert effect.ratio.high is not None
        assert math.log(effect.ratio.high / effect.ratio.low) / 2 == pytest.approx(half)
    for pair in found.interactions:
        # the difference of two effects is twice the interaction as textbooks count it
        assert pair.ratio.low is not None
        assert pair.ratio.high is not None
        assert math.log(pair.ratio.high / pair.ratio.low) / 4 == pytest.approx(half)


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
    covariance = scatter * np.linalg.inv(matrix.T @ matrix)
    assert found.strata[0].mean_square == pytest.approx(scatter)
    for effect in found.main_effects:
        weights = columns(({effect.factor: effect.level}, 1.0), ({effect.factor: effect.baseline}, -1.0))
        checked(effect.ratio, weights, solution, covariance, degrees)
    for pair in found.interactions:
        low, high = ({pair.factor: level} for level in (pair.baseline, pair.level))
        base, other = ({pair.other_factor: level} for level in (pair.other_baseline, pair.other_level))
        weights = columns((high | other, 1.0), (low | other, -1.0), (high | base, -1.0), (low | base, 1.0))
        checked(pair.ratio, weights, solution, covariance, degrees)
        checked(pair.at_other_level, columns((high | other, 1.0), (low | other, -1.0)), solution, covariance, degrees)
    for term in found.terms:
        kept = np.array([name != term.factors for name in columns_of(factors)])
        without = log - matrix[:, kept] @ np.linalg.lstsq(matrix[:, kept], log, rcond=None)[0]
        more = float((without**2).sum()) - scatter * degrees
        ratio = more / term.degrees_of_freedom / scatter
        assert term.f_ratio == pytest.approx(ratio)
        assert term.p_value == pytest.approx(stats.f.sf(ratio, term.degrees_of_freedom, degrees), rel=1e-6)
    shares = sum(term.share for term in found.terms) + found.higher_order_share + found.strata[0].share
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


def checked(ratio: Estimate, weights: Floats, solution: Floats, covariance: Floats, degrees: int) -> None:
    middle, error = weights @ solution, math.sqrt(weights @ covariance @ weights)
    half = stats.t.ppf(0.975, degrees) * error
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(
        (math.exp(middle), math.exp(middle - half), math.exp(middle + half))
    )


def test_lenth_on_a_textbook_design() -> None:
    # Montgomery (2017), Design and analysis of experiments, example 6.2: filtration rate, 2^4, one repeat
    rates = (45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96)
    factors = dict.fromkeys("DCBA", ("low", "high"))
    trials = [
        trial(1, rate / 100, dict(zip("DCBA", cell, strict=True)))
        for rate, cell in zip(rates, itertools.product(("low", "high"), repeat=4), strict=True)
    ]
    found = factorial_of(trials, factors)
    effects = {each.factor: 100 * math.log(each.ratio.value or 0) for each in found.main_effects}
    assert effects == pytest.approx({"A": 21.625, "B": 3.125, "C": 9.875, "D": 14.625})
    # the interaction as a difference of two effects: twice -18.125 and 16.625
    pairs = {each.factor + each.other_factor: 50 * math.log(each.ratio.value or 0) for each in found.interactions}
    assert pairs["AC"] == pytest.approx(-18.125)
    assert pairs["AD"] == pytest.approx(16.625)
    # his table: s0 2.625, pseudo standard error 2.625, margin of error 6.748
    first = found.main_effects[0].ratio
    assert first.low is not None
    assert first.high is not None
    assert 50 * math.log(first.high / first.low) == pytest.approx(6.748, abs=0.01)
    assert "Lenth" in first.method
    named = {each.name for each in found.terms if each.p_value is not None and each.p_value < 0.05}
    assert named == {"A", "C", "D", "C x A", "D x A"}


def test_f_tail_is_that_of_scipy() -> None:
    for ratio, over, under in ((0.3, 1, 2), (4.4, 6, 9), (11.5, 3, 9), (1.0, 2, 1), (50.0, 4, 7 / 3)):
        assert f_tail(ratio, over, under) == pytest.approx(stats.f.sf(ratio, over, under), rel=1e-7)
