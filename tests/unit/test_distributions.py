"""The written-out distributions are those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from drivelab.model.distributions import binomial_cdf, incomplete_beta, student_t


def test_the_incomplete_beta_function_is_scipys() -> None:
    random = np.random.default_rng(1)
    for a, b in 10 ** random.uniform(-1, 6.5, (200, 2)):
        spread = np.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
        x = float(np.clip(a / (a + b) + spread * random.uniform(-4, 4), 1e-9, 1 - 1e-9))
        assert incomplete_beta(a, b, x) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-6, abs=1e-12)


def test_the_incomplete_beta_function_ends_at_zero_and_one() -> None:
    assert incomplete_beta(2, 3, 0.0) == 0.0
    assert incomplete_beta(2, 3, 1.0) == 1.0


@pytest.mark.parametrize("trials", [1, 7, 368, 36_887])
@pytest.mark.parametrize("probability", [0.5, 0.99, 0.9999])
def test_the_binomial_is_exact_at_whole_numbers(trials: int, probability: float) -> None:
    middle = int(trials * probability)
    for successes in {0, middle // 2, middle, min(middle + 1, trials - 1), trials - 1}:
        exact = float(stats.binom.cdf(successes, trials, probability))
        assert binomial_cdf(successes, trials, probability) == pytest.approx(exact, rel=1e-8, abs=1e-15)


def test_the_binomial_rises_between_whole_numbers() -> None:
    values = [binomial_cdf(k, 12.5, 0.7) for k in np.arange(-1.0, 12.6, 0.1)]
    assert values[0] == 0.0
    assert values[-1] == 1.0
    assert np.all(np.diff(values) >= 0)


@pytest.mark.parametrize("degrees_of_freedom", [1, 1.3, 2, 3.7, 9, 40, 1000, 2e6])
@pytest.mark.parametrize("tail", [0.025, 0.05])
def test_students_t_is_scipys(degrees_of_freedom: float, tail: float) -> None:
    exact = float(stats.t.isf(tail, degrees_of_freedom))
    assert student_t(degrees_of_freedom, tail) == pytest.approx(exact, rel=1e-6)


def test_less_than_one_degree_of_freedom_counts_as_one() -> None:
    assert student_t(0.2) == student_t(1)
