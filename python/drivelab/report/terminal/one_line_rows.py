"""A table of one line a row: what has no room is left to the page, a whole column at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def kept_columns(
    heads: Sequence[str], rows: Sequence[Sequence[str | Text]], width: int, gives_way: Sequence[int]
) -> list[int]:
    """The columns that a table has room for; those that are empty need none.

    Parameters
    ----------
    heads : sequence of str
        Of every column; several lines where they hold a line feed.
    rows : sequence of sequence of str or Text
        A cell for every column.
    width : int
        Characters that there are.
    gives_way : sequence of int
        Which columns are left out where there is no room, the first one first.
    """
    kept = [place for place in range(len(heads)) if heads[place] or any(str(row[place]) for row in rows)]
    for place in gives_way:
        if _width([[row[one] for one in kept] for row in (heads, *rows)]) <= width:
            break
        kept = [one for one in kept if one != place]
    return kept


def one_line_rows(
    heads: Sequence[str], rows: Sequence[Sequence[str | Text]], kept: Sequence[int], at_left: Sequence[int]
) -> Table:
    """The table of the columns that are kept: numbers at the right, the first column and `at_left` at the left."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for place in kept:
        is_left = place == 0 or place in at_left
        table.add_column(heads[place], justify="left" if is_left else "right", no_wrap=True, vertical="bottom")
    for row in rows:
        table.add_row(*(row[place] for place in kept))
    return table


def _width(lines: Iterable[Sequence[str | Text]]) -> int:
    """Characters of the columns, and a gap behind each but the last."""
    columns = zip(*lines, strict=True)
    return sum(max(len(line) for cell in column for line in str(cell).split("\n")) + 1 for column in columns) - 1
