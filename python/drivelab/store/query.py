"""SQL over run directories, in place and read-only: DuckDB, which may open their files and nothing else.

A query is one SELECT. It writes no file, reaches no network, reads no file but
those of the runs, and takes a bounded amount of memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from drivelab.model.errors import DrivelabError
from drivelab.store.parquet_read import memory_bytes as memory_of_process
from drivelab.store.query_tables import TABLE_NAMES, HostsOf, file_pattern, make_tables, missing_tables, sql_text
from drivelab.store.read import StoredRun

if TYPE_CHECKING:
    import duckdb

_Result = TypeVar("_Result")
_ROWS_AT_ONCE = 2048
# where DuckDB shows the place of a mistake: the line, and marks below it
_PLACE = re.compile(r"\n\s*LINE (\d+): (.*)\n( *)(\^+)")
_PREFIX = re.compile(r"^(?:[A-Z][A-Za-z]+ )+(?:Error|Exception): ")
# lines behind the first one that help: what may have been meant
_HINT = re.compile(r"Did you mean|Candidate (?:bindings|tables)")


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column of an answer: its name, unique within it, and DuckDB's name of its type."""

    name: str
    type: str


class QueryAnswer:
    """The answer to a query; its rows are computed while they are fetched.

    Attributes
    ----------
    columns : tuple of QueryColumn
        The columns in order.
    left_out : tuple of DrivelabError
        What runs lack that should have it, so that the answer is without them.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        calls: _InterruptibleCalls,
        left_out: tuple[DrivelabError, ...],
    ) -> None:
        self._connection = connection
        self.left_out = left_out
        self._query = query
        self._calls = calls
        self._calls.result_of(lambda: connection.execute(query))
        self.columns = _distinct([(str(name), str(kind)) for name, kind, *_ in connection.description or []])

    def batches(self) -> Iterator[list[tuple[Any, ...]]]:
        """The rows, some thousand at a time; they can be fetched once.

        Raises
        ------
        DrivelabError
            U008: a row cannot be computed. S506: a run is damaged. S508: more
            memory is needed than allowed.
        """
        while True:
            with _mistakes_told(self._query):
                batch = self._calls.result_of(lambda: self._connection.fetchmany(_ROWS_AT_ONCE))
            if not batch:
                return
            yield batch

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, as `batches`."""
        for batch in self.batches():
            yield from batch


class _InterruptibleCalls:
    """Calls of DuckDB that Ctrl-C ends, made in a thread of their own.

    DuckDB does not look for Ctrl-C while it computes, and takes one that
    arrives while it calls Python for an error in the data.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1)

    def result_of(self, function: Callable[[], _Result]) -> _Result:
        future = self._thread.submit(function)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._connection.interrupt()
            wait([future])
            raise


def query_runs(
    query: str,
    runs: Sequence[StoredRun],
    *,
    hosts_of: HostsOf = lambda _: {},
    memory_bytes: int | None = None,
) -> QueryAnswer:
    """The answer of the runs to a query.

    Parameters
    ----------
    query : str
        One SELECT over the tables of `TABLE_NAMES` (``docs/data_format.md``).
    runs : sequence of StoredRun
        Finished or not, in any schema that can be read.
    hosts_of : callable
        What fleets call the hosts of the runs in these directories; asked for the table ``runs`` only.
    memory_bytes : int, optional
        Most memory that DuckDB may take; half of the computer's by default.

    Raises
    ------
    DrivelabError
        U008: the query cannot be answered. S506: a run is damaged. S508: the
        query needs more memory. O813: DuckDB is not installed.
    """
    # imported here: it takes 70 ms, and no other command needs it
    try:
        import duckdb
    except ImportError as error:
        raise DrivelabError("O813", "the duckdb package is not installed") from error

    with _mistakes_told(query), duckdb.connect() as parser:
        statements = parser.extract_statements(query)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            what = "a query is one SELECT: nothing is written, changed or attached"
            raise DrivelabError("U008", what, where=_shortened(query))
    # reading 10 000 footers takes a second; a question about the tables themselves mentions none
    mentioned = {name for name in TABLE_NAMES if re.search(rf"\b{name}\b", query, re.IGNORECASE)}
    connection = duckdb.connect()
    calls = _InterruptibleCalls(connection)
    # all of it on a thread of its own: on this one Ctrl-C would be an error of DuckDB's
    calls.result_of(lambda: _limit(connection, memory_bytes or memory_of_process() // 2))
    try:
        files = calls.result_of(lambda: make_tables(connection, runs, mentioned or set(TABLE_NAMES), query, hosts_of))
        calls.result_of(lambda: _lock(connection, files))
    except duckdb.Error as error:
        # nothing of the query is in it yet
        raise _damage(error, query) from error
    with _mistakes_told(query):
        return QueryAnswer(connection, query, calls, missing_tables(runs, mentioned))


def _limit(connection: duckdb.DuckDBPyConnection, memory_bytes: int) -> None:
    connection.execute(f"set memory_limit = '{memory_bytes}B'")
    # without one a query that needs more memory fails, instead of filling the disk with temporary files
    connection.execute("set temp_directory = ''")
    # a name in a query is never a variable of this program
    connection.execute("set python_enable_replacements = false")
    # where it takes Python for interactive, as in a notebook, it would draw a bar into what is printed
    connection.execute("set enable_progress_bar = false")
    connection.execute("set autoload_known_extensions = false")
    connection.execute("set autoinstall_known_extensions = false")


def _lock(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """From now on only these files can be opened; only SELECT gets here, so none of them is written."""
    # a file is opened by its path, and found by its pattern
    allowed = dict.fromkeys([*map(str, files), *map(file_pattern, files)])
    connection.execute(f"set allowed_paths = [{', '.join(map(sql_text, allowed))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


@contextmanager
def _mistakes_told(query: str) -> Iterator[None]:
    """Turn DuckDB's errors into ours."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        what = "the query needs more memory than it may take"
        raise DrivelabError("S508", what, where=_shortened(query)) from error
    except duckdb.Error as error:
        if _is_damage(error):
            raise _damage(error, query) from error
        raise DrivelabError("U008", _told(str(error)), where=_place(str(error), query)) from error


def _is_damage(error: duckdb.Error) -> bool:
    """Whether a file, and not the query, is to blame: what the Parquet reader meets has no class of its own."""
    import duckdb

    is_about_a_file = re.search(r"(?:read|in) file ['\"]", str(error)) is not None
    is_unclassified = type(error) is duckdb.Error
    return (
        isinstance(error, duckdb.IOException)
        or is_unclassified
        or (isinstance(error, duckdb.InvalidInputException) and is_about_a_file)
    )


def _damage(error: duckdb.Error, query: str) -> DrivelabError:
    return DrivelabError("S506", f"a run cannot be read: {_told(str(error))}", where=_shortened(query))


def _told(message: str) -> str:
    """What DuckDB says, in one line, without the list of all functions there are."""
    first, *others = _PLACE.sub("", message).strip().splitlines() or ["no reason given"]
    hints = [line.strip() for line in others if _HINT.match(line)]
    return " ".join([_PREFIX.sub("", first), *hints])


def _place(message: str, query: str) -> str:
    """Where in the query the mistake is; the query when DuckDB does not say."""
    found = _PLACE.search(message)
    if found is None:
        return _shortened(query)
    number, shown, marked = int(found[1]), found[2], len(found[3]) - len(f"LINE {found[1]}: ")
    lines = query.splitlines()
    whole = lines[number - 1] if number <= len(lines) else ""
    # of a long line DuckDB shows a piece between dots
    piece = shown.removeprefix("...").removesuffix("...")
    column = whole.find(piece) + marked - (len(shown) - len(shown.removeprefix("..."))) + 1
    at = shown[marked : marked + len(found[4])]
    if len(found[4]) == 1:
        at = shown[marked:].partition(" ")[0]
    return f"line {number}, column {column}: {at or 'the end'}"


def _shortened(query: str) -> str:
    """The query in one line, for the place of an error."""
    line = " ".join(query.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def _distinct(columns: Sequence[tuple[str, str]]) -> tuple[QueryColumn, ...]:
    """The columns; a name that came before gets a number behind."""
    found: list[QueryColumn] = []
    taken: set[str] = set()
    for name, kind in columns:
        unique, number = name, 0
        while unique in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique)
        found.append(QueryColumn(unique, kind))
    return tuple(found)
