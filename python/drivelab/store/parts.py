"""The files behind a table, in every state that a run directory can be in, and reading them.

A finished run has one whole file per table. While a run goes on, trials are
in generations: a generation is a log (`trial_log`) until it is full, and one
segment per table then. The segment of the trials table is made last, so it
decides which of the two counts. A whole file tells in its metadata up to
which generation it has joined them, so nothing is read twice, and nothing
that is joined has to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.columns import arrow_schema
from drivelab.store.parquet_read import BoundedParquet, metadata_of
from drivelab.store.remote.bring import bring, place_of
from drivelab.store.table_check import COLUMNS, require_columns, require_rows
from drivelab.store.trial_log import read_log

JOINED_KEY = b"drivelab.joined_generation"
_GENERATION = re.compile(r"(\d{6,})\.(?:log|\w+\.parquet)")
# a writer changes the list of files every few seconds at most
_ATTEMPTS = 20
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class TableSources:
    """The files that hold a table, in the order in which they were written.

    Attributes
    ----------
    files : tuple of Path
        Parquet files.
    logs : tuple of Path
        Logs of trials that no file holds yet.
    whole_version : tuple of int
        What tells one whole file from the next one; empty without one.
    """

    files: tuple[Path, ...]
    logs: tuple[Path, ...]
    whole_version: tuple[int, ...] = ()


def table_sources(directory: Path, table: str) -> TableSources:
    """The files that hold a table at this moment.

    Raises
    ------
    DrivelabError
        S506: a file cannot be read.
    """
    bring([directory], table, layout.PARTS, first_schema_folder(directory, table).name)
    # before the whole file: parts that are joined in between are then found twice, which its metadata tell
    names = part_names(directory)
    whole = directory / table
    joined = joined_generation(whole)
    first_parts = _first_schema_parts(directory, table, whole if joined is not None else None)
    files, logs = list(first_parts), []
    for generation in generations_of(names):
        if generation <= (joined or 0):
            continue
        if layout.segment_name(generation, layout.TRIALS) in names:
            files.append(directory / layout.PARTS / layout.segment_name(generation, table))
        else:
            logs.append(directory / layout.PARTS / layout.log_name(generation))
    if joined is None:
        return TableSources(tuple(files), tuple(logs))
    facts = whole.stat()
    return TableSources((whole, *files), tuple(logs), (facts.st_ino, facts.st_mtime_ns, facts.st_size))


def read_table(directory: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a table, also while a writer goes on.

    Parameters
    ----------
    table : str
        One of `layout.TABLES`.
    columns : sequence of str, optional
        Read these only, which every schema has.

    Raises
    ------
    DrivelabError
        S506: a file cannot be read.
    """

    def read(sources: TableSources) -> list[pa.Table]:
        of_logs = (rows if columns is None else rows.select(columns) for rows in logged_rows(sources, table))
        return [*(read_parquet(file, table, columns) for file in sources.files), *of_logs]

    schema = arrow_schema(COLUMNS[table])
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    return joined_rows(wanted, read_steadily(directory, table, read))


def read_steadily(directory: Path, table: str, read: Callable[[TableSources], _Result]) -> _Result:
    """What `read` returns for a table's files, read again when they changed meanwhile.

    Raises
    ------
    DrivelabError
        S506: a file cannot be read, or the files change all the time.
    """
    for _ in range(_ATTEMPTS):
        try:
            sources = table_sources(directory, table)
            result = read(sources)
            if table_sources(directory, table) == sources:
                return result
        except FileNotFoundError:
            # joined and removed since it was listed
            continue
    raise DrivelabError("S506", f"the files of {table} change while they are read", where=place_of(directory))


def read_parquet(path: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A Parquet file that holds a table, or a part of it.

    Raises
    ------
    FileNotFoundError
        There is none.
    DrivelabError
        S506: it cannot be read.
    """
    with BoundedParquet(path, table) as file:
        return file.rows(columns)


def source_rows(sources: TableSources, table: str) -> Iterator[pa.Table]:
    """The rows of all sources in order, a bounded number of them at a time."""
    for path in sources.files:
        with BoundedParquet(path, table) as file:
            yield from file.row_groups()
    yield from logged_rows(sources, table)


def logged_rows(sources: TableSources, table: str) -> Iterator[pa.Table]:
    """The rows of those sources that are logs, trial by trial."""
    for log in sources.logs:
        yield from rows_of_log(log, table)


def rows_of_log(log: Path, table: str) -> Iterator[pa.Table]:
    """The rows of a log, trial by trial, with the columns that the table has.

    Raises
    ------
    FileNotFoundError
        The log has been removed: a segment holds its trials.
    DrivelabError
        S506: it is damaged.
    """
    for rows in read_log(log, table):
        require_columns(rows.schema, table, log)
        require_rows(rows, table, log)
        yield rows


def table_schema(sources: TableSources, table: str) -> pa.Schema:
    """The columns of all sources; only those of the trials differ, by their factors and metrics."""
    fixed = arrow_schema(COLUMNS[table])
    if table != layout.TRIALS:
        return fixed
    schemas = [fixed]
    for path in sources.files:
        with BoundedParquet(path, table) as file:
            schemas.append(file.schema)
    return unified([*schemas, *(rows.schema for rows in logged_rows(sources, table))])


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """A schema with the columns of all."""
    different: list[pa.Schema] = []
    for schema in schemas:
        if not any(schema.equals(known) for known in different):
            different.append(schema)
    return pa.unify_schemas(different, promote_options="permissive").remove_metadata()


def joined_rows(schema: pa.Schema, tables: Sequence[pa.Table]) -> pa.Table:
    """Tables one behind the other, with at least the columns of `schema`, which come first."""
    if tables and all(rows.schema.equals(tables[0].schema) for rows in tables[1:]):
        tables = [pa.concat_tables(tables)]
    return pa.concat_tables([schema.empty_table(), *tables], promote_options="permissive")


def part_names(directory: Path) -> frozenset[str]:
    """Names of the files with parts, without those half-written."""
    try:
        return frozenset(path.name for path in (directory / layout.PARTS).iterdir() if path.name[0] != ".")
    except FileNotFoundError:
        return frozenset()


def generations_of(names: Iterable[str]) -> list[int]:
    """The generations that files of these names hold, ascending."""
    return sorted({int(found[1]) for name in names if (found := _GENERATION.fullmatch(name))})


def joined_generation(whole: Path) -> int | None:
    """Up to which generation a whole file has joined them; None when there is no whole file.

    Raises
    ------
    DrivelabError
        S506: it cannot be read.
    """
    joined = metadata_of(whole, JOINED_KEY)
    if joined is None:
        return None
    if not re.fullmatch(rb"[0-9]{0,9}", joined):
        raise DrivelabError("S506", f"{whole.name} does not tell what it holds", where=place_of(whole))
    return int(joined or b"0")


def first_schema_folder(directory: Path, table: str) -> Path:
    """Where schema 1 kept a table's parts, one file per trial, while a run went on."""
    return directory / table.removesuffix(".parquet")


def _first_schema_parts(directory: Path, table: str, whole: Path | None) -> list[Path]:
    """Parts in schema 1 that the whole file does not hold: a crash between joining and removing them left both."""
    parts = sorted(first_schema_folder(directory, table).glob("[!.]*.parquet"))
    if parts and whole is not None:
        joined = set(read_parquet(whole, table, ["trial"])["trial"].unique().to_pylist())
        parts = [path for path in parts if path.stem not in joined]
    return parts
