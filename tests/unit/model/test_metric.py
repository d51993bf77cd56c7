"""The list of metrics: every number that trials have is in it, and the page is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.answers.run_answer import SHOWN_METRICS
from drivelab.model.metric import COMMANDS, METRICS, metric_of
from drivelab.store.read import open_run
from metric_list import PAGE, metric_page

RUNS = sorted((Path(__file__).resolve().parents[2] / "golden" / "runs").iterdir())


def test_the_page_of_metrics_is_up_to_date() -> None:
    assert metric_page(PAGE.read_text()) == PAGE.read_text(), "run `make docs`"


def test_every_metric_has_a_name_of_its_own_and_says_what_it_is() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert [metric.name for metric in METRICS if not (metric.head and metric.words and metric.meaning)] == []


@pytest.mark.parametrize("directory", RUNS, ids=lambda path: path.name)
def test_the_numbers_of_stored_trials_have_the_units_of_the_list(directory: Path) -> None:
    run = open_run(directory)
    estimates = {name: one for trial in run.trial_names for name, one in run.estimates(trial).items()}
    assert {name: one.unit for name, one in estimates.items()} == {name: metric_of(name).unit for name in estimates}
    assert [name for name in (*estimates, *SHOWN_METRICS, *COMMANDS) if not metric_of(name).meaning] == []


def test_a_metric_of_another_operation_says_which_one() -> None:
    assert metric_of("write_total_latency_ns_p99").words == "write p99 latency"
    assert metric_of("durable_write_iops").title == "durable write IOPS"
    assert metric_of("steady_throughput_bytes_per_s").head == "throughput"
    assert metric_of("p50") is metric_of("total_latency_ns_p50")


def test_a_metric_that_another_version_stored_goes_by_its_own_name() -> None:
    unknown = metric_of("heads_moved")
    assert (unknown.title, unknown.unit, unknown.better, unknown.quantity) == ("heads_moved", "1", "", "other")
