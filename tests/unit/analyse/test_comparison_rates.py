"""Whole comparisons of made-up sides: how often something is said that is not so, and how often what is so is said.

Few of each, enough to see a wrong formula; thousands are in ``tests/prove/compare.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulated_sides import (
    Law,
    alarms,
    compared_sides,
    in_turns,
    scatter,
    share_found,
    share_of_false_alarms,
    some_scatter_more,
    two_modes,
    whole_runs,
)

LAWS: dict[str, tuple[Law, tuple[int, int], int]] = {
    "alike": (scatter(0.03), (3, 3), 12),
    "NEW scatters six times as far": (scatter(0.01, 0.06), (3, 3), 12),
    "the smaller side scatters six times as far": (scatter(0.06, 0.01), (8, 20), 4),
    "some workloads scatter six times as far": (some_scatter_more(6), (3, 5), 12),
    "whole runs": (whole_runs(0.01, 0.06), (3, 3), 12),
    "two modes": (two_modes(), (3, 3), 24),
    "in turns": (in_turns(), (3, 3), 12),
}


@pytest.mark.parametrize("name", LAWS)
def test_sides_that_are_alike_are_told_apart_in_one_comparison_of_twenty_at_most(name: str) -> None:
    law, counts, rows = LAWS[name]
    repeats = 60
    # 5 % and two standard errors of so few
    assert share_of_false_alarms(law, counts, repeats, rows) <= 0.05 + 2 * (0.05 * 0.95 / repeats) ** 0.5


@pytest.mark.parametrize(("noise", "ratio", "least"), [(0.03, 1.2, 0.8), (0.1, 2.0, 0.9)])
def test_three_runs_a_side_find_what_anybody_would_see(noise: float, ratio: float, least: float) -> None:
    assert share_found(scatter(noise), (3, 3), ratio, 60) >= least


@pytest.mark.parametrize("counts", [(1, 1), (1, 5), (5, 1), (2, 2), (2, 8)])
def test_fewer_than_three_runs_of_a_side_are_seen_only(counts: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    found = compared_sides(scatter(0.001)(random, 4, *counts), random, effect=1.0)
    assert {row.verdict for row in found.rows} == {"seen only"}
    assert alarms(found) == []
    assert all(row.ratio.value and row.ratio.low is None and row.p_value is None for row in found.rows)


def test_one_number_a_workload_is_judged_and_the_others_are_told_beside_it() -> None:
    random = np.random.default_rng(1)
    found = compared_sides(scatter(0.01)(random, 12, 5, 5), random, effect=1.0)
    judged = [row for row in found.rows if row.is_judged]
    assert len(judged) == 12
    assert {row.metric for row in judged} == {"total_latency_ns_p50"}
    others = [row for row in found.rows if not row.is_judged]
    assert {(row.verdict, row.adjusted_p_value) for row in others} == {("seen only", None)}
    assert all(row.ratio.low is not None for row in others)
    (worst,) = alarms(found)
    assert (worst.adjusted_p_value or 1) == pytest.approx(12 * (worst.p_value or 1))
