"""Runs as OpenMetrics: what the reference parsers of both text formats read is what the run holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families as prometheus

from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.interop.openmetrics import openmetrics_text, openmetrics_text_of_program
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
Sample = tuple[str, frozenset[tuple[str, str]], float]


def text_of(name: str) -> str:
    run = open_run(RUNS / name)
    results = result_set_of(run, answer_of_run(run, SHOWN_METRICS))
    return openmetrics_text(results, run.findings, run.record.verdict, run.record.started_utc)


def openmetrics(text: str) -> list[Metric]:
    return list(openmetrics_parser.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def samples(families: list[Metric]) -> set[Sample]:
    return {(one.name, frozenset(one.labels.items()), one.value) for family in families for one in family.samples}


@pytest.mark.parametrize("name", sorted(path.name for path in RUNS.iterdir()))
def test_both_reference_parsers_read_every_stored_run_alike(name: str) -> None:
    text = text_of(name)
    families = openmetrics(text)
    # node_exporter refuses a whole file for one other type
    assert {family.type for family in families} == {"gauge"}
    assert samples(families) == samples(list(prometheus(text)))
    assert [family.name for family in families] == sorted(family.name for family in families)
    found = samples(families)
    assert len({(name, labels) for name, labels, _ in found}) == len(found), "no series has two values"


def test_numbers_are_in_base_units_with_the_ends_of_their_interval() -> None:
    run = open_run(RUNS / "check-directory")
    results = result_set_of(run, answer_of_run(run, SHOWN_METRICS))
    (one,) = (
        each
        for each in results.observations
        if each.workload == "sync-write-2300" and each.metric == "total_latency_ns_p99"
    )
    found = {
        name: value
        for name, labels, value in samples(openmetrics(text_of("check-directory")))
        if ("workload", "sync-write-2300") in labels
    }
    low, high, value = one.estimate.low, one.estimate.high, one.estimate.value
    assert low is not None
    assert high is not None
    assert value is not None
    assert found["drivelab_total_latency_p99_seconds"] == pytest.approx(value / 1e9)
    assert found["drivelab_total_latency_p99_lowest_seconds"] == pytest.approx(low / 1e9)
    assert found["drivelab_total_latency_p99_highest_seconds"] == pytest.approx(high / 1e9)


def test_a_check_tells_its_outcome_and_a_run_its_findings_and_its_begin() -> None:
    found = samples(openmetrics(text_of("check-directory")))
    needs = [dict(labels) for name, labels, value in found if name == "drivelab_need" and value == 1]
    assert [(one["need"], one["outcome"]) for one in needs] == [("etcd", "pass")]
    assert {dict(labels)["code"] for name, labels, _ in found if name == "drivelab_findings"}
    ((_, labels, began),) = (one for one in found if one[0] == "drivelab_run_start_timestamp_seconds")
    assert dict(labels)["run"] == "check-directory"
    assert 1.6e9 < began < 2e9


HOSTILE = 'a "drive" \\ of\nnobody'


def test_names_are_escaped_and_factors_become_labels() -> None:
    estimate = Estimate(5e8, None, 6e8, "B/s", 3, 3.0, "")
    one = Observation(
        "sdb", "vm", "w", "W", "write", "throughput_bytes_per_s", estimate, {"write-cache": HOSTILE, "4k": "x"}
    )
    results = ResultSet("run", "t", "q", "s", "", False, (), (MeasuredDrive("sdb", model=HOSTILE),), (one,))
    findings = (Finding("not-steady", "note", "x", "t1"), Finding("not-steady", "note", "y", "t2"))
    text = openmetrics_text(results, findings, None, "")
    found = {name: (dict(labels), value) for name, labels, value in samples(openmetrics(text))}
    labels, value = found["drivelab_throughput_bytes_per_second"]
    assert value == 5e8
    assert (labels["model"], labels["write_cache"], labels["_4k"]) == (HOSTILE, HOSTILE, "x")
    assert "serial" not in labels, "what is not known is no label"
    assert found["drivelab_throughput_highest_bytes_per_second"][1] == 6e8
    assert "drivelab_throughput_lowest_bytes_per_second" not in found
    assert found["drivelab_findings"][1] == 2
    assert text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("count", "told"),
    [(1, {"slowest"}), (2, {"p50", "slowest"}), (99, {"p50", "slowest"}), (100, {"p50", "p99", "slowest"})],
)
def test_of_a_program_only_quantiles_that_so_many_calls_carry_are_told(count: int, told: set[str]) -> None:
    call = {"call": "syncfs", "count": count, "per_second": 1.0, "parts_ns": {}}
    call |= {"p50_ns": 1e6, "p99_ns": 2e6, "slowest_ns": 3e6}
    text = openmetrics_text_of_program("run", "postgres", [call], "/srv", "")
    start, end = "drivelab_call_latency_", "_seconds"
    names = {name for name, _, _ in samples(openmetrics(text)) if name.startswith(start)}
    assert names == {f"{start}{one}{end}" for one in told}
