"""The variance of sums is the slow definition's, and that of processes with a known one."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_latencies import autoregressive

from drivelab.analyse.long_run_variance import (
    ELEMENTS_MAX,
    add_up_groups,
    autocovariance,
    group_size,
    long_run_variance,
)


def test_autocovariance_is_the_sum_over_pairs() -> None:
    series = np.random.default_rng(1).standard_normal(37)
    centred = series - series.mean()
    slow = [float(centred[: 37 - lag] @ centred[lag:]) / 37 for lag in range(37)]
    assert autocovariance(series) == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.97])
def test_an_autoregressive_series_has_the_variance_of_theory(correlation: float) -> None:
    law = autoregressive(correlation)
    logs = np.log(law.draw(np.random.default_rng(2), 20, 40_000)) / 0.5
    found = np.mean([long_run_variance(row).per_element for row in logs])
    assert found == pytest.approx((1 + correlation) / (1 - correlation), rel=0.12)


def test_a_series_that_swings_back_gets_no_credit_for_it() -> None:
    series = np.tile([1.0, -1.0], 200) + np.random.default_rng(3).normal(0, 0.01, 400)
    assert long_run_variance(series).per_element == pytest.approx(series.var(ddof=1))


def test_two_elements_are_enough_for_an_answer() -> None:
    variance = long_run_variance(np.array([1.0, 3.0]))
    assert variance.per_element == pytest.approx(2.0)
    assert variance.degrees_of_freedom == 1.0


def test_a_constant_series_varies_by_nothing() -> None:
    assert long_run_variance(np.full(300, 7.0)).per_element == pytest.approx(0.0, abs=1e-18)


def test_a_weak_long_correlation_is_found_on_the_coarser_scale() -> None:
    random = np.random.default_rng(4)
    slow = np.repeat(random.standard_normal(200), 50)
    series = random.standard_normal(10_000) + 0.3 * slow
    assert long_run_variance(series).per_element > 3.0  # of 1 + 0.09 * 50 = 5.5


def test_long_series_are_added_up_first() -> None:
    assert group_size(ELEMENTS_MAX) == 1
    assert group_size(10**6) == 16
    assert add_up_groups(np.arange(7.0), 3).tolist() == [3.0, 12.0]
