"""Reads that memory answered: a few move no number, more void them, and reads of others do not make up for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulated_trials import counted, evidence, interval_table, latencies, measured, target, workload

from drivelab.analyse.findings import host_cache_answered, page_cache_answered
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.target import BlockLayer
from drivelab.model.workload import OperationShare, Pacing
from latency_histograms import histogram_of

KIB = 1 << 10
LOOP = BlockLayer("loop4", "/dev/loop4", "7:4", "loop", 10**9, 0, 512, 512, None, None, False, False, None, "/a.img")


def with_cached(cached: int, count: int, *, at_a_rate: bool = True, **context: Any) -> TrialEvidence:
    """Reads of which memory answered so many, in 12 us."""
    values = latencies(count)
    values[np.random.default_rng(5).permutation(count)[:cached]] = 12_000
    asked = workload("read", direct=False, **({"pacing": Pacing(kind="fixed", rate_per_s=200)} if at_a_rate else {}))
    trial = measured(asked, {"read": values}, devices=[counted(reads=count - cached)], context=context)
    if at_a_rate:
        intervals = trial.intervals.to_pylist() + interval_table({"read": values}, 20, 4096, "response").to_pylist()
        trial = replace(
            trial,
            histograms=trial.histograms | {("read", "response"): histogram_of(values)},
            intervals=trial.intervals.from_pylist(intervals, schema=trial.intervals.schema),
        )
    return evidence(trial)


def severities(trial: TrialEvidence) -> list[str]:
    return [one.severity for one in page_cache_answered.find(trial)]


def test_a_few_repeats_move_no_number_and_are_a_note() -> None:
    # 400 reads of 377 places
    (found,) = page_cache_answered.find(with_cached(23, 400))
    assert found.severity == "note"
    assert found.text.endswith("(94 %): memory answered the rest, which moves no number by more than its interval")
    assert found.advice == ""


@pytest.mark.parametrize(
    ("cached", "count"),
    [
        # half of a file that was known
        (200, 400),
        # a share that the interval of so few would hide
        (60, 400),
        # of so many reads the median is known better than the share moves it
        (1200, 20_000),
    ],
)
def test_more_of_them_void_the_numbers(cached: int, count: int) -> None:
    assert severities(with_cached(cached, count)) == ["invalid"]


def test_where_each_read_waits_for_the_one_before_the_rate_is_moved_too() -> None:
    assert severities(with_cached(23, 400, at_a_rate=False)) == ["invalid"]


def test_numbers_without_an_interval_prove_nothing() -> None:
    trial = with_cached(23, 400)
    bare = {
        name: replace(one, low=None, high=None) if name == "response_latency_ns_p50" else one
        for name, one in trial.summary.estimates.items()
    }
    assert severities(replace(trial, summary=replace(trial.summary, estimates=bare))) == ["invalid"]


def test_reads_and_writes_from_memory_are_both_told() -> None:
    shares = tuple(OperationShare(operation=name) for name in ("read", "write"))
    asked = workload("read", operations=shares, direct=False)
    values = {name: latencies(1000) for name in ("read", "write")}
    found = page_cache_answered.find(evidence(measured(asked, values, devices=[counted(reads=9, writes=9)])))
    assert [(one.severity, one.evidence["operation"]) for one in found] == [("invalid", "read"), ("invalid", "write")]


@pytest.mark.parametrize(
    ("own_bytes", "expected"), [(0, ["invalid"]), (2000 * 4 * KIB, []), (9000 * 4 * KIB, []), (None, [])]
)
def test_reads_of_others_are_not_taken_for_ours(own_bytes: int | None, expected: list[str]) -> None:
    own = {"own_reads": {"process_bytes": own_bytes, "worker_bytes": None}}
    assert severities(evidence(measured(devices=[counted(reads=2000)], context=own))) == expected


@pytest.mark.parametrize(
    ("process_reads", "worker_reads", "expected"),
    [
        # ours went to the loop device, and nobody read its file of the drive for us
        (2000, 0, ["invalid"]),
        (2000, 2000, []),
        # the loop device had our own threads read its file
        (4000, 0, []),
        # what others may not see
        (2000, None, []),
    ],
)
def test_beneath_a_loop_device_the_kernels_workers_read_for_us(
    process_reads: int, worker_reads: int | None, expected: list[str]
) -> None:
    worker_bytes = None if worker_reads is None else worker_reads * 4 * KIB
    own = {"own_reads": {"process_bytes": process_reads * 4 * KIB, "worker_bytes": worker_bytes}}
    devices = [counted(reads=2000), replace(counted(reads=2000), device="loop4")]
    trial = measured(devices=devices, context={"counted_device": "loop4"} | own)
    found = host_cache_answered.find(evidence(trial, replace(target(), devices=(LOOP,))))
    assert [one.severity for one in found] == expected
