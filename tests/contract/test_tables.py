"""The tables a run gives back: they agree with each other, with the summary, and with numpy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from drivelab import _engine
from drivelab.model.histogram import Histogram

from .conftest import ONE_AT_A_TIME

MIXED: dict[str, Any] = {
    "operations": [{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 1.0}],
    "block_sizes": [{"bytes": 4096, "weight": 3.0}, {"bytes": 512, "weight": 1.0}],
    "target": {"size_bytes": 4 * 2**20},
}
HISTOGRAM_SCHEMA = {
    "operation": pa.string(),
    "latency": pa.string(),
    "count": pa.int64(),
    "min_ns": pa.int64(),
    "max_ns": pa.int64(),
    "sum_ns": pa.int64(),
    "bucket": pa.list_(pa.field("item", pa.uint32(), nullable=False)),
    "bucket_count": pa.list_(pa.field("item", pa.uint64(), nullable=False)),
}
INTERVAL_SCHEMA = HISTOGRAM_SCHEMA | {
    "interval": pa.int32(),
    "start_ns": pa.int64(),
    "duration_ns": pa.int64(),
    "bytes": pa.int64(),
    "errors": pa.int64(),
}
RECORD_SCHEMA = {
    "job": pa.uint16(),
    "operation": pa.uint8(),
    "issue_ns": pa.int64(),
    "offset_bytes": pa.int64(),
    "size_bytes": pa.int32(),
    "submission_latency_ns": pa.int32(),
    "total_latency_ns": pa.int64(),
    "result": pa.int32(),
}


def types_of(table: pa.Table) -> dict[str, Any]:
    return {field.name: field.type for field in table.schema}


def test_columns_have_the_documented_names_and_types(backend, data_file, run_engine):
    answer = run_engine(backend, data_file, limits={"count": 100}, record_ios=True, **MIXED)
    assert types_of(answer.histograms) == HISTOGRAM_SCHEMA
    assert types_of(answer.intervals) == INTERVAL_SCHEMA
    assert types_of(answer.records) == RECORD_SCHEMA
    opened = run_engine(
        backend, data_file, limits={"count": 100}, record_ios=True, pacing={"kind": "fixed", "rate_per_s": 1e5}, **MIXED
    )
    assert types_of(opened.records) == RECORD_SCHEMA | {"response_latency_ns": pa.int64()}


def test_counts_agree_in_summary_histograms_intervals_and_records(backend, data_file, run_engine):
    depth = 1 if backend in ONE_AT_A_TIME else 16
    answer = run_engine(
        backend, data_file, limits={"count": 10_007}, queue_depth=depth, job_count=3, record_ios=True, **MIXED
    )
    records, intervals = answer.records, answer.intervals
    for number, operation in enumerate(("read", "write")):
        own = records.filter(pc.equal(records["operation"], number))
        in_series = intervals.filter(
            pc.and_(pc.equal(intervals["operation"], operation), pc.equal(intervals["latency"], "total"))
        )
        count = answer.count(operation)
        assert own.num_rows == answer.histogram(operation).total_count == pc.sum(in_series["count"]).as_py() == count
        size = answer.summary["operations"][operation]["bytes"]
        assert pc.sum(own["result"]).as_py() == pc.sum(in_series["bytes"]).as_py() == size
    assert answer.count("read") + answer.count("write") == 10_007
    assert answer.summary["all_phases"] == answer.summary["operations"]
    assert answer.summary["recorder"] == {"rows": 10_007, "stall_ns": answer.summary["recorder"]["stall_ns"]}


def test_what_each_job_counted_is_what_its_records_say(backend, data_file, run_engine):
    answer = run_engine(
        backend, data_file, limits={"count": 9001}, job_count=3, record_ios=True, record_jobs=True, **MIXED
    )
    jobs, records = answer.summary["jobs"], answer.records
    assert len(jobs) == 3
    for number, job in enumerate(jobs):
        assert [thread["job"] for thread in job["threads"]] == [number]
        for operation, name in enumerate(("read", "write")):
            own = records.filter(pc.and_(pc.equal(records["job"], number), pc.equal(records["operation"], operation)))
            counted = job["operations"][name]
            assert (counted["count"], counted["bytes"]) == (own.num_rows, pc.sum(own["result"]).as_py())
            rows = {(row["operation"], row["latency"]): row for row in job["histograms"]}
            assert rows[name, "total"]["sum_ns"] == pc.sum(own["total_latency_ns"]).as_py()
            assert Histogram.from_row(rows[name, "total"]).total_count == own.num_rows
            intervals = pa.table(job["intervals"])
            in_series = intervals.filter(pc.equal(intervals["operation"], name))
            assert pc.sum(in_series["count"]).as_py() == own.num_rows
    assert sum(job["cpu"]["total_ns"] for job in jobs) == answer.summary["cpu"]["total_ns"]
    assert max(job["measured_ns"] for job in jobs) <= answer.summary["measured_ns"]
    assert run_engine(backend, data_file, limits={"count": 10}, job_count=3).summary["jobs"] == []


def test_histograms_are_those_of_the_records(backend, data_file, run_engine):
    answer = run_engine(backend, data_file, limits={"count": 50_000}, record_ios=True, target={"size_bytes": 4 * 2**20})
    latency = np.sort(answer.records["total_latency_ns"].to_numpy())
    histogram = answer.histogram("read")
    assert (histogram.minimum_ns, histogram.maximum_ns) == (latency[0], latency[-1])
    assert histogram.sum_ns == latency.sum()
    for at in (0.5, 0.9, 0.99, 0.999, 0.9999):
        exact = latency[int(np.ceil(at * latency.size)) - 1]
        assert histogram.quantile_ns(at) == pytest.approx(exact, rel=2e-3), at


def test_issue_times_lie_between_readings_of_the_monotonic_clock(backend, data_file, run_engine):
    before = time.monotonic_ns()
    answer = run_engine(backend, data_file, limits={"count": 2000}, record_ios=True, target={"size_bytes": 4 * 2**20})
    after = time.monotonic_ns()
    issued = answer.records["issue_ns"].to_numpy()
    slack_ns = 50_000
    assert before - slack_ns <= issued.min()
    assert (issued + answer.records["total_latency_ns"].to_numpy()).max() <= after + slack_ns
    assert np.all(np.diff(issued) >= 0)
    assert before - slack_ns <= answer.summary["started_monotonic_ns"] <= issued.min()


def test_an_interval_in_which_nothing_ended_has_a_row_all_the_same(backend, data_file, run_engine):
    answer = run_engine(
        backend,
        data_file,
        pacing={"kind": "fixed", "rate_per_s": 20.0},
        limits={"runtime_ns": 195_000_000},
        target={"size_bytes": 4 * 2**20},
    )
    total = answer.intervals.filter(pc.equal(answer.intervals["latency"], "total"))
    assert total["interval"].to_pylist() == list(range(20))
    assert total["start_ns"].to_pylist() == [number * 10_000_000 for number in range(20)]
    # a busy machine may be late for one of the four
    assert 1 <= pc.sum(total["count"]).as_py() == answer.count("read") <= 4
    empty = total.filter(pc.equal(total["count"], 0))
    assert empty.num_rows >= 16
    assert set(empty["max_ns"].to_pylist()) == {0}
    assert total["duration_ns"].to_pylist()[:19] == [10_000_000] * 19
    assert total["duration_ns"].to_pylist()[19] == pytest.approx(5_000_000, abs=1000)


def test_a_million_records_take_constant_memory(run_engine):
    rows = 0

    def take(table: Any) -> None:
        nonlocal rows
        rows += len(table)

    common: dict[str, Any] = {"record_ios": True, "on_records": take}
    run_engine("null", "", limits={"count": 200_000}, **common)
    # from here on the kernel notes the peak anew
    Path("/proc/self/clear_refs").write_text("5")
    before_kib = peak_memory_kib()
    rows = 0
    answer = run_engine("null", "", limits={"count": 1_000_000}, **common)
    assert rows == answer.summary["recorder"]["rows"] == 1_000_000
    # all of them at once would be 48 MB
    assert peak_memory_kib() - before_kib < 16 * 1024


def peak_memory_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_a_slow_reader_stalls_the_job_and_loses_nothing(backend, data_file, run_engine, job_threads):
    offsets: list[int] = []

    def take(table: Any) -> None:
        if not offsets:
            begun_ns, waits = time.monotonic_ns(), 0
            # until the job has filled all that it may, and for a while then
            while waits < 30 and time.monotonic_ns() < begun_ns + 60 * 10**9:
                waits = 0 if job_threads("R") else waits + 1
                time.sleep(0.01)
        offsets.extend(pa.record_batch(table)["offset_bytes"].to_pylist())

    common: dict[str, Any] = {"limits": {"count": 200_000}, "record_ios": True, "target": {"size_bytes": 4 * 2**20}}
    slow = run_engine(backend, data_file, on_records=take, **common)
    assert len(offsets) == slow.summary["recorder"]["rows"] == 200_000
    assert slow.summary["recorder"]["stall_ns"] > 20_000_000
    assert offsets == run_engine(backend, data_file, **common).records["offset_bytes"].to_pylist()


def test_the_engine_says_what_the_kernel_allows_and_what_its_clock_costs():
    import json

    answer = json.loads(_engine.probe())
    assert answer["clock"]["source"] in {"tsc", "clock_monotonic"}
    assert 0 < answer["clock"]["cost_ns"] < 1000
    for name in ("uring", "aio"):
        assert answer[name]["usable"] is (answer[name]["reason"] == "")
