"""Whole scans of made-up levels: how often one is said to matter that does not, and one that does is found.

Few of each, enough to see a wrong formula; thousands are in ``tests/prove/effects.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from simulated_scans import Scan, effects_by_level, share_of_false, share_that_matters

from drivelab.analyse.effects import level_effects, level_pairs, overall_effects
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.run_answer import LevelEffect

FILE_SYSTEMS = ("raw", "ext4", "xfs", "btrfs")
LATENCY, THROUGHPUT = "total_latency_ns_p50", "throughput_bytes_per_s"
REPEATS = 60
# 5 % and two standard errors of so few
ALARMS_MAX = 0.05 + 2 * (0.05 * 0.95 / REPEATS) ** 0.5


@pytest.mark.parametrize(("ratio", "noise"), [(1.2, 0.03), (1.5, 0.06)])
def test_three_blocks_find_what_anybody_would_see(ratio: float, noise: float) -> None:
    assert share_that_matters(Scan(noise=noise, effects={4: ratio}), 4, REPEATS) >= 0.8


@pytest.mark.parametrize(
    "scan",
    [
        Scan(),
        Scan(times={0: 3.0}),
        Scan(times={5: 3.0}),
        Scan(tails=True),
        Scan(missing=0.15, has_reference=True),
        Scan(blocks=5),
    ],
    ids=["alike", "the baseline scatters", "a level scatters", "heavy tails", "some are missing", "five blocks"],
)
def test_levels_without_effect_are_told_apart_in_one_scan_of_twenty_at_most(scan: Scan) -> None:
    assert share_of_false(scan, ("matters",), REPEATS) <= ALARMS_MAX
    assert share_of_false(scan, ("matters", "differs"), REPEATS) <= ALARMS_MAX


def test_a_level_that_was_missed_in_some_block_keeps_its_interval() -> None:
    random = np.random.default_rng(3)
    found = [one for _ in range(20) for one in Scan(missing=0.15, has_reference=True).effects_of(random).values()]
    assert sum(one.ratio.low is not None for one in found) >= 0.95 * len(found)
    assert any(len(one.block_ratios) == 1 for one in found)


def test_a_baseline_that_was_missed_in_a_block_is_named_where_no_interval_is_left() -> None:
    trials = Scan(levels=2).trials(np.random.default_rng(3))
    kept = [one for one in trials if (one.block, one.levels["scheduler"]) != (2, "0")]
    found = effects_by_level(kept, 2).values()
    assert [one.ratio.low for one in found] == [None, None]
    assert {one.note for one in found} == {"0 was measured in 2 of 3 blocks, and intervals need 3"}
    # where no level had three, the table says so itself
    assert {one.note for one in effects_by_level([one for one in trials if one.block < 3], 2).values()} == {""}


@pytest.mark.parametrize("scan", [Scan(), Scan(times={5: 3.0}), Scan(missing=0.15), Scan(levels=2)], ids=str)
def test_intervals_cover_the_truth(scan: Scan) -> None:
    random = np.random.default_rng(4)
    known = [one.ratio for _ in range(40) for one in scan.effects_of(random).values() if one.ratio.low is not None]
    hits = [(one.low or 0) <= 1 <= (one.high or 0) for one in known]
    assert sum(hits) / len(hits) >= 0.95 - 2 * (0.05 * 0.95 / len(hits)) ** 0.5


def unchanged_scan(off: float, scatter: float, seed: int) -> list[TrialValue]:
    """Levels beside a cache as it was found, which was on: `on` changes nothing, and yet is `off` away."""
    random = np.random.default_rng(seed)
    levels = {"as-found": 0.0, "on": off, "off": math.log(1.2)}
    trials = []
    for block in range(1, 6):
        speed = random.normal(13, 0.3)
        for level, size in levels.items():
            noise = scatter if level == "on" else 0.01
            value = math.exp(speed + size + noise * random.normal())
            found = {"write-cache": "on"} if level == "as-found" else {}
            trials.append(TrialValue("sda", "small", block, {"write-cache": level}, value, found=found))
    return trials


@pytest.mark.parametrize(("off", "scatter", "verdict"), [(0.0, 0.01, "matters"), (0.2, 0.01, ""), (0.0, 0.3, "")])
def test_what_is_no_larger_than_what_an_unchanged_level_does_does_not_matter(
    off: float, scatter: float, verdict: str
) -> None:
    factors = {"write-cache": ("as-found", "on", "off")}
    for seed in range(10):
        trials = unchanged_scan(off, scatter, seed)
        found = {one.level: one for one in level_effects(trials, factors, {"small": "total_latency_ns_p50"})}
        assert found["on"].is_unchanged
        assert not found["off"].is_unchanged
        assert found["on"].verdict in ("no effect", "not settled")
        assert found["off"].verdict == verdict or (not verdict and found["off"].verdict != "matters")
        if off:
            assert "changed nothing" in found["off"].note
    # without that level nobody would know
    alone = [replace(one, found={}) for one in unchanged_scan(off, scatter, 1) if one.levels["write-cache"] != "on"]
    (only,) = level_effects(alone, factors, {"small": "total_latency_ns_p50"})
    assert only.verdict == "matters"


def test_a_level_that_was_refused_is_not_judged_and_widens_the_others() -> None:
    factors = {"write-cache": ("as-found", "on", "off")}
    trials = unchanged_scan(0.2, 0.01, 1)
    refusing = [
        replace(one, levels={"write-cache": "cold"}, refused={"write-cache": "on"})
        if one.levels["write-cache"] == "on"
        else one
        for one in trials
    ]
    known = {"write-cache": ("as-found", "cold", "off")}
    refused, other = level_effects(refusing, known, {"small": "total_latency_ns_p50"})
    assert (refused.verdict, refused.refused_for, refused.p_value) == ("not judged", "on", None)
    assert refused.is_unchanged
    (_, same) = level_effects(trials, factors, {"small": "total_latency_ns_p50"})
    assert (other.ratio.value, other.p_value, other.note) == (same.ratio.value, same.p_value, same.note)
    # one level fewer was held against chance
    assert 1 < (other.ratio.high or 0) < (same.ratio.high or 0)
    assert other.verdict != "matters"


def test_one_level_by_itself_is_a_paired_t_test() -> None:
    random = np.random.default_rng(5)
    (found,) = effects_by_level(Scan(levels=1, blocks=6).trials(random), 1).values()
    assert "5 degrees of freedom" in found.ratio.method


def test_levels_that_are_alike_are_told_apart_from_each_other_in_one_run_of_twenty_at_most() -> None:
    random = np.random.default_rng(5)
    for times in ({}, {"raw": 3.0}, {"xfs": 3.0}):
        alarms = 0
        for _ in range(REPEATS):
            pairs = pairs_of(file_systems(random, {"raw": 0.2}, times))
            alarms += any(pair.verdict in ("matters", "differs") for pair in pairs.values())
        assert alarms / REPEATS <= ALARMS_MAX, times


def test_a_level_beside_another_that_is_not_the_first_is_found() -> None:
    random = np.random.default_rng(6)
    found = [pairs_of(file_systems(random, {"xfs": 0.8}, {}))["ext4", "xfs"] for _ in range(REPEATS)]
    assert sum(one.verdict == "matters" for one in found) >= 0.8 * REPEATS
    hits = [(one.ratio.low or 0) <= 0.8 <= (one.ratio.high or 0) for one in found]
    assert sum(hits) / len(hits) >= 0.95 - 2 * (0.05 * 0.95 / len(hits)) ** 0.5


def file_systems(
    random: np.random.Generator, effects: Mapping[str, float], times: Mapping[str, float]
) -> list[TrialValue]:
    """Three blocks of four levels: what a level does, and how many times as far as 3 % it scatters."""
    made = []
    for block in range(1, 4):
        speed = random.normal(13, 0.3)
        for level in FILE_SYSTEMS:
            value = speed + math.log(effects.get(level, 1.0)) + 0.03 * times.get(level, 1.0) * random.normal()
            made.append(TrialValue("sda", "small", block, {"filesystem": level}, math.exp(value)))
    return made


def pairs_of(trials: Sequence[TrialValue]) -> dict[tuple[str, str], LevelEffect]:
    found = level_pairs(trials, {"filesystem": FILE_SYSTEMS}, {"small": "total_latency_ns_p50"})
    return {(one.baseline, one.level): one for one in found}


def suite(random: np.random.Generator, speeds: Mapping[str, float], workloads: int = 12) -> list[TrialValue]:
    """File systems with many workloads, each of which likes another of them; over all one is so many times as fast.

    Every other workload is judged by its latency.
    """
    likes = random.normal(0, 0.3, (len(speeds), workloads))
    likes -= likes.mean(axis=1, keepdims=True)
    made = []
    for block in (1, 2, 3):
        for number in range(workloads):
            base, sign = random.normal(10, 0.1), -1 if number % 2 else 1
            for place, (name, speed) in enumerate(speeds.items()):
                logarithm = base + sign * (math.log(speed) + likes[place][number]) + random.normal(0, 0.1)
                made.append(TrialValue("sda", f"{number}", block, {"filesystem": name}, math.exp(logarithm)))
    return made


def overall_of(trials: Sequence[TrialValue]) -> dict[tuple[str, str], LevelEffect]:
    names = list(dict.fromkeys(one.levels["filesystem"] for one in trials))
    metrics = {one.workload: LATENCY if int(one.workload) % 2 else THROUGHPUT for one in trials}
    found = overall_effects(trials, {"filesystem": names}, metrics)
    return {(one.baseline, one.level): one for one in found}


def test_over_all_workloads_what_differs_is_found_and_nothing_else() -> None:
    random = np.random.default_rng(8)
    same = [overall_of(suite(random, dict.fromkeys(FILE_SYSTEMS, 1.0))) for _ in range(REPEATS)]
    assert sum(any(one.verdict in ("matters", "differs") for one in of.values()) for of in same) <= (
        ALARMS_MAX * REPEATS
    )
    faster = [overall_of(suite(random, {"raw": 1.0, "ext4": 1.0, "xfs": 1.2})) for _ in range(REPEATS)]
    truths = {("raw", "ext4"): 1.0, ("raw", "xfs"): 1.2, ("ext4", "xfs"): 1.2}
    assert all(set(of) == set(truths) for of in faster)
    hits = [
        (of[pair].ratio.low or 0) <= truth <= (of[pair].ratio.high or 0)
        for of in faster
        for pair, truth in truths.items()
    ]
    assert sum(hits) / len(hits) >= 0.95 - 3 * (0.05 * 0.95 / len(hits)) ** 0.5
    assert sum(of["ext4", "xfs"].verdict in ("matters", "differs") for of in faster) >= 0.7 * REPEATS


def test_over_all_workloads_each_level_has_the_same_ones_and_what_is_invalid_is_left_out() -> None:
    made = suite(np.random.default_rng(9), {"ext4": 1.0, "xfs": 1.0}, workloads=4)
    trials = [replace(one, commands={"device_flushes_per_operation": (1.0, 1.0)}) for one in made]
    by_hand = {
        name: [math.log(one.value) for one in trials if one.levels["filesystem"] == name] for name in ("ext4", "xfs")
    }
    signs = [-1 if int(one.workload) % 2 else 1 for one in trials if one.levels["filesystem"] == "ext4"]
    expected = np.mean([sign * (xfs - ext4) for sign, ext4, xfs in zip(signs, *by_hand.values(), strict=True)])
    (whole,) = overall_of(trials).values()
    assert whole.ratio.value == pytest.approx(math.exp(expected))
    assert (whole.workload, whole.combination_count, whole.commands) == ("", 4, ())
    invalid = [replace(one, value=1.0, is_invalid=True) if one.workload == "2" else one for one in trials]
    (left,) = overall_of(invalid).values()
    (without,) = overall_of([one for one in trials if one.workload != "2"]).values()
    assert left == without
    assert left.combination_count == 3
    assert overall_of([one for one in trials if one.workload == "0"]) == {}
