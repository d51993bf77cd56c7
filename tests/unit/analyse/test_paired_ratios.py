"""How many blocks it takes to see a change, held against the noncentral t."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from drivelab.analyse.paired_ratios import Paired, paired_ratios


@pytest.mark.parametrize("change", [1.2, 2.0])
@pytest.mark.parametrize("significance", [0.05, 0.0125])
@pytest.mark.parametrize("scatter", [0.05, 0.1, 0.29, 0.43])
def test_how_many_blocks_would_show_a_change_is_what_the_noncentral_t_says(
    change: float, significance: float, scatter: float
) -> None:
    (found,) = paired_ratios([Paired((-scatter, 0.0, scatter))])
    needed = found.blocks_to_show(change, significance)

    def power(count: int) -> float:
        least = max(stats.t.isf(significance / 2, count - 1), stats.t.isf(0.025, count - 1))
        return float(stats.nct.sf(least, count - 1, math.log(change) / scatter * math.sqrt(count)))

    exact = next((count for count in range(3, 400) if power(count) >= 0.8), 0)
    if exact > 101:
        assert needed == 0
    else:
        assert abs(needed - exact) <= 1


def test_nobody_knows_how_many_blocks_it_takes_from_two() -> None:
    (found,) = paired_ratios([Paired((0.1, 0.2))])
    assert found.blocks_to_show(2.0, 0.05) == 0
