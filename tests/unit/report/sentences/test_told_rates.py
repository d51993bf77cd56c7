"""Small I/Os that nobody waits for are told by their rate in sentences, as in tables."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.sentences.told_rates import with_rates


def row(depth: str, rate_per_s: float, size_bytes: int = 4096) -> CombinationResult:
    numbers = {RATE: (rate_per_s, "1/s"), THROUGHPUT: (rate_per_s * size_bytes, "B/s")}
    metrics = {name: RepeatedMetric(value, value, value, unit, 3) for name, (value, unit) in numbers.items()}  # type: ignore[arg-type]
    levels = {"queue_depth": depth, "precondition": "sequential"}
    return CombinationResult("disk", "reads", "reads", levels, {}, metrics, THROUGHPUT, ("a",), size_bytes)


def effect(of: float) -> LevelEffect:
    ratio = Estimate(of, of * 0.99, of * 1.01, "1", 3, 3.0, "")
    base = (4096e4,) * 3
    told = ("disk", "reads", "settings", "on", "off", THROUGHPUT, ratio, (of,) * 3, "matters", 0.05, 0.01, 0.01, 1)
    return LevelEffect(*told, block_baselines=base)


def test_a_change_of_small_reads_is_told_with_rates() -> None:
    pair = [replace(row("8", rate), levels={"settings": level}) for level, rate in (("on", 1e4), ("off", 2e4))]
    answer = RunAnswer(tuple(pair), contrasts=(effect(2.0),))
    told = plain_text(" ".join(run_sentences(answer)))
    assert "10 000/s with settings on, 20 000/s off" in told
    assert "MB/s" not in told
    assert with_rates(answer).contrasts[0].block_baselines == (1e4,) * 3


def test_single_repeats_over_a_depth_are_told_with_rates() -> None:
    answer = RunAnswer((row("1", 8700.0), row("8", 59500.0)))
    assert {one.judged_metric for one in with_rates(answer).combinations} == {RATE}


def test_where_sizes_are_compared_or_bytes_are_asked_for_throughput_stays() -> None:
    large, sizes, phase = (
        (row("1", 300.0, 1 << 20), row("8", 600.0, 1 << 20)),
        (row("1", 9000.0), row("1", 8000.0, 8192)),
        (replace(row("1", 9000.0), is_phase=True),),
    )
    for rows in (large, sizes, phase):
        answer = RunAnswer(rows)
        assert with_rates(answer) is answer
