"""A figure's numbers as CSV, and as a link that holds them, so that a report without its run still has its data."""

from __future__ import annotations

import base64
import csv
import gzip
import io

from drivelab.report.figures.figure import Cell, DataTable

# a longer text is packed, to a seventh or less: else the CSVs of thousands of combinations are half of the page
_PACKED_FROM_BYTES = 50_000
_PACKED = "data:application/gzip"
# a spreadsheet would run such a cell as a formula (OWASP, CSV injection)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(table: DataTable) -> str:
    """The table as CSV (RFC 4180): a line of names, full precision, empty cells for what does not exist."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([csv_cell(name) for name in table.columns])
    writer.writerows([csv_cell(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def csv_link(table: DataTable) -> str:
    """A ``data:`` address of the CSV, which browsers save as a file; a long one is packed with gzip."""
    content, kind = csv_text(table).encode(), "data:text/csv;charset=utf-8"
    if len(content) >= _PACKED_FROM_BYTES:
        # the same report has the same bytes whenever it is written
        content, kind = gzip.compress(content, compresslevel=9, mtime=0), _PACKED
    return f"{kind};base64,{base64.b64encode(content).decode('ascii')}"


def csv_file_name(stem: str, link: str) -> str:
    """The name under which a browser saves what a link holds: ``latency-cdf.csv``, or ``io-scatter.csv.gz``."""
    return f"{stem}.csv.gz" if link.startswith(_PACKED) else f"{stem}.csv"


def csv_cell(cell: Cell) -> Cell:
    """A cell as every CSV of drivelab has it: no text that a spreadsheet would run, nothing for what does not exist."""
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return "" if cell is None else cell
