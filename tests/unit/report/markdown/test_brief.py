"""The short form of a report as Markdown: one picture, one table, sixty lines, and no markup of others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from drivelab.joint_report import joint_report
from drivelab.reference.load import load_reference
from drivelab.report.markdown.brief import LINES_MAX
from drivelab.report.markdown.report import write_markdown_report
from drivelab.report.tables.published import published_tables
from drivelab.report.tables.table import Table, TableCell, TableColumn
from drivelab.store.read import StoredRun, open_run
from golden_reports import golden_joint

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "runs"
_PICTURE = re.compile(r"!\[[^]]*\]\(([^)]*)\)")


def brief(run: StoredRun, path: Path, **more: object) -> list[str]:
    joint = replace(joint_report([run]), **more)  # type: ignore[arg-type]
    return write_markdown_report(joint, path, None, is_brief=True).read_text().splitlines()


def test_a_run_in_short_is_an_answer_a_table_and_a_source(stored_run: StoredRun, tmp_path: Path) -> None:
    joint = golden_joint(stored_run.name)
    lines = brief(stored_run, tmp_path / "brief.md")
    assert len(lines) <= LINES_MAX
    assert lines[0].startswith("# ")
    assert lines[2].startswith("**")
    assert lines[-1].startswith("*")
    assert "measured by drivelab" in lines[-1]
    assert joint.result_sets[0].measured[:10] in lines[-1]
    # a check has two: what was asked for, and what it was held against
    assert sum(line.startswith("| ---") for line in lines) == (2 if stored_run.record.verdict else 1)


def test_of_a_check_what_was_asked_for_stands_before_every_other_table(tmp_path: Path) -> None:
    lines = brief(open_run(GOLDEN / "check-directory"), tmp_path / "brief.md")
    titles = [line for line in lines if line.startswith("## ")]
    assert titles[0] == "## What etcd asks for"
    assert lines[2].startswith("**Yes, this carries etcd: ")


def test_what_was_asked_for_stands_there_once_also_without_any_other_table(tmp_path: Path) -> None:
    lines = brief(open_run(GOLDEN / "check-directory"), tmp_path / "brief.md", tables=())
    assert lines.count("## What etcd asks for") == 1


def test_of_a_trace_the_parts_stand_first(tmp_path: Path) -> None:
    stored = open_run(GOLDEN / "explained-appends")
    (run,) = joint_report([stored]).runs
    # without the settings that it compares
    lines = brief(
        stored,
        tmp_path / "brief.md",
        runs=(replace(run, traced=run.traced[:1], answer=replace(run.answer, effects=())),),
    )
    assert next(line for line in lines if line.startswith("## ")) == "## The parts of the latency"


def test_a_curve_over_sizes_is_told_up_to_its_largest_write() -> None:
    run = open_run(GOLDEN / "write-size-two-drives")
    joint = joint_report([run])
    (found,) = joint.result_sets
    drive = found.observations[0].drive
    own = tuple(one for one in found.observations if one.drive == drive)
    tables = published_tables([replace(found, observations=own)])
    table = next(table for table in tables if table.key.startswith("results-by-setting"))
    assert any("1 MiB" in cell.text for row in table.rows for cell in row)


def test_no_run_is_too_long_for_it(tmp_path: Path) -> None:
    run = open_run(GOLDEN / "write-size-two-drives")
    lines = brief(run, tmp_path / "brief.md", sentences=("One.",) * 50, notes=("It differs.", "So too.") * 50)
    assert len(lines) <= LINES_MAX
    assert any("rows." in line for line in lines)


def test_of_too_many_rows_workloads_stay_and_what_was_varied_are_the_columns(tmp_path: Path) -> None:
    run = open_run(GOLDEN / "queue-depth-grid")
    (content,) = joint_report([run]).runs
    first, *_ = content.answer.combinations
    combinations = tuple(
        replace(first, workload=name, label=f"{name} files", levels={"filesystem": level})
        for name in ("create", "stat", "delete")
        for level in ("ext4", "xfs")
    )
    runs = (replace(content, answer=replace(content.answer, combinations=combinations, apart=())),)
    rows = tuple((TableCell(str(n)),) for n in range(23))
    lines = brief(run, tmp_path / "brief.md", runs=runs, tables=(Table("asked", "Rows", (TableColumn("n"),), rows),))
    head = lines.index("| workload | ext4 | xfs |")
    assert [line.split(" | ")[0] for line in lines[head + 2 : head + 5]] == [
        "| create files",
        "| stat files",
        "| delete files",
    ]
    assert not any("rows." in line for line in lines)


def test_a_row_is_not_left_out_for_a_line_that_says_so(tmp_path: Path) -> None:
    run = open_run(GOLDEN / "write-size-two-drives")
    asked = Table("asked", "Rows", (TableColumn("n"),), tuple((TableCell(str(n)),) for n in range(23)), is_asked=True)
    cut = brief(run, tmp_path / "cut.md", tables=(asked,))
    assert "The first 20 of 23 rows." in cut
    whole = brief(run, tmp_path / "whole.md", tables=(replace(asked, rows=asked.rows[:21]),))
    assert "| 20 |" in whole
    assert not any("of 21 rows" in line for line in whole)


def test_warnings_are_three_at_most_the_gravest_first(tmp_path: Path) -> None:
    run = open_run(GOLDEN / "check-directory")
    warned = [line for line in brief(run, tmp_path / "brief.md", notes=("a", "b", "c", "d")) if line.startswith("- ")]
    assert len(warned) == 3
    assert warned[0].startswith("- Warning (")


def test_its_one_picture_is_called_after_what_it_shows(tmp_path: Path) -> None:
    joint = golden_joint("ssd-latency-scratch")
    text = write_markdown_report(joint, tmp_path / "brief.md", "svg", is_brief=True).read_text()
    assert _PICTURE.findall(text) == ["brief-figures/512-b-written-fdatasync-latency.svg"]
    assert [path.name for path in (tmp_path / "brief-figures").iterdir()] == ["512-b-written-fdatasync-latency.svg"]


def test_published_pages_have_a_short_form_too(tmp_path: Path) -> None:
    joint = joint_report([], [load_reference("intel-530")])
    lines = write_markdown_report(joint, tmp_path / "a.md", None, is_brief=True).read_text().splitlines()
    assert len(lines) <= LINES_MAX
    assert "published: " in lines[-1]
