"""One number is the same wherever a run shows it: terminal, Markdown, page, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.results_columns import NumberColumn, cell_text
from drivelab.joint_report import joint_report
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.notebook import ShownTable
from drivelab.reference.load import load_reference, reference_names
from drivelab.report.combinations_table import combinations_table
from drivelab.report.csv_text import csv_text
from drivelab.report.flat_csv import flat_table, write_csv_report
from drivelab.report.html import write_html_report
from drivelab.report.joint import Joint
from drivelab.report.json_report import write_json_report
from drivelab.report.markdown.syntax import table_lines
from drivelab.report.run_tables import result_tables
from drivelab.report.tables.table import Table
from drivelab.report.tables.table_terminal import ROWS_MAX, TerminalTable
from drivelab.store.read import open_run

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
STORED = sorted(path for folder in ("runs", "schema_1") for path in (GOLDEN / folder).iterdir())
SCALES = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
SCALES |= {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "%": 0.01, "1/s": 1, "1": 1, "": 1}
NUMBER = re.compile(r"-?\d+(?:[ \u2009\u202f]\d{3})*(?:\.\d+)?")
UNIT = re.compile(r"(?<=[\d ])(?:[µumn]?s|[kMG]?B/s|[KMG]iB|%|1/s)(?![\w/])")
HEADS = ("| combination", "| trial")
Ends = tuple[float | None, float | None]


@cache
def told(path: Path) -> tuple[RunAnswer, Joint]:
    """What a stored run comes to, and its report."""
    run = open_run(path)
    answer = answer_of_run(run, SHOWN_METRICS)
    return answer, joint_report([run], answers=[answer])


@pytest.fixture(params=STORED, ids=lambda path: f"{path.parent.name}-{path.name}")
def stored(request: pytest.FixtureRequest) -> tuple[RunAnswer, Joint]:
    found: tuple[RunAnswer, Joint] = told(request.param)
    return found


def document(joint: Joint, directory: Path) -> dict[str, Any]:
    """The report as JSON."""
    found: dict[str, Any] = json.loads(write_json_report(joint, directory / "report.json").read_text(encoding="utf-8"))
    return found


def numbers_in(text: str, unit: str = "") -> list[float]:
    """The numbers of a printed cell in internal units; a unit that stands once holds for both ends."""
    names = UNIT.findall(text) or [unit]
    values = [float(re.sub(r"[ \u2009\u202f]", "", found)) for found in NUMBER.findall(text)]
    names = names if len(names) == len(values) else [names[-1]] * len(values)
    return [value * SCALES[name] for value, name in zip(values, names, strict=True)]


def assert_printed(text: str, unit: str, exact: Sequence[float | None]) -> None:
    """A cell holds these numbers, rounded to what it shows, and no others."""
    known = [number for number in exact if number is not None]
    found = numbers_in(text, unit)
    is_one = len(found) == 1 and len(known) == 2
    assert len(found) == len(known) or is_one or not found, (text, exact)
    for printed, number in zip(found, known, strict=False):
        assert printed == pytest.approx(number, rel=0.0051, abs=0.00501), (text, exact)


def shown(one: CombinationResult, metric: str) -> tuple[float | None, Ends, bool]:
    """What every format has to show of a metric: the number, its ends, and whether it was only seen."""
    found = one.metrics.get(metric)
    if found is None:
        return None, one.bounds.get(metric, (None, None)), False
    return found.median, found.ends, found.is_seen


def test_the_page_and_the_terminal_print_what_the_run_comes_to(stored: tuple[RunAnswer, Joint]) -> None:
    answer, _ = stored
    table = combinations_table(answer, over_time=True)
    rows = [row for group in table.groups for row in group.rows] if table else []
    ordered: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        ordered.setdefault((one.target, one.workload), []).append(one)
    for row, one in zip(rows, [one for members in ordered.values() for one in members], strict=True):
        assert table is not None
        for header, (value, below) in zip(table.headers, row.cells, strict=True):
            number, ends, is_seen = shown(one, header.key)
            in_terminal = cell_text(one, NumberColumn("", header.key))
            ends_there = cell_text(one, NumberColumn("", header.key, is_range=True))
            if number is None:
                assert_printed(value, header.unit, ends)
                assert_printed(in_terminal, "1", ends)
                assert ("≥" in value) == (">=" in in_terminal) == (ends[0] is not None and ends[1] is None)
                continue
            assert_printed(value, header.unit, [number])
            assert_printed(in_terminal, "1", [number])
            assert_printed(below, header.unit, ends)
            assert_printed(ends_there, "1", ends)
            assert (in_terminal.startswith("~"), below.startswith("seen")) == (is_seen, is_seen)
            for sign, marked in (("≥", ends[1] is None), ("≤", ends[0] is None)):
                is_marked = marked and ends != (None, None)
                assert (sign in below) == (sign.replace("≥", ">=").replace("≤", "<=") in ends_there) == is_marked


def test_csv_and_json_hold_the_same_in_full(stored: tuple[RunAnswer, Joint], tmp_path: Path) -> None:
    answer, joint = stored
    found = document(joint, tmp_path)
    rows = list(csv.DictReader(io.StringIO(csv_text(flat_table(joint.result_sets)))))
    in_csv = [row for row in rows if row["metric"] not in ("device_bytes_per_operation",)]
    seen = [each for one in found["result_sets"] for each in one["observations"]]
    assert seen
    places = {(row["drive"], row["workload"], row["metric"], row["value"], row["low"], row["high"]) for row in in_csv}
    for each in seen:
        numbers = [each["estimate"][end] for end in ("value", "low", "high")]
        texts = ["" if number is None else str(number) for number in numbers]
        assert (each["drive"], each["workload"], each["metric"], *texts) in places
    if not found["runs"][0]["results"]:
        return
    for one, of_json in zip(answer.combinations, found["runs"][0]["results"], strict=True):
        for metric, each in of_json["metrics"].items():
            number, ends, is_seen = shown(one, metric)
            assert (each["median"], each["is_seen"]) == (number, is_seen)
            printed = [each["lowest"], each["highest"]] if each["repeat_count"] > 1 else [each["low"], each["high"]]
            assert tuple(printed) == ends
    for one in answer.combinations:
        for metric in {each["metric"] for each in seen} & (one.metrics.keys() | one.bounds.keys()):
            number, ends, is_seen = shown(one, metric)
            alike = [each for each in seen if (each["workload"], each["metric"]) == (one.workload, metric)]
            wanted = dict(zip(("value", "low", "high"), (number, *ends), strict=True))
            same = [each for each in alike if each["estimate"].items() >= wanted.items()]
            assert not alike or same
            assert not same or any(("samples' own value" in each["note"]) == is_seen for each in same)


def numbers_of_row(text: str) -> tuple[str, ...]:
    """The printed numbers of a row in order, without marks of findings."""
    plain = re.sub(r"(?<![\w.])[!ix]\d+\b", " ", unescape(text).replace("\\", "").replace("\xa0", " "))
    return tuple(re.sub(r"\s", "", number) for number in NUMBER.findall(plain))


def test_the_page_and_markdown_have_the_same_rows(stored: tuple[RunAnswer, Joint], tmp_path: Path) -> None:
    _, joint = stored
    page = write_html_report(joint, tmp_path / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"<script.*?</script>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    on_page = {numbers_of_row(re.sub(r"<[^>]+>", " | ", row)) for row in rows}
    tables = [table for content in joint.runs for table in result_tables(content)]
    known = [table for table in tables if table.key.startswith(("combinations", "trials"))]
    assert known
    for table in known:
        for row in table_lines(table):
            if row.startswith("| ") and not set(row) <= set("|-: ") and row.split(" | ")[0] not in HEADS:
                assert numbers_of_row(row) in on_page, row


@cache
def all_tables(name: str) -> tuple[Joint, tuple[Table, ...]]:
    """The report of a stored run or a published page, and every table of it that is not of one run's own form."""
    if name in reference_names():
        joint = joint_report([], [load_reference(name)])
    else:
        joint = told(next(path for path in STORED if path.parent.name + "-" + path.name == name))[1]
    return joint, joint.tables


NAMES = [*reference_names(), *(f"{path.parent.name}-{path.name}" for path in STORED)]


def assert_in_order(numbers: Sequence[str], text: str, where: object) -> None:
    """The numbers stand in a text in this order."""
    rest = iter(numbers_of_row(text))
    missing = [number for number in numbers if number not in rest]
    assert not missing, where


@pytest.mark.parametrize("name", NAMES)
def test_every_format_shows_the_numbers_ends_and_marks_of_every_table(name: str, tmp_path: Path) -> None:
    joint, tables = all_tables(name)
    page = write_html_report(joint, tmp_path / "report.html").read_text(encoding="utf-8")
    of_json = {each["key"]: each for each in document(joint, tmp_path)["tables"]}
    write_csv_report(joint, tmp_path / "csv")
    assert tables
    for table in tables:
        block = page.partition(f'id="table-{table.key}"')[2].partition("</table>")[0]
        rows_of_page = re.findall(r"<tr.*?</tr>", block.partition("<tbody")[2], re.DOTALL)
        rows_of_notebook = re.findall(r"<tr>.*?</tr>", ShownTable(table)._repr_html_(), re.DOTALL)[1:]
        markdown = [line for line in table_lines(table) if line.startswith("| ")]
        with_ends = TerminalTable(table, plain=True, with_intervals=True)
        console = Console(file=io.StringIO(), width=4000)
        with console.capture() as capture:
            console.print(with_ends)
        in_terminal = capture.get()
        for place, row in enumerate(table.rows[: len(rows_of_page)]):
            cells = of_json[table.key]["rows"][place]
            assert [(each["text"], each["interval"], each["is_best"]) for each in cells] == [
                (cell.text, cell.interval, cell.is_best) for cell in row
            ]
            printed = [number for cell in row for number in numbers_of_row(f"{cell.text} | {cell.interval}")]
            on_page = re.sub(r'<sup.*?</sup>|title=".*?"', "", rows_of_page[place], flags=re.DOTALL)
            assert_in_order(printed, re.sub(r"<[^>]+>", " | ", on_page), (table.key, place))
            assert rows_of_page[place].count("(best)") == markdown[place + 2].count("**") // 2
            assert_in_order(printed, re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]", "", markdown[place + 2]), (table.key, place))
            if place < len(rows_of_notebook):
                in_notebook = re.sub(r"<sup>.*?</sup>", "", rows_of_notebook[place])
                assert_in_order(printed, re.sub(r"<[^>]+>", " | ", in_notebook), (table.key, place))
            if place < ROWS_MAX:
                unsigned = {number.lstrip("-") for number in printed}
                assert unsigned <= {*numbers_of_row(in_terminal.replace("-", " | "))}, (table.key, place)
        if table.data is not None and any(column.unit for column in table.columns):
            assert_data_are_what_is_shown(table, (tmp_path / "csv" / f"table-{table.key}.csv").read_text("utf-8"))


def assert_data_are_what_is_shown(table: Table, text: str) -> None:
    """The CSV holds value and ends of each cell in full precision."""
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows
    for row, exact in zip(table.rows, rows, strict=False):
        for column, cell in zip(table.columns, row, strict=True):
            unit = "1" if column.unit == "" else {"s": "ns"}.get(column.unit[-1:], column.unit)
            names = [f"{column.name}{end} [{kind}]" for end in ("", ", low", ", high") for kind in (unit, "ns", "B/s")]
            found = [float(exact[name]) for name in dict.fromkeys(names) if exact.get(name)]
            if column.is_number and column.unit in SCALES and found and cell.text[:1].isdigit():
                shown_numbers = numbers_in(cell.text, column.unit) + numbers_in(cell.interval, column.unit)
                # ratios have two digits
                most = 0.05 if cell.text.partition(" ")[0].endswith("x") else 0.0051
                for number in shown_numbers:
                    assert any(number == pytest.approx(one, rel=most, abs=0.00501) for one in found), (cell, found)
