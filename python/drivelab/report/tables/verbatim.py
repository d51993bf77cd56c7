"""Tables of published pages that follow from no other number: as their pages print them."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.result_set import PublishedTable, ResultSet
from drivelab.report.tables.drive_rows import published_name
from drivelab.report.tables.table import Table, TableColumn, text_rows


def verbatim(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """Every such table of every set, in the order of the pages."""
    is_mixed = len(sets) > 1
    return tuple(_table(one, each, is_mixed=is_mixed) for one in sets for each in one.tables)


def _table(one: ResultSet, published: PublishedTable, *, is_mixed: bool) -> Table:
    columns = tuple(TableColumn(head) for head in published.columns)
    title = published_name(one, published.title, is_mixed=is_mixed)
    return Table(published.key, title, columns, text_rows(published.rows), published.note)
