"""The answer of a run as ``drivelab report RUN --text`` tells it, and what the first screen says of its limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.analyse.reference_drift import ReferenceValue, reference_drift
from drivelab.cli.main import run
from drivelab.cli.run_results import print_screen
from drivelab.model.errors import EXIT_OK, EXIT_USAGE
from drivelab.report.finding_lines import FindingLine
from drivelab.report.terminal.run_screen import warning_lines, with_drifts
from golden_reports import golden_answer, golden_run

RUNS = Path(__file__).resolve().parents[3] / "golden" / "runs"
SCAN = RUNS / "settings-scan-drive"
OF_EXPERIMENTS = ("fill-level-drive", "queue-depth-grid", "settings-scan-drive", "write-size-two-drives")


@pytest.mark.parametrize("name", OF_EXPERIMENTS)
def test_it_has_60_lines_and_tells_nothing_twice(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(RUNS / name), "--text"]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    told = [line for line in lines if line.strip() and not line.startswith("  changed")]
    assert len(told) == len(set(told))
    assert run(["report", str(RUNS / name), "--text", "--details"]) == EXIT_OK
    assert len(capsys.readouterr().out.splitlines()) > len(lines)


def test_details_are_for_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(SCAN), "--details"]) == EXIT_USAGE
    assert "error[U004] --details is for --text" in capsys.readouterr().err


def test_the_first_screen_says_that_the_drive_drifted_and_that_trials_were_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_screen(golden_run(SCAN.name), golden_answer(SCAN.name))
    lines = capsys.readouterr().out.splitlines()
    assert "! the reference drifted: median latency +28 % over 6 repeats (more than chance)" in lines
    assert "! it was measured for 400 ms [in 31 of 31 trials]" in lines


def test_a_level_that_was_not_taken_is_called_so_and_nobody_is_blamed(capsys: pytest.CaptureFixture[str]) -> None:
    answer = golden_answer(SCAN.name)
    print_screen(golden_run(SCAN.name), answer)
    text = capsys.readouterr().out
    # a scheduler is the kernel's
    assert "not taken by the drive" not in text.lower()
    assert "Not taken, so not judged: scheduler none." in text
    assert "\n  scheduler none, not" in text
    assert "\n    taken\n" in text
    (refused,) = (one for one in answer.effects if one.refused_for)
    assert refused.verdict_text == "not taken: mq-deadline was read back"


def test_a_drift_that_is_a_finding_too_is_told_once() -> None:
    answer = golden_answer(SCAN.name)
    found = [FindingLine("warning", "the reference did not stay the same", code="reference-drift")]
    (line,) = with_drifts(answer, [*found])
    assert "+28 %" in line.text


@pytest.mark.parametrize(("last", "is_told"), [(956.0, True), (20_000.0, True), (5_000.0, False)])
def test_a_reference_that_ended_far_from_its_beginning_is_told_though_three_are_few(last: float, is_told: bool) -> None:
    values = [ReferenceValue(value) for value in (7392.0, 747.0, last)]
    answer = replace(golden_answer(SCAN.name), drifts=(reference_drift("sda", "create", "iops", values),))
    told = [one.text for one in with_drifts(answer, [])]
    assert [text.startswith("the reference: I/Os per second 7 390, then ") for text in told] == [True] * is_told


def test_no_warning_is_cut_within_a_word() -> None:
    line = FindingLine("warning", f"{'endless ' * 12}", " [in 3 of 6 trials, the first is 0001]")
    (first, last) = warning_lines([line], plain=False)
    assert str(first).endswith("endless")
    assert str(last) == "  endless endless endless [in 3 of 6 trials]"
    assert len(str(first)) <= 80
    (cut,) = warning_lines([FindingLine("warning", "endless " * 30, line.where)], plain=False)
    assert str(cut).endswith("endless… [in 3 of 6 trials]")
    assert len(str(cut)) <= 80


def test_what_was_left_out_is_told_however_much_there_is_to_warn_of() -> None:
    warned = [FindingLine("warning", f"warning {number}", code=str(number)) for number in range(5)]
    left_out = FindingLine("note", "not measured: write-cache on, off for sdb: it has none", code="not-measured")
    told = [str(line) for line in warning_lines([*warned, left_out], plain=False)]
    assert told[3] == "i not measured: write-cache on, off for sdb: it has none"
    assert told[4:] == ["  and 2 more: --details"]
