"""A table as data: what every format (page, Markdown, CSV, JSON, terminal) writes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from drivelab.model.names import free_name
from drivelab.report.figures.figure import DataTable

BEYOND_OF_ONE = (
    "Beyond the scatter means here: by more than the drive's own variation within a trial; whether it would come again "
    "was not tried, as there was 1 repeat."
)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Head of a column: its name, the unit of everything below it, and whether that is numbers."""

    name: str
    unit: str = ""
    is_number: bool = False

    @property
    def full(self) -> str:
        """Name and unit: ``latency [ms]``."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class TableCell:
    """What stands in a cell.

    Attributes
    ----------
    interval : str
        From where to where, shown on demand: ``8.7–9.8``; may be empty.
    is_best : bool
        Whether it is the best of its column or row, beyond the scatter of repeats.
    notes : tuple of int
        Numbers (from 1) of the table's notes that touch it.
    """

    text: str
    interval: str = ""
    is_best: bool = False
    notes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its words.

    Attributes
    ----------
    key, title : str
        Name within the report and of its CSV file, and what it shows.
    caption : str
        How to read it: from which event to which, what an interval is.
    notes : tuple of str
        Notes to single cells, in the order of their numbers.
    data : DataTable or None
        The same and more in full precision and plain units, for CSV; None where the shown texts are all there is.
    is_asked : bool
        Whether the experiment itself holds it, so that it stands before ours.
    is_of_means : bool
        Whether its numbers are means over the levels of some factor, which no sentence tells.
    """

    key: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    data: DataTable | None = None
    is_asked: bool = False
    is_of_means: bool = False

    def plain(self) -> DataTable:
        """What its CSV holds."""
        if self.data is not None:
            return self.data
        return DataTable(tuple(column.full for column in self.columns), [[c.text for c in row] for row in self.rows])


def text_rows(rows: Sequence[Sequence[str]]) -> tuple[tuple[TableCell, ...], ...]:
    """Rows of nothing but texts."""
    return tuple(tuple(TableCell(text) for text in row) for row in rows)


def numbered(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The tables under keys of their own: the second ``effects`` is ``effects-2``."""
    found: dict[str, Table] = {}
    for table in tables:
        key = free_name(table.key, found)
        found[key] = replace(table, key=key)
    return tuple(found.values())
