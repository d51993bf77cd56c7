"""A table as wide as a terminal is: labels become headings, and columns that do not fit have a block of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from drivelab.report.tables.table import Table, TableCell
from drivelab.report.terminal.clean_text import terminal_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable
    from rich.text import Text

_Rows = Sequence[Sequence[TableCell]]
BEST_MARK = "*"
ROWS_MAX = 60
_GAP = 2
# narrower columns of text are hard to read
_TEXT_WIDTH_MIN = 10
_LABEL_WIDTH_MIN = 24
_EMPTY = ("", "–", "-")


@dataclass(frozen=True, slots=True)
class TerminalTable:
    """A table that a Rich console prints.

    Attributes
    ----------
    with_intervals : bool
        Whether each number has its interval below it.
    """

    table: Table
    plain: bool = False
    with_intervals: bool = False
    rows_max: int = ROWS_MAX

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Title, rows, and what has to be known of them."""
        from rich.text import Text

        yield Text(self._clean(self.table.title), style="bold")
        if self.table.caption and not any(column.unit for column in self.table.columns):
            # nothing but the caption tells the unit
            yield Text(self._clean(self.table.caption), style="dim")
        rows = self.table.rows[: self.rows_max]
        yield from self._blocks(rows, options.max_width)
        if len(self.table.rows) > len(rows):
            yield Text(f"the first {len(rows)} of {len(self.table.rows)} rows", style="dim")
        if any(cell.is_best for row in rows for cell in row):
            is_open = any(not any(cell.is_best for cell in row) for row in rows)
            none = ", which needs an interval of each" if is_open else ""
            yield Text(f"{BEST_MARK} the best: its interval overlaps no other{none}", style="dim")
        for number, note in enumerate(self.table.notes, start=1):
            yield Text(f"[{number}] {self._clean(note)}", style="dim")

    def _blocks(self, rows: _Rows, width: int) -> Iterator[RichTable | Text]:
        """The table in as many blocks as it takes."""
        columns = self.table.columns
        numbers = [place for place, column in enumerate(columns) if column.is_number]
        # that there is no number says something, and that there is no label nothing
        filled = (place for place in range(len(columns)) if any(row[place].text not in _EMPTY for row in rows))
        labels = [place for place in filled if place not in numbers]
        if not numbers:
            narrowest = sum(min(self._width(place, rows), _TEXT_WIDTH_MIN) + _GAP for place in labels)
            if narrowest <= width:
                yield self._drawn([[place] for place in labels], rows, width)
            else:
                yield from self._records(rows)
            return
        # what changes least from row to row heads most of them
        changes = {place: sum(one[place] != next_[place] for one, next_ in pairwise(rows)) for place in labels}
        for count in range(len(labels)):
            headings = sorted(sorted(labels, key=lambda place: changes[place])[:count])
            places = [place for place in (*labels, *numbers) if place not in headings]
            if self._needed(places, rows) <= width:
                yield from self._below_headings(headings, places, rows, width)
                return
        # many short labels are wrapped more easily as one
        for group in self._groups(numbers, rows, width - _LABEL_WIDTH_MIN):
            yield self._drawn([*([labels] if labels else []), *([place] for place in group)], rows, width)

    def _needed(self, places: Sequence[int], rows: _Rows) -> int:
        return sum(self._width(place, rows) + _GAP for place in places)

    def _below_headings(
        self, headings: Sequence[int], places: Sequence[int], rows: _Rows, width: int
    ) -> Iterator[RichTable | Text]:
        """Rows that have their first labels in common below these, so that the others have the room."""
        from rich.text import Text

        parts = [[place] for place in places]
        for number, (heading, members) in enumerate(groupby(rows, key=lambda row: self._joined(row, headings))):
            if heading:
                yield Text(heading, style="bold")
            yield self._drawn(parts, rows, width, list(members), with_heads=not number)

    def _groups(self, numbers: Sequence[int], rows: _Rows, room: int) -> list[list[int]]:
        """Columns of numbers in groups that fit."""
        groups: list[list[int]] = [[]]
        for place in numbers:
            if groups[-1] and self._needed([*groups[-1], place], rows) > room:
                groups.append([])
            groups[-1].append(place)
        return groups

    def _drawn(
        self,
        parts: Sequence[Sequence[int]],
        rows: _Rows,
        width: int,
        shown: _Rows | None = None,
        with_heads: bool = True,
    ) -> RichTable:
        """One block; a part of several columns shows them as one. Numbers get what they need, texts the rest."""
        from rich.table import Table as RichTable
        from rich.text import Text

        columns = self.table.columns
        is_number = [columns[part[0]].is_number for part in parts]
        heads = [", ".join(self._clean(columns[place].full) for place in part) for part in parts]
        widths = []
        for head, part in zip(heads, parts, strict=True):
            lines = [line for row in rows for line in self._part(row, part).plain.splitlines()]
            widths.append(max((len(text) for text in (*lines, *head.split())), default=1))
        room = width - sum(own for own, fixed in zip(widths, is_number, strict=True) if fixed) - _GAP * len(parts)
        texts = _fitted([own for own, fixed in zip(widths, is_number, strict=True) if not fixed], room)
        drawn = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0), show_header=with_heads)
        for head, own, fixed in zip(heads, widths, is_number, strict=True):
            column_width = own if fixed else texts.pop(0)
            # a text, since a console may take [ms] for markup
            told = Text(_head_lines(head, column_width))
            drawn.add_column(told, justify="right" if fixed else "left", overflow="fold", width=column_width)
        for row in rows if shown is None else shown:
            drawn.add_row(*(self._part(row, part) for part in parts))
        return drawn

    def _part(self, row: Sequence[TableCell], part: Sequence[int]) -> Text:
        from rich.text import Text

        return Text(self._joined(row, part), style="bold" if row[part[0]].is_best else "")

    def _joined(self, row: Sequence[TableCell], part: Sequence[int]) -> str:
        told = (self._shown(row[place]) for place in part if len(part) == 1 or row[place].text not in _EMPTY)
        return ", ".join(told)

    def _records(self, rows: _Rows) -> Iterator[RichTable | Text]:
        """Every row as a list of names and texts."""
        from rich.text import Text

        for row in rows:
            lines = Text(self._shown(row[0]), style="bold")
            for column, cell in list(zip(self.table.columns, row, strict=True))[1:]:
                if cell.text not in _EMPTY:
                    lines.append(f"\n  {self._clean(column.full)}: {self._shown(cell)}", style="not bold")
            yield lines

    def _shown(self, cell: TableCell) -> str:
        """A cell with its marks, and the interval below it where that is asked for."""
        text = self._clean(cell.text) + (BEST_MARK if cell.is_best else "")
        text += "".join(f" [{number}]" for number in cell.notes)
        return f"{text}\n{self._clean(cell.interval)}" if self.with_intervals and cell.interval else text

    def _width(self, place: int, rows: _Rows) -> int:
        """Columns that a column of the table takes; of the head only its longest word, since heads are wrapped."""
        texts = [line for row in rows for line in self._shown(row[place]).splitlines()]
        head = self._clean(self.table.columns[place].full).split()
        return max((len(text) for text in (*texts, *head)), default=1)

    def _clean(self, text: str) -> str:
        return terminal_text(" ".join(text.split()), self.plain)


def _head_lines(head: str, width: int) -> str:
    """A head in lines: a word that is too long, as names of drives and files are, breaks behind a separator."""
    lines = [""]
    for part in re.split(r"(?<=[-_/:. ])", head):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Widths that fit into some room: the widest columns give way first."""
    most = max(widths, default=1)
    while most > 1 and sum(min(width, most) for width in widths) > room:
        most -= 1
    return [min(width, most) for width in widths]
