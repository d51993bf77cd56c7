"""Tables as Markdown, on a terminal and on a page, with names that would like to be markup."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.model.result_set import ResultSet
from drivelab.report.html import page_templates
from drivelab.report.markdown.syntax import table_lines
from drivelab.report.placed import placed_table
from drivelab.report.tables.grid import built_in_views, grids
from drivelab.report.tables.published import published_tables
from drivelab.report.tables.table import Table, TableCell, TableColumn
from drivelab.report.tables.table_terminal import TerminalTable
from drivelab.store.read import open_run
from golden_reports import golden_answer, golden_run
from made_result_sets import latencies, result_set

RUNS = Path(__file__).resolve().parents[3] / "golden" / "runs"
HOSTILE = '<script>alert(1)</script> | "x"\n\x1b[31m`rm`'


@pytest.fixture
def hostile() -> Table:
    """A pivot of a drive whose name is code, with a note that is code."""
    cells = [(HOSTILE, fs, "", "on", at, at * 0.9, at * 1.1) for fs, at in (("raw", 1.0), ("xfs", 3.0))]
    cells += [("Honest", fs, "", "on", 9.0, 8.9, 9.1) for fs in ("raw", "xfs")]
    table = next(iter(grids(built_in_views()["pivot"], [result_set("run", *latencies(*cells, note="<b>|</b>"))])))
    assert table is not None
    return table


def on_terminal(table: Table, width: int = 80, **options: bool) -> str:
    """What a terminal of that width shows; its console takes markup wherever it is let."""
    console = Console(file=io.StringIO(), width=width)
    console.print(TerminalTable(table, **options))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def on_page(table: Table) -> str:
    """The table as a page has it."""
    source = '{% import "joint.html.j2" as joint %}{{ joint.table(placed) }}'
    return page_templates().from_string(source).render(placed=placed_table(table, "1"))


class Elements(HTMLParser):
    """Every element with its attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def table_of(*rows: Sequence[str], numbers: int = 0) -> Table:
    """A table of texts, the last columns numbers."""
    count = len(rows[0])
    columns = tuple(TableColumn(f"head {place}", is_number=place >= count - numbers) for place in range(count))
    return Table("k", "title", columns, tuple(tuple(map(TableCell, row)) for row in rows))


def test_markdown_keeps_every_row_on_one_line_with_as_many_cells(hostile: Table) -> None:
    text = "\n".join(table_lines(hostile))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(hostile.rows)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(hostile.columns) + 1}
    assert "<script>" not in text.replace(r"\<", "")
    assert "\x1b" not in text


def test_markdown_marks_the_best_and_tells_intervals(hostile: Table) -> None:
    text = "\n".join(table_lines(hostile))
    assert "**1.00** (0.900–1.10)" in text
    assert r"\<b\>\|\</b\>" in text


def test_a_terminal_gets_no_control_characters_and_80_columns(hostile: Table) -> None:
    text = on_terminal(hostile, with_intervals=True)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "1.00*" in text
    assert "[ms]" in text
    assert "0.900–1.10" in text
    assert "[1] <b>|</b>" in text


@pytest.mark.parametrize("run", sorted(path.name for path in RUNS.iterdir()))
@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_table_fits_the_terminal_and_loses_no_number(run: str, width: int) -> None:
    for table in published_tables([result_set_of(golden_run(run), golden_answer(run))]):
        text = on_terminal(table, width, plain=True)
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= width
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                if column.is_number:
                    assert cell.text.replace("\u202f", " ").replace("≥", ">=").replace("–", "-") in text


def test_columns_that_do_not_fit_stand_in_a_block_of_their_own() -> None:
    text = on_terminal(table_of(["drive", *["1234567890"] * 9], numbers=9), 60)
    assert text.count("drive") == 3
    assert text.count("1234567890") == 9


def test_rows_with_labels_in_common_stand_below_these() -> None:
    rows = [
        ["A very long name of a drive on some host or other", "ext4 with many options", state, "1.00"] for state in "ab"
    ]
    text = on_terminal(table_of(*rows, numbers=1), 60)
    assert text.count("A very long name") == 1
    assert re.search(r"^ext4 with many options +a +1\.00", text, re.MULTILINE)


def test_rows_of_much_text_become_records() -> None:
    text = on_terminal(table_of(["pike", *["a text that takes its room"] * 9]), 60)
    assert text.splitlines()[1:3] == ["pike", "  head 1: a text that takes its room"]


def test_a_terminal_tells_what_the_star_means(hostile: Table) -> None:
    told = " ".join(on_terminal(hostile).split())
    assert "the best: its interval overlaps no other" in told


def test_a_page_shows_hostile_names_as_text(hostile: Table) -> None:
    page = Elements(on_page(hostile))
    assert "script" not in {tag for tag, _ in page.found}
    assert "<script>alert(1)</script>" in page.text
    assert [attributes for tag, attributes in page.found if tag == "b"] == [{"class": "best"}]


def test_a_page_tells_heads_best_and_intervals_to_everybody(hostile: Table) -> None:
    page = Elements(on_page(hostile))
    heads = [attributes for tag, attributes in page.found if tag == "th"]
    assert [head["scope"] for head in heads] == ["col"] * 3 + ["row"] * 2
    assert page.text.count("(best)") == 2
    assert "★" in page.text
    assert "the best: its interval overlaps no other" in " ".join(page.text.split())
    assert next(a["title"] for tag, a in page.found if tag == "td") == "0.900–1.10"
    assert {"type": "checkbox", "class": "with-intervals"} in [
        attributes for tag, attributes in page.found if tag == "input"
    ]
    (link,) = [a["href"] for tag, a in page.found if tag == "a" and "download" in a]
    assert link is not None
    csv = base64.b64decode(link.partition(",")[2]).decode()
    assert csv.splitlines()[0].startswith("drive,RAW + WC [ns]")


def test_a_page_offers_intervals_only_where_there_are_some() -> None:
    page = Elements(on_page(table_of(["a", "b"])))
    assert "input" not in {tag for tag, _ in page.found}
    assert "★" not in page.text


def test_the_hostile_golden_run_stays_text_in_every_format() -> None:
    stored = open_run(RUNS / "check-hostile-names")
    found: ResultSet = result_set_of(stored, answer_of_run(stored, SHOWN_METRICS))
    tables = published_tables([found])
    assert any("<script>" in cell.text for table in tables for row in table.rows for cell in row)
    for table in tables:
        assert "script" not in {tag for tag, _ in Elements(on_page(table)).found}
        assert "<script>" not in "\n".join(table_lines(table)).replace(r"\<", "")


def test_a_table_of_nothing_but_wide_numbers_is_drawn_in_blocks() -> None:
    columns = (TableColumn("device"), *(TableColumn(f"count {number}", is_number=True) for number in range(12)))
    row = (TableCell("-"), *(TableCell(str(number) * 12) for number in range(10, 22)))
    printed = on_terminal(Table("wide", "A recording", columns, (row,)))
    assert all(cell.text in printed for cell in row[1:])
    assert "device" not in printed


def test_long_names_at_the_head_break_behind_a_separator() -> None:
    names = ("sim:industrial-card", "sim:micron-7450-max", "sim:consumer-ssd")
    columns = (TableColumn("fit for"), *map(TableColumn, names))
    row = [TableCell(text) for text in ("Redis with an append-only file", "Yes", "No", "Yes")]
    lines = on_terminal(Table("fit", "Fit", columns, (tuple(row),)), width=72).splitlines()
    assert lines[1].split() == ["sim:industrial-", "sim:micron-7450-"]
    assert lines[2].split() == ["fit", "for", "card", "max", "sim:consumer-ssd"]
