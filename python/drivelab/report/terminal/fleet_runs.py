"""What the runs of many drives come to, in a terminal: the answer first, at most 40 lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from drivelab.report.joint import Joint
from drivelab.report.tables.table import Table
from drivelab.report.terminal.wrapped import WIDTH, one_line, table_lines, wrapped

LINES_MAX = 40
# columns that a terminal has room for, how wide each may be, and how many rows, by the key of the table
_SHOWN = {
    "apart": ({0: 36, 2: 26, 5: 14}, 10),
    "factors": ({0: 16, 1: 6, 3: 18, 4: 7, 5: 26}, 6),
    "numbers": ({0: 44, 2: 12, 3: 8, 4: 8}, 8),
}


def fleet_run_lines(joint: Joint, plain: bool) -> list[str]:
    """The sentences, and of each table as many rows as have room."""
    lines = [line for one in joint.sentences for line in wrapped(one, WIDTH, plain)]
    tables = [table for table in joint.tables if table.key in _SHOWN]
    for place, table in enumerate(tables):
        # what is left, shared by the tables that are still to come; a blank line, a title and heads for each
        room = (LINES_MAX - len(lines)) // (len(tables) - place) - 3
        rows = min(room, _SHOWN[table.key][1])
        if rows > 0:
            lines += ["", *_table(table, rows, plain)]
    return lines[:LINES_MAX]


def _table(table: Table, rows_max: int, plain: bool) -> Iterator[str]:
    columns = _SHOWN[table.key][0]
    # of a drive that stands apart in several numbers the one in which it does most
    rows = list({row[0].text: row for row in reversed(table.rows)}.values())[::-1]
    more = f" (the first {rows_max} of {len(rows)})" if len(rows) > rows_max else ""
    yield f"{table.title}{more}"
    cells = [[table.columns[place].name for place in columns]]
    cells += [[one_line(row[place].text, width, plain) for place, width in columns.items()] for row in rows[:rows_max]]
    yield from (f"  {line}" for line in table_lines(cells, plain, left=_left(table, columns)))


def _left(table: Table, columns: Collection[int]) -> int:
    """How many columns at the left are words."""
    return next((n for n, place in enumerate(columns) if table.columns[place].is_number), len(columns))
