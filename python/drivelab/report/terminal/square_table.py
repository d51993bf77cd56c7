"""A workload with two factors on a screen: levels of one down, of the other across, and a number in each cell.

Beside it stands its range, where there is room for those of all.
"""

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
    number: Callable[[CombinationResult], tuple[str, str]],
    heads: tuple[str, str],
    clean: Callable[[str], str],
) -> Table | None:
    """A square of numbers; of mixed operations those of all together.

    Parameters
    ----------
    every : sequence of CombinationResult
        Of one workload on one target.
    number : callable
        What stands in the cell of one of them, and its range.
    heads : (str, str)
        What these numbers are, and what the ranges are.

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
    told = {pair: number(one) for pair, one in zip(labels.rows, ones, strict=True)}
    sides, tops = (list(dict.fromkeys(levels)) for levels in zip(*labels.rows, strict=True))
    if len(tops) * len(sides) != len(ones) or not all(value for value, _ in told.values()):
        return None
    first, second = (name.replace("_", " ") for name in labels.names)
    if len(tops) > len(sides):
        told = {(top, side): pair for (side, top), pair in told.items()}
        sides, tops, first, second = tops, sides, second, first
    what, what_spans = heads
    names = [f"  {name}" for name in (first, *sides)]
    numbers = [[top, *(told[side, top][0] for side in sides)] for top in tops]
    ranges = [[what_spans, *(told[side, top][1] for side in sides)] for top in tops]
    beside = [column for pair in zip(numbers, ranges, strict=True) for column in pair]
    columns = beside if any(span for _, span in told.values()) and _width([names, *beside]) <= WIDTH else numbers
    if _width([names, *columns]) > WIDTH:
        return None
    title = Text(clean(f"  {what}, {second} across"), style="dim", no_wrap=True, overflow="ignore")
    table = Table(
        box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim", title=title, title_justify="left"
    )
    table.add_column(clean(names[0]))
    for head, *_ in columns:
        table.add_column(clean(head), justify="left" if head == what_spans else "right", no_wrap=True)
    for name, *row in zip(names[1:], *(column[1:] for column in columns), strict=True):
        table.add_row(clean(name), *map(clean, row))
    return table


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + _GAP for column in columns) - _GAP
