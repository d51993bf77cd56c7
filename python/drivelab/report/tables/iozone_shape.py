"""Throughput over file size and record size in the shape of IOzone's report for spreadsheets.

A block for each way to go through a file: rows are file sizes, columns record
sizes. IOzone's own text has both in kB of 1024 B, and kB/s; tables have MB/s, as
everything else. What was not measured is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.result_set import ResultSet
from drivelab.model.units import format_bytes
from drivelab.report.figures.measured import Point
from drivelab.report.figures.size_grid import OF_FILES, Grid, grids_over
from drivelab.report.numerals import number_text
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "surfaces"
KIB, MB = 1024, 1e6
# what IOzone calls them, in its order
REPORTS = {
    "write": "Writer report",
    "rewrite": "Re-writer report",
    "read": "Reader report",
    "reread": "Re-Reader report",
    "random-read": "Random read report",
    "random-write": "Random write report",
    "backward-read": "Backward read report",
    "record-rewrite": "Record rewrite report",
    "strided-read": "Stride read report",
    "stdio-write": "Fwrite report",
    "stdio-rewrite": "Re-Fwrite report",
    "stdio-read": "Fread report",
    "stdio-reread": "Re-Fread report",
}
CAPTION = (
    "Rows are file sizes, columns record sizes; each number is the median of the repeats, with their range, which a "
    "single trial has not. Empty is what does not exist or was not measured. “✗” stands at numbers with trials that do "
    "not describe the drive."
)


def surface_tables(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """A table for each workload that was measured over both sizes."""
    return tuple(_table(grid) for grid in grids_over(sets, OF_FILES, THROUGHPUT))


def _table(grid: Grid) -> Table:
    heads = [TableColumn("file size"), *(TableColumn(format_bytes(x), "MB/s", is_number=True) for x in grid.x)]
    rows = []
    for file in grid.y:
        cells = [_cell(grid.cells.get((record, file))) for record in grid.x]
        rows.append((TableCell(format_bytes(file)), *cells))
    return Table(KEY, f"Throughput over file and record size: {grid.label}", tuple(heads), tuple(rows), CAPTION)


def _cell(point: Point | None) -> TableCell:
    if point is None:
        return TableCell("")
    is_range = point.trial_count > 1 and point.low is not None and point.high is not None
    interval = f"{_mb(point.low or 0)}–{_mb(point.high or 0)}" if is_range else ""
    return TableCell(f"{_mb(point.value)}{' ✗' if point.invalid_trials else ''}", interval)


def _mb(number: float) -> str:
    return number_text(number / MB)


def _kib(number: float) -> str:
    return str(round(number / KIB))


def spreadsheet_text(sets: Sequence[ResultSet]) -> str:
    """The same as IOzone's ``-R`` prints it, of the workloads that it has, in its order.

    Workloads of several drives or file systems follow each other, each block
    under the same name: IOzone has no place for more.
    """
    grids = grids_over(sets, OF_FILES, THROUGHPUT)
    ordered = [(name, grid) for workload, name in REPORTS.items() for grid in grids if _workload(grid) == workload]
    return "".join(f"{line}\n" for line in ("Excel output is below: ", *_blocks(ordered)))


def _workload(grid: Grid) -> str:
    return grid.first.observation.workload


def _blocks(grids: Iterable[tuple[str, Grid]]) -> Iterator[str]:
    for name, grid in grids:
        yield ""
        yield f'"{name}"'
        yield "      " + "".join(f'  "{_kib(record)}"' for record in grid.x)
        for file in grid.y:
            points = [grid.cells.get((record, file)) for record in grid.x]
            # rows are ragged: they end with the last record that the file has room for
            while points and points[-1] is None:
                points.pop()
            values = [f" {_kib(point.value)} " if point else " 0 " for point in points]
            yield f'"{_kib(file)}"  ' + "".join(values)
