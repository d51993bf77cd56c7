"""The numbers of a trial: which there are, what they are called, and that they are right."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated_trials import (
    counted,
    durable_values,
    durable_workload,
    evidence,
    interval_table,
    latencies,
    measured,
    workload,
)

from drivelab.analyse.summary import QUANTILES, main_operation, summarise, wilson_interval
from drivelab.analyse.trial import judge_trial
from drivelab.model.workload import Durability, OperationShare
from latency_histograms import histogram_of

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_a_read_trial_has_rates_latencies_and_commands() -> None:
    values = latencies(2000)
    summary = summarise(measured(values={"read": values}, devices=[counted(reads=2000)], name="random-read-qd1"))
    found = summary.estimates
    assert (summary.name, summary.label, summary.operation) == ("random-read-qd1", "random-read-qd1", "read")
    assert found["iops"].value == pytest.approx(1000)
    assert found["throughput_bytes_per_s"].value == pytest.approx(4_096_000)
    assert found["total_latency_ns_mean"].value == pytest.approx(values.mean())
    assert found["total_latency_ns_p50"].value == pytest.approx(float(np.median(values)), rel=2e-3)
    assert found["total_latency_ns_max"].value == values.max()
    assert found["device_reads_per_operation"].value == 1.0
    assert found["user_cpu_ns_per_io"].value == pytest.approx(2e9 / 10 / 2000)
    assert (found["queue_depth_asked"].value, found["queue_depth_achieved"].value) == (1.0, 1.0)
    assert not any(metric.startswith(("read_", "write_")) for metric in found)


def test_every_latency_comes_with_its_interval() -> None:
    found = summarise(measured()).estimates
    for metric in ("iops", "throughput_bytes_per_s", "total_latency_ns_p50", "total_latency_ns_mean"):
        estimate = found[metric]
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high
    assert found["total_latency_ns_p9999"].value is None


def test_a_durable_trial_is_about_writes_until_they_are_durable() -> None:
    values = durable_values()
    summary = summarise(measured(durable_workload(), values))
    assert summary.operation == "durable_write"
    assert summary.estimates["total_latency_ns_mean"].value == pytest.approx(values["durable_write"].mean())
    assert summary.estimates["sync_total_latency_ns_mean"].value == pytest.approx(values["sync"].mean())
    assert summary.estimates["write_total_latency_ns_mean"].value == pytest.approx(values["write"].mean())
    # the sync call is not an I/O
    assert summary.estimates["iops"].value == pytest.approx(1000)


def test_a_sync_at_the_end_is_told_beside_the_writes_and_not_as_their_last_tenth() -> None:
    values = {"write": latencies(100, 1e6), "sync": np.array([150e6]), "durable_write": np.array([151e6])}
    at_end = Durability(method="fdatasync", every_writes=100)
    trial = measured(durable_workload(durability=at_end), values)
    found = summarise(trial).estimates
    assert found["end_sync_ns"].value == pytest.approx(150e6)
    assert found["writes_returned_ns"].value == pytest.approx(trial.engine["measured_ns"] - 150e6)
    assert not any("tenth" in name for name in found)
    each = summarise(measured(durable_workload(), durable_values())).estimates
    assert "end_sync_ns" not in each
    assert "throughput_last_tenth_bytes_per_s" in each


def test_a_mix_is_about_its_larger_part_and_tells_both() -> None:
    shares = (OperationShare(operation="read", weight=7), OperationShare(operation="write", weight=3))
    trial = measured(workload(operations=shares), {"read": latencies(1400), "write": latencies(600)})
    summary = summarise(trial)
    assert summary.operation == main_operation(trial) == "read"
    assert summary.estimates["iops"].value == pytest.approx(1000)
    assert summary.estimates["write_iops"].value == pytest.approx(300)
    assert "write_total_latency_ns_p99" in summary.estimates


def test_a_block_that_is_read_and_written_back_is_counted_once() -> None:
    """Bonnie++ prints the bytes of the file over the time, and seeks a second."""
    series = {"read": latencies(1000), "write": latencies(1000)}
    rewrite = summarise(measured(workload(rewrite_fraction=1.0), series)).estimates
    alone = summarise(measured(workload(), {"read": latencies(1000)})).estimates
    for metric in ("iops", "throughput_bytes_per_s"):
        assert rewrite[metric].value == pytest.approx(alone[metric].value)
        assert rewrite[f"write_{metric}"].value == pytest.approx(alone[metric].value)


def test_submission_and_completion_have_quantiles_too() -> None:
    values = latencies(2000)
    trial = measured(values={"read": values})
    split = {("read", "submission"): histogram_of(np.round(values / 10)), ("read", "completion"): histogram_of(values)}
    found = summarise(replace(trial, histograms=trial.histograms | split)).estimates
    assert found["submission_latency_ns_p50"].value == pytest.approx(float(np.median(values)) / 10, rel=2e-3)
    assert found["submission_latency_ns_p50"].low is not None
    assert found["completion_latency_ns_mean"].value == pytest.approx(values.mean())


def test_ends_grow_with_the_quantile_for_every_latency() -> None:
    """One interval in five is slow: so few of these are there that a high quantile alone has a low bound."""
    values = np.round(latencies(60) * np.repeat([1, 1, 30, 1, 1], 12))
    trial = measured(values={"read": values}, intervals=5)
    split = {("read", kind): histogram_of(values) for kind in ("submission", "completion")}
    found = summarise(replace(trial, histograms=trial.histograms | split)).estimates
    for kind in ("submission", "completion", "total"):
        estimates = [found[f"{kind}_latency_ns_{name}"] for name in QUANTILES]
        lows = [one.low for one in estimates if one.low is not None]
        assert lows == sorted(lows)
        assert estimates[0].value is not None
        assert [str(one) for one in estimates] == [str(found[f"total_latency_ns_{name}"]) for name in QUANTILES]


def test_response_latency_is_there_in_an_open_loop() -> None:
    import pyarrow as pa

    values = latencies(2000)
    trial = measured(values={"read": values})
    response = interval_table({"read": values * 2}, 20, 4096, "response")
    trial = replace(
        trial,
        histograms=trial.histograms | {("read", "response"): histogram_of(values * 2)},
        intervals=pa.concat_tables([trial.intervals, response]),
    )
    found = summarise(trial).estimates
    assert found["response_latency_ns_mean"].value == pytest.approx(2 * values.mean())
    assert {f"response_latency_ns_{name}" for name in QUANTILES} <= found.keys()


def test_processor_time_is_exact_and_its_parts_are_sampled() -> None:
    cpu = {"user_ns": 500_000_000, "system_ns": 1_500_000_000, "total_ns": 1_600_000_000}
    found = summarise(measured(cpu=cpu)).estimates
    assert found["cpu_ns_per_io"].value == 800_000
    user, system = found["user_cpu_ns_per_io"], found["system_cpu_ns_per_io"]
    assert (user.value, system.value) == (200_000, 600_000)
    assert (user.sample_count, user.effective_sample_count) == (400, 400.0)
    assert user.low is not None
    assert user.high is not None
    assert system.high is not None
    assert 160_000 < user.low < 170_000 < 230_000 < user.high < 240_000
    assert user.low + system.high == pytest.approx(800_000)


def test_few_ticks_make_a_wide_interval() -> None:
    found = summarise(measured(cpu={"user_ns": 4_000_000, "system_ns": 0, "total_ns": 4_000_000})).estimates
    user, system = found["user_cpu_ns_per_io"], found["system_cpu_ns_per_io"]
    assert (user.value, user.high, system.value, system.low) == (2000, 2000, 0, 0)
    assert user.low == pytest.approx(2000 * 0.20655, rel=1e-3)
    none = summarise(measured(cpu={"user_ns": 0, "system_ns": 0, "total_ns": 1_000_000})).estimates
    assert (none["user_cpu_ns_per_io"].value, none["user_cpu_ns_per_io"].high) == (None, 500)


def test_without_an_exact_total_the_parts_are_as_read() -> None:
    found = summarise(measured(cpu={"user_ns": 4_000_000, "system_ns": 2_000_000})).estimates
    assert (found["user_cpu_ns_per_io"].value, found["system_cpu_ns_per_io"].value) == (2000, 1000)
    assert "cpu_ns_per_io" not in found


@pytest.mark.parametrize(("seen", "trials"), [(0, 10), (1, 7), (25, 100), (400, 400), (3, 5000)])
def test_the_interval_of_a_share_is_the_one_of_the_textbook(seen: int, trials: int) -> None:
    from scipy.stats import binomtest

    exact = binomtest(seen, trials).proportion_ci(0.95, "wilson")
    assert wilson_interval(seen / trials, trials) == pytest.approx((exact.low, exact.high), abs=1e-6)
    assert wilson_interval(0.5, 0) == (0.0, 1.0)


def test_a_trial_in_which_nothing_completed_has_no_latency() -> None:
    trial = measured(values={"read": latencies(10)}, operations={}, all_phases={})
    empty = replace(trial, histograms={}, intervals=trial.intervals.slice(0, 0))
    assert set(summarise(empty).estimates) == {"queue_depth_asked", "queue_depth_achieved"}


def test_the_label_is_the_trials_own() -> None:
    assert summarise(measured(context={"label": "random read"})).label == "random read"


def test_a_summary_is_plain_data_for_json() -> None:
    facts = summarise(measured()).to_json()
    assert facts["estimates"]["iops"]["unit"] == "1/s"


def test_the_page_of_metrics_tells_every_one() -> None:
    page = (DOCS / "metrics.md").read_text()
    shares = (OperationShare(operation="read", weight=7), OperationShare(operation="write", weight=3))
    traced = {
        "operations": 200,
        "data_writes_per_operation": 1.0,
        "metadata_writes_per_operation": 0.0,
        "fua_writes_per_operation": 0.0,
        "flushes_per_operation": 0.0,
    }
    trials = [
        measured(durable_workload(), durable_values()),
        measured(
            workload(operations=shares),
            {"read": latencies(1400), "write": latencies(600)},
            devices=[counted(reads=1400, writes=600)],
            context={"command_counts": traced},
        ),
    ]
    prefix = re.compile("^(?:durable_write|read|write|trim|sync)_")
    metrics = {prefix.sub("", metric) for trial in trials for metric in summarise(trial).estimates}
    parts = {part for metric in metrics for part in re.sub("(latency_ns)_", r"\1 ", metric).split()}
    assert [part for part in sorted(parts) if f"`{part}`" not in page] == []
    assert len(metrics) > 15


def test_judging_a_trial_gives_numbers_and_findings() -> None:
    given = evidence(measured(devices=[counted(reads=100)]))
    summary, findings = judge_trial(given.measured, given.target)
    assert summary == given.summary
    assert findings[0].code == "page-cache-answered"


def test_the_share_of_a_processor_is_time_over_time() -> None:
    assert summarise(measured()).estimates["cpu_share"].value == pytest.approx(0.3)
    sampled = {"user_ns": 400_000_000, "system_ns": 600_000_000, "total_ns": None}
    assert summarise(measured(cpu=sampled)).estimates["cpu_share"].value == pytest.approx(0.5)


def test_only_what_ends_by_itself_has_a_duration() -> None:
    assert "duration_ns" not in summarise(measured()).estimates
    for reason in ("count", "bytes", "range_end"):
        assert summarise(measured(stopped_by=reason)).estimates["duration_ns"].value == 2e9
    assert "duration_ns" not in summarise(measured(stopped_by="caller")).estimates


@pytest.mark.parametrize("jobs", [1, 4])
def test_one_sync_of_each_job_in_the_end_is_told_apart_from_its_writes(jobs: int) -> None:
    asked = workload("write", job_count=jobs, durability=Durability(method="fsync", at_end=True))
    values = {"write": latencies(2000), "sync": latencies(jobs, 5e8), "durable_write": latencies(jobs, 6e8)}
    estimates = summarise(measured(asked, values)).estimates
    assert estimates["end_sync_ns"].value == pytest.approx(values["sync"].mean(), rel=0.01)
    assert estimates["writes_returned_ns"].value == pytest.approx(2e9 - values["sync"].mean(), rel=0.01)
    assert "throughput_first_tenth_bytes_per_s" not in estimates
