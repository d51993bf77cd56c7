"""What a report gathers from a stored run: order, labels, kind of latency, failures, the head of the page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))

from synthetic import SyntheticTrial, log_normal

from drivelab.analyse.summary import summarise
from drivelab.model.units import format_bytes
from drivelab.model.workload import Pacing
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.gather import _for_reading, gather
from drivelab.report.headline import headline_facts
from drivelab.store.read import StoredRun, open_run
from drivelab.store.write import create_run
from golden_reports import golden_content


def with_facts(run: StoredRun, **facts: object) -> StoredRun:
    """The run with other keys in its run.json."""
    return StoredRun(run.directory, run.run_json | facts)


def test_a_check_keeps_the_order_of_its_trials_within_their_kinds(check_content: ReportContent) -> None:
    names = [trial.name for trial in check_content.trials]
    assert names[:4] == ["sync-write-512", "sync-write-2300", "sync-write-4096", "sync-write-16384"]
    assert [trial.group for trial in check_content.trials] == ["Durable writes"] * 4 + ["Writes"] * 2 + ["Reads"] * 3


@pytest.mark.parametrize("stored_run", ["ssd-latency-scratch"], indirect=True)
def test_the_random_order_of_a_plan_is_sorted_as_its_author_wrote_it(stored_run: StoredRun) -> None:
    content = golden_content(stored_run.name)
    levels = [str(trial.row["asked_filesystem"]) for trial in content.trials]
    assert levels == ["raw", "raw", "ext4", "ext4", "xfs", "xfs"]
    assert content.trials[1].label == "512 B written + fdatasync, raw, repeat 2"


def test_names_of_golden_runs_are_their_directories(stored_run: StoredRun) -> None:
    assert golden_content(stored_run.name).name == stored_run.directory.name


def test_records_of_single_operations_come_along_when_there_are_any(check_content: ReportContent) -> None:
    recorded = [trial.name for trial in check_content.trials if trial.records is not None]
    assert recorded == ["sync-write-512", "sync-write-2300"]


def test_a_failed_trial_is_a_finding(check_run: StoredRun) -> None:
    run = with_facts(check_run, failures={"random-read-qd32": "error[E305] the target vanished\n  do: look"})
    (first, *_) = gather(run).findings
    assert (first.severity, first.trials) == ("invalid", ("random-read-qd32",))
    assert "error[E305] the target vanished" in first.text


def test_a_failure_that_a_finding_tells_of_is_told_once(check_run: StoredRun) -> None:
    told = {"code": "trial-failed", "severity": "invalid", "text": "not measured", "trial": "a"}
    run = with_facts(check_run, failures={"a": "gone"}, findings=[told])
    assert len(gather(run).findings) == 1


def test_a_question_is_found_wherever_it_stands(check_run: StoredRun) -> None:
    facts = {key: value for key, value in check_run.run_json.items() if key != "question"}

    def question(**more: object) -> str:
        return gather(StoredRun(check_run.directory, facts | more)).question

    assert question(experiment={"name": "x", "question": "Why?"}) == "Why?"
    assert question(plan={"question": "How?"}) == "How?"
    assert question(experiment="io") == "What does this drive do?"


def test_open_loop_trials_show_the_latency_from_the_intended_start(tmp_path: Path) -> None:
    closed = SyntheticTrial("open", log_normal(100_000, 0.1), duration_ns=200_000_000).measurement(seed=1)
    pacing = Pacing(kind="fixed", rate_per_s=1000.0)
    measured = replace(
        closed,
        workload=closed.workload.model_copy(update={"pacing": pacing}),
        histograms=closed.histograms | {("read", "response"): closed.histograms["read", "total"]},
    )
    writer = create_run(tmp_path, "io", "open", datetime(2026, 1, 31, tzinfo=UTC))
    writer.write_run_json({})
    writer.add_trial(measured, summarise(measured))
    (trial,) = gather(open_run(writer.directory)).trials
    assert trial.latency == "response"


def test_a_run_without_trials_can_be_told(tmp_path: Path) -> None:
    writer = create_run(tmp_path, "check", "nothing", datetime(2026, 1, 31, tzinfo=UTC))
    writer.write_run_json({"question": "Is it fit?"})
    content = gather(open_run(writer.directory))
    assert (content.trials, content.findings, content.verdict) == ((), (), None)


def test_the_head_of_the_page_says_on_what_where_and_when(check_content: ReportContent) -> None:
    facts = dict(headline_facts(check_content))
    assert facts["target"] == "/var/lib/etcd"
    assert facts["drive"] == "SAMSUNG MZQL2480HCHQ, serial S3EV, firmware GXA7801Q, 447 GiB"
    assert facts["file system"] == "ext4 at /var/lib/etcd"
    assert facts["host"] == "pike, Box 9, Debian GNU/Linux 13 (trixie), Linux 6.12.41"
    assert facts["measured"] == "2026-01-31 12:00 UTC"


def test_a_head_without_facts_is_empty() -> None:
    assert headline_facts(ReportContent("run", "check", "?", ())) == []


@pytest.mark.parametrize("stored_run", ["write-size-two-drives"], indirect=True)
def test_trials_of_two_drives_are_told_by_their_drive_and_not_as_repeats(stored_run: StoredRun) -> None:
    labels = {trial.label: trial.row["target"] for trial in golden_content(stored_run.name).trials}
    assert len(labels) == 60
    assert all(label.startswith(f"{target} · ") for label, target in labels.items())
    assert not any("repeat" in label for label in labels), "each was measured once on each drive"


@pytest.mark.parametrize("stored_run", ["write-size-two-drives"], indirect=True)
def test_a_level_that_is_a_bare_number_stands_with_its_factor(stored_run: StoredRun) -> None:
    label = golden_content(stored_run.name).trials[0].label
    assert label == "sdb · write + fdatasync in reserved space, block size 1 B, shift 512 B, write-cache on"


@pytest.mark.parametrize("stored_run", ["ssd-latency-scratch"], indirect=True)
def test_a_repeat_has_the_number_that_it_had_when_it_ran(stored_run: StoredRun) -> None:
    repeats = {trial.label[-1]: trial.row["repeat"] for trial in golden_content(stored_run.name).trials}
    assert repeats == {"1": 1, "2": 2}


def test_trials_that_no_file_orders_stand_by_the_size_of_their_ios(trial: Callable[..., TrialContent]) -> None:
    common = {"step": 1, "target": "sdb", "workload": "log", "repeat": 1}
    made = [
        trial(format_bytes(size), label=format_bytes(size), row={**common, "block_size_bytes": size})
        for size in (16384, 2300, 4096, 512)
    ]
    assert [one.label for one in _for_reading(made, ())] == ["512 B", "2300 B", "4 KiB", "16 KiB"]


def test_the_question_of_a_run_of_two_drives_names_them(stored_run: StoredRun) -> None:
    (first, *_), asked = stored_run.record.targets, "How many reads at a time are best?"
    for labels, question in (
        (("Disk", "Micron"), "Disk against Micron: how many reads at a time are best?"),
        (("Disk",), asked),
        (("Disk", "Micron", "Other"), asked),
    ):
        targets = [{**first, "label": label} for label in labels]
        assert gather(with_facts(stored_run, targets=targets, question=asked)).question == question
