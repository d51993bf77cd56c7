"""The parts of a latency as a table: mean, median and p99 with their intervals, typical and slowest operations."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.trace import Explanation
from drivelab.report.content import TracedCombination
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import DisplayUnit, column_unit, estimate_numbers, number_text
from drivelab.report.tables.table import Table, TableCell, TableColumn

CAPTION = (
    "In every single operation the parts add up to its latency, so means do too: overall, of the typical operations "
    "(the middle fifth by latency), and of the slowest 1\u00a0%. Medians and p99 do not add up. A flush at the device "
    "is charged before a read or write at the device, that before waiting for it, that before a layer above the drive, "
    "and that before software."
)
_WHOLE = "whole latency"
_NOTHING = "–"


def parts_table(traced: Sequence[TracedCombination]) -> Table | None:
    """The parts of every combination that has an explanation; None without one."""
    found = [one for one in traced if one.is_answered]
    if not found:
        return None
    has_names = len(traced) > 1
    unit = column_unit([one.explanation.mean_ns for one in found], "ns")
    names = ("mean", "median", "p99", "typical", "slowest 1\u00a0%")
    return Table(
        key="parts",
        title="The parts of the latency",
        columns=(
            *([TableColumn("combination")] if has_names else []),
            TableColumn("part"),
            *(TableColumn(name, unit.name, is_number=True) for name in names[:3]),
            TableColumn("share of the mean", "%", is_number=True),
            *(TableColumn(name, unit.name, is_number=True) for name in names[3:]),
        ),
        rows=tuple(
            (*([TableCell(one.label)] if has_names else []), *row)
            for one in found
            for row in _rows(one.explanation, unit)
        ),
        caption=CAPTION,
        data=_data(found),
    )


def _rows(explanation: Explanation, unit: DisplayUnit) -> list[tuple[TableCell, ...]]:
    found = []
    for part in explanation.parts:
        share = (part.mean.value or 0.0) / explanation.mean_ns if explanation.mean_ns else 0.0
        found.append(
            (
                TableCell(part.title),
                *(_cell(estimate, unit) for estimate in (part.mean, part.p50, part.p99)),
                TableCell(f"{100 * share:.1f}"),
                *(TableCell(number_text(value / unit.scale)) for value in (part.typical_ns, part.slowest_ns)),
            )
        )
    whole = (explanation.traced_mean_ns, explanation.traced_ns, explanation.traced_p99_ns)
    groups = (explanation.typical_ns, explanation.slowest_ns)
    row = (TableCell(_WHOLE), *(_cell(estimate, unit) for estimate in whole), TableCell("100"))
    return [*found, (*row, *(TableCell(number_text(value / unit.scale)) for value in groups))]


def _cell(estimate: Estimate | None, unit: DisplayUnit) -> TableCell:
    if estimate is None:
        return TableCell(_NOTHING)
    if estimate.value == estimate.low == estimate.high == 0:
        # no operation has the part
        return TableCell("0")
    return TableCell(*estimate_numbers(estimate, unit))


def _data(traced: Sequence[TracedCombination]) -> DataTable:
    numbers = [f"{name}_ns{end}" for name in ("mean", "p50", "p99") for end in ("", "_low", "_high")]
    columns = ("trial", "label", "operation", "operation_count", "part", *numbers, "typical_ns", "slowest_ns")
    rows: list[list[Cell]] = []
    for one in traced:
        explanation = one.explanation
        about: list[Cell] = [explanation.trial, one.label, explanation.operation, explanation.operations]
        for part in explanation.parts:
            ends: list[Cell] = [end for e in (part.mean, part.p50, part.p99) for end in (e.value, e.low, e.high)]
            rows.append([*about, part.layer or part.part, *ends, part.typical_ns, part.slowest_ns])
        whole: list[Cell] = []
        for estimate in (explanation.traced_mean_ns, explanation.traced_ns, explanation.traced_p99_ns):
            whole += [estimate.value, estimate.low, estimate.high] if estimate else [None] * 3
        rows.append([*about, "latency", *whole, explanation.typical_ns, explanation.slowest_ns])
    return DataTable(columns, rows)
