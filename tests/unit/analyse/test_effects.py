"""Effects of levels: paired within blocks, with the interval of the textbook and a verdict that keeps its promise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from drivelab.analyse.effects import MATTERS_FROM, command_changes, level_effects, level_pairs
from drivelab.analyse.paired_ratios import BLOCKS_MIN, ratio_of_blocks
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.holm import holm
from drivelab.model.run_answer import LevelEffect

FACTORS = {"write-cache": ("on", "off"), "scheduler": ("none", "bfq", "kyber")}
METRICS = {"small": "total_latency_ns_p50"}
SIMULATIONS = 2000


def trial(block: int, value: float, *, target: str = "sda", commands: float = 1.0, **levels: str) -> TrialValue:
    given = {"write-cache": levels.get("cache", "on"), "scheduler": levels.get("scheduler", "none")}
    return TrialValue(target, "small", block, given, value, {"device_flushes_per_operation": (commands, commands)})


def one_at_a_time(effects: Mapping[str, float], blocks: int, spread: float = 0.01, seed: int = 1) -> list[TrialValue]:
    """Blocks of a scan; every block has its own speed, which the pairs must cancel."""
    random = np.random.default_rng(seed)
    trials = []
    for block in range(1, blocks + 1):
        speed = 1e6 * random.lognormal(0, 0.5)
        cells = [{}, {"cache": "off"}, {"scheduler": "bfq"}, {"scheduler": "kyber"}]
        for levels in cells:
            factor = effects.get(next(iter(levels.values()), ""), 1.0)
            trials.append(trial(block, speed * factor * random.lognormal(0, spread), **levels))
    return trials


def by_level(found: list[LevelEffect]) -> dict[str, LevelEffect]:
    return {effect.level: effect for effect in found}


def test_ratio_interval_and_p_value_are_those_of_a_paired_t_test() -> None:
    random = np.random.default_rng(3)
    for blocks in (3, 5, 10, 40):
        logarithms = random.normal(0.1, 0.2, blocks)
        ratio, p_value = ratio_of_blocks(logarithms.tolist())
        test = stats.ttest_1samp(logarithms, 0)
        interval = test.confidence_interval(0.95)
        assert ratio.value == pytest.approx(stats.gmean(np.exp(logarithms)))
        assert (ratio.low, ratio.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))
        assert p_value == pytest.approx(test.pvalue, rel=1e-6)
        assert ratio.sample_count == blocks


@pytest.mark.parametrize("blocks", range(BLOCKS_MIN))
def test_too_few_blocks_have_no_interval_and_no_verdict(blocks: int) -> None:
    ratio, p_value = ratio_of_blocks([0.5] * blocks)
    assert (ratio.low, ratio.high, p_value) == (None, None, None)
    if blocks:
        assert str(BLOCKS_MIN) in ratio.method
        found = level_effects(one_at_a_time({"off": 3.0}, blocks), FACTORS, METRICS)
        assert {effect.verdict for effect in found} == {"not settled"}
        assert by_level(found)["off"].ratio.value == pytest.approx(3, rel=0.1)
        assert len(by_level(found)["off"].block_ratios) == blocks


def test_a_scan_settles_what_it_can() -> None:
    found = by_level(level_effects(one_at_a_time({"off": 0.3, "bfq": 1.0, "kyber": 1.08}, 10), FACTORS, METRICS))
    assert [effect.verdict for effect in found.values()] == ["matters", "no effect", "matters"]
    assert found["off"].verdict_text == "matters: faster"
    assert found["kyber"].verdict_text == "matters: slower"
    assert found["bfq"].verdict_text == "no effect of 5 % or more"
    assert found["off"].ratio.value == pytest.approx(0.3, rel=0.02)
    assert all(effect.baseline == FACTORS[effect.factor][0] for effect in found.values())
    noisy = by_level(level_effects(one_at_a_time({"kyber": 1.08}, 5, spread=0.2), FACTORS, METRICS))
    assert noisy["kyber"].verdict == "not settled"


def test_no_interval_of_what_is_not_settled_leaves_out_1() -> None:
    names = [str(number) for number in range(12)]
    factors = {"knob": names}
    verdicts = set()
    for seed in range(40):
        random = np.random.default_rng(seed)
        trials = [
            TrialValue("sda", "small", block, {"knob": name}, float(np.exp(random.normal(0.6 * (name == "1"), 0.15))))
            for block in range(5)
            for name in names
        ]
        for effect in level_effects(trials, factors, METRICS):
            verdicts.add(effect.verdict)
            assert effect.ratio.low is not None
            assert effect.ratio.high is not None
            assert effect.verdict != "not settled" or effect.ratio.low <= 1 <= effect.ratio.high
    assert verdicts >= {"not settled", "matters"}


def test_a_difference_too_small_to_care_is_none() -> None:
    found = by_level(level_effects(one_at_a_time({"off": 1.02}, 10, spread=0.001), FACTORS, METRICS))
    assert found["off"].p_value is not None
    assert found["off"].p_value < 1e-5
    assert found["off"].verdict == "no effect"


def test_more_throughput_is_faster() -> None:
    found = by_level(level_effects(one_at_a_time({"off": 2.0}, 6), FACTORS, {"small": "throughput_bytes_per_s"}))
    assert found["off"].is_slower is False


def test_levels_that_were_tried_together_are_corrected_together() -> None:
    trials = one_at_a_time({}, 8)
    others = [trial(one.block, one.value, target="sdb", cache=one.levels["write-cache"]) for one in trials[::4]]
    found = level_effects([*trials, *others], FACTORS, METRICS)
    tested = [effect for effect in found if effect.target == "sda"]
    assert [effect.adjusted_p_value for effect in tested] == pytest.approx(holm([e.p_value or 0 for e in tested]))


def test_trials_that_do_not_describe_the_drive_decide_nothing() -> None:
    trials = one_at_a_time({"off": 0.3, "kyber": 1.5}, 10)
    bad = [replace(one, is_invalid=one.block == 2 and one.levels["write-cache"] == "off") for one in trials]
    found = by_level(level_effects(bad, FACTORS, METRICS))
    off = found["off"]
    assert (off.verdict, off.invalid_trials, off.trial_count) == ("not judged", 1, 20)
    assert off.verdict_text == "not judged: 1 of 20 trials does not describe the drive"
    assert (off.p_value, off.adjusted_p_value) == (None, None)
    assert (found["kyber"].verdict, found["kyber"].invalid_trials) == ("matters", 0)
    # an invalid baseline touches every level
    bad = [replace(one, is_invalid=one.levels == {"write-cache": "on", "scheduler": "none"}) for one in trials]
    assert {effect.verdict for effect in level_effects(bad, FACTORS, METRICS)} == {"not judged"}


def test_an_interval_that_reaches_into_the_band_only_differs() -> None:
    trials = [
        trial(block, value, scheduler=level)
        for block, size in enumerate((1.03, 1.07, 1.11, 1.05, 1.09, 1.07))
        for level, value in (("none", 1e6), ("bfq", size * 1e6))
    ]
    found = by_level(level_effects(trials, FACTORS, METRICS))["bfq"]
    assert found.ratio.value is not None
    assert found.ratio.low is not None
    assert found.ratio.value > MATTERS_FROM > found.ratio.low > 1
    assert found.adjusted_p_value is not None
    assert found.adjusted_p_value < 0.05
    assert found.verdict_text == "differs, perhaps by less than 5 %: slower"


def test_medians_that_fall_into_the_same_buckets_are_not_known_exactly() -> None:
    ratio, p_value = ratio_of_blocks([math.log(1.002)] * 3)
    assert p_value is not None
    assert p_value > 0.3
    # Student's t for 2 degrees of freedom times the width of a bucket
    half = stats.t.ppf(0.975, 2) / 512
    assert (ratio.low, ratio.high) == pytest.approx((1.002 * np.exp(-half), 1.002 * np.exp(half)))
    assert ratio_of_blocks([0.0] * 5)[1] == pytest.approx(1.0)


def test_only_trials_of_one_session_are_paired() -> None:
    """The drive is ten times slower after the pause, and the pause lies in the middle of the second block."""
    trials = [
        replace(trial(block, value * (10 if session == 2 else 1), scheduler=level), session=session)
        for block, session, level, value in (
            (1, 1, "none", 1e6),
            (1, 1, "bfq", 2e6),
            (2, 1, "none", 1e6),
            (2, 2, "bfq", 2e6),
            (3, 2, "bfq", 2e6),
            (3, 2, "none", 1e6),
        )
    ]
    found = by_level(level_effects(trials, FACTORS, METRICS))["bfq"]
    assert found.block_ratios == pytest.approx((2.0, 2.0))
    assert (found.note, found.split_blocks) == ("", (2,))


def test_a_repeat_that_a_pause_divides_counts_once_and_is_no_gap_of_the_baseline() -> None:
    """Of two repeats the second is cut off where every pair has one of its two trials."""
    cells = [("on", "none"), ("off", "bfq"), ("on", "bfq"), ("off", "none")]
    trials = [
        replace(trial(block, 1e6, cache=cache, scheduler=scheduler), session=1 if block == 1 or place < 2 else 2)
        for block in (1, 2)
        for place, (cache, scheduler) in enumerate(cells)
    ]
    found = level_effects(trials, {"write-cache": ("on", "off"), "scheduler": ("none", "bfq")}, METRICS)
    assert [(one.level, one.blocks, one.split_blocks, one.note) for one in found] == [
        ("off", (1,), (2,), ""),
        ("bfq", (1,), (2,), ""),
    ]


def test_as_found_is_one_level_only_where_it_was_found_the_same() -> None:
    factors = {"write-cache": ("as-found", "off"), "scheduler": ("none", "bfq")}
    trials = []
    for block in range(1, 6):
        session, was, slow = (1, "on", 1.0) if block < 4 else (2, "off", 9.0)
        for cache, scheduler, value in (
            ("as-found", "none", 1e6 * slow),
            ("off", "none", 9e6),
            ("as-found", "bfq", 2e6),
        ):
            levels = {"write-cache": cache, "scheduler": scheduler}
            found = {"write-cache": was} if cache == "as-found" else {}
            trials.append(TrialValue("sda", "small", block, levels, value, session=session, found=found))
    effects = by_level(level_effects(trials, factors, METRICS))
    assert effects["off"].block_ratios == pytest.approx((9.0, 9.0, 9.0))
    assert effects["off"].note == (
        "write-cache was found as on in 3 blocks and as off in others: only the former are compared"
    )
    assert (len(effects["bfq"].block_ratios), effects["bfq"].note) == (5, "")


def full(blocks: int, cells: Mapping[tuple[str, str], float], spread: float = 0.02) -> list[TrialValue]:
    random = np.random.default_rng(5)
    return [
        trial(block, 1e6 * value * random.lognormal(0, spread), cache=cache, scheduler=scheduler)
        for block in range(1, blocks + 1)
        for (cache, scheduler), value in cells.items()
    ]


def test_a_main_effect_is_the_mean_over_the_other_factors() -> None:
    """The oracle fits the additive model of the logarithms, with blocks, by least squares."""
    cells = {
        (cache, scheduler): (2.0 if cache == "off" else 1.0) * {"none": 1.0, "bfq": 1.3, "kyber": 0.9}[scheduler]
        for cache, scheduler in itertools.product(*FACTORS.values())
    }
    trials = full(6, cells)
    found = by_level(level_effects(trials, FACTORS, METRICS))
    names = ["off", "bfq", "kyber"]
    rows = [
        [
            *(float(one.levels["write-cache"] == name or one.levels["scheduler"] == name) for name in names),
            *(float(one.block == block) for block in range(1, 7)),
        ]
        for one in trials
    ]
    fitted, *_ = np.linalg.lstsq(np.array(rows), np.log([one.value for one in trials]), rcond=None)
    assert [found[name].ratio.value for name in names] == pytest.approx(np.exp(fitted[:3]).tolist())
    assert [found[name].combination_count for name in names] == [3, 2, 2]


def test_missing_trials_do_not_mix_up_the_other_factors() -> None:
    """One combination has another level ten times slower; dropping one of its trials must not move the effect."""
    cells = dict.fromkeys(itertools.product(*FACTORS.values()), 1.0) | {("on", "kyber"): 10.0, ("off", "kyber"): 10.0}
    trials = full(6, cells, spread=0.001)
    lacking = [one for one in trials if not (one.block == 3 and one.levels["scheduler"] == "kyber")]
    found = by_level(level_effects(lacking, FACTORS, METRICS))
    assert found["off"].ratio.value == pytest.approx(1, rel=0.01)
    # five whole blocks of three combinations are more than six of two
    assert (found["off"].ratio.sample_count, found["off"].combination_count) == (5, 3)
    cut_off = [one for one in trials if one.block < 3 or one.levels["scheduler"] == "none"]
    few = by_level(level_effects(cut_off, FACTORS, METRICS))["off"]
    assert (few.ratio.sample_count, few.combination_count) in ((6, 1), (2, 3))


def test_a_factor_that_a_combination_does_not_have_stands_at_its_first_level() -> None:
    factors = {"filesystem": ("ext4", "raw"), "mount": ("defaults", "noatime")}

    def one(block: int, value: float, **levels: str) -> TrialValue:
        return TrialValue("sda", "small", block, levels, value)

    trials = [
        item
        for block in (1, 2, 3, 4)
        for item in (
            one(block, 2e6 + block, filesystem="ext4", mount="defaults"),
            one(block, 2e6 + 2 * block, filesystem="ext4", mount="noatime"),
            one(block, 1e6 + block, filesystem="raw"),
        )
    ]
    found = by_level(level_effects(trials, factors, METRICS))
    assert set(found) == {"raw", "noatime"}
    assert found["raw"].ratio.value == pytest.approx(0.5, rel=1e-3)


def test_levels_and_factors_that_were_not_measured_are_left_out() -> None:
    trials = [one for one in one_at_a_time({}, 5) if one.levels["write-cache"] == "on"]
    found = level_effects(trials, FACTORS | {"governor": ("performance", "powersave")}, METRICS)
    assert [effect.level for effect in found] == ["bfq", "kyber"]
    without_baseline = [one for one in trials if one.levels["scheduler"] != "none"]
    (only,) = level_effects(without_baseline, FACTORS, METRICS)
    assert (only.baseline, only.level) == ("bfq", "kyber")
    assert level_effects([], FACTORS, METRICS) == []


def test_commands_that_change_are_told() -> None:
    two, none = {"device_flushes_per_operation": (2.0, 2.0)}, {"device_flushes_per_operation": (0.0, 0.0)}
    (change,) = command_changes([two] * 3, [none] * 3)
    assert (change.baseline, change.level, change.is_changed) == ((2, 2), (0, 0), True)
    bounds = {"device_flushes_per_operation": (1.0, 2.0)}
    assert [one.is_changed for one in command_changes([two], [bounds])] == [False]
    close = {"device_flushes_per_operation": (2.08, 2.08)}
    assert [one.is_changed for one in command_changes([two], [close])] == [False]
    assert command_changes([two], [{}]) == ()


@pytest.mark.parametrize("blocks", [3, 5, 10])
@pytest.mark.parametrize("law", ["normal", "heavy tails", "skewed", "a stall now and then"])
def test_intervals_cover_the_truth(blocks: int, law: str) -> None:
    """95 % intervals of simulated pairs: both levels scatter by the same law, blocks drift by far more."""
    random = np.random.default_rng(6)
    truth = np.log(1.2)
    hits = 0
    for _ in range(SIMULATIONS):
        drift = random.normal(0, 1, blocks)
        pairs = [drift + scatter(random, law, blocks) + effect for effect in (truth, 0.0)]
        ratio, _ = ratio_of_blocks((pairs[0] - pairs[1]).tolist())
        assert ratio.low is not None
        assert ratio.high is not None
        hits += ratio.low <= np.exp(truth) <= ratio.high
    assert hits / SIMULATIONS >= 0.935


def scatter(random: np.random.Generator, law: str, count: int) -> NDArray[np.float64]:
    if law == "heavy tails":
        return 0.05 * random.standard_t(2, count)
    if law == "skewed":
        return 0.1 * random.exponential(1, count)
    if law == "a stall now and then":
        return random.normal(0, 0.02, count) + 0.5 * (random.random(count) < 0.1)
    return random.normal(0, 0.05, count)


def test_a_scan_of_settings_without_effect_says_matters_in_one_of_twenty_at_most() -> None:
    factors = {"scheduler": ("none", *(f"level-{number}" for number in range(12)))}
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        trials = [
            TrialValue("sda", "small", block, {"scheduler": level}, float(random.lognormal(0, 0.1)))
            for block in range(5)
            for level in factors["scheduler"]
        ]
        wrong += any(effect.verdict == "matters" for effect in level_effects(trials, factors, METRICS))
    assert wrong / 400 <= 0.06


def test_no_effect_is_said_wrongly_of_one_in_twenty_at_most() -> None:
    """A level that does matter by just the threshold must not be called without effect."""
    random = np.random.default_rng(8)
    wrong = 0
    for _ in range(1000):
        trials = [
            trial(block, float(factor * random.lognormal(0, 0.02)), scheduler=level)
            for block in range(5)
            for level, factor in (("none", 1.0), ("bfq", MATTERS_FROM))
        ]
        wrong += by_level(level_effects(trials, FACTORS, METRICS))["bfq"].verdict == "no effect"
    assert wrong / 1000 <= 0.05


def test_pairs_are_of_levels_beside_the_first_that_are_no_numbers() -> None:
    trials = [
        TrialValue("sda", "small", block, {"filesystem": system, "queue_depth": depth}, 100.0 * (1 + place))
        for block in (1, 2, 3)
        for place, system in enumerate(("raw", "ext4", "xfs"))
        for depth in ("1", "8", "32")
    ]
    factors = {"filesystem": ("raw", "ext4", "xfs"), "queue_depth": ("1", "8", "32")}
    (pair,) = level_pairs(trials, factors, {"small": "total_latency_ns_p50"})
    assert (pair.factor, pair.baseline, pair.level) == ("filesystem", "ext4", "xfs")
    assert pair.ratio.value == pytest.approx(1.5)
    assert pair.combination_count == 3


def test_what_an_average_leaves_out_is_named() -> None:
    """Raw was measured in the first block only; the ratio is that of ext4 alone."""
    factors = {"filesystem": ("raw", "ext4"), "write-cache": ("on", "off")}
    trials = [
        TrialValue("sda", "small", block, {"filesystem": filesystem, "write-cache": cache}, value)
        for block, filesystem, cache, value in (
            (1, "raw", "on", 10e6),
            (1, "raw", "off", 4e6),
            (1, "ext4", "on", 20e6),
            (1, "ext4", "off", 16e6),
            (2, "ext4", "on", 20e6),
            (2, "ext4", "off", 16e6),
        )
    ]
    off = by_level(level_effects(trials, factors, METRICS))["off"]
    assert off.block_ratios == pytest.approx((0.8, 0.8))
    assert off.note == "the ratio of write-cache off leaves out raw, which not every block has"
    # with two whole blocks what is left out is the third
    more = [replace(one, block=block) for block in (3, 4) for one in trials[:4]]
    off = by_level(level_effects([*trials, *more], factors, METRICS))["off"]
    assert off.ratio.value == pytest.approx(math.sqrt(0.4 * 0.8))
    assert off.note == "the ratio of write-cache off leaves out 1 of 4 blocks, not complete"
    whole = by_level(level_effects(trials[:4], factors, METRICS))["off"]
    assert whole.note == ""
