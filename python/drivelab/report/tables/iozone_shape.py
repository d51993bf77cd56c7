"""Throughput over file size and record size in the shape of IOzone's report for spreadsheets.

A block for each way to go through a file: rows are file sizes, columns record
sizes, both in kB of 1024 B; cells are kB/s. What was not measured is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.result_set import ResultSet
from drivelab.report.figures.measured import Point
from drivelab.report.figures.size_grid import OF_FILES, Grid, grids_over
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "surfaces"
KIB = 1024
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
    "Rows are file sizes, columns record sizes, both in KiB; cells are KiB/s, the median of the repeats. Empty is what "
    "does not exist or was not measured. “✗” stands at numbers with trials that do not describe the drive."
)


def surface_tables(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """A table for each workload that was measured over both sizes."""
    return tuple(_table(grid) for grid in grids_over(sets, OF_FILES, THROUGHPUT))


def _table(grid: Grid) -> Table:
    heads = [TableColumn("file size", "KiB"), *(TableColumn(f"{_kib(x)} KiB", "KiB/s", is_number=True) for x in grid.x)]
    rows = []
    for file in grid.y:
        cells = [_cell(grid.cells.get((record, file))) for record in grid.x]
        rows.append((TableCell(_kib(file)), *cells))
    return Table(KEY, f"Throughput over file and record size: {grid.label}", tuple(heads), tuple(rows), CAPTION)


def _cell(point: Point | None) -> TableCell:
    if point is None:
        return TableCell("")
    ends = [None if end is None else _kib(end) for end in (point.low, point.high)]
    interval = f"{ends[0]}–{ends[1]}" if None not in ends else ""
    return TableCell(f"{_kib(point.value)}{' ✗' if point.invalid_trials else ''}", interval)


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
