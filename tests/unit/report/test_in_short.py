"""What even the shortest form of a report says beside its answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from compared_runs import write_compared_run

from drivelab.joint_report import joint_report
from drivelab.model.finding import Finding
from drivelab.report.headline import busy_words
from drivelab.report.in_short import warnings_of
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


def golden(name: str) -> StoredRun:
    return open_run(RUNS / name)


def test_a_busy_machine_is_told_on_the_card_and_in_short() -> None:
    joint = joint_report([golden("check-directory")])
    run = joint.runs[0]
    busy = {"processors": {"count": 2, "busy": 1.4, "own": 0.1, "kernel_threads": 0.0, "duration_ns": 1e9}}
    trials = tuple(replace(one, context=busy) for one in run.trials)
    assert busy_words(trials)
    told = warnings_of(replace(joint, runs=(replace(run, trials=trials),)))
    assert told[0].startswith("The machine was busy: ")
    assert not warnings_of(joint)[0].startswith("The machine")


def test_a_warning_of_several_trials_tells_between_what_their_numbers_lie(tmp_path: Path) -> None:
    late = "an I/O that was outstanding at the end of what was measured took {} s more"
    findings = [
        Finding("late", "warning", f"{late.format(amount)}; of the others, 99 % took less", f"trial-{amount}")
        for amount in (1.77, 1.11)
    ]
    run = write_compared_run(tmp_path / "run", 1, findings=findings, repeats=3)
    (told,) = warnings_of(joint_report([run]))
    assert told == f"Warning (2 of 3 trials): {late.format('1.11 to 1.77')}"


def test_what_only_one_of_several_runs_has_is_said_of_that_one(tmp_path: Path) -> None:
    late = Finding("late", "warning", "an I/O came late", "trial-1")
    both = Finding("hot", "warning", "it was hot")
    joint = joint_report(
        [
            write_compared_run(tmp_path / "first", 1, findings=[late, both]),
            write_compared_run(tmp_path / "second", 2, findings=[both]),
        ]
    )
    told = [text for text in warnings_of(joint) if text.startswith("Warning")]
    name = joint.result_sets[0].drives[0].name
    assert [text.endswith(f" [{name}]") for text in told if "late" in text] == [True]
    assert [text for text in told if "hot" in text] == ["Warning: it was hot"]
