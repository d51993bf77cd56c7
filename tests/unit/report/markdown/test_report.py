"""The report as Markdown: everything is there, it parses, and no word from outside becomes markup."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.model.errors import DrivelabError
from drivelab.report.content import ReportContent
from drivelab.report.facts import fact_groups
from drivelab.report.gather import gather
from drivelab.report.joint import Joint
from drivelab.report.markdown.report import markdown_text, write_markdown_report
from drivelab.report.markdown.syntax import escaped, plain_line, table_lines
from drivelab.report.tables.table import Table, TableCell, TableColumn, text_rows
from drivelab.store.read import StoredRun

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = (
    "<script>alert(1)</script>",
    "a | b || c \\| d \\",
    "`code` ``more`` *bold* __under__ ~~gone~~",
    "[link](http://example.org) ![picture](x.png) <http://example.org>",
    "# no heading",
    "- no item",
    "1. no item",
    "> no quotation",
    "---",
    "===",
    "&lt;b&gt; &amp; &copy;",
    "$x^2$ and \\(y\\)",
    "two\nlines\r\nthree",
    "snake_case_name _it_ ___",
)


def content_of(run: StoredRun) -> ReportContent:
    """A run with what its trials come to together, where they belong together."""
    return gather(run, answer_of_run(run, SHOWN_METRICS) if "plan" in run.run_json else None)


def joint_of_one(content: ReportContent, **more: object) -> Joint:
    return replace(Joint(content.title, content.question, ("So it is.",), runs=(content,)), **more)  # type: ignore[arg-type]


def inline(tokens: list[Token]) -> Iterator[Token]:
    """All pieces of text, whatever they stand in."""
    for token in tokens:
        yield token
        yield from inline(token.children or [])


def shown_text(token: Token) -> str:
    """What a reader sees of a paragraph, a heading or a cell."""
    return "".join(one.content for one in token.children or [] if one.type in ("text", "code_inline"))


def blocks(text: str) -> list[str]:
    """What a reader sees, one by one."""
    return [shown_text(token) for token in PARSER.parse(text) if token.type == "inline"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_from_outside_is_shown_as_it_is(text: str) -> None:
    assert blocks(escaped(text)) == [plain_line(text)]


@pytest.mark.parametrize("text", HOSTILE)
def test_in_a_table_too(text: str) -> None:
    columns = (TableColumn("name"), TableColumn("number", "ms", is_number=True))
    table = Table("t", "T", columns, text_rows([[text, "1"], ["other", text]]))
    assert blocks("\n".join(table_lines(table))) == [
        "name",
        "number [ms]",
        plain_line(text),
        "1",
        "other",
        plain_line(text),
    ]


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_whatever_stands_in_a_cell_the_row_has_its_cells(text: str) -> None:
    table = Table("t", "T", (TableColumn("a"), TableColumn("b")), text_rows([["x", text], [text, "y"]]))
    assert blocks("\n".join(table_lines(table))) == ["a", "b", "x", plain_line(text), plain_line(text), "y"]


def test_characters_that_nobody_sees_are_question_marks() -> None:
    assert plain_line("a\x00b\u202ec\x1b[31m\tend ") == "a?b?c?[31m end"
    assert plain_line("12\u202f300\u00a0ms") == "12\u202f300\u00a0ms"


def test_best_intervals_and_notes_stand_in_their_cells() -> None:
    cells = ((TableCell("a"), TableCell("1.5", "1.4–1.6", is_best=True, notes=(1, 2))),)
    table = Table("t", "T", (TableColumn("x"), TableColumn("y", is_number=True)), cells, "How to read", ("one", "two"))
    assert list(table_lines(table)) == [
        *("How to read", "", "| x | y |", "| --- | ---: |", "| a | **1.5** (1.4–1.6) ¹ ² |", "", "- ¹ one", "- ² two"),
    ]


def test_the_report_of_a_run_parses_without_html_and_holds_everything(stored_run: StoredRun) -> None:
    content = content_of(stored_run)
    text = markdown_text(joint_of_one(content))
    tokens = list(inline(PARSER.parse(text)))
    assert [token.content for token in tokens if token.type.startswith("html")] == []
    assert [token for token in tokens if token.type in ("link_open", "image")] == []
    shown = "\n".join(blocks(text))
    for trial in content.trials:
        assert plain_line(trial.label) in shown
    for group in fact_groups(content.facts):
        assert plain_line(group.name) in shown
    for finding in content.findings:
        assert f"{finding.mark} {finding.word}:" in shown
    assert "How each trial was set" in shown
    assert blocks(text)[0] == plain_line(content.question)


def test_the_answer_comes_first_then_the_first_table(check_content: ReportContent) -> None:
    own = Table("own", "Together", (TableColumn("x"),), text_rows([["1"]]))
    text = markdown_text(joint_of_one(check_content, tables=(own,)))
    places = [text.index(part) for part in ("# Is /var", "So it is.", "## Together", "trial by trial", "Warning:")]
    assert places == sorted(places)


def test_marks_stand_next_to_the_numbers_that_findings_touch(check_content: ReportContent) -> None:
    text = markdown_text(joint_of_one(check_content))
    row = next(line for line in text.splitlines() if line.startswith("| 16 KiB appended"))
    mark = next(finding.mark for finding in check_content.findings if finding.severity == "note")
    assert re.search(rf"1 850 {mark} \(", row.replace("\u202f", " "))


def test_several_runs_are_told_one_by_one(check_content: ReportContent, stored_run: StoredRun) -> None:
    joint = Joint("2 runs", "Which?", runs=(check_content, content_of(stored_run)))
    text = markdown_text(joint)
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == [f"## {escaped(one.name)}" for one in joint.runs]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_pictures_lie_beside_the_file_and_every_link_leads_to_one(
    check_content: ReportContent, tmp_path: Path, kind: str
) -> None:
    path = write_markdown_report(joint_of_one(check_content), tmp_path / "my report.md", kind)  # type: ignore[arg-type]
    images = [token for token in inline(PARSER.parse(path.read_text("utf-8"))) if token.type == "image"]
    linked = {tmp_path / unquote(str(token.attrs["src"])) for token in images}
    assert linked == set((tmp_path / "my report-figures").iterdir())
    assert {file.suffix for file in linked} == {f".{kind}"}
    assert all(token.content for token in images)
    text = path.read_text("utf-8")
    assert text.index("asks for") < text.index("![") < text.index("trial by trial") < text.index("What to know")


def test_without_what_pngs_are_made_with_nothing_is_written(
    check_content: ReportContent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(DrivelabError, match="O803"):
        write_markdown_report(joint_of_one(check_content), tmp_path / "report.md", "png")
    assert list(tmp_path.iterdir()) == []
    assert write_markdown_report(joint_of_one(check_content), tmp_path / "report.md").is_file()


def test_pictures_that_nobody_wants_are_not_missed(check_content: ReportContent, tmp_path: Path) -> None:
    joint = joint_of_one(check_content)
    path = write_markdown_report(joint, tmp_path / "report.md", figures=None)
    assert path.read_text("utf-8") == markdown_text(joint)
    assert "left out" not in path.read_text("utf-8")


@pytest.mark.provokes("O802")
def test_a_place_that_takes_no_file_is_an_error(check_content: ReportContent, tmp_path: Path) -> None:
    with pytest.raises(DrivelabError) as caught:
        write_markdown_report(joint_of_one(check_content), tmp_path / "nowhere" / "report.md", figures=None)
    assert caught.value.code == "O802"
