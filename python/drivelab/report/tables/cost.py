"""What a drive's capacity and speed cost: per GB, per operation a second, per durable write a second."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drivelab.model.judged_metric import RATE
from drivelab.model.level_words import levels_phrase
from drivelab.model.price import Price
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import number_text
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "cost"
_CAPTION = (
    "For each workload the fastest combination of settings that was measured counts. A price per 1000 operations/s "
    "says what so many of them every second cost: of two drives the lower one buys more. Prices are as they were typed."
)


@dataclass(frozen=True, slots=True)
class _Line:
    drive: MeasuredDrive
    price: Price
    workload: str
    settings: str
    rate_per_s: float
    is_durable: bool


def cost(sets: Sequence[ResultSet]) -> Table | None:
    """A row per drive with a price, and per workload of it; None when no drive has a price."""
    lines = [line for one in sets for line in _lines(one)]
    if not lines:
        return None
    currencies = list(dict.fromkeys(line.price.currency for line in lines))
    unit = currencies[0] if len(currencies) == 1 else ""
    heads = (
        "price",
        "capacity",
        "per GB",
        "workload",
        "settings",
        "rate",
        "per 1000 operations/s",
        "per durable write/s",
    )
    units = (unit, "GB", unit, "", "", "1/s", unit, unit)
    columns = [TableColumn("drive")]
    columns += [
        TableColumn(head, each, is_number=head not in ("workload", "settings"))
        for head, each in zip(heads, units, strict=True)
    ]
    rows = tuple(_row(line, is_one_currency=bool(unit) or currencies == [""]) for line in lines)
    return Table(KEY, "What it costs", tuple(columns), rows, _CAPTION, data=_data(lines))


def _lines(one: ResultSet) -> Iterator[_Line]:
    for drive in one.drives:
        if drive.price is None:
            continue
        found = [each for each in one.observations if each.drive == drive.name and _rate_of(each) is not None]
        workloads = dict.fromkeys(each.workload for each in found)
        if not workloads:
            yield _Line(drive, drive.price, "", "", math.nan, is_durable=False)
        for workload in workloads:
            best = max((each for each in found if each.workload == workload), key=lambda each: _rate_of(each) or 0)
            settings = levels_phrase(best.levels)
            rate = _rate_of(best) or math.nan
            yield _Line(drive, drive.price, best.title or workload, settings, rate, best.is_durable)


def _rate_of(one: Observation) -> float | None:
    return one.estimate.value if one.metric == RATE and one.invalid_trials < one.trial_count else None


def _row(line: _Line, *, is_one_currency: bool) -> tuple[TableCell, ...]:
    capacity_gb = _capacity_gb(line.drive)
    per_operation = line.price.amount / line.rate_per_s
    texts = (
        line.drive.name,
        f"{line.price.amount:.2f}" if is_one_currency else str(line.price),
        number_text(capacity_gb) if capacity_gb else "–",
        number_text(line.price.amount / capacity_gb) if capacity_gb else "–",
        line.workload or "–",
        line.settings or "–",
        _known(line.rate_per_s),
        _known(1000 * per_operation),
        _known(per_operation) if line.is_durable else "–",
    )
    return tuple(TableCell(text) for text in texts)


def _known(value: float) -> str:
    return "–" if math.isnan(value) else number_text(value)


def _capacity_gb(drive: MeasuredDrive) -> float | None:
    return drive.capacity_bytes / 1e9 if drive.capacity_bytes else None


def _data(lines: Sequence[_Line]) -> DataTable:
    columns = (
        *("drive", "price", "currency", "capacity_bytes", "price_per_gb", "workload", "settings", "rate_per_s"),
        *("price_per_operation_per_s", "price_per_durable_write_per_s"),
    )
    rows: list[list[Cell]] = []
    for line in lines:
        capacity_gb = _capacity_gb(line.drive)
        is_measured = not math.isnan(line.rate_per_s)
        per_operation = line.price.amount / line.rate_per_s if is_measured else None
        rows.append(
            [
                *(line.drive.name, line.price.amount, line.price.currency, line.drive.capacity_bytes),
                line.price.amount / capacity_gb if capacity_gb else None,
                *(line.workload, line.settings, line.rate_per_s if is_measured else None),
                *(per_operation, per_operation if line.is_durable else None),
            ]
        )
    return DataTable(columns, rows)
