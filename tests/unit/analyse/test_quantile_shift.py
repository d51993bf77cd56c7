"""The ratio of two distributions at every height: a tail that grew, a mode that came, and how far the data carry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from drivelab.analyse.quantile_shift import BEYOND_MIN, quantile_shift
from drivelab.model.histogram import Histogram
from latency_histograms import histogram_of

COUNT = 100_000


def run(random: np.random.Generator, *, tail: float = 1.0, slow_share: float = 0.0, count: int = COUNT) -> Histogram:
    """A run whose slowest thousandth takes `tail` times as long, and of which a share is in a second mode."""
    values: NDArray[np.float64] = 1e5 * random.lognormal(0, 0.1, count) * math.exp(0.01 * random.normal())
    values = np.where(random.random(count) < 0.002, tail * 5e5, values)
    return histogram_of(np.where(random.random(count) < slow_share, 3 * values, values))


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_a_tail_that_grew_shows_where_it_is(runs: int) -> None:
    random = np.random.default_rng(1)
    found = quantile_shift([run(random) for _ in range(runs)], [run(random, tail=10) for _ in range(runs)])
    at = {point.quantile: point for point in found}
    assert (found[0].quantile, found[-1].quantile) == (0.01, 0.9999)
    assert at[0.5].ratio == pytest.approx(1, rel=0.05)
    assert at[0.999].ratio == pytest.approx(10, rel=0.1)
    assert all((point.low is None) == (runs < 3) for point in found)
    if runs >= 3:
        assert (at[0.5].low or 0) < 1 < (at[0.5].high or 0)
        assert (at[0.999].low or 0) > 2


def test_a_second_mode_shows_as_a_step() -> None:
    random = np.random.default_rng(2)
    found = quantile_shift([run(random)], [run(random, slow_share=0.3)])
    at = {point.quantile: point.ratio for point in found}
    assert at[0.5] < 1.2
    assert at[0.9] > 2.4


def test_only_quantiles_that_every_run_carries_are_there() -> None:
    random = np.random.default_rng(3)
    found = quantile_shift([run(random)], [run(random, count=1000)])
    assert found[-1].quantile <= 1 - BEYOND_MIN / 1000
    assert quantile_shift([run(random)], [run(random, count=8)]) == ()
    assert quantile_shift([], []) == ()


def test_the_values_are_those_of_the_histograms() -> None:
    random = np.random.default_rng(4)
    base, new = run(random), run(random, tail=3)
    for point in quantile_shift([base], [new]):
        assert point.base_ns == pytest.approx(base.quantile_ns(point.quantile), rel=1e-6)
        assert point.new_ns == pytest.approx(new.quantile_ns(point.quantile), rel=1e-6)
        assert point.ratio == pytest.approx(point.new_ns / point.base_ns)
