"""A workload with two factors on a screen: levels of one down, of the other across, and a number in each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from drivelab.model.operations_apart import is_together
from drivelab.model.run_answer import CombinationResult
from drivelab.report.combination_labels import combination_labels
from drivelab.report.terminal.wrapped import WIDTH

if TYPE_CHECKING:
    from rich.table import Table

_GAP = 2


def square_table(
    every: Sequence[CombinationResult],
    number: Callable[[CombinationResult], str],
    what: str,
    clean: Callable[[str], str],
) -> Table | None:
    """A square of numbers; of mixed operations those of all together.

    Parameters
    ----------
    every : sequence of CombinationResult
        Of one workload on one target.
    number : callable
        What stands in the cell of one of them.
    what : str
        What these numbers are.
    clean : callable
        Makes text fit for the terminal.

    Returns
    -------
    rich.table.Table or None
        None unless exactly two factors were varied, each level of one with each of the other, and there is room.
    """
    from rich.table import Table
    from rich.text import Text

    ones = [replace(one, operation="") for one in every if is_together(one.operation)]
    labels = combination_labels(ones)
    if len(labels.names) != 2:
        return None
    cells = {pair: number(one) for pair, one in zip(labels.rows, ones, strict=True)}
    sides, tops = (list(dict.fromkeys(levels)) for levels in zip(*labels.rows, strict=True))
    if len(tops) * len(sides) != len(ones) or not all(cells.values()):
        return None
    first, second = (name.replace("_", " ") for name in labels.names)
    if len(tops) > len(sides):
        cells = {(top, side): cell for (side, top), cell in cells.items()}
        sides, tops, first, second = tops, sides, second, first
    columns = [[top, *(cells[side, top] for side in sides)] for top in tops]
    names = [f"  {name}" for name in (first, *sides)]
    if sum(max(map(len, column)) + _GAP for column in (names, *columns)) - _GAP > WIDTH:
        return None
    title = Text(clean(f"  {what}, {second} across"), style="dim", no_wrap=True, overflow="ignore")
    table = Table(
        box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim", title=title, title_justify="left"
    )
    table.add_column(clean(names[0]))
    for top in tops:
        table.add_column(clean(top), justify="right", no_wrap=True)
    for name, *row in zip(names[1:], *(column[1:] for column in columns), strict=True):
        table.add_row(clean(name), *map(clean, row))
    return table
