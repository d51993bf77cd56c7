"""What a small durable write costs: drives below each other, file systems and write cache side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from drivelab.model.level_words import level_text
from drivelab.model.result_set import Observation, PageForm, ResultSet
from drivelab.model.setting import AS_FOUND
from drivelab.report.numerals import column_unit
from drivelab.report.tables.drive_rows import DriveRow, drive_rows
from drivelab.report.tables.number import Number, number_of, printed_number, printed_scale
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.page_form import PageRow, page_form, page_table
from drivelab.report.tables.small_writes import (
    FILESYSTEM,
    WRITE_CACHE,
    SmallWrite,
    filesystem_words,
    other_levels,
    small_writes,
    varying_factors,
)
from drivelab.report.tables.table import Table

KEY = "pivot"
# more tables of the same kind nobody compares
PIVOTS_MAX = 6
_FILESYSTEM_ORDER = ("raw", "ext4", "xfs")
_CACHE_ORDER = ("on", "off")
_CACHE_WORDS = {"on": " + WC", "off": " - WC", "": ""}
_CAPTION = (
    "+ WC: with the drive's write cache on, - WC: with it off, neither: nobody could tell. Each number is the mean of "
    "the measurements with and without TRIM, its interval reaches from the lowest to the highest end of theirs. The "
    "best of a column is marked where its interval overlaps no other."
)
_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Slice:
    """One workload with one level of every other factor, and its cells by row."""

    title: str
    write: SmallWrite
    cells: Mapping[str, Mapping[_Place, Number]]


def pivot(sets: Sequence[ResultSet]) -> Table | None:
    """The first of `pivots`; None where there is none."""
    return next(iter(pivots(sets)), None)


def pivots(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """One table per workload of durable small writes that was measured on two file systems or more.

    Where other factors vary, every combination of them has a table of its own.
    """
    rows = drive_rows(sets)
    # those that are not shown are not made, and there may be hundreds
    found = list(islice(chain.from_iterable(_slices(write, rows) for write in small_writes(sets)), PIVOTS_MAX))
    if not found:
        return ()
    if len(sets) == 1 and sets[0].is_reference:
        form = page_form(sets[0], KEY)
        if form is not None:
            page_rows = [_page_row(row, found[0]) for row in rows if row.name in found[0].cells]
            title = f"Pivot table: {found[0].title}"
            return (page_table(sets[0], form, title, page_rows, _page_caption(form, page_rows)),)
    return tuple(_table(one, rows, sets, number) for number, one in enumerate(found, start=1))


def _slices(write: SmallWrite, rows: Sequence[DriveRow]) -> Iterable[_Slice]:
    measured = {row.name: write.of(row) for row in rows}
    runs = [dict(levels) for row in rows if not row.is_reference for levels in measured[row.name]]
    factors = varying_factors(runs)
    others = [tuple(pair for pair in other_levels(levels) if pair[0] in factors) for levels in runs]
    for wanted in dict.fromkeys(others) or {(): None}:
        cells = {
            row.name: _cells(one for one in measured[row.name].values() if row.is_reference or _has(one, wanted))
            for row in rows
        }
        cells = {name: found for name, found in cells.items() if found}
        if any(len({filesystem for filesystem, _ in found}) > 1 for found in cells.values()):
            words = ", ".join(f"{name} {level_text(name, level)}" for name, level in wanted)
            yield _Slice(f"{write.title}, {words}" if words else write.title, write, cells)


def _has(one: Observation, wanted: Iterable[tuple[str, str]]) -> bool:
    return all(one.levels.get(name) == level for name, level in wanted)


def _cells(observations: Iterable[Observation]) -> dict[_Place, Number]:
    members: dict[_Place, list[Observation]] = {}
    for one in observations:
        cache = one.levels.get(WRITE_CACHE, "")
        # as found, and nobody could read it: then nothing is known of it
        place = (one.levels.get(FILESYSTEM, ""), "" if cache == AS_FOUND else cache)
        members.setdefault(place, []).append(one)
    return {place: number for place, found in members.items() if (number := number_of(found)) is not None}


def _table(one: _Slice, rows: Sequence[DriveRow], sets: Sequence[ResultSet], number: int) -> Table:
    places = sorted({place for found in one.cells.values() for place in found}, key=_order)
    columns = [NumberColumn(column_name(place), "ns", is_better_when_low=True) for place in places]
    shown = []
    for row in rows:
        found = one.cells.get(row.name)
        if found:
            numbers = [_with_page(row, columns[at].name, found.get(place)) for at, place in enumerate(places)]
            shown.append(NumberRow((row.name,), tuple(numbers), text_notes=one.write.row_notes(row)))
    title = f"{one.write.latency[0].upper()}{one.write.latency[1:]}: {one.title}"
    as_printed = len(sets) == 1 and sets[0].is_reference
    return number_table(
        KEY if number == 1 else f"{KEY}-{number}", title, ("drive",), columns, shown, _CAPTION, as_printed=as_printed
    )


def column_name(place: _Place) -> str:
    """The head of a file system with a state of the write cache: ``Ext4 + WC``."""
    filesystem, cache = place
    words = filesystem_words({FILESYSTEM: filesystem}) or "file system unknown"
    return f"{words}{_CACHE_WORDS.get(cache, f' (WC {cache})')}"


def _order(place: _Place) -> tuple[object, ...]:
    filesystem, cache = place
    at = _FILESYSTEM_ORDER.index(filesystem) if filesystem in _FILESYSTEM_ORDER else len(_FILESYSTEM_ORDER)
    return (_CACHE_ORDER.index(cache) if cache in _CACHE_ORDER else len(_CACHE_ORDER), cache, at, filesystem)


def _with_page(row: DriveRow, head: str, number: Number | None) -> Number | None:
    """The number that the page of a published row prints, with a note where its own numbers give another one."""
    told = [cell for one in row.sets for cell in one.cells if (cell.table, cell.column) == (KEY, head)]
    cell = next((cell for cell in told if cell.row == row.drive.name), None)
    return number if cell is None or number is None else printed_number(cell.printed, number)


def _page_caption(form: PageForm, rows: Sequence[PageRow]) -> str:
    """How to read a page's own heads: what the letters mean, and the unit of the numbers where no head tells it."""
    letters = "+ WC: with the drive's write cache on, - WC: with it off."
    has_unit = any(re.search(r"[(\[]", head) for head in form.columns)
    numbers = [number for row in rows for number in row.numbers.values() if number.value and number.printed]
    if has_unit or not numbers:
        return letters
    scales = {printed_scale(number.printed, number.value or 1.0) for number in numbers}
    units = {column_unit([scale], "ns").name for scale in scales}
    unit = f" Latencies in {units.pop()}; nothing is known of their scatter." if len(units) == 1 else ""
    return f"{letters}{unit}"


def _page_row(row: DriveRow, one: _Slice) -> PageRow:
    numbers = {column_name(place).lower(): number for place, number in one.cells[row.name].items()}
    return PageRow(row.drive.name, {"drive": row.drive.name}, numbers, row.drive.printed)
