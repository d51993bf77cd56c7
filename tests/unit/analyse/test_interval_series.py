"""The interval series has every interval, also those in which nothing completed."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_trials import INTERVAL_NS, interval_table, latencies, measured, workload

from drivelab.analyse.interval_series import series_from_measurement
from drivelab.model.histogram import SUB_BUCKET_COUNT, bucket_high_ns, bucket_low_ns
from latency_histograms import bucket_of


def test_an_interval_without_operations_counts_zero() -> None:
    trial = measured(values={"read": latencies(40)}, intervals=4)
    kept = trial.intervals.filter(np.array([row != 2 for row in trial.intervals["interval"].to_pylist()]))
    series = series_from_measurement(replace_intervals(trial, kept), "read", "total")
    assert series is not None
    assert series.count.tolist() == [10, 10, 0, 10]
    assert series.sum_ns[2] == 0


def test_the_last_interval_is_as_long_as_what_was_left() -> None:
    trial = measured(values={"read": latencies(40)}, intervals=4, measured_ns=3 * INTERVAL_NS + 25_000_000)
    series = series_from_measurement(trial, "read", "total")
    assert series is not None
    assert series.duration_ns.tolist() == [1e8, 1e8, 1e8, 2.5e7]


def test_what_was_not_measured_has_no_series() -> None:
    trial = measured()
    assert series_from_measurement(trial, "write", "total") is None
    assert series_from_measurement(trial, "read", "response") is None
    assert series_from_measurement(replace_intervals(trial, trial.intervals.slice(0, 0)), "read", "total") is None


def test_bytes_and_counts_come_from_the_engines_rows() -> None:
    trial = measured(workload("write"), {"write": latencies(100)}, intervals=10)
    series = series_from_measurement(trial, "write", "total")
    assert series is not None
    assert series.bytes.tolist() == [40_960.0] * 10
    assert series.sum_ns.sum() == pytest.approx(latencies(100).sum())


def test_the_tests_sort_into_buckets_as_the_engine_does() -> None:
    values = np.array([0.0, 1, 511, 512, 513, 1023, 1024, 1025, 123_456_789, 10**12])
    bucket = bucket_of(values)
    assert np.all(bucket_low_ns(bucket) <= values)
    assert np.all(values <= bucket_high_ns(bucket))
    assert bucket[3] == SUB_BUCKET_COUNT


def replace_intervals(trial, intervals):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(trial, intervals=intervals)


def test_the_simulated_table_holds_every_operation() -> None:
    assert sum(interval_table({"read": latencies(41)}, 4, 4096)["count"].to_pylist()) == 41
