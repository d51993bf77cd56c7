"""A table as Markdown."""

from __future__ import annotations

from dataclasses import replace

from drivelab.report.markdown.syntax import table_lines
from drivelab.report.tables.table import Table


def table_markdown(table: Table, with_intervals: bool = False) -> str:
    """A table as GitHub's Markdown: caption, table, notes; every character of its texts shows as it is.

    Parameters
    ----------
    table : Table
        The table.
    with_intervals : bool
        Whether each number has its interval behind it, in parentheses.
    """
    if not with_intervals:
        rows = tuple(tuple(replace(cell, interval="") for cell in row) for row in table.rows)
        table = replace(table, rows=rows)
    return "\n".join(table_lines(table)) + "\n"
