"""A table as a page prints it: its heads, its cells, and a note where its own numbers give something else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.result_set import PageForm, PublishedCell, ResultSet
from drivelab.report.tables.number import Number, disagreement
from drivelab.report.tables.number_table import NoteList
from drivelab.report.tables.table import Table, TableCell, TableColumn


@dataclass(frozen=True, slots=True)
class PageRow:
    """What a row of a page's table can hold.

    Attributes
    ----------
    name : str
        As cells of the page name the row.
    texts : mapping of str to str
        What stands below a head; heads in small letters, without what is in parentheses.
    numbers : mapping of str to Number
        What follows from the page's other numbers, by head in the same way.
    printed : mapping of str to str
        Cells that the page prints about the machine or drive of the row, by the page's own head.
    """

    name: str
    texts: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, Number] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)


def bare_head(head: str) -> str:
    """A head in small letters without its unit: ``Max Bandwidth (MB/s)`` is ``max bandwidth``."""
    return re.sub(r"\s*[(\[].*?[)\]]", "", head).strip().lower()


def page_form(one: ResultSet, table: str) -> PageForm | None:
    """How a page prints a table; None where it tells neither a form nor cells of it."""
    told = next((form for form in one.forms if form.table == table), None)
    if told is not None:
        return told
    heads = tuple(dict.fromkeys(cell.column for cell in one.cells if cell.table == table))
    return PageForm(table, "", heads) if heads else None


def page_table(one: ResultSet, form: PageForm, title: str, rows: Sequence[PageRow], caption: str = "") -> Table:
    """A table of a page in the page's own form.

    Parameters
    ----------
    title : str
        What stands above it where the form has no title.
    rows : sequence of PageRow
        In the order of the page.
    """
    cells = {(cell.row, cell.column): cell for cell in one.cells if cell.table == form.table}
    notes = NoteList()
    shown = tuple(tuple(_cell(row, head, cells, notes) for head in form.columns) for row in rows)
    numeric = {bare_head(head) for row in rows for head in row.numbers}
    columns = tuple(TableColumn(head, is_number=bare_head(head) in numeric) for head in form.columns)
    return Table(form.table, form.title or title, columns, shown, caption, tuple(notes.texts))


def _cell(row: PageRow, head: str, cells: Mapping[tuple[str, str], PublishedCell], notes: NoteList) -> TableCell:
    bare = bare_head(head)
    number = row.numbers.get(bare)
    told = cells.get((row.name, head))
    if told is not None:
        wrong = disagreement(told.printed, number)
        return TableCell(told.printed, notes=notes.numbers([wrong] if wrong else []))
    if head in row.printed:
        return TableCell(row.printed[head])
    if number is not None and number.printed:
        return TableCell(number.printed, notes=notes.numbers(number.notes))
    return TableCell(row.texts.get(bare, ""))
