"""I/Os that are all alike are issued and counted by a shorter way through the engine: with the same result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivelab import _engine

BLOCK, BLOCKS = 4096, 512


def blocks_written(path: Path) -> set[int]:
    data = path.read_bytes()
    return {block for block in range(BLOCKS) if any(data[block * BLOCK : (block + 1) * BLOCK])}


@pytest.mark.parametrize("backend", ["uring", "aio"])
@pytest.mark.parametrize(
    "limits", [{"count": 200}, {"bytes": 200 * BLOCK}, {"bytes": 200 * BLOCK - 1}], ids=["count", "bytes", "part"]
)
def test_both_ways_write_the_same_places(
    tmp_path: Path, workload_text: Callable[..., str], backend: str, limits: dict[str, int]
) -> None:
    found = []
    # an I/O that is recorded goes the long way
    for number, is_recorded in enumerate((True, False)):
        path = tmp_path / f"data-{number}"
        path.write_bytes(bytes(BLOCK * BLOCKS))
        text = workload_text(
            backend, path, operation="write", queue_depth=32, limits=limits, record_ios=is_recorded, seed=7
        )
        summary = json.loads(_engine.run(text, _engine.StopFlag(), None, lambda _records: None).summary)
        found.append((blocks_written(path), summary["operations"]["write"], summary["stopped_by"]))
    assert found[0] == found[1]
    assert found[0][1]["count"] == 200


@pytest.mark.parametrize("backend", ["uring", "aio", "null"])
@pytest.mark.parametrize("queue_depth", [1, 2, 3, 32])
def test_intervals_and_window_hold_every_io_once(
    run_engine: Callable[..., Any], data_file: Path, backend: str, queue_depth: int
) -> None:
    # a window in which a busy machine lets it have its turn
    ramp = {"ramp_ns": 20_000_000, "limits": {"runtime_ns": 1_000_000_000}, "interval_ns": 10_000_000}
    answer = run_engine(backend, data_file, queue_depth=queue_depth, **ramp)
    totals = answer.histogram("read", "total")
    intervals = [row for row in answer.intervals.to_pylist() if (row["operation"], row["latency"]) == ("read", "total")]
    assert answer.count("read") == totals.total_count == sum(row["count"] for row in intervals)
    assert answer.summary["operations"]["read"]["bytes"] == 4096 * answer.count("read")
    assert answer.summary["all_phases"]["read"]["count"] > answer.count("read")
    if backend != "null":
        assert 0 < answer.histogram("read", "submission").total_count <= totals.total_count
