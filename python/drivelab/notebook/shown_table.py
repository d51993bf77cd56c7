"""A table that shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from drivelab.notebook.frames import Frame, arrow_of_data, as_frame, checked_frame
from drivelab.report.markdown.syntax import table_lines
from drivelab.report.tables.table import Table, TableCell

ROWS_MAX = 200


@dataclass(frozen=True, slots=True, repr=False)
class ShownTable:
    """A table of a report.

    Attributes
    ----------
    default_frame : str
        The form of `frame` when none is named.
    """

    table: Table
    default_frame: Frame = "arrow"

    @property
    def title(self) -> str:
        """What it shows."""
        return self.table.title

    def frame(self, kind: str = "") -> Any:
        """Its numbers in full precision and plain units.

        Parameters
        ----------
        kind : str
            ``arrow``, ``pandas`` or ``polars``; left out, that of the run.

        Raises
        ------
        DrivelabError
            O820: the library is not installed. O821: there is no such form.
        """
        return as_frame(arrow_of_data(self.table.plain()), checked_frame(kind or self.default_frame))

    def __repr__(self) -> str:
        return f"<table {self.table.key}: {self.title}, {len(self.table.rows)} rows>"

    def _repr_markdown_(self) -> str:
        return "\n".join([f"**{self.title}**", "", *table_lines(self.table)])

    def _repr_html_(self) -> str:
        table = self.table
        heads = "".join(f"<th>{escape(column.full)}</th>" for column in table.columns)
        is_number = [column.is_number for column in table.columns]
        rows = "".join(f"<tr>{''.join(map(_cell, row, is_number))}</tr>" for row in table.rows[:ROWS_MAX])
        cut = len(table.rows) - ROWS_MAX
        notes = [f"{number}: {note}" for number, note in enumerate(table.notes, start=1)]
        notes += [f"{cut} rows more: .frame() has them"] if cut > 0 else []
        below = "".join(f"<div><small>{escape(text)}</small></div>" for text in [table.caption, *notes] if text)
        return f"<b>{escape(self.title)}</b><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}"


def _cell(cell: TableCell, is_number: bool) -> str:
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.is_best else text
    marks = "".join(f"<sup>{number}</sup>" for number in cell.notes)
    interval = f"<br><small>{escape(cell.interval)}</small>" if cell.interval else ""
    return f'<td style="text-align:{"right" if is_number else "left"}">{text}{marks}{interval}</td>'
