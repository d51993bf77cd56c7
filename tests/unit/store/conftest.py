"""Measurements to store, made up from a seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.histogram import SUB_BUCKET_COUNT, Histogram
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Durability, OperationShare, TargetRange, Workload

MakeTrial = Callable[..., tuple[Measurement, TrialSummary]]
INTERVALS = 5


def histogram_of(values: np.ndarray) -> Histogram:
    """The histogram of whole latencies below 512 ns, where every value has a bucket of its own."""
    assert values.max() < SUB_BUCKET_COUNT
    bucket, count = np.unique(values.astype(np.int64), return_counts=True)
    return Histogram(bucket, count, int(values.min()), int(values.max()), int(values.sum()))


def interval_rows(series: list[np.ndarray]) -> pa.Table:
    """The interval table as the engine makes it."""
    histograms = [histogram_of(values) for values in series]
    return pa.table(
        {
            "operation": ["write"] * len(series),
            "latency": ["total"] * len(series),
            "count": pa.array([h.total_count for h in histograms], pa.int64()),
            "min_ns": pa.array([h.minimum_ns for h in histograms], pa.int64()),
            "max_ns": pa.array([h.maximum_ns for h in histograms], pa.int64()),
            "sum_ns": pa.array([h.sum_ns for h in histograms], pa.int64()),
            "bucket": pa.array([h.bucket for h in histograms], pa.list_(pa.uint32())),
            "bucket_count": pa.array([h.count for h in histograms], pa.list_(pa.uint64())),
            "interval": pa.array(range(len(series)), pa.int32()),
            "start_ns": pa.array([i * 10**8 for i in range(len(series))], pa.int64()),
            "duration_ns": pa.array([10**8] * len(series), pa.int64()),
            "bytes": pa.array([512 * h.total_count for h in histograms], pa.int64()),
            "errors": pa.array([0] * len(series), pa.int64()),
        }
    )


@pytest.fixture
def make_trial() -> MakeTrial:
    """Makes a trial with a name, and a seed."""

    def make(name: str = "0001-small-write-raw-r1", seed: int = 1) -> tuple[Measurement, TrialSummary]:
        generator = np.random.default_rng(seed)
        series = [generator.integers(20, 500, 40) for _ in range(INTERVALS)]
        values = np.concatenate(series)
        workload = Workload(
            target=TargetRange(path="/dev/loop3"),
            operations=(OperationShare(operation="write"),),
            durability=Durability(method="o_sync"),
            direct=True,
        )
        engine = {
            "backend": {"name": "sync", "reason": "asked for"},
            "measured_ns": INTERVALS * 10**8,
            "achieved": {"queue_depth_mean": 0.97, "queue_depth_max": 1, "direct": True, "job_count": 1},
            "operations": {"write": {"count": len(values), "bytes": 512 * len(values), "errors": 2, "short": 0}},
            "stopped_by": "count",
        }
        devices = (DeviceCounts("loop3", 0, 200, 0, 400, 0, 102400, 0, 0, 0, 7, 5, 200, 200),)
        measured = Measurement(
            name=name,
            workload=workload,
            engine=engine,
            histograms={("write", "total"): histogram_of(values)},
            intervals=interval_rows(series),
            devices=devices,
            context={"page_cache": {"resident_bytes_after": 0}},
        )
        median = Estimate(float(np.median(values)), 240.0, 260.0, "ns", len(values), 180.5, "rank-LR")
        at_least = Estimate(None, 490.0, None, "ns", len(values), 180.5, "rank-LR")
        estimates = {"total_latency_ns_p50": median, "total_latency_ns_p9999": at_least}
        return measured, TrialSummary(name, "512 B on the bare drive", "write", estimates)

    return make
