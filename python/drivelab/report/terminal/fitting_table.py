"""A table that never cuts a digit: columns that do not fit beside the others follow below, under the same labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

Column = TypeVar("Column")


class FittingTable(Generic[Column]):
    """Tables of as many columns as the terminal has room for.

    Parameters
    ----------
    make : callable
        Makes the table of some of them. Columns that must not be cut have their ``min_width`` set.
    """

    def __init__(self, columns: Sequence[Column], make: Callable[[Sequence[Column]], Table]) -> None:
        self._columns = columns
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one table, or several below each other."""
        unlimited = options.update(width=10_000)
        rest = self._columns
        while rest:
            count = len(rest)
            table = self._make(rest)
            while count > 1 and table.__rich_measure__(console, unlimited).minimum > options.max_width:
                count -= 1
                table = self._make(rest[:count])
            yield table
            rest = rest[count:]
