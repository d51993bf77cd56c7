"""A figure's numbers as CSV, and as a link that holds them, so that a report without its run still has its data."""

from __future__ import annotations

import base64
import csv
import io

from drivelab.report.figures.figure import Cell, DataTable

# a spreadsheet would run such a cell as a formula (OWASP, CSV injection)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(table: DataTable) -> str:
    """The table as CSV (RFC 4180): a line of names, full precision, empty cells for what does not exist."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def csv_link(table: DataTable) -> str:
    """A ``data:`` address of the CSV, which browsers save as a file."""
    encoded = base64.b64encode(csv_text(table).encode()).decode("ascii")
    return f"data:text/csv;charset=utf-8;base64,{encoded}"


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return "" if cell is None else cell
