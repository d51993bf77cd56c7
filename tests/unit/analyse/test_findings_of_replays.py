"""Findings about system calls that are issued again: memory and growing files are as they were, and void nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from simulated_trials import counted, evidence, latencies, measured, target, workload

from drivelab.analyse.findings import (
    file_state_not_as_asked,
    host_cache_answered,
    page_cache_answered,
    unwritten_range,
)
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.measurement import DeviceCounts
from drivelab.model.recording import Recorded, RecordedJob
from drivelab.model.target import BlockLayer

LOOP = BlockLayer("loop4", "/dev/loop4", "7:4", "loop", 10**9, 0, 512, 512, None, None, False, False, None, "/a.img")


def trial(operation: str, span_bytes: int, devices: list[DeviceCounts], **context: Any) -> TrialEvidence:
    jobs = (RecordedJob(count=2000, queue_depth=1),)
    asked = workload(operation, recording=Recorded(source="r", kind="calls", jobs=jobs, span_bytes=span_bytes))
    made = measured(asked, {operation: latencies()}, devices=devices, context=context)
    on_loop = replace(target(), devices=(LOOP,)) if "counted_device" in context else None
    return evidence(made, on_loop)


@pytest.mark.parametrize(("span_bytes", "severity"), [(0, "invalid"), (8192, "note")])
def test_memory_may_answer_calls_that_it_answered_before(span_bytes: int, severity: str) -> None:
    (found,) = page_cache_answered.find(trial("read", span_bytes, [counted(reads=2)]))
    assert found.severity == severity
    assert page_cache_answered.find(trial("read", span_bytes, [counted(reads=2000)])) == []


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize(
    ("span_bytes", "direct_bytes", "severities"),
    [(0, 0, ["invalid"]), (8192, 0, []), (8192, 8 << 20, ["invalid"]), (8192, 8192, [])],
)
def test_beneath_a_loop_device_calls_void_the_numbers_where_they_bypass_the_page_cache(
    operation: str, span_bytes: int, direct_bytes: int, severities: list[str]
) -> None:
    # two commands reached the drive
    devices = [counted(**{f"{operation}s": 2}), replace(counted(**{f"{operation}s": 2000}), device="loop4")]
    direct = {"direct_bytes": {operation: direct_bytes}}
    found = host_cache_answered.find(trial(operation, span_bytes, devices, counted_device="loop4", **direct))
    assert [one.severity for one in found] == severities


@pytest.mark.parametrize("span_bytes", [0, 8192])
def test_holes_and_files_that_grow_are_as_they_were(span_bytes: int) -> None:
    extents = {"method": "fiemap", "range_bytes": 8 << 20, "hole_bytes": 8 << 20, "written_share": 0.5}
    holes = {"extents": extents | {"unwritten_bytes": 4096}}
    assert bool(unwritten_range.find(trial("read", span_bytes, [counted(reads=2000)], **holes))) is (not span_bytes)
    grown = trial("write", span_bytes, [counted(writes=2000)], extents=extents)
    assert bool(file_state_not_as_asked.find(grown)) is (not span_bytes)
