"""Ranks that enclose a quantile are the exact binomial ones for independent data."""

from __future__ import annotations

import pytest
from scipy import stats

from drivelab.analyse.ranks import quantile_ranks


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


@pytest.mark.parametrize("count", [5, 100, 1000])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.95])
def test_the_lower_half_mirrors_the_upper(count: int, at: float) -> None:
    def mirrored(rank: int | None) -> int | None:
        return None if rank is None else count + 1 - rank

    here, there = quantile_ranks(count, at), quantile_ranks(count, 1 - at)
    assert (here.high, here.one_sided_high) == (mirrored(there.low), mirrored(there.one_sided_low))
