"""The tables that a query sees: those of all its runs, one behind the other, each row with the name of its run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, RECORD_COLUMNS, arrow_schema
from drivelab.store.parts import TableSources, joined_rows, logged_rows, read_steadily
from drivelab.store.query_runs_table import COUNTS, runs_table
from drivelab.store.read import StoredRun
from drivelab.store.remote.bring import bring
from drivelab.store.table_check import COLUMNS

if TYPE_CHECKING:
    import duckdb

TABLE_NAMES = ("runs", "trials", "failed_trials", "intervals", "histograms", "ios", "operations", "events")
# what fleets call the hosts of runs
HostsOf = Callable[[Sequence[Path]], Mapping[Path, str]]
# table of a query, and what it shows of which stored table
_STORED = {
    "trials": (layout.TRIALS, "semi"),
    "failed_trials": (layout.TRIALS, "anti"),
    "intervals": (layout.INTERVALS, "semi"),
    "histograms": (layout.HISTOGRAMS, "semi"),
}
# table of a query with a file for each trial: the folder, which is called so, and its columns
_OF_TRIALS = {layout.IOS: RECORD_COLUMNS, layout.OPERATIONS: OPERATION_COLUMNS, layout.EVENTS: EVENT_COLUMNS}
_RUN, _TRIAL = pa.field("run", pa.string()), pa.field("trial", pa.string())
# stands for the counts of trials
_COUNTED = "drivelab_counted"
# DuckDB looks for files by pattern; a class of one sign stands for that sign
_GLOB_SIGN = re.compile(r"[*?\[]")
# schema 1 has not these columns
_DEFAULTS = "replace (coalesce(is_reference, false) as is_reference, coalesce(failure, '') as failure)"


def make_tables(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[StoredRun], wanted: set[str], query: str, hosts_of: HostsOf
) -> list[Path]:
    """Make those of `TABLE_NAMES` that a query wants; the files behind them.

    Nothing is copied but the trials that stand in a log: at most a log's length per run. The trials of ten thousand
    runs are not looked for where the query asks for no number of them.

    Raises
    ------
    DrivelabError
        S506: a run is damaged. S509: a directory's name is no text.
    """
    named = _named(runs)
    connection.execute("create schema stored")
    hosts = hosts_of([run.directory for run in runs]) if "runs" in wanted else {}
    if wanted == {"runs"} and _made_without_counts(connection, named, hosts, query):
        return []
    # all at once: each by itself would wait for the network
    of_trials = [_STORED[table][0] for table in wanted if table in _STORED]
    bring((run.directory for run in named.values()), layout.TRIALS, *of_trials, *(wanted & set(_OF_TRIALS)))
    attempts = {name: run.attempt_names() for name, run in named.items()}
    completed = {
        name: [trial for trial in trials if not layout.is_failed_attempt(trial)] for name, trials in attempts.items()
    }
    _insert(connection, "stored.completed", _pairs(completed))
    files: list[Path] = []
    for table in TABLE_NAMES:
        if table not in wanted:
            continue
        if table == "runs":
            _insert(connection, "runs", runs_table(named, hosts, attempts))
        elif table in _OF_TRIALS:
            files += _make_of_trials(connection, table, named, completed)
        else:
            files += _make_stored(connection, table, named)
    return files


def missing_tables(runs: Sequence[StoredRun], wanted: set[str]) -> tuple[DrivelabError, ...]:
    """What runs lack of the tables that a query wants, although they are complete: one S506 for each file."""
    found = []
    for stored in dict.fromkeys(_STORED[table][0] for table in TABLE_NAMES if table in wanted & _STORED.keys()):
        for run in runs:
            try:
                run.require_table(stored)
            except DrivelabError as error:
                found.append(error)
    return tuple(found)


def _made_without_counts(
    connection: duckdb.DuckDBPyConnection, runs: Mapping[str, StoredRun], hosts: Mapping[Path, str], query: str
) -> bool:
    """Whether the query needs no counts of trials; then the table of runs is there, without them.

    A function of a column of its own stands for the counts: the query's plan reads that column only where
    they are needed.
    """
    import duckdb

    connection.create_function(_COUNTED, _never_called, ["VARCHAR"], "BIGINT")
    _insert(connection, "stored.runs", runs_table(runs, hosts, None).append_column(_COUNTED, [list(runs)]))
    counts = ", ".join(f"{_COUNTED}({_COUNTED}) as {name}" for name in COUNTS)
    connection.execute(f"create view runs as select * exclude ({_COUNTED}) replace ({counts}) from stored.runs")
    try:
        plan = connection.execute(f"explain (format json) {query}").fetchall()
    except duckdb.Error:
        # what is wrong with it is told where it is carried out
        plan = [(_COUNTED,)]
    if not any(_COUNTED in str(cell) for row in plan for cell in row):
        return True
    connection.execute("drop view runs")
    connection.execute("drop table stored.runs")
    return False


def _never_called(run: str) -> int:
    """Stand for a number that no query gets to see."""
    raise AssertionError(f"the trials of {run} were to be counted")


def file_pattern(path: str | Path) -> str:
    """The pattern by which DuckDB finds a file, and no other: it takes every path for one."""
    return _GLOB_SIGN.sub(r"[\g<0>]", str(path))


def sql_text(text: str | Path) -> str:
    """Text as a literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def _named(runs: Sequence[StoredRun]) -> dict[str, StoredRun]:
    """The runs by their name; by their directory, where several have the same name."""
    distinct = list({run.directory.resolve(): run for run in runs}.values())
    names = Counter(run.name for run in distinct)
    named = {run.name if names[run.name] == 1 else str(run.directory.absolute()): run for run in distinct}
    for name, run in named.items():
        try:
            f"{name}{run.directory.absolute()}".encode()
        except UnicodeEncodeError:
            shown = str(run.directory).encode("utf-8", "backslashreplace").decode()
            raise DrivelabError("S509", "the name of a run's directory is no UTF-8 text", where=shown) from None
    return named


def _make_stored(connection: duckdb.DuckDBPyConnection, table: str, runs: Mapping[str, StoredRun]) -> list[Path]:
    """A view of a stored table: files, and the rows of logs."""
    stored, join = _STORED[table]
    file_columns: dict[str, list[str]] = {"filename": [], "run": []}
    logged: list[pa.Table] = []
    for name, run in runs.items():

        def read(sources: TableSources) -> tuple[tuple[Path, ...], list[pa.Table]]:
            return sources.files, list(logged_rows(sources, stored))

        files, rows = read_steadily(run.directory.absolute(), stored, read)
        file_columns["filename"] += map(str, files)
        file_columns["run"] += [name] * len(files)
        logged += [piece.add_column(0, _RUN, [[name] * piece.num_rows]) for piece in rows]
    schema = pa.schema([_RUN, *arrow_schema(COLUMNS[stored])])
    _insert(connection, f"stored.{table}_logged", joined_rows(schema, logged))
    _insert(connection, f"stored.{table}_files", pa.table(file_columns, pa.schema([("filename", pa.string()), _RUN])))
    columns = f"* {_DEFAULTS}" if stored == layout.TRIALS else "*"
    connection.execute(
        f"create view {table} as select {columns} from ({_rows(table, file_columns['filename'])}) "
        f"{join} join stored.completed using (run, trial)"
    )
    return [Path(name) for name in file_columns["filename"]]


def _make_of_trials(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    runs: Mapping[str, StoredRun],
    completed: Mapping[str, Sequence[str]],
) -> list[Path]:
    """A view of a table that has a file for each trial, of the trials that were completed and have one."""
    found: dict[str, list[str]] = {"filename": [], "run": [], "trial": []}
    for name, run in runs.items():
        folder = run.folder(table).absolute()
        present = {path.name for path in folder.iterdir() if path.is_file()} if folder.is_dir() else set()
        for trial in completed[name]:
            if layout.ios_name(trial) in present:
                found["filename"].append(str(folder / layout.ios_name(trial)))
                found["run"].append(name)
                found["trial"].append(trial)
    schema = pa.schema([_RUN, _TRIAL, *arrow_schema(_OF_TRIALS[table])])
    _insert(connection, f"stored.{table}_logged", schema.empty_table())
    _insert(connection, f"stored.{table}_files", pa.table(found, pa.schema([("filename", pa.string()), _RUN, _TRIAL])))
    connection.execute(f"create view {table} as {_rows(table, found['filename'])}")
    return [Path(name) for name in found["filename"]]


def _rows(table: str, files: Sequence[str]) -> str:
    """The query behind a view: what is in memory, which has all fixed columns, and what is in files."""
    in_memory = f"select * from stored.{table}_logged"
    if not files:
        return in_memory
    listed = ", ".join(sql_text(file_pattern(file)) for file in files)
    in_files = f"read_parquet([{listed}], union_by_name = true, filename = true)"
    return (
        f"{in_memory} union all by name "
        f"select * exclude (filename) from stored.{table}_files join {in_files} using (filename)"
    )


def _pairs(trials: Mapping[str, Sequence[str]]) -> pa.Table:
    names = [(run, trial) for run, its_trials in trials.items() for trial in its_trials]
    columns = [pa.array([pair[number] for pair in names], pa.string()) for number in (0, 1)]
    return pa.Table.from_arrays(columns, schema=pa.schema([_RUN, _TRIAL]))


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.register("inserted", rows)
    connection.execute(f"create table {table} as select * from inserted")
    connection.unregister("inserted")
