"""What is read of a stored run for its answer: levels, exact quantiles, units, and what is to be known."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drivelab.answers.run_answer import answer_of_run, experiment_order, findings_of_run
from drivelab.cli.run_results import print_results
from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.report.gather import gather
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


@contextmanager
def changed(run: StoredRun, **facts: object) -> Iterator[StoredRun]:
    """The run with other facts in its run.json."""
    yield StoredRun(run.directory, run.run_json | facts)


def test_medians_are_those_of_the_histograms() -> None:
    run = open_run(RUNS / "settings-scan-drive")
    exact = {
        row["trial"]: Histogram.from_row(row).quantile_ns(0.5)
        for row in run.histograms.filter(pc.equal(run.histograms["operation"], "durable_write")).to_pylist()
    }
    for one in answer_of_run(run).combinations:
        medians = [exact[name] for name in one.trials]
        metric = one.metrics["total_latency_ns_p50"]
        assert metric.median == pytest.approx(np.median(medians), rel=1e-3)
        assert (metric.lowest, metric.highest) == pytest.approx((min(medians), max(medians)), rel=1e-3)


def test_units_are_those_of_the_estimates() -> None:
    metrics = answer_of_run(open_run(RUNS / "fill-level-drive")).combinations[0].metrics
    units = {name: metric.unit for name, metric in metrics.items()}
    assert units["throughput_bytes_per_s"] == "B/s"
    assert units["total_latency_ns_p50"] == "ns"
    assert units["iops"] == "1/s"
    assert units["throughput_last_over_first_ratio"] == "1"


def test_only_the_metrics_that_are_asked_for_are_brought_together() -> None:
    found = answer_of_run(open_run(RUNS / "fill-level-drive"), {"iops"}).combinations
    assert {name for one in found for name in one.metrics} == {"iops"}


def test_a_run_without_a_plan_has_its_levels_in_its_columns() -> None:
    answer = answer_of_run(open_run(RUNS / "ssd-latency-scratch"))
    assert [one.levels for one in answer.combinations] == [{"filesystem": name} for name in ("raw", "ext4", "xfs")]
    assert [one.trial_count for one in answer.combinations] == [2, 2, 2]
    assert (answer.effects, answer.drifts) == ((), ())


def test_levels_that_were_not_taken_stand_beside_those_asked_for() -> None:
    found = {tuple(one.achieved.items()) for one in answer_of_run(open_run(RUNS / "settings-scan-drive")).combinations}
    as_found = (("write-cache", ("on",)), ("scheduler", ("mq-deadline",)), ("read-ahead", ("4194304",)))
    assert as_found in found
    answer = answer_of_run(open_run(RUNS / "settings-scan-drive"))
    (refused,) = [one for one in answer.combinations if one.levels["scheduler"] == "none"]
    assert refused.achieved["scheduler"] == ("mq-deadline",)


def test_effects_are_told_only_where_the_experiment_asks_for_them() -> None:
    run = open_run(RUNS / "settings-scan-drive")
    assert len(answer_of_run(run).effects) == 4
    with changed(run, experiment=run.run_json["experiment"] | {"tables": ["results"]}) as other:
        assert answer_of_run(other).effects == ()


def test_of_phases_what_goes_to_random_places_is_counted() -> None:
    run = open_run(RUNS / "fill-level-drive")
    experiment = run.run_json["experiment"]

    def is_phase(*tables: str, access: str) -> set[bool]:
        workloads = [one | {"access": {"kind": access}} for one in experiment["workloads"]]
        with changed(run, experiment=experiment | {"tables": tables, "workloads": workloads}) as other:
            return {one.is_phase for one in answer_of_run(other).combinations}

    assert is_phase("phases", access="random") == is_phase("results", access="sequential") == {False}
    assert is_phase("phases", access="sequential") == is_phase("surfaces", access="random") == {True}


def test_a_scaled_down_run_has_the_scaled_down_levels_in_order() -> None:
    factor = {"setting": "workload", "key": "direct", "levels": [False, True], "quick_levels": [True]}
    filesystem = {"setting": "filesystem", "levels": [{"type": "ext4", "name": "ext4"}, {"type": "raw", "name": "raw"}]}
    experiment = {"factors": [factor, filesystem], "workloads": [{"name": "a", "title": ""}]}
    assert experiment_order(experiment).factors == {"direct": ("false", "true"), "filesystem": ("ext4", "raw")}
    assert experiment_order(experiment, quick=True).factors["direct"] == ("true",)
    assert experiment_order(experiment).titles == {"a": "a"}
    assert experiment_order({}).factors == {}


def test_targets_stand_in_the_order_in_which_they_were_asked_for() -> None:
    run = open_run(RUNS / "write-size-two-drives")
    targets = run.run_json["targets"]
    for asked in (targets, targets[::-1]):
        with changed(run, targets=asked) as other:
            labels = [target["label"] for target in asked]
            answer = answer_of_run(other)
            assert list(dict.fromkeys(one.target for one in answer.combinations)) == labels
            assert list(dict.fromkeys(one.target for one in answer.contrasts)) == labels
            assert list(dict.fromkeys(trial.row["target"] for trial in gather(other).trials)) == labels


def test_a_drift_of_the_reference_is_a_finding_of_the_run() -> None:
    found = findings_of_run(open_run(RUNS / "settings-scan-drive"))
    assert [finding.code for finding in found] == ["reference-drift", "interval-reach", "short-measurement"]
    assert found[2].trial_count == 31


def rewritten(name: str, directory: Path, change: Callable[[dict[str, Any]], None]) -> StoredRun:
    """A stored run whose trials were changed."""
    shutil.copytree(RUNS / name, directory)
    (path,) = directory.rglob("trials.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    for row in rows:
        change(row)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    return open_run(directory)


def test_trials_that_do_not_describe_the_drive_are_marked_in_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def invalidate(row: dict[str, Any]) -> None:
        if row["asked_write-cache"] == "off":
            row["findings_json"] = json.dumps([Finding("unwritten-range", "invalid", "holes", row["trial"]).to_json()])

    run = rewritten("settings-scan-drive", tmp_path / "run", invalidate)
    answer = answer_of_run(run)
    document = answer.to_json()
    effects = {f"{one['factor']} {one['level']}": one for one in document["effects"]}
    assert effects["write-cache off"]["verdict"] == "not judged"
    assert effects["write-cache off"]["invalid_trials"] == 5
    assert effects["scheduler bfq"]["verdict"] == "matters"
    invalid = {one["levels"]["write-cache"]: one["invalid_trials"] for one in document["results"]}
    assert invalid == {"as-found": 0, "off": 5}
    monkeypatch.setenv("COLUMNS", "80")
    print_results(run, answer)
    text = " ".join(capsys.readouterr().out.split())
    assert "5 of 10 invalid" in text
    assert "write-cache off: 5 of 10 trials do not describe the drive, those of the baseline included" in text
    assert "5 of 25 trials do not describe the drive; see below why" in text


def test_sessions_of_a_run_are_kept_apart_and_told(tmp_path: Path) -> None:
    def resume(row: dict[str, Any]) -> None:
        session = 2 if row["block"] > 3 else 1
        row["context_json"] = json.dumps({"session": session})
        if session == 2 and row["asked_write-cache"] == "as-found":
            row["achieved_write-cache"] = "off"

    run = rewritten("settings-scan-drive", tmp_path / "run", resume)
    (cache, *others) = answer_of_run(run).effects
    assert (cache.level, len(cache.block_ratios)) == ("off", 3)
    assert "found as on in 3 blocks and as off in others" in cache.note
    assert {len(effect.block_ratios) for effect in others} == {5}
    (found,) = [finding for finding in findings_of_run(run) if finding.code == "run-resumed"]
    assert found.severity == "warning"
    assert "write-cache of sdb as found (on -> off)" in found.text


def test_a_run_is_printed_within_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("settings-scan-drive", "fill-level-drive"):
        print_results(open_run(RUNS / name))
        text = capsys.readouterr().out
        assert max(len(line) for line in text.splitlines() if not line.startswith("run:")) <= 80
        assert "…" not in text
    assert "last over" in text
    assert "21 %" in text


def test_the_table_of_a_scan_says_what_was_changed_and_what_was_read_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_results(open_run(RUNS / "settings-scan-drive"))
    text = capsys.readouterr().out
    # the experiment names its effects first
    assert text.index("What changes 1 byte appended") < text.index("median of 5 repeats")
    assert "scheduler    none -> mq-deadline" in text
    assert "write-cache off          0.300" in text
    assert "flushes 2 -> 0" in text
    assert "the reference drifted: median latency +28 % over 6 repeats (more than chance)" in text
    assert "in 31 of 31 trials" in text


def test_failures_are_told_and_counted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = open_run(RUNS / "fill-level-drive")
    failures = {f"{number:04}-random-write": "error[R420] it failed\n  do: look" for number in range(12)}
    print_results(StoredRun(run.directory, run.run_json | {"failures": failures}))
    text = capsys.readouterr().out
    assert "0000-random-write failed: error[R420] it failed" in text
    assert "and 2 more steps failed" in text


def test_every_combination_can_be_given_again() -> None:
    answer = answer_of_run(open_run(RUNS / "settings-scan-drive"))
    document = answer.to_json()
    assert document["results"][0]["trial_count"] == 5
    assert document["effects"][0]["verdict_text"] == "matters: faster"
    assert document["effects"][0]["commands_changed"] is True
    assert document["reference"][0]["text"].startswith("the reference drifted: median latency")
    assert replace(answer, effects=()).to_json()["effects"] == []
