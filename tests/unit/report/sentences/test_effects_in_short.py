"""What the levels of factors do, in at most three sentences."""

from __future__ import annotations

from dataclasses import replace
from statistics import geometric_mean

import pytest

from drivelab.analyse.effects import level_effects
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, CommandChange, LevelEffect, RunAnswer
from drivelab.report.sentences.effect_words import effects_notes
from unit.report.sentences.made_combinations import LATENCY, THROUGHPUT, combination, told

WRITES = "device_writes_per_operation"
# two repeats of a drive that is slow when it is full
RATES = ({"20%": 476e6, "100%": 174e6}, {"20%": 480e6, "100%": 172e6})
DEPTHS = {"1": 1e8, "8": 1.9e8}


def blocks(fifth: int, double: int) -> dict[str, int]:
    return {"blocks_to_show_20_percent": fifth, "blocks_to_show_factor_2": double}


def contrast(factor: str, baseline: str, level: str, ratio: Estimate, **changes: object) -> LevelEffect:
    given: dict[str, object] = {
        "target": "sdb",
        "workload": "small",
        "factor": factor,
        "level": level,
        "baseline": baseline,
        "metric": LATENCY,
        "ratio": ratio,
        "block_ratios": (ratio.value,) * ratio.sample_count,
        "verdict": "not settled",
        "bound": 0.05,
        "p_value": None,
        "adjusted_p_value": None,
        "combination_count": 1,
    }
    return LevelEffect(**(given | changes))  # type: ignore[arg-type]


def ratio(value: float, low: float | None = None, high: float | None = None, blocks: int = 3) -> Estimate:
    return Estimate(value, low, high, "1", blocks, float(blocks), "")


WRITES_MORE = CommandChange(WRITES, (1.0, 1.0), (3.02, 3.02), is_changed=True)
NOT_EXACT = CommandChange("device_flushes_per_operation", (1.0, 2.0), (4.0, 6.0), is_changed=True)


def rows_of(factor: str, metric: str = LATENCY, **values: float) -> tuple[CombinationResult, ...]:
    return tuple(combination(value, metric, levels={factor: name}) for name, value in values.items())


def test_the_largest_change_is_told_with_its_numbers_its_interval_and_its_commands() -> None:
    rows = (
        combination(93e3, levels={"filesystem": "raw"}),
        combination(298e3, levels={"filesystem": "ext4", "mount": "nodiscard"}),
        combination(900e3, levels={"filesystem": "ext4", "mount": "discard"}),
    )
    effects = (
        contrast("mount", "nodiscard", "discard", ratio(1.02, 0.9, 1.2), **blocks(3, 3)),
        contrast(
            "filesystem", "raw", "ext4", ratio(3.2, 2.9, 3.5), commands=(WRITES_MORE, NOT_EXACT), verdict="matters"
        ),
    )
    assert told(RunAnswer(rows, contrasts=effects)) == (
        (
            "Small writes: ext4 is 2.9 to 3.5 times as slow as raw, 298 us instead of 93.0 us, with 2 more "
            "writes per operation."
        ),
        "Not settled by 3 repeats: discard; a change of 20 % would most likely have shown.",
    )


def test_what_was_counted_is_certain_where_no_time_could_be_told() -> None:
    rows = rows_of("filesystem", raw=93e3, ext4=298e3)
    effect = contrast(
        "filesystem",
        "raw",
        "ext4",
        ratio(3.2, 0.5, 20.0),
        commands=(WRITES_MORE, NOT_EXACT),
        **blocks(0, 9),
    )
    counted, unknown = told(RunAnswer(rows, contrasts=(effect,)))
    assert counted == "Counted: ext4 takes 2 more writes per operation than raw."
    # how it looked is in the table: nothing unsettled stands in a headline
    what = "With 3 repeats no effect of filesystem is clear"
    assert unknown == f"{what}; about 9 repeats would show a factor of 2."
    buffered = tuple(replace(one, is_durable=False) for one in rows)
    assert told(RunAnswer(buffered, contrasts=(effect,))) == (unknown,)


def test_how_far_apart_nothing_looks_says_why_no_effect_is_believed() -> None:
    rows = rows_of("filesystem", ext4=298e3, raw=93e3)
    unclear = contrast("filesystem", "ext4", "raw", ratio(0.2, 0.02, 2.0))
    same = contrast("scheduler", "as-found", "none", ratio(0.63, 0.3, 1.4), block_ratios=(0.24, 0.62, 1.34))
    same = replace(same, is_unchanged=True)
    (sentence,) = told(RunAnswer(rows, contrasts=(unclear, same)))
    assert sentence == (
        "With 3 repeats no effect is clear, since scheduler none, which changes nothing, came to 0.24 to 1.3 times the "
        "baseline; it takes a steadier machine."
    )
    assert len(sentence.split()) <= 30
    # what lies close together says nothing about the others
    near = replace(same, ratio=ratio(1.05, 0.9, 1.2))
    (sentence,) = told(RunAnswer(rows, contrasts=(unclear, near)))
    assert sentence.startswith("With 3 repeats no effect of filesystem is clear; ")


def test_no_effect_is_called_another_one_where_none_was_told_and_a_shift_is_explained() -> None:
    rows = tuple(
        combination(latency, levels={"block_size": size, "shift": shift}, block_size_bytes=number)
        for size, number, latency in (("512", 512, 1e5), ("4KiB", 4096, 1e5), ("1MiB", 1 << 20, 9e5))
        for shift in ("0", "512")
    )
    sizes, unknown = told(
        RunAnswer(rows, contrasts=(contrast("shift", "0", "512", ratio(1.2, 0.5, 20.0), **blocks(0, 9)),))
    )
    assert sizes.startswith(
        "Larger writes take longer above 4 KiB: small writes (shift 0 B), 100 us up to 4 KiB, 900 us at 1 MiB"
    )
    what = "With 3 repeats no effect of shift (the offset within a block) is clear"
    assert unknown == f"{what}; about 9 repeats would show a factor of 2."


def in_repeats(*ratios: float, level: str = "100%", commands: tuple[CommandChange, ...] = ()) -> LevelEffect:
    mean = ratio(geometric_mean(ratios), blocks=len(ratios))
    changes = {"metric": THROUGHPUT, "block_ratios": ratios, "commands": commands}
    return contrast("fill_level", "20%", level, mean, **changes)


def test_the_commands_of_a_change_are_a_sentence_of_their_own_where_both_are_too_long_for_one() -> None:
    rows = tuple(
        replace(one, label="1 byte appended to the end of a file, then fdatasync")
        for one in rows_of("filesystem", raw=93e3, ext4=298e3)
    )
    effect = contrast("filesystem", "raw", "ext4", ratio(3.2, 2.9, 3.5), commands=(WRITES_MORE,), verdict="matters")
    change, commands = told(RunAnswer(rows, contrasts=(effect,)))
    assert change.endswith(": ext4 is 2.9 to 3.5 times as slow as raw, 298 us instead of 93.0 us.")
    assert commands == "ext4 takes 2 more writes per operation."


def test_a_repeat_that_a_pause_of_the_run_divides_is_told_with_the_number_of_repeats() -> None:
    sessions = ((1, 1, 1), (2, 1, 2), (3, 2, 2))
    trials = [
        TrialValue("sdb", "small", block, {"queue_depth": depth}, 1e6 * faster, session=session)
        for block, *of_levels in sessions
        for depth, session, faster in zip(("1", "2"), of_levels, (1.0, 1 + block / 10), strict=True)
    ]
    effects = level_effects(trials, {"queue_depth": ("1", "2")}, {"small": LATENCY})
    rows = rows_of("queue_depth", **{"1": 1e6, "2": 1.2e6})
    (sentence,) = told(RunAnswer(rows, effects=tuple(effects)))
    what = "With 2 of 3 repeats (1 was cut off and went on later) no effect of queue depth is clear"
    assert sentence == f"{what}; more repeats would tell."
    assert effects_notes(effects)[0] == (
        "Repeat 2 was cut off and went on later: levels are compared only where both were measured without a pause "
        "between."
    )
    alike = [replace(one, value=1e6 * (2 if one.levels["queue_depth"] == "2" else 1)) for one in trials]
    effects = level_effects(alike, {"queue_depth": ("1", "2")}, {"small": LATENCY})
    seen, *_ = told(RunAnswer(rows, effects=tuple(effects)))
    assert "2.0 times as slow as 1 in 2 of 3 repeats (1 was cut off and went on later)" in seen


def test_a_change_in_both_repeats_far_beyond_their_scatter_is_told_as_seen() -> None:
    rows = rows_of("fill_level", THROUGHPUT, **{"20%": 478e6, "100%": 173e6})
    seen = {(block, level): rate for block, rates in enumerate(RATES) for level, rate in rates.items()}
    trials = [TrialValue("sdb", "small", block, {"fill_level": level}, rate) for (block, level), rate in seen.items()]
    effects = level_effects(trials, {"fill_level": ("20%", "100%")}, {"small": THROUGHPUT})
    assert told(RunAnswer(rows, contrasts=tuple(effects))) == (
        (
            "Small writes: fill level 100 % was 2.8 times as slow as 20 % in both repeats, 173 MB/s instead of 478"
            " MB/s; a third like them would settle it."
        ),
    )
    others = (in_repeats(0.36, 0.365, commands=(WRITES_MORE,)), in_repeats(0.5, 1.5, level="unlike"))
    seen, counted, unknown = told(RunAnswer(rows, contrasts=others))
    assert seen.startswith("Small writes: fill level 100 % was 2.8 times as slow as 20 % in both repeats, ")
    assert counted.startswith("Counted: fill level 100 % takes 2 more writes per operation")
    assert unknown == "Not settled by 2 repeats: fill level unlike; more repeats would tell."


@pytest.mark.parametrize("ratios", [(0.36,), (0.36, 0.6), (0.36, 2.8), (0.97, 0.97)])
def test_a_change_in_one_repeat_or_within_their_scatter_is_not_told_as_seen(ratios: tuple[float, ...]) -> None:
    rows = rows_of("fill_level", THROUGHPUT, **{"20%": 478e6, "100%": 173e6})
    (sentence,) = told(RunAnswer(rows, contrasts=(in_repeats(*ratios),)))
    assert "no effect of fill level is clear" in sentence


@pytest.mark.parametrize(
    ("low", "high", "needed", "takes"),
    [
        (None, None, (0, 0), "more repeats would tell"),
        (1.1, 3.9, (40, 5), "about 5 repeats would show a factor of 2"),
        (0.5, 500.0, (0, 0), "to show a factor of 2 takes a steadier machine"),
        (0.9, 1.5, (11, 3), "about 11 repeats would show 20 %"),
        (0.95, 1.1, (3, 3), "a change of 20 % would most likely have shown"),
    ],
)
def test_what_is_not_told_comes_with_what_it_would_take(
    low: float | None, high: float | None, needed: tuple[int, int], takes: str
) -> None:
    rows = rows_of("scheduler", none=2e5, bfq=2.4e5)
    effect = contrast("scheduler", "none", "bfq", ratio(1.2, low, high), **blocks(*needed))
    (sentence,) = told(RunAnswer(rows, contrasts=(effect,)))
    assert sentence == f"With 3 repeats no effect of scheduler is clear; {takes}."


def test_what_has_no_effect_is_told_behind_what_has() -> None:
    rows = rows_of("scheduler", none=2e5, bfq=2.006e5, kyber=3e5, other=2.6e5)
    effects = (
        contrast("scheduler", "none", "bfq", ratio(1.003, 0.99, 1.02), verdict="no effect"),
        contrast("scheduler", "none", "other", ratio(1.3, 1.2, 1.4), verdict="differs"),
        contrast("scheduler", "none", "kyber", ratio(1.5, 1.4, 1.6), verdict="matters"),
    )
    assert told(RunAnswer(rows, contrasts=effects)) == (
        "Small writes: 200 us with scheduler none, 201 us bfq, 300 us kyber, 260 us other.",
        "Small writes: scheduler kyber is 40 to 60 % slower than none (95 %).",
        "Also scheduler other is 20 to 40 % slower than none; no effect of 5 % or more: scheduler bfq.",
    )


def test_a_level_with_another_verdict_elsewhere_is_told_with_its_place() -> None:
    rows = (
        *rows_of("scheduler", none=2e5, bfq=2e5),
        combination(1e5, workload="large", label="large writes", levels={"scheduler": "none"}),
    )
    effects = (
        contrast("scheduler", "none", "bfq", ratio(1.0, 0.99, 1.02), verdict="no effect"),
        contrast("scheduler", "none", "bfq", ratio(2.0, 1.9, 2.1), verdict="matters", workload="large"),
    )
    assert told(RunAnswer(rows, contrasts=effects))[1:] == (
        "Large writes: scheduler bfq is 1.9 to 2.1 times as slow as none (95 %).",
        "No effect of 5 % or more: scheduler bfq against none (small writes).",
    )


def test_over_several_combinations_the_ratio_is_told_and_no_mean_of_unlike_times() -> None:
    rows = tuple(
        combination(value * factor, levels={"block_size": size, "write-cache": cache})
        for size, value in {"1": 1e5, "1MiB": 9e6}.items()
        for cache, factor in (("on", 1.0), ("off", 0.5))
    )
    effect = contrast("write-cache", "on", "off", ratio(0.5, 0.45, 0.55), verdict="matters")
    (sentence,) = told(RunAnswer(rows, contrasts=(effect,)))
    assert sentence == "Small writes: write-cache off is 1.8 to 2.2 times as fast as on (95 %)."


def test_combinations_that_are_not_alike_are_told_by_their_medians_apart_from_the_interval() -> None:
    times = {("ext4", "discard"): 1.69e6, ("ext4", "nodiscard"): 2.06e6, ("xfs", "discard"): 1.49e6}
    times[("xfs", "nodiscard")] = 1.42e6
    rows = [combination(ns, levels={"filesystem": name, "mount": mount}) for (name, mount), ns in times.items()]
    faster = contrast("filesystem", "ext4", "xfs", ratio(0.65, 0.5, 0.84), verdict="matters")
    (sentence,) = told(RunAnswer(tuple(rows), contrasts=(faster,)))
    assert "19 to 100 % faster than ext4 (medians: 1.1 to 1.5 times in 2 combinations of the other factors)" in sentence


def test_of_numbers_the_last_is_told_beside_the_first() -> None:
    rates = {"20%": 2.93e9, "60%": 2.7e9, "100%": 2.59e9}
    rows = tuple(combination(rate, THROUGHPUT, levels={"fill_level": level}) for level, rate in rates.items())
    effects = tuple(
        contrast("fill_level", "20%", level, ratio(rates[level] / 2.93e9, blocks=1), metric=THROUGHPUT)
        for level in ("60%", "100%")
    )
    assert told(RunAnswer(rows, contrasts=effects)) == (
        "Small writes: 2.93 GB/s at fill level 20 %, 2.7 GB/s at 60 %, 2.59 GB/s at 100 %.",
    )


def test_a_level_that_is_not_told_in_some_workloads_is_named_once() -> None:
    names = ("a", "b", "c")
    rows = tuple(
        combination(2e5, workload=name, label=name, levels={"scheduler": level})
        for name in names
        for level in ("none", "bfq")
    )
    effects = tuple(
        contrast("scheduler", "none", "bfq", ratio(2.0, 1.9, 2.1), verdict=verdict, workload=name)
        for name, verdict in zip(names, ("matters", "not settled", "not settled"), strict=True)
    )
    assert told(RunAnswer(rows, contrasts=effects))[-1].startswith(
        "Not settled by 3 repeats: scheduler bfq against none (in 2 of 3 workloads); "
    )


def test_what_was_not_judged_is_said() -> None:
    rows = rows_of("scheduler", none=2e5, bfq=1e5)
    bad = contrast("scheduler", "none", "bfq", ratio(0.5, 0.4, 0.6), invalid_trials=2, verdict="not judged")
    refused = contrast("scheduler", "none", "kyber", ratio(0.5), refused_for="none", verdict="not judged")
    assert told(RunAnswer(rows, contrasts=(bad, refused))) == (
        "Not taken, so not judged: scheduler kyber; not judged, as trials do not describe the drive: scheduler bfq.",
    )


def test_at_most_three_sentences_and_thirty_words_in_the_first() -> None:
    rows = tuple(
        combination(1e5 * number, target=f"drive-{number}", levels={"scheduler": name})
        for number in (1, 2, 3)
        for name in ("none", "bfq", "kyber")
    )
    verdicts = ("matters", "no effect", "not settled")
    effects = tuple(
        contrast("scheduler", "none", name, ratio(2.0, 1.5, 2.5), verdict=verdict, target=f"drive-{number}")
        for number, verdict in enumerate(verdicts, start=1)
        for name in ("bfq", "kyber")
    )
    sentences = told(RunAnswer(rows, contrasts=effects))
    assert len(sentences) == 3
    assert len(sentences[0].split()) <= 30


def test_a_count_is_told_as_so_many_ios() -> None:
    effect = contrast("count", "100", "500", ratio(0.7, 0.6, 0.75), verdict="matters")
    (sentence,) = told(RunAnswer(rows_of("count", **{"100": 1e5, "500": 7e4}), contrasts=(effect,)))
    assert sentence.startswith("Small writes: 500 I/Os are 33 to 67 % faster than 100")


def test_a_sentence_names_what_matters_most_and_how_many_others_there_are() -> None:
    names = [f"rewrite number {number}: read a block, change it, write it back" for number in range(8)]
    rows = tuple(
        combination(value, workload=name, label=name, levels={"filesystem": level})
        for name in names
        for level, value in (("ext3", 1e5), ("xfs", 2e5))
    )
    effects = tuple(
        contrast(
            "filesystem",
            "ext3",
            "xfs",
            ratio(3.0 - number / 10, 1.9, 3.1) if number < 5 else ratio(1.0, 0.99, 1.01),
            workload=name,
            verdict="matters" if number < 5 else "no effect",
        )
        for number, name in enumerate(names)
    )
    first, also = told(RunAnswer(rows, contrasts=effects))[-2:]
    assert first.lower().startswith("rewrite number 0: ")
    assert also.startswith("Also rewrite number 1: xfs is 1.9 to 3.1 times as slow")
    assert "; 3 more in the table." in also
    assert len(also.split()) <= 30


def test_two_depths_are_told_also_behind_what_memory_took() -> None:
    plain = combination(5e9, THROUGHPUT, reached=0.0, workload="plain", label="plain", is_durable=False)
    rows = (plain, *(combination(rate, THROUGHPUT, levels={"queue_depth": depth}) for depth, rate in DEPTHS.items()))
    rows += (combination(1e9, THROUGHPUT, workload="synced", label="synced"),)
    effect = contrast("queue_depth", "1", "8", ratio(1.9, 1.8, 2.0), metric=THROUGHPUT, verdict="matters")
    memory, depth = told(RunAnswer(rows, contrasts=(effect,)))
    assert memory.startswith("Synced: 1 GB/s; plain looked 5.0 times as fast")
    assert depth.startswith("Small writes: queue depth 8 is 80 to 100 % faster than 1")


def test_levels_that_are_not_the_first_are_told_beside_each_other() -> None:
    effects = tuple(
        contrast("filesystem", "raw", name, ratio(size, size * 0.9, size * 1.1), verdict="matters")
        for name, size in (("ext4", 3.2), ("xfs", 2.3))
    )
    rows = rows_of("filesystem", raw=93e3, ext4=298e3, xfs=214e3)
    pair = contrast("filesystem", "ext4", "xfs", ratio(0.72, 0.68, 0.76), verdict="matters")
    unsettled = contrast("filesystem", "ext4", "btrfs", ratio(0.9, 0.5, 1.5))
    values, _, also = told(RunAnswer(rows, contrasts=effects, pairs=(unsettled, pair)))
    assert values == "Small writes: 93.0 us raw, 298 us ext4, 214 us xfs."
    assert also.endswith("; xfs is 32 to 47 % faster than ext4.")


def test_a_sure_difference_of_a_few_per_cent_leads_nothing() -> None:
    rows = rows_of("scheduler", none=100e3, bfq=102e3)
    small = contrast("scheduler", "none", "bfq", ratio(1.02, 1.005, 1.08), verdict="differs")
    said = told(RunAnswer(rows, contrasts=(small,)))
    assert not any(text.startswith("small writes") for text in said)
    assert "A small difference: scheduler bfq is 0.5 to 8 % slower than none." in said
    large = replace(small, ratio=ratio(1.04, 1.01, 1.08))
    assert told(RunAnswer(rows, contrasts=(large,)))[0].startswith("Small writes: scheduler bfq is 1 to 8 % slower")
