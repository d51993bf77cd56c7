"""What a write and a flush cost each drive, and how well they explain what each file system costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.flush_fit import FlushCell, FlushFit
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import DisplayUnit, column_unit, number_text
from drivelab.report.sentences.flush_model import commands_text
from drivelab.report.tables.table import Table, TableCell, TableColumn

COSTS_CAPTION = (
    "An operation of n writes and m flushes, one after the other, takes n times the one and m times the other: least "
    "squares on the relative error of the combinations with the cache on. With the cache off nothing is flushed; a "
    "write then takes what it takes to be durable, and the combination with the fewest writes tells it. The residual "
    "is the root mean square of predicted over measured, less 1; above 10\u00a0% something else is at work."
)
CELLS_CAPTION = (
    "Fitted: the costs were taken from it. Held out: predicted from the other combinations, so this is the test. "
    "The residual is predicted over measured, less 1."
)
_KNOWN_COUNTS = "commands were not counted: they are those of a synchronous append on Linux"
_VERDICTS = {
    "explains": "writes and flushes explain it",
    "another mechanism": "another mechanism as well",
    "refused": "not sums of writes and flushes",
    "too few cells": "too few combinations",
}
# beyond it something else is at work
RESIDUAL_MAX = 0.10
_NOTHING = "–"


def flush_model_tables(fits: Sequence[FlushFit]) -> tuple[Table, ...]:
    """The table of costs, and that of predictions beside measurements; none without a fit."""
    return (_costs_table(fits), _cells_table(fits)) if fits else ()


def _costs_table(fits: Sequence[FlushFit]) -> Table:
    unit = column_unit([one.value for fit in fits for one in (fit.write, fit.flush, fit.uncached_write)], "ns")
    subjects = _subjects(fits)
    notes: list[str] = []
    rows = []
    for fit in fits:
        marks = tuple(_mark(note, notes) for note in _notes(fit))
        rows.append(
            (
                *(TableCell(text) for text in _subject(fit, subjects)),
                *(_cost(one, unit) for one in (fit.write, fit.flush, fit.uncached_write)),
                TableCell(_percent(fit.rms_residual, sign=False)),
                TableCell(_verdict(fit), notes=marks),
            )
        )
    names = ("write", "flush", "write, cache off")
    columns = (
        *(TableColumn(name) for name in subjects),
        *(TableColumn(name, unit.name, is_number=True) for name in names),
        TableColumn("residual", "%", is_number=True),
        TableColumn("verdict"),
    )
    title = "What a write and a flush cost"
    return Table("flush-model", title, columns, tuple(rows), COSTS_CAPTION, tuple(notes), _costs_data(fits))


def _cells_table(fits: Sequence[FlushFit]) -> Table:
    subjects = _subjects(fits)
    cells = [(fit, cell) for fit in fits for cell in fit.cells]
    unit = column_unit([cell.observed_ns for _, cell in cells], "ns")
    rows = tuple(
        (
            *(TableCell(text) for text in _subject(fit, subjects)),
            *(TableCell(text or _NOTHING) for text in (cell.filesystem, cell.cache, commands_text(cell))),
            TableCell(_number(cell.predicted_ns, unit)),
            TableCell(_number(cell.observed_ns, unit)),
            TableCell(_percent(cell.residual)),
            TableCell(cell.role),
        )
        for fit, cell in cells
    )
    columns = (
        *(TableColumn(name) for name in (*subjects, "file system", "write cache", "commands per operation")),
        TableColumn("predicted", unit.name, is_number=True),
        TableColumn("measured", unit.name, is_number=True),
        TableColumn("residual", "%", is_number=True),
        TableColumn("part in the fit"),
    )
    title = "Writes and flushes against what was measured"
    return Table("flush-model-predictions", title, columns, rows, CELLS_CAPTION, data=_cells_data(cells))


def _subjects(fits: Sequence[FlushFit]) -> tuple[str, ...]:
    """What tells the rows apart: always the drive, machine and workload where there are several."""
    names = ["drive"]
    if len({(fit.drive, fit.machine) for fit in fits}) > len({fit.drive for fit in fits}):
        names.append("machine")
    if len({fit.workload for fit in fits}) > 1:
        names.append("workload")
    return tuple(names)


def _subject(fit: FlushFit, names: Iterable[str]) -> tuple[str, ...]:
    known = {"drive": fit.drive, "machine": fit.machine, "workload": fit.workload}
    return tuple(known[name] for name in names)


def _verdict(fit: FlushFit) -> str:
    failing = [cell for cell in fit.cells if cell.role == "held out" and abs(cell.residual or 0.0) > RESIDUAL_MAX]
    if fit.verdict == "explains" and failing:
        return f"{_VERDICTS['explains']} with the cache on, not all of it with the cache off"
    return _VERDICTS[fit.verdict]


def _notes(fit: FlushFit) -> list[str]:
    known = [] if fit.has_counts else [_KNOWN_COUNTS]
    return [*known, *(f"may be at work: {one}" for one in fit.candidates), *fit.notes]


def _mark(note: str, notes: list[str]) -> int:
    if note not in notes:
        notes.append(note)
    return notes.index(note) + 1


def _cost(estimate: Estimate, unit: DisplayUnit) -> TableCell:
    if estimate.low is None or estimate.high is None:
        return TableCell(_number(estimate.value, unit))
    ends = (number_text(end / unit.scale) for end in (estimate.low, estimate.high))
    return TableCell(_number(estimate.value, unit), "–".join(ends))


def _number(value: float | None, unit: DisplayUnit) -> str:
    return _NOTHING if value is None else number_text(value / unit.scale)


def _percent(share: float | None, *, sign: bool = True) -> str:
    if share is None:
        return _NOTHING
    text = f"{100 * share:{'+' if sign else ''}.1f}"
    return text.replace("-0.0", "0.0").replace("+0.0", "0.0")


def _costs_data(fits: Sequence[FlushFit]) -> DataTable:
    ends = [f"{name}_ns{end}" for name in ("write", "flush", "uncached_write") for end in ("", "_low", "_high")]
    rows: list[list[Cell]] = [
        [
            *(fit.drive, fit.machine, fit.workload, fit.metric),
            *(end for one in (fit.write, fit.flush, fit.uncached_write) for end in (one.value, one.low, one.high)),
            *(fit.rms_residual, fit.verdict, "; ".join(fit.candidates), int(fit.has_counts)),
        ]
        for fit in fits
    ]
    subject = ("drive", "machine", "workload", "metric")
    return DataTable((*subject, *ends, "rms_residual", "verdict", "candidates", "has_counts"), rows)


def _cells_data(cells: Sequence[tuple[FlushFit, FlushCell]]) -> DataTable:
    columns = ("drive", "machine", "workload", "metric", "filesystem", "write_cache")
    numbers = ("writes_per_operation", "flushes_per_operation", "predicted_ns", "measured_ns", "residual", "role")
    rows: list[list[Cell]] = [
        [
            *(fit.drive, fit.machine, fit.workload, fit.metric, cell.filesystem, cell.cache),
            *(cell.writes, cell.flushes, cell.predicted_ns, cell.observed_ns, cell.residual, cell.role),
        ]
        for fit, cell in cells
    ]
    return DataTable((*columns, *numbers), rows)
