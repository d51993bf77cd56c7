"""A replay as plain data: which calls were waited for most, and which quantiles their number carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from drivelab.cli.replay_lines import answer_words, replay_lines
from drivelab.cli.replay_result import Replayed, replay_json
from drivelab.model.histogram import Histogram
from drivelab.model.measurement import Measurement
from drivelab.model.recording import SYNC, WRITE, RecordedThread, Recording
from drivelab.model.target import TargetFacts
from drivelab.recordings.issue import workload_of

# each below 512 ns, which have a bucket of their own
WRITE_NS, LATE_NS, SYNC_NS = 4, 400, 300


def all_alike(count: int, time_ns: int) -> Histogram:
    return Histogram(np.array([time_ns]), np.array([count]), time_ns, time_ns, count * time_ns)


def replayed(text: str, *, writes: int, syncs: int, factor: int = 1) -> Replayed:
    """A recording without latencies on one target: quick writes, which began late behind slow sync calls."""
    operation = np.array([WRITE] * writes + [SYNC] * syncs)
    size = np.where(operation == WRITE, 4096, 0)
    recording = Recording("x", "iolog", (RecordedThread(np.arange(len(size)), operation, size * 0, size),))
    times = {
        ("write", "total"): all_alike(writes, WRITE_NS),
        ("write", "response"): all_alike(writes, LATE_NS),
        ("sync", "total"): all_alike(syncs, factor * SYNC_NS),
        ("sync", "response"): all_alike(syncs, factor * SYNC_NS),
    }
    engine: dict[str, Any] = {
        "arrivals": {"late": writes, "missed": 0, "starts": {"achieved_ns": 9}},
        "operations": {"write": {"count": writes}, "sync": {"count": syncs}},
        "achieved": {"direct": False, "queue_depth_max": 1},
        "measured_ns": 10**6,
        "stopped_by": "count",
        "errors": [],
    }
    engine["arrivals"]["starts"] |= {f"error_ns_{at}": 9 for at in ("p50", "p99", "max")}
    workload = workload_of(recording, speed=1, direct=False, record_ios=False)
    target = TargetFacts(text, "directory", text, True, None, (), (), 0, 512, False)
    return Replayed(target, recording, Measurement("replay", workload, engine, times, pa.table({})), ())


@pytest.mark.parametrize("speed", [1.0, 4.0, 0.0])
def test_the_calls_that_took_longest_come_first_and_not_those_that_began_late(speed: float) -> None:
    one = replayed("/a", writes=200, syncs=49)
    document = replay_json(one.recording, speed, [one], "runs/x")
    assert "sync calls took 300 ns at the median." in answer_words(document)


def test_the_table_of_several_targets_is_about_the_calls_that_took_longest() -> None:
    both = [replayed(text, writes=200, syncs=49, factor=factor) for text, factor in (("/a", 1), ("/b", 2))]
    lines = list(replay_lines(replay_json(both[0].recording, 1.0, both, "runs/x")))
    assert [line for line in lines if line.startswith("target ") and "sync p50" in line]


@pytest.mark.parametrize(("syncs", "p99_ns"), [(99, None), (100, float(SYNC_NS))])
def test_a_p99_is_told_of_a_hundred_calls_and_of_fewer_none(syncs: int, p99_ns: float | None) -> None:
    one = replayed("/a", writes=200, syncs=syncs)
    (target,) = replay_json(one.recording, 1.0, [one], "runs/x")["targets"]
    assert target["operations"]["sync"]["replayed"]["p99_ns"] == p99_ns
    assert target["operations"]["write"]["replayed"]["p99_ns"] == WRITE_NS
