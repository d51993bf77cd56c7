"""The parts of a table: one file per trial while a run goes on, joined into one when it ends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.columns import HISTOGRAM_COLUMNS, INTERVAL_COLUMNS, TRIAL_COLUMNS, arrow_schema
from drivelab.store.durable import make_directory, written_aside
from drivelab.store.parquet_file import parquet_file

_COLUMNS = {layout.TRIALS: TRIAL_COLUMNS, layout.INTERVALS: INTERVAL_COLUMNS, layout.HISTOGRAMS: HISTOGRAM_COLUMNS}
# parts joined into one row group: bounds the memory that joining takes
_PARTS_AT_ONCE = 256
_COMPRESSION = "zstd"


def write_part(directory: Path, table: str, trial: str, rows: pa.Table) -> None:
    """Put one trial's part of a table in place, durably, whole or not at all.

    Raises
    ------
    DrivelabError
        S501, S502, S503: it cannot be written.
    """
    folder = directory / layout.parts_folder(table)
    make_directory(folder)
    with (
        written_aside(folder / layout.part_name(trial)) as aside,
        parquet_file(aside, rows.schema, compression=_COMPRESSION, write_statistics=["trial"]) as file,
    ):
        file.write(rows)


def table_sources(directory: Path, table: str) -> list[Path]:
    """The files that hold a table: the whole one first, then the parts that it does not hold yet.

    A crash between joining parts and removing them leaves both.
    """
    folder = directory / layout.parts_folder(table)
    parts = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    whole = directory / table
    if not whole.is_file():
        return parts
    if parts:
        joined = set(read_parquet(whole, columns=["trial"])["trial"].unique().to_pylist())
        parts = [path for path in parts if path.stem not in joined]
    return [whole, *parts]


def read_table(directory: Path, table: str) -> pa.Table:
    """All rows of a table, from its whole file and its parts.

    Raises
    ------
    DrivelabError
        S506: a file cannot be read.
    """
    rows = [read_parquet(source) for source in table_sources(directory, table)]
    return _joined(arrow_schema(_COLUMNS[table]), rows)


def join_parts(directory: Path, table: str) -> None:
    """Make one file of a table's parts, and remove them.

    Raises
    ------
    DrivelabError
        S501, S502, S503: the file cannot be written; the parts stay.
    """
    folder = directory / layout.parts_folder(table)
    if not folder.is_dir():
        return
    sources = table_sources(directory, table)
    whole = directory / table
    if sources and sources != [whole]:
        schema = _joined_schema(table, sources)
        with written_aside(whole) as aside, parquet_file(aside, schema, compression=_COMPRESSION) as file:
            for rows in _rows_of(sources, schema):
                file.write(rows)
    shutil.rmtree(folder)


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A Parquet file as a table.

    Raises
    ------
    DrivelabError
        S506: it cannot be read.
    """
    try:
        with pq.ParquetFile(path) as file:
            return file.read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        first_line = str(error).splitlines()[0]
        raise DrivelabError("S506", f"{path.name} cannot be read: {first_line}", where=str(path)) from error


def _joined_schema(table: str, sources: Sequence[Path]) -> pa.Schema:
    """The columns of all parts; only those of the trials differ, by their factors and metrics."""
    fixed = arrow_schema(_COLUMNS[table])
    if table != layout.TRIALS:
        return fixed
    return pa.unify_schemas([fixed, *(pq.read_schema(source) for source in sources)], promote_options="permissive")


def _rows_of(sources: Sequence[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of several files in order, a bounded number of them at a time."""
    for begin in range(0, len(sources), _PARTS_AT_ONCE):
        yield _joined(schema, [read_parquet(source) for source in sources[begin : begin + _PARTS_AT_ONCE]])


def _joined(schema: pa.Schema, tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables], promote_options="permissive").combine_chunks()
