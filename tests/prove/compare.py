"""Many made-up comparisons, end to end: the tables of docs/metrics.md.

``.venv/bin/python -m pytest tests/prove/compare.py -s`` prints them; it takes some ten minutes.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "analyse"))

from simulated_sides import (
    WORKLOADS,
    Law,
    heavy_tails,
    in_turns,
    scatter,
    share_found,
    share_of_false_alarms,
    skewed,
    some_scatter_more,
    two_modes,
    whole_runs,
)

pytestmark = pytest.mark.timeout(3600)
REPEATS = 400
# three standard errors of so many
ALARMS_MAX = 0.05 + 3 * (0.05 * 0.95 / REPEATS) ** 0.5
COUNTS = [(1, 1), (2, 2), (3, 3), (3, 5), (5, 3), (5, 5), (8, 8), (8, 20)]
LAWS: dict[str, tuple[Law, int]] = {
    "alike, 3 %": (scatter(0.03), 12),
    "one number alone": (scatter(0.03), 1),
    "NEW 6 %, BASE 1 %": (scatter(0.01, 0.06), 12),
    "BASE 6 %, NEW 1 %": (scatter(0.06, 0.01), 12),
    "one number alone, NEW 6 %, BASE 1 %": (scatter(0.01, 0.06), 1),
    "workloads unequal (factor e^0.8)": (scatter(0.02, spread=0.8), 12),
    "a third of the workloads six times as far": (some_scatter_more(6), 12),
    "whole runs, 5 % on both sides": (whole_runs(0.05, 0.05), 12),
    "whole runs, 6 % in NEW, 1 % in BASE": (whole_runs(0.01, 0.06), 12),
    "two modes, 12 % apart, 24 workloads": (two_modes(), 24),
    "two modes of whole runs, 24 workloads": (two_modes(of_runs=True), 24),
    "heavy tails": (heavy_tails(), 12),
    "skewed": (skewed(), 12),
    "alternating, random walk of 2 % a run": (in_turns(0.02), 12),
    "alternating, 3 % more with every run": (in_turns(0.005, 0.03), 12),
}
POWERS = [
    (0.03, 1.2, (3, 3), 0.8),
    (0.1, 2.0, (3, 3), 0.95),
    (0.01, 1.05, (3, 3), 0.0),
    (0.01, 1.05, (5, 5), 0.0),
    (0.03, 1.1, (3, 3), 0.0),
    (0.03, 1.1, (5, 5), 0.0),
    (0.03, 1.1, (8, 8), 0.0),
    (0.1, 1.2, (5, 5), 0.0),
    (0.1, 1.2, (8, 8), 0.0),
    (0.1, 1.5, (3, 3), 0.0),
    (0.1, 1.5, (5, 5), 0.0),
]


@pytest.mark.parametrize("name", LAWS)
def test_sides_that_are_alike_are_told_apart_in_one_comparison_of_twenty_at_most(name: str) -> None:
    law, rows = LAWS[name]
    # turns take as many of the one as of the other
    known = [counts for counts in COUNTS if "alternating" not in name or counts[0] == counts[1]]
    shares = {counts: share_of_false_alarms(law, counts, REPEATS, rows) for counts in known}
    cells = [f"{100 * shares[counts]:.1f}" if counts in shares else "" for counts in COUNTS]
    print(f"\n| {name} | {' | '.join(cells)} |")
    assert max(shares.values()) <= ALARMS_MAX
    assert shares[1, 1] == shares[2, 2] == 0


@pytest.mark.parametrize(("noise", "ratio", "counts", "least"), POWERS)
def test_what_is_slower_is_found(noise: float, ratio: float, counts: tuple[int, int], least: float) -> None:
    alike, unequal = (share_found(scatter(noise, spread=spread), counts, ratio, REPEATS // 2) for spread in (0.0, 0.4))
    sizes = f"{100 * noise:.0f} % | {100 * (ratio - 1):.0f} % | {counts[0]} and {counts[1]}"
    print(f"\n| {sizes} | {100 * alike:.0f} | {100 * unequal:.0f} |")
    assert alike >= least


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_what_an_oracle_finds_at_10_percent(spread: float) -> None:
    """Twice as slow, 3 runs a side, by who knows every variance, and by Student's and Welch's t that know none."""
    random, tail = np.random.default_rng(5), 0.05 / WORKLOADS / 2
    sizes = 0.1 * np.exp(spread * random.standard_normal(200_000))
    runs = sizes[:, None] * random.standard_normal((sizes.size, 6))
    difference = math.log(2) + runs[:, 3:].mean(axis=1) - runs[:, :3].mean(axis=1)
    squares = [side.var(axis=1, ddof=1) / 3 for side in (runs[:, :3], runs[:, 3:])]
    error = np.sqrt(squares[0] + squares[1])
    freedom = error**4 / ((squares[0] ** 2 + squares[1] ** 2) / 2)
    known = (difference > stats.norm.isf(tail) * sizes * math.sqrt(2 / 3)).mean()
    student = (difference > stats.t.isf(tail, 4) * error).mean()
    welch = (difference > stats.t.isf(tail, freedom) * error).mean()
    print(f"\n| oracle at 10 %, workloads spread by e^{spread:g} | {known:.3f} | {student:.3f} | {welch:.3f} |")
    assert known > 0.95 > student > welch
