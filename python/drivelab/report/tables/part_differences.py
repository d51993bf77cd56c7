"""Two traces beside each other as a table: each part on both sides, the difference, and what the drive was told."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.trace import PART_TITLES, ExplanationDifference
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import column_unit, number_text, rate_text
from drivelab.report.sentences.explanation_difference import interval_text
from drivelab.report.tables.device_work import WORK_NAMES
from drivelab.report.tables.table import Table, TableCell, TableColumn

WHOLE = "latency"
KEY = "part-differences"
CAPTION = (
    "Means per operation; the differences of the parts add up to that of the whole latency. More than chance: the "
    "probability of such a difference where there is none is below 5\u00a0%, corrected for the number of parts (Holm)."
)
_OF_OPERATIONS = (
    "The intervals are made of operations: what another run of the same thing would change is not in them. Three "
    "repeats on each side bring it in."
)
_WORK_CAPTION = "Commands and bytes per operation, where the two sides differ."


def part_differences_tables(differences: Sequence[ExplanationDifference]) -> tuple[Table, ...]:
    """A table of parts for each difference, and one of device work where it is not the same."""
    found = []
    for one in differences:
        found.append(_parts_table(one))
        if one.work:
            found.append(_work_table(one))
    return tuple(found)


def _parts_table(one: ExplanationDifference) -> Table:
    unit = column_unit([one.total.base_ns, one.total.new_ns], "ns")
    few = [_OF_OPERATIONS] if one.units == "operations" else []
    return Table(
        key=KEY,
        title=f"Which part differs{_of(one)}",
        columns=(
            TableColumn("part"),
            TableColumn(one.base, unit.name, is_number=True),
            TableColumn(one.new, unit.name, is_number=True),
            TableColumn("difference", unit.name, is_number=True),
            TableColumn("interval (Holm)"),
            TableColumn("more than chance"),
        ),
        rows=tuple(
            (
                TableCell(part_name(part.part)),
                *(TableCell(number_text(value / unit.scale)) for value in (part.base_ns, part.new_ns)),
                TableCell(_signed_number((part.difference_ns.value or 0.0) / unit.scale)),
                TableCell(interval_text(part) or "–"),
                TableCell("yes" if part.is_beyond_noise else "no"),
            )
            for part in one.parts
        ),
        caption=" ".join([CAPTION, *few]),
        data=differences_data([one]),
    )


def _work_table(one: ExplanationDifference) -> Table:
    names = [name for name in WORK_NAMES if name in one.work]
    rows = tuple(tuple(map(TableCell, (WORK_NAMES[name], *map(rate_text, one.work[name])))) for name in names)
    columns = (
        TableColumn("per operation"),
        TableColumn(one.base, is_number=True),
        TableColumn(one.new, is_number=True),
    )
    plain: list[list[Cell]] = [[name, *one.work[name]] for name in names]
    data = DataTable(("work", "base_per_operation", "new_per_operation"), plain)
    return Table(f"{KEY}-work", f"What the drive was told{_of(one)}", columns, rows, _WORK_CAPTION, data=data)


def _of(one: ExplanationDifference) -> str:
    return f": {one.label}" if one.label else ""


def differences_data(differences: Sequence[ExplanationDifference]) -> DataTable:
    """The differences in full precision, the whole latency first."""
    columns = ("label", "operation", "base", "new", "part", "base_mean_ns", "new_mean_ns", "difference_ns")
    more = ("difference_low_ns", "difference_high_ns", "p_value", "adjusted_p_value", "is_beyond_noise", "units")
    rows: list[list[Cell]] = [
        [
            *(one.label, one.operation, one.base, one.new, part.part, part.base_ns, part.new_ns),
            *(part.difference_ns.value, part.difference_ns.low, part.difference_ns.high),
            *(part.p_value, part.adjusted_p_value, "yes" if part.is_beyond_noise else "no", one.units),
        ]
        for one in differences
        for part in one.parts
    ]
    return DataTable((*columns, *more), rows)


def part_name(part: str) -> str:
    """What differs, for people: a part, or the latency as a whole."""
    return next((title for name, title in PART_TITLES.items() if name == part), WHOLE)


def _signed_number(value: float) -> str:
    """A difference with its sign in the unit of its column."""
    text = number_text(abs(value))
    return text if value == 0 else f"{'+' if value > 0 else '-'}{text}"
