"""Tables as data: those of an experiment's own file, in every format, and what is wrong in one."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.run_results import print_results, print_text
from drivelab.experiments.load import parse_experiment
from drivelab.joint_report import joint_report
from drivelab.model.errors import DrivelabError
from drivelab.model.result_set import ResultSet
from drivelab.model.view import View
from drivelab.notebook import OpenedRun
from drivelab.report.flat_csv import write_csv_report
from drivelab.report.html import write_html_report
from drivelab.report.joint import Joint
from drivelab.report.json_report import write_json_report
from drivelab.report.markdown.report import write_markdown_report
from drivelab.report.tables.grid import grids, own_tables
from drivelab.report.tables.table import Table
from drivelab.store.read import StoredRun, open_run
from made_result_sets import latencies, observation

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "runs"
FILE = """format = 1
name = "own"
question = "What does a call cost?"
[[factors]]
setting = "workload"
key = "durability"
levels = ["none", "fdatasync"]
[[workloads]]
name = "small"
file_size = "1MiB"
count = 10
[[views]]
key = "calls"
title = "What each call costs"
metrics = ["total_latency_ns_p50", "iops"]
columns = ["durability"]
"""
VIEW = {
    "key": "by-filesystem",
    "title": "What a file system costs",
    "caption": "A table of my own.",
    "metrics": ["total_latency_ns_p50", "device_flushes_per_operation", "of_a_newer_drivelab"],
    "columns": ["filesystem"],
    "of_a_newer_drivelab": 1,
}


@pytest.fixture
def own_run(tmp_path: Path) -> StoredRun:
    """A golden run whose experiment holds a table of its own."""
    directory = tmp_path / "ssd-latency-scratch"
    shutil.copytree(GOLDEN / "ssd-latency-scratch", directory)
    place = directory / "run.json"
    document = json.loads(place.read_text(encoding="utf-8"))
    document["experiment"]["views"] = [VIEW]
    place.write_text(json.dumps(document), encoding="utf-8")
    return open_run(directory)


def view(**keys: Any) -> View:
    return View.model_validate({"key": "own", "title": "Own", "metrics": ["total_latency_ns_p50"], **keys})


def shown(table: Table) -> list[list[str]]:
    return [[column.full for column in table.columns], *([cell.text for cell in row] for row in table.rows)]


def numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", re.sub(r"[\u202f\u2009]", "", unescape(text)))


def test_a_table_of_an_experiment_is_the_first_in_every_format(
    own_run: StoredRun, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answer_of_run(own_run, SHOWN_METRICS)
    joint = joint_report([own_run], answers=[answer])
    table = joint.tables[0]
    assert (table.key, table.title) == ("by-filesystem", "What a file system costs")
    assert table.rows
    numbers = [numbers_in(cell.text) for row in table.rows for cell in row[1:]]
    assert any(numbers)
    page = write_html_report(joint, tmp_path / "page.html").read_text(encoding="utf-8")
    on_page = page[page.index('id="table-by-filesystem"') :].partition("</table>")[0]
    write_markdown_report(joint, tmp_path / "page.md", None)
    markdown = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert markdown.index("What a file system costs") < markdown.index("| drive |")
    monkeypatch.setenv("COLUMNS", "200")
    print_text(own_run, answer)
    print_results(own_run, answer)
    in_terminal = capsys.readouterr().out
    assert in_terminal.count("What a file system costs") == 2
    of_notebook = OpenedRun(own_run).tables["by-filesystem"]._repr_html_()
    for found in filter(None, numbers):
        for text in (on_page, markdown, in_terminal, of_notebook):
            assert found[0] in numbers_in(text)
    write_csv_report(joint, tmp_path / "csv")
    rows = list(csv.reader((tmp_path / "csv" / "table-by-filesystem.csv").read_text(encoding="utf-8").splitlines()))
    of_json = json.loads(write_json_report(joint, tmp_path / "report.json").read_text(encoding="utf-8"))["tables"][0]
    assert rows[0] == of_json["data"]["columns"]
    assert of_json["is_asked"] is True
    assert len(rows) == 1 + len(table.rows)


def test_what_is_named_nowhere_tells_rows_apart(two_drives: ResultSet) -> None:
    (table,) = grids(view(columns=["write-cache"], workloads=["small-write"]), [two_drives])
    heads = ["drive", "filesystem", "mount", "write-cache on [ms]", "write-cache off [ms]"]
    assert shown(table)[:3] == [
        heads,
        ["Quick 480 GB", "raw", "-", "1.00", "0.250"],
        ["Quick 480 GB", "ext4", "nodiscard", "3.00", "0.750"],
    ]


def test_levels_are_kept_averaged_and_split(two_drives: ResultSet) -> None:
    own = view(keep={"filesystem": ["ext4", "xfs"]}, mean_over=["mount"], split=["write-cache"], columns=["filesystem"])
    tables = grids(own, [two_drives])
    assert [table.title for table in tables] == ["Own, write-cache on", "Own, write-cache off"]
    assert shown(tables[0]) == [
        ["drive", "filesystem ext4 [ms]", "filesystem xfs [ms]"],
        ["Quick 480 GB", "3.06", "2.04"],
        ["Slow 1 TB", "30.6", "20.4"],
    ]
    # the ends of a mean are those of all that it is made of
    assert tables[0].rows[0][1].interval == "2.91–3.21"
    assert [cell.is_best for cell in tables[0].rows[0]] == [False, True, True]


def test_bounds_and_notes_stay(make: Callable[..., ResultSet]) -> None:
    one = make("run", observation("A", None, 2e6, None, note="only 5 I/Os"), observation("B", 1e6, 9e5, 1.1e6))
    (table,) = grids(view(), [one])
    assert shown(table)[1:] == [["A", "≥\u202f2.00"], ["B", "1.00"]]
    assert table.rows[0][1].notes
    assert any("only 5 I/Os" in note for note in table.notes)


def test_different_workloads_are_not_ranked(make: Callable[..., ResultSet]) -> None:
    found = [
        observation("A", at, 0.9 * at, 1.1 * at, workload=name, title=name) for name, at in (("a", 1e6), ("b", 9e6))
    ]
    (table,) = grids(view(), [make("run", *found)])
    assert [row[1].text for row in table.rows] == ["a", "b"]
    assert not any(cell.is_best for row in table.rows for cell in row)


def test_workloads_of_one_title_are_not_averaged(make: Callable[..., ResultSet]) -> None:
    kinds = (("a", "read"), ("b", "read"), ("b", "write"))
    found = [observation("A", 1e6, workload=name, operation=done, title="t") for name, done in kinds[:2]]
    (table,) = grids(view(), [make("run", *found)])
    assert [row[1].text for row in table.rows] == ["t, a", "t, b"]
    found = [observation("A", 1e6, workload=name, operation=done, title="t") for name, done in kinds[1:]]
    (table,) = grids(view(), [make("run", *found)])
    assert [row[1].text for row in table.rows] == ["t, read", "t, write"]


def test_drives_are_brought_together_where_that_is_asked_for(two_drives: ResultSet) -> None:
    own = view(rows=["workload"], mean_over=["drive", "mount"], columns=["filesystem"], keep={"write-cache": ["on"]})
    assert shown(grids(own, [two_drives])[0])[1:] == [["512 B synchronous appends", "5.50", "16.8", "11.2"]]
    assert [row[0].text for row in grids(view(rows=[], keep={"filesystem": ["raw"]}), [two_drives])[0].rows]


@pytest.mark.parametrize(
    "keys",
    [
        {"key": "../../x", "title": "<hostile>{workload}{nothing}", "caption": "|"},
        {"columns": ["nothing"], "rows": ["nothing"], "split": ["nothing"], "mean_over": ["drive"]},
        {"rows": [], "keep": {"filesystem": []}},
        {"rows": [], "title": ""},
        {"metrics": []},
    ],
)
def test_a_stored_table_that_nobody_would_write_does_no_harm(
    keys: dict[str, Any], two_drives: ResultSet, tmp_path: Path
) -> None:
    tables = own_tables([{"key": "k", "title": "t", "metrics": ["total_latency_ns_p50"], **keys}], [two_drives])
    joint = Joint("t", "q", tables=tables, result_sets=(two_drives,))
    write_csv_report(joint, tmp_path / "csv")
    page = write_html_report(joint, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<hostile>" not in page
    assert {one.parent for one in tmp_path.rglob("*.csv")} == {tmp_path / "csv"}


def test_the_same_table_of_two_runs_is_made_once(make: Callable[..., ResultSet]) -> None:
    sets = [make(key, *latencies((key, "raw", "", "on", 1.0, 0.9, 1.1))) for key in ("a", "b")]
    (table,) = own_tables([VIEW, dict(VIEW)], sets)
    assert [row[0].text for row in table.rows] == ["a", "b"]
    assert own_tables([{**VIEW, "metrics": ["of_a_newer_drivelab"]}], sets) == ()
    assert grids(view(workloads=["nothing"]), sets) == ()


@pytest.mark.parametrize(
    ("written", "changed", "what", "do"),
    [
        ('columns = ["durability"]', 'columns = ["durabilty"]', "views.1.columns: there is no factor durabilty", ""),
        ('"iops"]', '"iopps"]', "views.1.metrics.2", "did you mean iops?"),
        ('title = "What each', 'titel = "What each', "views.1.titel: there is no such key", "did you mean title?"),
        ("columns =", 'workloads = ["big"]\ncolumns =', "there is no workload big, only small", ""),
        ("[[views]]", '[[views]]\nkey = "calls"\ntitle = "T"\nmetrics = ["iops"]\n[[views]]', "two of the view", ""),
    ],
)
def test_a_mistake_is_named_with_its_key(written: str, changed: str, what: str, do: str) -> None:
    parse_experiment(FILE, "own.toml")
    with pytest.raises(DrivelabError) as refused:
        parse_experiment(FILE.replace(written, changed), "own.toml")
    assert refused.value.code == "P703"
    assert what in refused.value.what
    assert str(refused.value.where).startswith("own.toml:")
    assert do in (refused.value.do or "")
