"""Factorial effects: what each is held against, what is missing, and intervals that keep their promise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from simulated_designs import FACTORS, METRICS, factorial_of, split_plot

from drivelab.analyse.factorial import CELLS_MAX, factorials
from drivelab.model.holm import holm

REPEATS = 60
UNEQUAL = {"raw": 3.0, "ext4": 0.3, "xfs": 0.3}


@pytest.mark.parametrize("times", [{}, UNEQUAL, {"xfs": 3.0}], ids=["alike", "the first", "the last"])
@pytest.mark.parametrize("blocks", [3, 5])
def test_interactions_that_are_none_are_told_in_one_run_of_twenty_at_most(
    times: Mapping[str, float], blocks: int
) -> None:
    """File systems scatter unequally, and all that runs on one of them shares what its making brought with it."""
    random = np.random.default_rng(11)
    alarms, hits, total = 0, 0, 0
    for _ in range(REPEATS):
        trials = split_plot(FACTORS, blocks, {("xfs",): 0.4}, random, of_plots=0.1, of_trials=0.05, times=times)
        found = factorial_of(trials, FACTORS).interactions
        alarms += any(pair.verdict in ("matters", "differs") for pair in found)
        hits += sum((pair.ratio.low or 1) <= 1 <= (pair.ratio.high or 1) for pair in found)
        total += len(found)
    # 5 % and two standard errors of so few
    assert alarms <= REPEATS * (0.05 + 2 * (0.05 * 0.95 / REPEATS) ** 0.5)
    assert hits / total >= 0.94


def test_an_interaction_that_anybody_would_see_is_found_in_three_blocks() -> None:
    random, found = np.random.default_rng(12), 0
    for _ in range(REPEATS):
        trials = split_plot(FACTORS, 3, {("xfs", "off"): math.log(1.5)}, random, of_plots=0.1, of_trials=0.03)
        pairs = {(one.level, one.other_level): one.verdict for one in factorial_of(trials, FACTORS).interactions}
        found += pairs["off", "xfs"] == "matters"
    assert found >= 0.8 * REPEATS


def test_one_repeat_has_shares_and_ratios_and_no_interval() -> None:
    found = factorial_of(split_plot(FACTORS, 1, {("off",): -1.0}), FACTORS)
    assert {(each.ratio.low, each.ratio.high, each.p_value) for each in found.interactions} == {(None, None, None)}
    assert {each.verdict for each in found.interactions} == {"not settled"}
    assert found.scatter_share == 0
    assert sum(term.share for term in found.terms) + found.higher_order_share == pytest.approx(1)


def test_an_interaction_is_told_with_the_effect_at_both_levels() -> None:
    truth = {("ext4",): 0.8, ("xfs",): 0.7, ("off",): math.log(1 / 9.2), ("ext4", "off"): math.log(9.2 / 3.8)}
    found = factorial_of(split_plot(FACTORS, 5, truth, of_plots=0.05, of_trials=0.01), FACTORS)
    (pair,) = [each for each in found.interactions if (each.level, each.other_level) == ("off", "ext4")]
    assert pair.at_other_baseline.value == pytest.approx(1 / 9.2, rel=0.02)
    assert pair.at_other_level.value == pytest.approx(1 / 3.8, rel=0.02)
    assert pair.ratio.value == pytest.approx(9.2 / 3.8, rel=0.02)
    assert pair.verdict == "matters"
    others = {each.verdict for each in found.interactions if each is not pair}
    assert others == {"no effect"}
    assert found.to_json()["interactions"][0]["factor"] == "write-cache"


def test_a_run_that_was_cut_off_keeps_its_complete_blocks() -> None:
    whole = split_plot(FACTORS, 4, {("off",): -1.0}, of_plots=0.05)
    cut = whole[:-5]
    assert factorial_of(cut, FACTORS).notes == ("1 of 4 blocks is not complete and was left out",)
    kept = factorial_of(whole[:36], FACTORS)
    assert replace(factorial_of(cut, FACTORS), notes=()) == kept


def test_what_is_missing_cannot_be_estimated_and_that_is_said() -> None:
    whole = split_plot(FACTORS, 4, {("off",): -1.0, ("ext4",): 0.5}, of_plots=0.05)
    without = [each for each in whole if (each.levels["filesystem"], each.levels["write-cache"]) != ("raw", "off")]
    found = factorial_of(without, FACTORS)
    # on the bare drive nothing is known of the cache: the other file systems are held against each other
    (pair,) = [each for each in found.interactions if each.factor == "write-cache"]
    assert (pair.other_baseline, pair.other_level) == ("ext4", "xfs")
    assert "write-cache off was not measured against on at filesystem raw" in " ".join(found.notes)
    assert pair.at_other_level.value == pytest.approx(math.exp(-1.0), rel=0.05)
    assert pair.ratio.low is not None
    degrees = {term.name: term.degrees_of_freedom for term in found.terms}
    assert degrees["filesystem x write-cache"] == 1
    one_missing = [each for each in whole if each is not whole[0]]
    assert factorial_of(one_missing, FACTORS).cell_count == 12
    scattered = [each for n, each in enumerate(whole) if n not in (0, 13, 26, 39)]
    found = factorial_of(scattered, FACTORS)
    assert (found.block_count, found.cell_count) == (4, 8)
    assert "4 of 12 combinations are missing in some block: left out" in found.notes


def test_trials_that_do_not_describe_the_drive_are_left_out() -> None:
    trials = split_plot(FACTORS, 4, {})
    bad = [replace(trials[0], is_invalid=True, value=1e12), *trials[1:]]
    found = factorial_of(bad, FACTORS)
    assert found.block_count == 3
    assert "1 of 48 trials does not describe the drive: left out" in found.notes
    assert max(abs(math.log(each.ratio.value or 0)) for each in found.interactions) < 0.1


def test_as_found_is_one_level_only_where_it_was_found_the_same() -> None:
    factors = {"write-cache": ("as-found", "off"), "block_size": ("4KiB", "16KiB")}
    trials = split_plot(factors, 4, {})
    told = [
        replace(each, found={"write-cache": "off" if each.block == 2 else "on"})
        if each.levels["write-cache"] == "as-found"
        else each
        for each in trials
    ]
    found = factorial_of(told, factors)
    assert found.block_count == 3
    assert any("was not found the same everywhere" in note for note in found.notes)


def test_one_at_a_time_and_one_factor_have_no_interactions() -> None:
    trials = split_plot(FACTORS, 4, {})
    base = {name: levels[0] for name, levels in FACTORS.items()}
    alone = [each for each in trials if sum(each.levels[name] != base[name] for name in base) <= 1]
    assert factorials(alone, FACTORS, METRICS) == []
    of_one = [each for each in trials if each.levels == base | {"write-cache": each.levels["write-cache"]}]
    assert factorials(of_one, FACTORS, METRICS) == []
    assert factorials([], FACTORS, METRICS) == []


def test_too_many_combinations_are_told_of() -> None:
    factors = {"block_size": tuple(str(n) for n in range(CELLS_MAX // 2 + 1)), "direct": ("on", "off")}
    found = factorial_of(split_plot(factors, 2, {}), factors)
    assert found.interactions == ()
    assert str(CELLS_MAX) in found.notes[0]


def test_interactions_of_a_target_are_corrected_together() -> None:
    trials = split_plot(FACTORS, 4, {})
    others = [replace(each, workload="large", value=each.value * 2) for each in split_plot(FACTORS, 4, {}, seed=9)]
    found = factorials([*trials, *others], FACTORS, METRICS | {"large": "total_latency_ns_p50"})
    pairs = [pair for each in found for pair in each.interactions]
    assert [pair.adjusted_p_value for pair in pairs] == holm([pair.p_value or 0.0 for pair in pairs])


def test_equal_medians_are_not_known_exactly() -> None:
    found = factorial_of(split_plot(FACTORS, 4, {("off",): -1.0}, of_trials=0.0), FACTORS)
    for pair in found.interactions:
        assert pair.at_other_level.low is not None
        assert pair.at_other_level.value is not None
        assert pair.at_other_level.low < pair.at_other_level.value * 0.999
