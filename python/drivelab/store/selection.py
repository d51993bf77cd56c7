"""Reads of a stored run what is asked for, and not the rest: some columns of all trials, or all rows of some trials."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.store import layout
from drivelab.store.columns import arrow_schema
from drivelab.store.parquet_read import BoundedParquet, damage_told, require_room
from drivelab.store.parts import (
    TableSources,
    joined_rows,
    read_steadily,
    rows_of_log,
    source_rows,
)
from drivelab.store.read import StoredRun
from drivelab.store.table_check import COLUMNS

Reduced = TypeVar("Reduced")
_ORDER = ("trial", "step", "started_utc")


def trial_columns(run: StoredRun, wanted: Callable[[pa.Field], bool]) -> pa.Table:
    """Some columns of all completed trials, in the order in which they ran.

    Parameters
    ----------
    wanted : callable
        Tells of a column whether to read it; ``trial``, ``step`` and
        ``started_utc`` are read in any case.

    Returns
    -------
    pyarrow.Table
        One row per completed trial. A column that nothing stores is not there.

    Raises
    ------
    DrivelabError
        S506: a table cannot be read.

    Notes
    -----
    The texts that hold a trial's every detail are nearly all of its row, and a
    run can have ten thousand: what is about many trials is read this way.
    """
    run.require_table(layout.TRIALS)
    rows = _read(run.directory, layout.TRIALS, lambda field: field.name in _ORDER or wanted(field), None)
    if "is_reference" in rows.column_names:
        place = rows.column_names.index("is_reference")
        rows = rows.set_column(place, "is_reference", rows["is_reference"].fill_null(False))
    kept = [not layout.is_failed_attempt(name) for name in rows["trial"].to_pylist()]
    return rows.filter(pa.array(kept, pa.bool_())).sort_by([("step", "ascending"), ("started_utc", "ascending")])


def rows_of_trials(run: StoredRun, table: str, trials: Collection[str]) -> pa.Table:
    """All rows that a table has of some trials, in the order in which they are stored.

    Parameters
    ----------
    table : str
        One of `drivelab.store.layout.TABLES`.

    Raises
    ------
    DrivelabError
        S506: a table cannot be read.
    """
    run.require_table(table)
    return _read(run.directory, table, lambda _field: True, frozenset(trials))


def reduced_rows(run: StoredRun, table: str, reduce: Callable[[pa.Table], Reduced]) -> list[Reduced]:
    """What `reduce` makes of a table's rows, a bounded number of them at a time.

    Parameters
    ----------
    table : str
        One of `drivelab.store.layout.TABLES`.
    reduce : callable
        Takes some rows and keeps little of them; it is called again from the
        beginning when a writer has changed the files meanwhile.

    Raises
    ------
    DrivelabError
        S506: a table cannot be read.

    Notes
    -----
    Rows of failed attempts at trials are among them.
    """

    def read(sources: TableSources) -> list[Reduced]:
        return [reduce(rows) for rows in source_rows(sources, table)]

    run.require_table(table)
    return read_steadily(run.directory, table, read)


def _read(directory: Path, table: str, wanted: Callable[[pa.Field], bool], trials: frozenset[str] | None) -> pa.Table:
    def read(sources: TableSources) -> list[pa.Table]:
        found: list[pa.Table] = []
        for path in sources.files:
            found += _of_file(path, table, wanted, trials)
        for log in sources.logs:
            found += [_chosen(rows, wanted, trials) for rows in rows_of_log(log, table)]
        return found

    schema = pa.schema([field for field in arrow_schema(COLUMNS[table]) if wanted(field)])
    return joined_rows(schema, read_steadily(directory, table, read))


def _of_file(
    path: Path, table: str, wanted: Callable[[pa.Field], bool], trials: frozenset[str] | None
) -> Iterator[pa.Table]:
    with BoundedParquet(path, table) as file:
        names = [field.name for field in file.schema if wanted(field)]
        place = file.schema.names.index("trial")
        with damage_told(path):
            groups = range(file.metadata.num_row_groups)
            numbers = [one for one in groups if _may_hold(file.metadata.row_group(one).column(place), trials)]
        taken = 0
        for number in numbers:
            rows = file.row_group(number, names)
            rows = rows if trials is None else rows.filter(_is_of(rows, trials))
            taken += rows.nbytes
            require_room(taken, path)
            yield rows


def _may_hold(column: Any, trials: frozenset[str] | None) -> bool:
    """Whether a row group can have rows of the trials, by the smallest and the largest name in it."""
    if trials is None or column.statistics is None or not column.statistics.has_min_max:
        return True
    return any(column.statistics.min <= name <= column.statistics.max for name in trials)


def _chosen(rows: pa.Table, wanted: Callable[[pa.Field], bool], trials: frozenset[str] | None) -> pa.Table:
    chosen = rows.select([field.name for field in rows.schema if wanted(field)])
    return chosen if trials is None else chosen.filter(_is_of(chosen, trials))


def _is_of(rows: pa.Table, trials: frozenset[str]) -> pa.ChunkedArray:
    return pc.is_in(rows["trial"], pa.array(sorted(trials), pa.string()))
