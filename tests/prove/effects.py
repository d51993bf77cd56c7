"""Many made-up scans and full designs: the tables of docs/metrics.md.

``.venv/bin/python -m pytest tests/prove/effects.py -s`` prints them; it takes some minutes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "analyse"))

from simulated_designs import FACTORS, factorial_of, split_plot
from simulated_scans import Scan, share_of_false, share_that_matters

pytestmark = pytest.mark.timeout(3600)
REPEATS = 400
# three standard errors of so many
ALARMS_MAX = 0.05 + 3 * (0.05 * 0.95 / REPEATS) ** 0.5
SCANS = {
    "alike, 3 %": Scan(),
    "alike, 10 %": Scan(noise=0.1),
    "one level three times as far": Scan(times={5: 3.0}),
    "four levels three times as far": Scan(times=dict.fromkeys((1, 2, 3, 4), 3.0)),
    "the baseline three times as far": Scan(times={0: 3.0}),
    "heavy tails": Scan(tails=True),
    "15 % missing": Scan(missing=0.15, has_reference=True),
    "15 % missing, one level three times as far": Scan(missing=0.15, has_reference=True, times={5: 3.0}),
    "four levels, one six times as far": Scan(levels=4, times={2: 6.0}),
}
# of the last level; of few levels an interval has two degrees of freedom, and no others to borrow scatter from
POWERS = [
    (Scan(levels=1, noise=0.03, effects={1: 1.2}), 0.0),
    (Scan(levels=2, noise=0.03, effects={2: 1.2}), 0.0),
    (Scan(noise=0.03, effects={4: 1.1}), 0.0),
    (Scan(noise=0.03, effects={4: 1.2}), 0.8),
    (Scan(noise=0.03, effects={4: 1.2}, times={5: 3.0}), 0.8),
    (Scan(noise=0.06, effects={4: 1.5}), 0.8),
    (Scan(noise=0.1, effects={4: 2.0}), 0.8),
]


@pytest.mark.parametrize("blocks", [3, 5, 10])
@pytest.mark.parametrize("name", SCANS)
def test_levels_without_effect_are_told_apart_in_one_scan_of_twenty_at_most(name: str, blocks: int) -> None:
    scan = replace(SCANS[name], blocks=blocks)
    matters = share_of_false(scan, ("matters",), REPEATS)
    any_of_them = share_of_false(scan, ("matters", "differs"), REPEATS)
    random = np.random.default_rng(3)
    ratios = [one.ratio for _ in range(REPEATS // 5) for one in scan.effects_of(random).values()]
    known = [one for one in ratios if one.low is not None]
    covered = sum((one.low or 0) <= 1 <= (one.high or 0) for one in known) / len(known)
    shares = (
        f"{100 * matters:.1f} | {100 * any_of_them:.1f} | {100 * covered:.1f} | {100 * len(known) / len(ratios):.0f}"
    )
    print(f"\n| {name}, {blocks} blocks | {shares} |")
    assert matters <= ALARMS_MAX
    assert any_of_them <= ALARMS_MAX
    assert covered >= 0.95
    assert len(known) >= 0.95 * len(ratios)


@pytest.mark.parametrize("blocks", [3, 5])
@pytest.mark.parametrize(("scan", "least"), POWERS)
def test_levels_that_matter_are_found(scan: Scan, least: float, blocks: int) -> None:
    (level, ratio), known = next(iter(scan.effects.items())), replace(scan, blocks=blocks)
    share = share_that_matters(known, level, REPEATS // 2)
    any_of_them = share_that_matters(known, level, REPEATS // 2, ("matters", "differs"))
    others = ", another level three times as far" if scan.times else ""
    sizes = f"{100 * scan.noise:.0f} %{others} | {scan.levels} | {100 * (ratio - 1):.0f} % | {blocks}"
    print(f"\n| {sizes} | {100 * share:.0f} | {100 * any_of_them:.0f} |")
    assert share >= least


@pytest.mark.parametrize("blocks", [3, 5])
@pytest.mark.parametrize(
    "times", [{}, {"raw": 3.0, "ext4": 0.3, "xfs": 0.3}, {"xfs": 3.0}], ids=["alike", "first", "last"]
)
def test_interactions_that_are_none_are_told_in_one_run_of_twenty_at_most(
    times: Mapping[str, float], blocks: int
) -> None:
    random = np.random.default_rng(4)
    alarms = hits = total = found = 0
    truth = {("xfs", "off"): math.log(1.5)}
    for _ in range(REPEATS):
        trials = split_plot(FACTORS, blocks, {}, random, of_plots=0.1, of_trials=0.05, times=times)
        pairs = factorial_of(trials, FACTORS).interactions
        alarms += any(pair.verdict in ("matters", "differs") for pair in pairs)
        hits += sum((pair.ratio.low or 1) <= 1 <= (pair.ratio.high or 1) for pair in pairs)
        total += len(pairs)
        trials = split_plot(FACTORS, blocks, truth, random, of_plots=0.1, of_trials=0.05, times=times)
        verdicts = {(one.level, one.other_level): one.verdict for one in factorial_of(trials, FACTORS).interactions}
        found += verdicts["off", "xfs"] in ("matters", "differs")
    told = f"{100 * alarms / REPEATS:.1f} | {100 * hits / total:.1f} | {100 * found / REPEATS:.0f}"
    print(f"\n| {times or 'alike'}, {blocks} blocks | {told} |")
    assert alarms / REPEATS <= ALARMS_MAX
    assert hits / total >= 0.95
