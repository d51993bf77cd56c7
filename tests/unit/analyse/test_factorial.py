"""Factorial effects: what each is held against, what is missing, and intervals that keep their promise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulated_designs import FACTORS, METRICS, factorial_of, split_plot

from drivelab.analyse.effects import TrialValue, holm, level_effects
from drivelab.analyse.factorial import CELLS_MAX, factorials

SIMULATIONS = 1000


def test_main_effects_are_those_of_the_paired_blocks() -> None:
    trials = split_plot(FACTORS, 5, {("ext4",): 1.0, ("off",): -2.0, ("ext4", "off"): 0.9}, of_plots=0.05)
    paired = {(each.factor, each.level): each for each in level_effects(trials, FACTORS, METRICS)}
    for effect in factorial_of(trials, FACTORS).main_effects:
        assert effect.ratio.value == pytest.approx(paired[effect.factor, effect.level].ratio.value)
    # of a factor with two levels the block-paired t is that of the stratum: whole plots of file systems
    factors = {"filesystem": ("ext4", "xfs"), "block_size": ("4KiB", "16KiB")}
    trials = split_plot(factors, 5, {}, of_plots=0.1)
    (alone,) = [each for each in level_effects(trials, factors, METRICS) if each.factor == "filesystem"]
    of_model = factorial_of(trials, factors).main_effects[0].ratio
    assert (alone.ratio.low, alone.ratio.high) == pytest.approx((of_model.low, of_model.high))


def test_strata_follow_what_is_slow_to_change() -> None:
    found = factorial_of(split_plot(FACTORS, 3, {}), FACTORS)
    # 3 file systems, 2 settings on each, 2 trials within each
    assert [(each.name, each.degrees_of_freedom) for each in found.strata] == [
        ("file systems", 4),
        ("settings", 6),
        ("trials", 12),
    ]
    assert {term.name: term.stratum for term in found.terms} == {
        "filesystem": "file systems",
        "write-cache": "settings",
        "block_size": "trials",
        "filesystem x write-cache": "settings",
        "filesystem x block_size": "trials",
        "write-cache x block_size": "trials",
    }
    slow = {"filesystem": ("raw", "ext4"), "write-cache": ("on", "off")}
    # the cache is set once for each trial: settings are what trials are
    assert [each.name for each in factorial_of(split_plot(slow, 3, {}), slow).strata] == ["file systems", "settings"]


def test_the_interval_between_file_systems_covers_the_truth_and_the_naive_one_does_not() -> None:
    factors = {"filesystem": ("ext4", "xfs"), "block_size": ("4KiB", "16KiB", "64KiB", "256KiB")}
    random = np.random.default_rng(11)
    truth = {("xfs",): 0.4, ("256KiB",): 0.3, ("xfs", "256KiB"): 0.2}
    # the effect averaged over block sizes
    expected = {"filesystem": math.exp(0.45), "block_size": math.exp(0.4)}
    covered = {"filesystem": 0, "block_size": 0}
    naive, alarms = 0, 0
    for _ in range(SIMULATIONS):
        trials = split_plot(factors, 4, truth, random, of_plots=0.1, of_trials=0.05)
        found = factorial_of(trials, factors)
        effects = {(effect.factor, effect.level): effect.ratio for effect in found.main_effects}
        for factor, level in (("filesystem", "xfs"), ("block_size", "256KiB")):
            ratio = effects[factor, level]
            assert ratio.low is not None
            assert ratio.high is not None
            covered[factor] += ratio.low <= expected[factor] <= ratio.high
        naive += naive_interval_covers(trials, factors, expected["filesystem"])
        alarms += any(
            pair.adjusted_p_value is not None and pair.adjusted_p_value <= 0.05
            for pair in found.interactions
            if pair.level != "256KiB"
        )
    assert covered["filesystem"] >= 0.93 * SIMULATIONS
    assert covered["block_size"] >= 0.93 * SIMULATIONS
    assert naive < 0.75 * SIMULATIONS
    assert alarms <= 0.065 * SIMULATIONS


def naive_interval_covers(trials: Sequence[TrialValue], factors: Mapping[str, Sequence[str]], truth: float) -> bool:
    """The interval of least squares with one residual for everything."""
    found = factorial_of([replace(each, levels=renamed(each.levels)) for each in trials], renamed(factors))
    ratio = found.main_effects[0].ratio
    assert [stratum.name for stratum in found.strata] == ["trials"]
    assert ratio.low is not None
    assert ratio.high is not None
    return ratio.low <= truth <= ratio.high


def renamed(levels: Mapping[str, Any]) -> dict[str, Any]:
    """The same under a name that nobody takes for slow to change."""
    return {("quick" if name == "filesystem" else name): value for name, value in levels.items()}


def test_one_repeat_of_anything_else_has_no_interval() -> None:
    found = factorial_of(split_plot(FACTORS, 1, {("off",): -1.0}), FACTORS)
    assert {(each.ratio.low, each.ratio.high) for each in found.main_effects} == {(None, None)}
    assert {each.verdict for each in found.interactions} == {"not settled"}
    assert {each.p_value for each in found.terms} == {None}
    assert "one repeat" in found.method
    assert {each.mean_square for each in found.strata} == {None}


def test_one_repeat_with_something_slow_to_change_says_what_it_cannot_tell() -> None:
    factors = {"filesystem": ("ext4", "xfs"), "direct": ("on", "off"), "block_size": ("4KiB", "16KiB")}
    assert any("slow to change" in note for note in factorial_of(split_plot(factors, 1, {}), factors).notes)


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
    assert factorial_of(cut, FACTORS).notes == ("1 of 4 blocks are not complete and were left out",)
    kept = factorial_of(whole[:36], FACTORS)
    assert replace(factorial_of(cut, FACTORS), notes=()) == kept


def test_what_is_missing_cannot_be_estimated_and_that_is_said() -> None:
    whole = split_plot(FACTORS, 4, {("off",): -1.0, ("ext4",): 0.5}, of_plots=0.05)
    without = [each for each in whole if (each.levels["filesystem"], each.levels["write-cache"]) != ("raw", "off")]
    found = factorial_of(without, FACTORS)
    # on the bare drive nothing is known of the cache: the other file systems are held against each other
    (pair,) = [each for each in found.interactions if each.factor == "write-cache"]
    assert (pair.other_baseline, pair.other_level) == ("ext4", "xfs")
    assert "write-cache off was not measured beside on at filesystem raw" in " ".join(found.notes)
    (cache,) = [each for each in found.main_effects if each.factor == "write-cache"]
    assert cache.ratio.value == pytest.approx(math.exp(-1.0), rel=0.05)
    assert cache.ratio.low is not None
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
    assert "1 of 48 trials do not describe the drive and were left out" in found.notes
    assert max(abs(math.log(each.ratio.value or 0)) for each in found.main_effects) < 0.1
    references = [replace(each, is_reference=True, value=1.0) for each in trials[:3]]
    assert factorial_of([*trials, *references], FACTORS) == factorial_of(trials, FACTORS)


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


def test_terms_and_interactions_of_a_target_are_corrected_together() -> None:
    trials = split_plot(FACTORS, 4, {})
    others = [replace(each, workload="large", value=each.value * 2) for each in split_plot(FACTORS, 4, {}, seed=9)]
    found = factorials([*trials, *others], FACTORS, METRICS | {"large": "total_latency_ns_p50"})
    terms = [term for each in found for term in each.terms]
    assert [term.adjusted_p_value for term in terms] == holm([term.p_value or 0.0 for term in terms])
    pairs = [pair for each in found for pair in each.interactions]
    assert [pair.adjusted_p_value for pair in pairs] == holm([pair.p_value or 0.0 for pair in pairs])


def test_equal_medians_are_not_known_exactly() -> None:
    found = factorial_of(split_plot(FACTORS, 4, {("off",): -1.0}, of_trials=0.0), FACTORS)
    for effect in found.main_effects:
        assert effect.ratio.low is not None
        assert effect.ratio.value is not None
        assert effect.ratio.low < effect.ratio.value * 0.999
