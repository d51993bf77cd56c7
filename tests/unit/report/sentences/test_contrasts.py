"""What the levels of a factor do, in words: beside the first level, over combinations that are alike otherwise."""

from __future__ import annotations

import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, CommandChange, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.report.sentences.run import plain_text, run_sentences

LATENCY, THROUGHPUT = "total_latency_ns_p50", "throughput_bytes_per_s"
WRITES = "device_writes_per_operation"


def combination(median: float, metric: str = LATENCY, *, reached: float = 1.0, **changes: object) -> CombinationResult:
    unit = "ns" if metric == LATENCY else "B/s"
    given: dict[str, object] = {
        "target": "sdb",
        "workload": "small",
        "label": "small writes",
        "levels": {},
        "achieved": {},
        "metrics": {
            metric: RepeatedMetric(median, median, median, unit, 3),  # type: ignore[arg-type]
            "reached_device_share": RepeatedMetric(reached, reached, reached, "1", 3),
        },
        "judged_metric": metric,
        "trials": ("a", "b", "c"),
        "block_size_bytes": 4096,
        "is_durable": True,
    }
    return CombinationResult(**(given | changes))  # type: ignore[arg-type]


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


def told(answer: RunAnswer) -> tuple[str, ...]:
    return tuple(plain_text(sentence) for sentence in run_sentences(answer))


def test_what_a_level_adds_is_told_beside_the_first_one_all_else_alike() -> None:
    rows = (
        combination(93e3, levels={"filesystem": "raw"}),
        combination(298e3, levels={"filesystem": "ext4", "mount": "nodiscard"}),
        combination(900e3, levels={"filesystem": "ext4", "mount": "discard"}),
    )
    writes = CommandChange(WRITES, (1.0, 1.0), (3.0, 3.0), is_changed=True)
    bounds = CommandChange("device_flushes_per_operation", (1.0, 2.0), (4.0, 6.0), is_changed=True)
    effects = (
        contrast("filesystem", "raw", "ext4", ratio(3.2, 2.9, 3.5), commands=(writes, bounds), verdict="matters"),
        contrast("mount", "nodiscard", "discard", ratio(1.02, 0.9, 1.2)),
    )
    assert told(RunAnswer(rows, contrasts=effects)) == (
        (
            "small writes: filesystem beside raw: ext4 adds 205 us (x3.20 within blocks; 95 % "
            "interval of the ratio 2.90 to 3.50) "
            "and 2 writes more per operation."
        ),
        (
            "small writes: mount beside nodiscard: discard (x1.02 within blocks; not settled, 95 % "
            "interval of the ratio 0.900 to "
            "1.20)."
        ),
    )


@pytest.mark.parametrize(
    ("verdict", "low", "high", "words"),
    [
        ("matters", 4.9, 7.8, "(x6.19 within blocks; 95 % interval of the ratio 4.90 to 7.80)"),
        (
            "differs",
            1.02,
            7.8,
            "(x6.19 within blocks; perhaps by less than 5 %, 95 % interval of the ratio 1.02 to 7.80)",
        ),
        # it is plainly there, and three blocks settle nothing
        ("not settled", 0.5, 76.6, "(x6.19 within blocks; not settled, 95 % interval of the ratio 0.500 to 76.6)"),
        (
            "not settled",
            1e-7,
            1e9,
            "(x6.19 within blocks; not settled, 95 % interval of the ratio below 0.001 to over 1000)",
        ),
        # alone it would be beyond noise; among all that were tried it is not
        ("not settled", 1.1, 34.8, "(x6.19 within blocks; not settled, 95 % interval of the ratio 1.10 to 34.8)"),
    ],
)
def test_what_is_not_settled_is_not_called_no_difference(verdict: str, low: float, high: float, words: str) -> None:
    rows = tuple(
        combination(value, THROUGHPUT, levels={"queue_depth": name}) for name, value in (("1", 1e8), ("8", 6.19e8))
    )
    effect = contrast("queue_depth", "1", "8", ratio(6.19, low, high), metric=THROUGHPUT, verdict=verdict)
    (sentence,) = told(RunAnswer(rows, contrasts=(effect,)))
    assert sentence == f"small writes: queue_depth 1 -> 8: 100 MB/s -> 619 MB/s {words}."
    assert "no difference" not in sentence


def test_no_effect_is_said_where_it_was_shown() -> None:
    rows = tuple(combination(value, levels={"scheduler": name}) for name, value in (("none", 2e5), ("bfq", 2.006e5)))
    effect = contrast("scheduler", "none", "bfq", ratio(1.003, 0.99, 1.02), verdict="no effect")
    (sentence,) = told(RunAnswer(rows, contrasts=(effect,)))
    assert sentence == (
        "small writes: scheduler beside none: bfq (x1.003 within blocks; no effect of 5 % or more, "
        "95 % interval of the ratio 0.990 "
        "to 1.02)."
    )


def test_over_several_combinations_the_ratio_is_told_and_no_mean_of_unlike_times() -> None:
    sizes = {"1": 1e5, "1MiB": 9e6}
    rows = tuple(
        combination(value * factor, levels={"block_size": size, "write-cache": cache})
        for size, value in sizes.items()
        for cache, factor in (("on", 1.0), ("off", 0.5))
    )
    effect = contrast("write-cache", "on", "off", ratio(0.5, 0.45, 0.55), verdict="matters")
    (sentence,) = told(RunAnswer(rows, contrasts=(effect,)))
    assert sentence == (
        "small writes: write-cache beside on, geometric mean over 2 combinations: off (x0.500 "
        "within blocks; 95 % interval of the "
        "ratio 0.450 to 0.550)."
    )


def test_numbers_are_told_from_the_first_to_the_last() -> None:
    rates = {"20%": 2.93e9, "60%": 2.7e9, "100%": 2.59e9}
    rows = tuple(combination(rate, THROUGHPUT, levels={"fill_level": level}) for level, rate in rates.items())
    effects = tuple(
        contrast("fill_level", "20%", level, ratio(rates[level] / 2.93e9, blocks=1), metric=THROUGHPUT)
        for level in ("60%", "100%")
    )
    (sentence,) = told(RunAnswer(rows, contrasts=effects))
    assert sentence == "small writes: fill_level 20 % -> 100 %: 2.93 GB/s -> 2.59 GB/s (x0.884; 1 block, no interval)."


def test_one_block_says_nothing_of_noise() -> None:
    rows = tuple(combination(value, levels={"scheduler": name}) for name, value in (("none", 2e5), ("bfq", 1e5)))
    (sentence,) = told(RunAnswer(rows, contrasts=(contrast("scheduler", "none", "bfq", ratio(0.5, blocks=1)),)))
    assert sentence == "small writes: scheduler beside none: bfq saves 100 us (x0.500; 1 block, no interval)."


def test_levels_whose_trials_do_not_describe_the_drive_are_not_compared() -> None:
    rows = tuple(
        combination(value, levels={"scheduler": name}, invalid_trials=1)
        for name, value in (("none", 2e5), ("bfq", 1e5))
    )
    effect = contrast("scheduler", "none", "bfq", ratio(0.5, 0.4, 0.6), invalid_trials=2)
    (sentence,) = told(RunAnswer(rows, contrasts=(effect,)))
    assert sentence.startswith("small writes: medians from 100 us (scheduler bfq) to 200 us (scheduler none)")
    assert sentence.endswith("2 of 6 trials do not describe the drive.")


def test_writes_to_memory_are_held_against_durable_ones_of_the_same_levels() -> None:
    rows = (
        combination(
            5.45e9, THROUGHPUT, reached=0.0, workload="plain", label="plain", is_durable=False, levels={"n": "1"}
        ),
        combination(
            1.0e9, THROUGHPUT, reached=0.9, workload="plain", label="plain", is_durable=False, levels={"n": "5"}
        ),
        combination(1.4e9, THROUGHPUT, workload="synced", label="synced", levels={"n": "1"}),
        combination(1.4e9, THROUGHPUT, workload="synced", label="synced", levels={"n": "5"}),
    )
    *_, sentence = told(RunAnswer(rows))
    assert sentence == "plain looked 3.9 times as fast as synced at n 1, when 0 % of it had reached the drive."
