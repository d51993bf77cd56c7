"""What the levels of a factor do, in words: beside the first level, over combinations that are alike otherwise."""

from __future__ import annotations

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, CommandChange, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.report.run_sentences import plain_text, run_sentences

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
        contrast("filesystem", "raw", "ext4", ratio(3.2, 2.9, 3.5), commands=(writes, bounds)),
        contrast("mount", "nodiscard", "discard", ratio(1.02, 0.9, 1.2)),
    )
    assert told(RunAnswer(rows, contrasts=effects)) == (
        (
            "small writes: filesystem beside raw: ext4 adds 205 us (x3.2, 95 % interval 2.9 to 3.5) and 2 writes per "
            "operation."
        ),
        "small writes: mount beside nodiscard: discard no difference beyond noise (x1.0, 95 % interval 0.90 to 1.2).",
    )


def test_numbers_are_told_from_the_first_to_the_last() -> None:
    rates = {"20%": 2.93e9, "60%": 2.7e9, "100%": 2.59e9}
    rows = tuple(combination(rate, THROUGHPUT, levels={"fill_level": level}) for level, rate in rates.items())
    effects = tuple(
        contrast("fill_level", "20%", level, ratio(rates[level] / 2.93e9, blocks=1), metric=THROUGHPUT)
        for level in ("60%", "100%")
    )
    (sentence,) = told(RunAnswer(rows, contrasts=effects))
    assert sentence == "small writes: fill_level 20% -> 100%: 2.93 GB/s -> 2.59 GB/s (-12 %)."


def test_one_block_says_nothing_of_noise() -> None:
    rows = tuple(combination(value, levels={"scheduler": name}) for name, value in (("none", 2e5), ("bfq", 1e5)))
    (sentence,) = told(RunAnswer(rows, contrasts=(contrast("scheduler", "none", "bfq", ratio(0.5, blocks=1)),)))
    assert sentence == "small writes: scheduler beside none: bfq saves 100 us (x0.50, of 1 block only)."


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
