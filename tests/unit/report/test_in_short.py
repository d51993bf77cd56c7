"""What even the shortest form of a report says beside its answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from compared_runs import write_compared_run

from drivelab.joint_report import joint_report
from drivelab.model.finding import Finding
from drivelab.report.finding_lines import FindingLine
from drivelab.report.headline import busy_words, what_is_missing
from drivelab.report.in_short import warnings_of
from drivelab.store.read import StoredRun, open_run
from golden_reports import golden_joint

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


def golden(name: str) -> StoredRun:
    return open_run(RUNS / name)


def test_a_busy_machine_is_told_on_the_card_and_in_short() -> None:
    joint = golden_joint("check-directory")
    run = joint.runs[0]
    busy = {"processors": {"count": 2, "busy": 1.4, "own": 0.1, "kernel_threads": 0.0, "duration_ns": 1e9}}
    trials = tuple(replace(one, context=busy) for one in run.trials)
    assert busy_words(trials)
    of_each = FindingLine("warning", "24 trials were not alone", code="foreign-work")
    told = warnings_of(replace(joint, runs=(replace(run, trials=trials, finding_lines=(of_each,)),)))
    assert told == ["The machine was busy: other programs used 1.3 of its 2 processors"]
    quiet = warnings_of(replace(joint, runs=(replace(run, finding_lines=(of_each,)),)))
    assert quiet == ["Warning: 24 trials were not alone"]


def test_programs_that_kept_the_machine_busy_are_named() -> None:
    (run,) = golden_joint("check-directory").runs
    processors = {"count": 2, "busy": 1.4, "own": 0.1, "kernel_threads": 0.0, "duration_ns": 1e9}
    users = [{"name": name, "processors": used} for name, used in (("make", 0.4), ("cc1", 0.8), ("sshd", 0.1))]
    context = {"processors": processors, "other_programs": {"busiest": users}}
    trials = [replace(one, context=context) for one in run.trials]
    assert busy_words(trials) == "the machine was busy: other programs used 1.3 of its 2 processors (cc1, make)"


def test_a_trial_that_failed_makes_a_run_incomplete_once(tmp_path: Path) -> None:
    joint = golden_joint("check-directory")
    run = joint.runs[0]
    failures = {"0099-late": "error[E306] the file needs 256 MiB more, but its file system has 249 MiB free"}
    count = run.all_trial_count + 1
    failed = FindingLine("invalid", f"not measured: {failures['0099-late']}", of="1 of 9 trials", code="trial-failed")
    with_failure = replace(run, facts={**run.facts, "failures": failures}, finding_lines=(failed,))
    assert what_is_missing(with_failure.record, run.all_trial_count) == f"1 of {count} trials failed"
    incomplete = replace(joint, runs=(with_failure,))
    told = "Failed: the file needs 256 MiB more, but its file system has 249 MiB free"
    assert warnings_of(incomplete) == [f"Not complete: 1 of {count} trials failed", told]
    assert warnings_of(incomplete, ["Not complete (1 of 9 trials failed): no."]) == [told]


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


def test_where_few_warnings_are_shown_none_is_for_one_run_alone() -> None:
    """Of a quiet run with three small ones and a disturbed run the reader of three lines saw the quiet one's only."""
    joint = golden_joint("check-directory", "check-hostile-names")
    quiet, disturbed = joint.runs
    small = tuple(FindingLine("warning", f"a small thing {number}", code=f"small-{number}") for number in range(3))
    grave = (FindingLine("warning", "others wrote 235 times as much", code="foreign-work"),)
    runs = (replace(quiet, finding_lines=small, trials=()), replace(disturbed, finding_lines=grave, trials=()))
    told = [text for text in warnings_of(replace(joint, runs=runs)) if text.startswith("Warning")]
    assert told[0].startswith("Warning: a small thing 0")
    assert told[1].startswith("Warning: others wrote 235 times as much")
