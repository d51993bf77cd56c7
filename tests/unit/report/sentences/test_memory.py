"""What is said of writes that end in the page cache, in a run of a job file or of an experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drivelab.model.run_answer import RunAnswer
from drivelab.report.card.rows import rows_of_ways
from drivelab.report.content import TrialContent
from drivelab.report.sentences.memory import taken_by_memory
from golden_reports import golden_joint
from unit.report.sentences.made_combinations import THROUGHPUT, combination, told


def trial(label: str, operation: str = "write", **changes: Any) -> TrialContent:
    asked = {
        "operations": [{"operation": operation}],
        "direct": False,
        "backend": "sync",
        "durability": {"method": "none", "at_end": False},
    }
    return TrialContent(label, label, operation, workload=asked | changes)


def test_a_job_whose_writes_end_in_memory_is_named() -> None:
    assert list(taken_by_memory([trial("ars"), trial("reader", "read")])) == [
        "ars: a write is over when it lies in the page cache: what a durable one takes no number says."
    ]
    several = [trial("one"), trial("two", durability={"method": "fsync", "at_end": True})]
    assert next(taken_by_memory(several)).startswith("A write is over")


@pytest.mark.parametrize(
    "other",
    [
        trial("b", direct=True),
        trial("b", durability={"method": "fdatasync", "at_end": False}),
        trial("b", backend="null"),
    ],
)
def test_beside_what_tells_more_it_is_not_said(other: TrialContent) -> None:
    assert list(taken_by_memory([trial("a"), other])) == []
    assert list(taken_by_memory([trial("a", "read")])) == []


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
    sentence, *_ = told(RunAnswer(rows))
    assert sentence == "Synced: 1.4 GB/s (n 1); plain looked 3.9 times as fast, with 0 % of it on the drive."


def test_how_fast_it_is_durably_is_told_at_the_last_level_too() -> None:
    rows = [combination(4e9, THROUGHPUT, reached=0.0, workload="plain", is_durable=False, levels={"n": "1"})]
    for n, rate in (("1", 1e9), ("9", 4e8)):
        rows.append(combination(rate, THROUGHPUT, workload="s", label="synced", levels={"n": n}))
    first = told(RunAnswer(tuple(rows)))[0]
    assert first.startswith("Synced: 1 GB/s (n 1), 400 MB/s (n 9); small writes looked 4.0 times as fast (n 1)")


def test_one_sync_call_behind_all_writes_is_durable_too_and_the_fastest_way_counts() -> None:
    rows = (
        combination(4e9, THROUGHPUT, reached=0.0, workload="plain", label="plain", is_durable=False),
        combination(1e9, THROUGHPUT, workload="each", label="each with a sync"),
        combination(2e9, THROUGHPUT, workload="end", label="one sync at the end", is_durable=False),
    )
    rows[2].metrics["end_sync_ns"] = rows[2].metrics[THROUGHPUT]  # type: ignore[index]
    assert told(RunAnswer(rows))[:2] == (
        "One sync at the end 2 GB/s, each with a sync 1 GB/s, plain 4 GB/s.",
        "Plain looked 2.0 times as fast as one sync at the end, with 0 % of it on the drive.",
    )


def test_several_ways_to_write_are_compared_in_one_sentence_at_the_first_level_and_the_last() -> None:
    ways = ["1 MiB writes without a sync", "1 MiB writes, one sync at the end", "1 MiB writes past the page cache"]
    rows = []
    for size, rates in (("100MiB", (1.14e9, 325e6, 350e6)), ("500MiB", (512e6, 238e6, 163e6))):
        for way, rate in zip(ways, rates, strict=True):
            reached = 0.0 if way == ways[0] else 1.0
            levels = {"file_size": size}
            one = combination(
                rate, THROUGHPUT, reached=reached, workload=way, label=way, is_durable=False, levels=levels
            )
            if "end" in way:
                one.metrics["end_sync_ns"] = one.metrics[THROUGHPUT]  # type: ignore[index]
            rows.append(one)
    assert told(RunAnswer(tuple(rows))) == (
        (
            "1 MiB writes (file size 100 MiB): one sync at the end 325 MB/s, past the page cache 350 MB/s, "
            "without a sync 1.14 GB/s."
        ),
        "1 MiB writes (file size 500 MiB), in the same order: 238 MB/s, 163 MB/s, 512 MB/s.",
        (
            "1 MiB writes without a sync looked 3.5 times (file size 100 MiB) and 2.2 times (file size 500 MiB) as "
            "fast as one sync at the end, with 0 % of it on the drive."
        ),
    )
    run = golden_joint("check-directory").runs[0]
    drawn = rows_of_ways(replace(run, answer=RunAnswer(tuple(rows))))
    assert drawn is not None
    assert drawn.title == "1 MiB writes (file size 100 MiB): throughput"
    assert [(row.name, row.value) for row in drawn.rows] == [
        ("one sync at the end", 325e6),
        ("past the page cache", 350e6),
        ("without a sync", 1.14e9),
    ]
    assert rows_of_ways(run) is None
