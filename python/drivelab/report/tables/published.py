"""Every table of the published pages that some results can carry, in the order in which one reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drivelab.model.result_set import PublishedTable, ResultSet
from drivelab.report.tables.cost import cost
from drivelab.report.tables.disks import disks
from drivelab.report.tables.drive_rows import published_name
from drivelab.report.tables.drives import drives
from drivelab.report.tables.drives_beside import drives_beside
from drivelab.report.tables.grid import built_in_views, grids
from drivelab.report.tables.hardware import hardware
from drivelab.report.tables.other_results import KEY as OTHER_RESULTS
from drivelab.report.tables.other_results import other_results
from drivelab.report.tables.table import Table, TableColumn, numbered, text_rows
from drivelab.report.tables.write_cache_by_host import write_cache_by_host
from drivelab.report.tables.write_cache_effect import write_cache_effect

_BEFORE_VIEWS: tuple[Callable[[Sequence[ResultSet]], Table | None], ...] = (
    hardware,
    drives,
    disks,
)
_AFTER_VIEWS: tuple[Callable[[Sequence[ResultSet]], Table | None], ...] = (
    write_cache_effect,
    write_cache_by_host,
    cost,
    other_results,
)


def published_tables(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """Machines, drives, results by setting, the pivot, the effects of the write cache, and what pages print beside.

    Parameters
    ----------
    sets : sequence of ResultSet
        Runs and published pages. One page alone is printed in its own form.

    Returns
    -------
    tuple of Table
        Those that the results can carry, no two with the same key.
    """
    found = [table for make in _BEFORE_VIEWS if (table := make(sets)) is not None]
    found += drives_beside(sets)
    found += [table for view in built_in_views().values() for table in grids(view, sets)]
    found += [table for make in _AFTER_VIEWS if (table := make(sets)) is not None]
    if len(sets) == 1 and sets[0].forms:
        # its other tables would tell the same once more, in another form than the page's
        own = {form.table for form in sets[0].forms} | {cell.table for cell in sets[0].cells}
        found = [table for table in found if table.key in own or table.key == OTHER_RESULTS]
    found += verbatim(sets)
    return numbered(found)


def verbatim(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """Tables that follow from no other number, as their pages print them, in the order of the pages."""
    is_mixed = len(sets) > 1
    return tuple(_table(one, each, is_mixed=is_mixed) for one in sets for each in one.tables)


def _table(one: ResultSet, published: PublishedTable, *, is_mixed: bool) -> Table:
    columns = tuple(TableColumn(head) for head in published.columns)
    title = published_name(one, published.title, is_mixed=is_mixed)
    return Table(published.key, title, columns, text_rows(published.rows), published.note)
