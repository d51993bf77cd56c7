"""Makes a table of texts and numbers: one unit per column, notes, the best value, full precision for the CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from drivelab.model.estimate import Unit
from drivelab.report.combination_labels import NOT_APPLICABLE
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import DisplayUnit, column_unit
from drivelab.report.tables.number import Number, printed_scale
from drivelab.report.tables.table import BEYOND_OF_ONE, Table, TableCell, TableColumn

# more rows nobody reads; the CSV holds all of them
ROWS_MAX = 300
_PLAIN = DisplayUnit("", 1)


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers.

    Attributes
    ----------
    unit : str
        Internal unit of its numbers.
    is_better_when_low : bool or None
        Which of two numbers is the better one; None where neither is.
    """

    name: str
    unit: Unit
    is_better_when_low: bool | None = None


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A row: its texts, then its numbers; a number that stands as words has them in `words`.

    Attributes
    ----------
    texts : tuple of str
        Under the first columns.
    numbers : tuple of Number or None
        Under the others; None where there is none.
    words : mapping of int to str
        What is shown in place of a number, by its place among the numbers.
    text_notes : tuple of str
        What has to be known of the whole row; marked in its first cell.
    """

    texts: tuple[str, ...]
    numbers: tuple[Number | None, ...]
    words: dict[int, str] = field(default_factory=dict)
    text_notes: tuple[str, ...] = ()


class NoteList:
    """The notes of a table, each once, numbered from 1 in the order in which they are first needed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def numbers(self, notes: Sequence[str]) -> tuple[int, ...]:
        """The numbers of some notes, which are added where they are new."""
        for note in notes:
            if note not in self.texts:
                self.texts.append(note)
        return tuple(sorted({self.texts.index(note) + 1 for note in notes}))


def number_table(
    key: str,
    title: str,
    text_names: Sequence[str],
    columns: Sequence[NumberColumn],
    rows: Sequence[NumberRow],
    caption: str = "",
    *,
    as_printed: bool = False,
    is_best_of_row: bool = False,
) -> Table:
    """A table of texts and numbers.

    Parameters
    ----------
    text_names : sequence of str
        Heads of the texts. A column that says nothing in any row, the first one apart, is left out.
    columns : sequence of NumberColumn
        Heads of the numbers. A column without any number is left out.
    rows : sequence of NumberRow
        All rows; `ROWS_MAX` of them are shown.
    as_printed : bool
        Whether numbers stand as their pages print them, in the pages' units.
    is_best_of_row : bool
        Whether the numbers of a row are held against each other, not those of a column.
    """
    kept_texts = [place for place in range(len(text_names)) if not place or any(map(_tells, rows, repeat(place)))]
    kept = [place for place in range(len(columns)) if any(row.numbers[place] is not None for row in rows)]
    units = _units(columns, rows, kept, as_printed=as_printed)
    best = _best_of_rows(columns, rows, kept) if is_best_of_row else _best_of_columns(columns, rows, kept)
    notes = NoteList()
    shown = []
    for number, row in enumerate(rows[:ROWS_MAX]):
        cells = [TableCell(row.texts[place] or "–") for place in kept_texts]
        cells[0] = replace(cells[0], notes=notes.numbers(row.text_notes))
        for place in kept:
            cell = _cell(row, place, units[place], notes, as_printed=as_printed)
            cells.append(replace(cell, is_best=(number, place) in best))
        shown.append(tuple(cells))
    if any(_is_of_one(rows[row].numbers[place]) for row, place in best):
        caption = f"{caption} {BEYOND_OF_ONE}".strip()
    if len(rows) > ROWS_MAX:
        caption = f"{caption} The first {ROWS_MAX} of {len(rows)} rows; the CSV holds all of them.".strip()
    heads = [TableColumn(text_names[place]) for place in kept_texts]
    heads += [TableColumn(columns[place].name, units[place].name, is_number=True) for place in kept]
    data = _data([text_names[p] for p in kept_texts], kept_texts, [(p, columns[p]) for p in kept], rows)
    return Table(key, title, tuple(heads), tuple(shown), caption, tuple(notes.texts), data)


def _tells(row: NumberRow, place: int) -> bool:
    return row.texts[place] not in ("", NOT_APPLICABLE)


def _best_of_columns(
    columns: Sequence[NumberColumn], rows: Sequence[NumberRow], kept: Sequence[int]
) -> set[tuple[int, int]]:
    """Row and column of the best number of each column that has one."""
    found = ((best_of([row.numbers[at] for row in rows], columns[at].is_better_when_low), at) for at in kept)
    return {(row, at) for row, at in found if row is not None}


def _best_of_rows(
    columns: Sequence[NumberColumn], rows: Sequence[NumberRow], kept: Sequence[int]
) -> set[tuple[int, int]]:
    """Row and column of the best number of each row that has one; all columns are of one kind."""
    is_low = columns[kept[0]].is_better_when_low if kept else None
    found = ((place, best_of([row.numbers[at] for at in kept], is_low)) for place, row in enumerate(rows))
    return {(place, kept[at]) for place, at in found if at is not None}


def best_of(numbers: Sequence[Number | None], is_better_when_low: bool | None) -> int | None:
    """The place of the best number, where it is beyond the scatter of repeats: its interval overlaps that of no other.

    A number without an interval is never the best, and where the next one has
    none, nothing tells whether it is worse. Trials that do not describe the
    drive, and bounds, are no candidates. Nor is one of a few repeats whose
    range lies beside the others as it may by chance.
    """
    if is_better_when_low is None:
        return None
    known = [(place, one) for place, one in enumerate(numbers) if one is not None and one.shown is not None]
    sign = 1 if is_better_when_low else -1
    ordered = sorted(known, key=lambda pair: sign * (pair[1].shown or 0.0))
    if len(ordered) < 2:
        return None
    (place, first), others = ordered[0], [one for _, one in ordered[1:]]
    if first.value is None or first.low is None or first.high is None or not first.is_valid:
        return None
    if not _has_near_end(others[0], is_better_when_low):
        return None
    near_ends = [_near_end(one, is_better_when_low) for one in others]
    is_alone = all(end > first.high if is_better_when_low else end < first.low for end in near_ends)
    # ranges of few repeats lie beside each other by chance, too
    is_settled = all(first.is_apart_from(one) for one in others if None not in (one.value, one.low, one.high))
    return place if is_alone and is_settled else None


def _is_of_one(number: Number | None) -> bool:
    return number is not None and number.trial_count == 1


def _has_near_end(one: Number, is_better_when_low: bool) -> bool:
    return (one.low if is_better_when_low else one.high) is not None


def _near_end(one: Number, is_better_when_low: bool) -> float:
    """The end that comes nearest to something better; the number itself where no end is known."""
    end = one.low if is_better_when_low else one.high
    if end is None:
        end = one.value
    return end if end is not None else (-math.inf if is_better_when_low else math.inf)


def _units(
    columns: Sequence[NumberColumn], rows: Sequence[NumberRow], kept: Sequence[int], *, as_printed: bool
) -> dict[int, DisplayUnit]:
    """One unit for all columns of a kind, so that they can be compared too."""
    found: dict[int, DisplayUnit] = {}
    for kind in {columns[place].unit for place in kept}:
        places = [place for place in kept if columns[place].unit == kind]
        numbers = [one for row in rows for place in places if (one := row.numbers[place]) is not None]
        unit = _PLAIN if kind == "1" else column_unit([one.shown for one in numbers], kind)
        if as_printed and kind != "1":
            unit = _printed_unit(numbers, kind) or unit
        found |= dict.fromkeys(places, unit)
    return found


def _printed_unit(numbers: Sequence[Number], kind: Unit) -> DisplayUnit | None:
    """The unit that a page prints all its numbers in; a nameless one where the texts carry theirs."""
    printed = [one for one in numbers if one.printed and one.shown]
    if any(text[-1:].isalpha() for text in (one.printed for one in printed)):
        return _PLAIN
    scales = {printed_scale(one.printed, one.shown or 1.0) for one in printed}
    # a column of nothing but one value of that size has that size's unit
    return column_unit([scales.pop()], kind) if len(scales) == 1 else None


def _cell(row: NumberRow, place: int, unit: DisplayUnit, notes: NoteList, *, as_printed: bool) -> TableCell:
    number = row.numbers[place]
    if number is None:
        return TableCell(row.words.get(place, "–"))
    text = row.words.get(place) or (number.printed if as_printed and number.printed else number.text(unit))
    return TableCell(text, number.interval(unit), notes=notes.numbers(number.notes))


def _data(
    text_names: Sequence[str],
    text_places: Sequence[int],
    columns: Sequence[tuple[int, NumberColumn]],
    rows: Sequence[NumberRow],
) -> DataTable:
    """Every row with every number and its ends, in internal units."""
    names = [*text_names]
    for _, column in columns:
        unit = f" [{column.unit}]"
        names += [f"{column.name}{unit}", f"{column.name}, low{unit}", f"{column.name}, high{unit}"]
    found: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = [row.texts[place] for place in text_places]
        for place, _ in columns:
            one = row.numbers[place]
            cells += [None] * 3 if one is None else [_short(one.value), _short(one.low), _short(one.high)]
        found.append(cells)
    return DataTable(tuple(names), found)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
