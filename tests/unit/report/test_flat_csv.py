"""The flat CSV: a row for each number, read back by Python's own reader; nothing in it is a formula."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from drivelab.answers.result_set import result_set_of
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.figures.figure import DataTable, Figure
from drivelab.report.flat_csv import flat_table, write_csv_report
from drivelab.report.gather import gather
from drivelab.report.joint import Joint
from drivelab.report.named_figures import named_figures
from drivelab.report.tables.table import Table, TableColumn, text_rows
from drivelab.store.read import StoredRun
from golden_reports import golden_answer


def number(value: float | None, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, "ns", 100, 90.0, "made up")


def observation(**more: object) -> Observation:
    facts = {
        "drive": "Drive A",
        "machine": "pike",
        "workload": "append",
        "title": "512 B appended",
        "operation": "durable_write",
        "metric": "total_latency_ns_p50",
        "estimate": number(1234.5, 1200.0, 1300.0),
    }
    return Observation(**(facts | more))  # type: ignore[arg-type]


def read(path: Path) -> list[dict[str, str]]:
    """The rows as any reader of RFC 4180 finds them."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def joint_of_sets(*sets: ResultSet) -> Joint:
    return Joint("made up", "Which?", result_sets=sets)


def test_a_row_has_a_number_and_everything_that_it_is_about(tmp_path: Path) -> None:
    seen = observation(
        levels={"filesystem": "ext4", "value": "odd"}, block_size_bytes=512, queue_depth=1, is_durable=True
    )
    path = tmp_path / "numbers.csv"
    assert write_csv_report(joint_of_sets(ResultSet("run-1", "T", "Q", "S", observations=(seen,))), path) == (path,)
    assert read(path) == [
        {
            "run": "run-1",
            "is_reference": "no",
            "drive": "Drive A",
            "machine": "pike",
            "workload": "append",
            "title": "512 B appended",
            "operation": "durable_write",
            "filesystem": "ext4",
            "factor_value": "odd",
            "block_size_bytes": "512",
            "queue_depth": "1",
            "is_durable": "yes",
            "metric": "total_latency_ns_p50",
            "unit": "ns",
            "value": "1234.5",
            "low": "1200.0",
            "high": "1300.0",
            "trial_count": "1",
            "invalid_trials": "0",
            "printed": "",
            "note": "",
        }
    ]


def test_every_observation_of_runs_and_pages_has_its_row(stored_run: StoredRun) -> None:
    own = result_set_of(stored_run, golden_answer(stored_run.name))
    page = ResultSet("reference:page", "P", "Q", "S", is_reference=True, observations=(observation(printed="~8"),))
    table = flat_table([own, page])
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    numbers = [row for row in rows if not str(row["metric"]).endswith("_per_operation")]
    assert [(row["run"], row["metric"], row["value"], row["low"]) for row in numbers] == [
        (results.key, seen.metric, seen.estimate.value, seen.estimate.low)
        for results in (own, page)
        for seen in results.observations
    ]
    assert (rows[-1]["is_reference"], rows[-1]["printed"]) == ("yes", "~8")


def test_commands_stand_once_for_each_combination() -> None:
    commands = {"device_flushes_per_operation": (2.0, 2.0), "device_writes_per_operation": (1.0, 2.0)}
    both = [observation(commands=commands), observation(commands=commands, metric="iops")]
    table = flat_table([ResultSet("r", "T", "Q", "S", observations=tuple(both))])
    places = [table.columns.index(name) for name in ("metric", "unit", "value", "low", "high")]
    assert [[row[place] for place in places] for row in table.rows] == [
        ["total_latency_ns_p50", "ns", 1234.5, 1200.0, 1300.0],
        ["device_flushes_per_operation", "1", 2.0, 2.0, 2.0],
        ["device_writes_per_operation", "1", None, 1.0, 2.0],
        ["iops", "ns", 1234.5, 1200.0, 1300.0],
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_and_no_head_is_a_formula(tmp_path: Path, start: str) -> None:
    hostile = f"{start}HYPERLINK(1)"
    seen = observation(drive=hostile, title=hostile, levels={hostile: hostile}, note=hostile)
    path = tmp_path / "numbers.csv"
    write_csv_report(joint_of_sets(ResultSet(hostile, "T", "Q", "S", observations=(seen,))), path)
    (row,) = read(path)
    assert row["drive"] == row["title"] == row["run"] == row["note"] == row[f"'{hostile}"] == f"'{hostile}"


def test_quotes_commas_and_line_ends_survive(tmp_path: Path) -> None:
    odd = 'a "b", c\r\nd'
    path = tmp_path / "numbers.csv"
    write_csv_report(joint_of_sets(ResultSet("r", "T", "Q", "S", observations=(observation(note=odd),))), path)
    assert read(path)[0]["note"] == odd
    assert path.read_bytes().count(b"\r\n") == 3


def test_a_directory_takes_a_file_for_every_table_and_figure(stored_run: StoredRun, tmp_path: Path) -> None:
    answer = golden_answer(stored_run.name)
    content = gather(stored_run, answer if "plan" in stored_run.run_json else None)
    own = Table("../own", "Own", (TableColumn("x"),), text_rows([["1"]]))
    drawn = Figure("drawn", "Drawn", "", (), DataTable(("a",), [[1]]))
    joint = Joint("T", "Q", (), (own, own), (drawn,), (content,), (result_set_of(stored_run, answer),))
    written = write_csv_report(joint, tmp_path / "new")
    assert set(written) == set((tmp_path / "new").iterdir())
    assert written[0].name == "results.csv"
    names = {path.name for path in written}
    assert {"table-own.csv", "table-own-2.csv", "table-settings.csv", "figure-drawn.csv"} <= names
    assert {f"figure-{one.name}.csv" for one in named_figures(joint)} <= names
    assert all(read(path) for path in written)


@pytest.mark.provokes("O802")
@pytest.mark.parametrize("place", ["file/deeper", "nowhere/numbers.csv"])
def test_a_place_that_takes_no_files_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DrivelabError) as caught:
        write_csv_report(joint_of_sets(), tmp_path / place)
    assert caught.value.code == "O802"


def test_of_a_report_without_results_of_trials_a_table_is_written(tmp_path: Path) -> None:
    keys = ("first", "second")
    tables = tuple(Table(key, key, (TableColumn("drive"),), text_rows([[f"of {key}"]])) for key in keys)
    for flat_key, expected in (("", "of first"), ("second", "of second")):
        joint = Joint("made up", "Which?", tables=tables, flat_key=flat_key)
        write_csv_report(joint, tmp_path / "numbers.csv")
        assert read(tmp_path / "numbers.csv") == [{"drive": expected}]
