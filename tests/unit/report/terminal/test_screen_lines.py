"""What a check and a run print has no more lines than a screen, of every stored run and of crowded ones."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from drivelab.cli import run_results
from drivelab.cli.check_screen import print_screen
from drivelab.model.finding import Finding
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.finding_lines import FindingLine
from drivelab.report.reported_findings import reported
from drivelab.report.terminal.check_screen import render_check_screen
from drivelab.report.terminal.run_screen import render_run_screen
from golden_reports import golden_answer, golden_content, golden_run

RUNS = sorted((Path(__file__).resolve().parents[3] / "golden" / "runs").iterdir())
CHECK_MAX, RUN_MAX = 25, 30


def is_check(run: Path) -> bool:
    return run.name.startswith("check-")


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_a_stored_run_prints_a_screen(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if is_check(run):
        print_screen(golden_content(run.name), run)
    else:
        run_results.print_screen(golden_run(run.name), golden_answer(run.name))
    # "report: ..." follows
    lines = capsys.readouterr().out.splitlines()
    assert 5 < len(lines) + 1 <= (CHECK_MAX if is_check(run) else RUN_MAX)


def of_workload(number: int, level: int) -> CombinationResult:
    found = {"total_latency_ns_p50": RepeatedMetric(1e5, 0.5e5, 1.6e6, "ns", 3)}
    # a name that takes two lines
    levels = {"write-back-throttling-and-more": f"some words that are long {level}"}
    return CombinationResult(
        "sdb", f"w{number}", f"workload {number}", levels, {}, found, "total_latency_ns_p50", ("a", "b", "c")
    )


@pytest.mark.parametrize("workloads", [1, 2, 3, 9])
@pytest.mark.parametrize("levels", [1, 4, 12])
@pytest.mark.parametrize("warnings", [0, 3, 9])
def test_a_crowded_screen_loses_warnings_before_numbers_and_says_so(workloads: int, levels: int, warnings: int) -> None:
    rows = tuple(of_workload(n, level) for n in range(workloads) for level in range(levels))
    said = tuple(f"Sentence {n} with {'very many words and ' * 6}an end." for n in range(3))
    found = [FindingLine("warning", f"warning {n} {'of two lines ' * 8}", code=f"c{n}") for n in range(warnings)]
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_run_screen(RunAnswer(rows), "a run", said, found))
    lines = [line.rstrip() for line in capture.get().splitlines()]
    assert len(lines) <= RUN_MAX - 4
    shown = sum(line.startswith("! warning") for line in lines)
    assert shown == warnings or f"  and {warnings - shown} more: --details" in lines
    assert shown or not warnings
    assert any("100 us" in line for line in lines)


def test_a_run_that_is_not_complete_says_so_before_its_answer() -> None:
    console = Console(width=80, file=io.StringIO(), color_system=None)
    missing = "47 of 92 trials; it was interrupted"
    with console.capture() as capture:
        answer = RunAnswer(tuple(of_workload(1, level) for level in range(40)))
        console.print(render_run_screen(answer, "a run", ("An answer.",), (), missing=missing))
    lines = [line.strip() for line in capture.get().splitlines()]
    assert lines[:5] == ["a run", "", f"! not complete: {missing}", "", "An answer."]
    assert len(lines) <= RUN_MAX - 4


def test_a_check_with_many_undecided_needs_names_all_of_them() -> None:
    content = golden_content("check-directory")
    titles = [f"need {number}" for number in range(9)]
    needs = [
        {"need": title, "title": title, "outcome": "undecided", "sentence": f"{title}: {'not enough is known ' * 4}"}
        for title in titles
    ]
    crowded = replace(content, verdict={"outcome": "mixed", "sentence": "Undecided.", "verdicts": needs})
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_check_screen(crowded))
    text = capture.get()
    assert len(text.splitlines()) <= CHECK_MAX - 2
    assert all(title in text for title in titles)


@pytest.mark.parametrize("width", [80, 70, 60, 50])
def test_a_narrow_console_loses_columns_and_no_digits(width: int) -> None:
    content = golden_content("check-directory")
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_check_screen(content, width=width))
    rows = [line for line in capture.get().splitlines() if re.match(r"(\d+ \S?i?B|sequential|random) ", line)]
    assert len(rows) > 5
    assert not [line for line in rows if "…" in line]


@pytest.mark.parametrize(("need", "is_told"), [("postgres", True), ("kafka", False)])
def test_a_rate_is_proposed_only_where_it_can_be_asked_for(need: str, is_told: bool) -> None:
    content = golden_content("check-directory")
    verdict = {"need": need, "title": need, "outcome": "no_limit", "sentence": f"{need}: as it is"}
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_check_screen(replace(content, verdict=verdict)))
    assert ("--at-least" in capture.get()) is is_told


def test_a_check_of_one_need_with_a_burst_has_room_for_what_the_console_adds() -> None:
    content = golden_content("check-directory")
    clause = "etcd: 99 % of all writes of its log were durable within a time that is told here, and more"
    verdict = {"need": "etcd", "title": "etcd", "outcome": "pass", "sentence": ". ".join([clause] * 3)}
    burst = reported([Finding("burst-possible", "warning", "this may be a burst " * 9, "", {}, "know the base rate")])
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_check_screen(replace(content, verdict=verdict, findings=(*content.findings, *burst))))
    assert len(capture.get().splitlines()) <= CHECK_MAX - 2
