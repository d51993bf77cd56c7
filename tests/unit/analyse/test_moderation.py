"""Variances moderated over many numbers: scipy's functions, a slow exact fit, and the guards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from drivelab.analyse.moderation import digamma, inverse_trigamma, moderated, prior_degrees, trigamma


@pytest.mark.parametrize("x", [1e-3, 0.1, 0.5, 1.0, 1.5, 3.0, 7.9, 8.0, 40.0, 1e5])
def test_the_functions_are_those_of_scipy(x: float) -> None:
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-9, abs=1e-9)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-9)
    assert inverse_trigamma(trigamma(x)) == pytest.approx(x, rel=1e-6)


@pytest.mark.parametrize("truth", [1.5, 4.0, 12.0])
def test_what_one_variance_tells_of_another_is_that_of_the_law_that_made_them(truth: float) -> None:
    """The oracle is the likelihood of Smyth's model: the sample variances over a constant have Fisher's F."""
    random = np.random.default_rng(1)
    count, degrees = 4000, 4.0
    sizes = 0.01 * truth / random.chisquare(truth, count)
    variances = sizes * random.chisquare(degrees, count) / degrees
    found = prior_degrees(variances, np.full(count, degrees))

    def unlikely(logarithms: tuple[float, float]) -> float:
        prior, scale = np.exp(logarithms)
        return -float(np.sum(stats.f.logpdf(variances / scale, degrees, prior) - math.log(scale)))

    best = optimize.minimize(unlikely, (math.log(5.0), math.log(0.01)), method="Nelder-Mead")
    assert found == pytest.approx(truth, rel=0.2)
    assert found == pytest.approx(math.exp(best.x[0]), rel=0.2)


def test_variances_that_differ_by_no_more_than_chance_are_one() -> None:
    random = np.random.default_rng(2)
    alike = 0.01 * random.chisquare(4, 10_000) / 4
    assert prior_degrees(alike, np.full(10_000, 4.0)) > 50
    assert prior_degrees(np.full(10, 0.3), np.full(10, 4.0)) == math.inf
    assert prior_degrees(np.array([0.3]), np.array([4.0])) == 0


def test_unequal_degrees_of_freedom_are_taken_for_what_they_are() -> None:
    random = np.random.default_rng(3)
    degrees = np.repeat([2.0, 12.0], 2000)
    variances = 5.0 / random.chisquare(5, 4000) * random.chisquare(degrees) / degrees
    assert prior_degrees(variances, degrees) == pytest.approx(5, rel=0.2)


def test_a_moderated_variance_is_that_of_the_formula() -> None:
    variances, degrees = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0]), np.full(8, 4.0)
    found = moderated(variances, degrees)
    # two of eight are left out of what all come to
    assert found.pooled == pytest.approx(np.mean([1, 2, 3, 4, 5, 6]))
    prior = min(prior_degrees(variances, degrees), 3, 7 / 3)
    assert found.prior_degrees == pytest.approx(prior)
    expected = (prior * 3.5 + 4 * variances) / (prior + 4)
    assert found.variances == pytest.approx(np.maximum(expected, 3.5))


def test_a_number_without_degrees_of_freedom_is_taken_for_one_of_the_others() -> None:
    found = moderated(np.array([1.0, 1.2, 0.9, 1.1, math.nan]), np.array([2.0, 2.0, 2.0, 2.0, 0.0]))
    assert found.variances[-1] == pytest.approx(found.pooled)
    assert math.isnan(moderated(np.array([math.nan]), np.array([0.0])).pooled)
    # one number by itself borrows nothing
    alone = moderated(np.array([2.0]), np.array([2.0]))
    assert (alone.prior_degrees, alone.variances.tolist()) == (0.0, [2.0])
