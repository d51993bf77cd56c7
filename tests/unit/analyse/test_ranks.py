"""Ranks that enclose a quantile are the exact binomial ones for independent data."""

from __future__ import annotations

import pytest
from scipy import stats

from drivelab.analyse.ranks import quantile_ranks, widened


def slow_ranks(count: int, at: float) -> tuple[int | None, int | None, int | None]:
    """The definition, rank by rank."""
    below = [stats.binom.cdf(rank - 1, count, at) for rank in range(1, count + 1)]
    above = [stats.binom.sf(rank - 1, count, at) for rank in range(1, count + 1)]
    low = max((rank for rank in range(1, count + 1) if below[rank - 1] <= 0.025), default=None)
    high = min((rank for rank in range(1, count + 1) if above[rank - 1] <= 0.025), default=None)
    one_sided = max((rank for rank in range(1, count + 1) if below[rank - 1] <= 0.05), default=None)
    return low, high, one_sided


@pytest.mark.parametrize("count", [1, 2, 5, 6, 36, 71, 72, 367, 368, 1000])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.9, 0.95, 0.99])
def test_ranks_are_those_of_the_definition(count: int, at: float) -> None:
    ranks = quantile_ranks(count, at)
    assert (ranks.low, ranks.high, ranks.one_sided_low) == slow_ranks(count, at)


@pytest.mark.parametrize(
    ("at", "count"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688), (0.9999, 36_887)]
)
def test_a_two_sided_interval_exists_from_this_many_observations_on(at: float, count: int) -> None:
    assert quantile_ranks(count, at).high == count
    assert quantile_ranks(count - 1, at).high is None


def test_ranks_of_a_million_are_near_the_normal_ones() -> None:
    ranks = quantile_ranks(1_000_000, 0.99)
    spread = 1.959964 * (1_000_000 * 0.99 * 0.01) ** 0.5
    assert ranks.low == pytest.approx(990_000 - spread, abs=3)
    assert ranks.high == pytest.approx(990_000 + spread, abs=3)


def test_correlated_observations_enclose_more() -> None:
    alone, in_bursts = quantile_ranks(10_000, 0.99), quantile_ranks(10_000, 0.99, inflation=9.0)
    assert alone.low is not None
    assert in_bursts.low is not None
    assert alone.high is not None
    assert in_bursts.high is not None
    assert 9900 - in_bursts.low == pytest.approx(3 * (9900 - alone.low), rel=0.15)
    assert in_bursts.high > alone.high


def test_too_few_bursts_leave_no_upper_end() -> None:
    assert quantile_ranks(1000, 0.99).high is not None
    assert quantile_ranks(1000, 0.99, inflation=5.0).high is None


def test_independent_data_are_not_widened() -> None:
    assert widened(1.0, degrees_of_freedom=3, rarer_count=1) == 1.0


def test_the_fewer_bursts_the_wider() -> None:
    assert widened(4.0, 1e6, 1e6) == pytest.approx(4.0, rel=1e-3)
    assert 4.0 < widened(4.0, 50, 1e6) < widened(4.0, 5, 1e6) < widened(4.0, 5, 8)
