"""The sentence that ``drivelab io`` begins with."""

from __future__ import annotations

from typing import Any

import pytest

from drivelab.cli.io import io_answer
from drivelab.model.estimate import Estimate
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import TargetRange
from drivelab.model.workload_pattern import WorkloadPattern

US = 1e3


def number(value: float | None, low: float | None, high: float | None, unit: str = "ns") -> Estimate:
    return Estimate(value, low, high, unit, 1000, 900.0, "")


ESTIMATES = {
    "total_latency_ns_p50": number(172 * US, 155 * US, 194 * US),
    "total_latency_ns_p99": number(None, 313 * US, None),
    "iops": number(43_000, 38_900, 46_400, "1/s"),
    "throughput_bytes_per_s": number(1.16e9, None, None, "B/s"),
}


@pytest.mark.parametrize(
    ("asked", "operation", "told"),
    [
        (
            {"operation": "write", "block_size": 4096, "durability": "fdatasync", "backend": "sync"},
            "durable_write",
            "4 KiB durable writes took 172 µs (95 % interval 155 to 194 µs) at the median, at least 313 µs at p99.",
        ),
        (
            {"operation": "read", "block_size": 4096, "queue_depth": 16, "direct": True},
            "read",
            "4 KiB reads, 16 at a time: 43 000/s (95 % interval 38 900 to 46 400/s).",
        ),
        (
            {"operation": "read", "block_size": 1 << 20, "queue_depth": 4, "direct": True},
            "read",
            "1 MiB reads, 4 at a time: 1.16 GB/s (too few to tell how sure).",
        ),
        ({"operation": "read", "block_size": 4096, "backend": "null"}, "read", ""),
    ],
)
def test_what_is_judged_is_told_with_its_interval(asked: dict[str, Any], operation: str, told: str) -> None:
    target = TargetRange(path="/srv/f", size_bytes=1 << 26)
    workload = WorkloadPattern.model_validate({**asked, "count": 1000}).on(target, seed=1)
    found = io_answer(workload, TrialSummary("io", "io", operation, ESTIMATES))
    assert found.replace("\u202f", " ").replace("\u00a0", " ") == told


def test_where_nothing_was_measured_nothing_is_said() -> None:
    workload = WorkloadPattern(operation="read", count=1).on(TargetRange(path="/srv/f", size_bytes=1 << 26), seed=1)
    assert io_answer(workload, None) == ""
