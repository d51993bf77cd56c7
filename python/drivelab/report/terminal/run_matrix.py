"""The table of many workloads on a screen: as many of its rows as there is room for."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from drivelab.report.tables.matrix import Group, matrix_table
from drivelab.report.terminal.wrapped import WIDTH

if TYPE_CHECKING:
    from rich.table import Table

_LABEL_WIDTH_MIN = 16
# between columns, and before the first
_GAP = 2
_PADDING = (0, _GAP, 0, 0)
# up to what is said of invalid trials
_EXPLAINED = re.compile(r":[^(]*(?= \(|$)")


def matrix_of(
    groups: Sequence[Group], lines_max: int, clean: Callable[[str], str], *, of_tasks: bool
) -> tuple[Table, int] | None:
    """A table of many workloads, and how many of them it leaves out.

    Parameters
    ----------
    lines_max : int
        That there are for it, its head included.

    Returns
    -------
    (rich.table.Table, int) or None
        None where there is no such table, and where levels leave no room for names.
    """
    from rich.table import Table
    from rich.text import Text

    found = matrix_table(groups, of_tasks=of_tasks)
    if found is None:
        return None
    texts = [[cell.text for cell in row] for row in found.rows]
    # a level of each factor below the other
    heads = [column.name.split(", ") for column in found.columns[1:]]
    columns = zip(heads, *([[text] for text in row[1:]] for row in texts), strict=True)
    room = WIDTH - sum(max(len(line) for cell in column for line in cell) + _GAP for column in columns) - _GAP
    if room < _LABEL_WIDTH_MIN:
        return None
    told = _in_short([row[0] for row in texts], room - _GAP)
    texts = [[label, *row[1:]] for label, row in zip(told, texts, strict=True)]
    title = Text(clean(f"  {found.title[:1].lower()}{found.title[1:]}"), style="dim")
    table = Table(box=None, pad_edge=False, padding=_PADDING, header_style="dim", title=title, title_justify="left")
    label_width = min(max(len(row[0]) for row in texts) + _GAP, room)
    table.add_column(no_wrap=True, width=label_width)
    for column, head in zip(found.columns[1:], heads, strict=True):
        table.add_column("\n".join(map(clean, head)), justify="right" if column.is_number else "left", no_wrap=True)
    # the title and the head
    above = 1 + max(map(len, heads))
    wrap = partial(textwrap.wrap, width=label_width, initial_indent=" " * _GAP, subsequent_indent=" " * 2 * _GAP)
    labels = [wrap(clean(row[0])) for row in texts]
    ends = list(accumulate(map(len, labels)))
    shown = len(texts) if ends[-1] + above <= lines_max else sum(end + above + 1 <= lines_max for end in ends)
    for label, (_, *row) in list(zip(labels, texts, strict=True))[:shown]:
        table.add_row("\n".join(label), *(Text(clean(cell)) for cell in row))
    return table, len(texts) - shown


def _in_short(labels: Sequence[str], width: int) -> list[str]:
    """Labels of more than a line without what explains them behind a colon (``rewrite: read ...``), if still apart."""
    parts = [_EXPLAINED.sub("", label) if len(label) > width else label for label in labels]
    return parts if len(set(parts)) == len(parts) else list(labels)
