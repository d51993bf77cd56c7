"""Takes trials while a run goes on, makes segments of full logs, and one file per table at the end.

Whatever instant a crash comes at, each trial that was taken is found once:
a segment, or a whole file, appears under its name when it is durable, and
only then what it was made of is removed (see `parts`). Memory is bounded by
a log's length, not by the number of trials.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from drivelab.held_directory import HeldDirectory
from drivelab.store import layout
from drivelab.store.columns import arrow_schema
from drivelab.store.durable import storage_error, written_aside
from drivelab.store.parquet_file import parquet_file
from drivelab.store.parts import (
    JOINED_KEY,
    first_schema_folder,
    generations_of,
    joined_generation,
    joined_rows,
    part_names,
    rows_of_log,
    source_rows,
    table_schema,
    table_sources,
    unified,
)
from drivelab.store.table_check import COLUMNS
from drivelab.store.trial_log import TrialLog

# A log is full at one of these. Measured with trials of 130 columns and 30 intervals: the longest of the three pauses
# to make its segments takes 25 ms, and 10 000 trials in segments of 64 open in 0.6 s (1.2 s on a busy computer).
LOG_TRIALS_MAX = 64
LOG_BYTES_MAX = 16 * 2**20
# rows are gathered up to here and written as one row group
_ROW_GROUP_BYTES = 16 * 2**20
# the segment of the trials table comes last: while it is missing the log counts
_COMPACTION_ORDER = (layout.INTERVALS, layout.HISTOGRAMS, layout.TRIALS)
# a file that `written_aside` was writing; pages are not ours to remove, another process may be writing one
_HALF_WRITTEN = re.compile(r"\..+\.(parquet|json)\.([0-9]+|[0-9a-f]{16})")


class PartsWriter:
    """Takes the trials of a run one by one.

    Raises
    ------
    DrivelabError
        S501, S502, S503: what a crash left behind cannot be cleaned up. S506:
        the directory is damaged.
    """

    def __init__(self, directory: HeldDirectory) -> None:
        self._held = directory
        self._directory = directory.path
        self._log: TrialLog | None = None
        self._to_compact: deque[tuple[int, str]] = deque()
        self._generation = 1
        try:
            self._take_over()
        except OSError as error:
            raise storage_error(error, self._directory / layout.PARTS) from error

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Take a trial's rows of every table: durably, whole or not at all.

        Raises
        ------
        DrivelabError
            S501, S502, S503: they cannot be written; nothing of them is left behind.
        """
        if self._log and (self._log.trial_count >= LOG_TRIALS_MAX or self._log.size_bytes >= LOG_BYTES_MAX):
            self._to_compact.extend((self._generation, table) for table in _COMPACTION_ORDER)
            self._begin(self._generation + 1)
        # one table at a time keeps the pause between two trials short; before the trial, so that a failure
        # to make a segment cannot be taken for one to store the trial
        self._compact(leave=len(_COMPACTION_ORDER) - 1)
        if self._log is None:
            self._log = TrialLog(self._parts(), layout.log_name(self._generation))
        self._log.append(tables)

    def join(self) -> None:
        """Make one file of each table, and remove the parts.

        Raises
        ------
        DrivelabError
            S501, S502, S503: a file cannot be written; all trials stay readable.
            S506: a part is damaged.
        """
        newest = max(generations_of(part_names(self._directory)), default=0)
        for table in layout.TABLES:
            _join_table(self._held, table, newest)
        for folder in (layout.PARTS, *(first_schema_folder(self._directory, table).name for table in layout.TABLES)):
            with suppress(OSError):
                self._held.remove_directory(folder)
        self._to_compact.clear()
        self._begin(max(self._generation, newest + 1))

    def _begin(self, generation: int) -> None:
        self.close()
        self._generation = generation

    def go_on_in(self, directory: HeldDirectory) -> None:
        """Write to the same directory, which was closed and opened again."""
        self._held = directory

    def close(self) -> None:
        """Close the log; the next trial opens it again."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _parts(self) -> HeldDirectory:
        try:
            return self._held.below_or_made(layout.PARTS)
        except OSError as error:
            raise storage_error(error, self._directory / layout.PARTS) from error

    def _compact(self, leave: int) -> None:
        """Make the next segment, and more of them until at most `leave` are still to be made."""
        while self._to_compact:
            _write_segment(self._held, *self._to_compact[0])
            generation, table = self._to_compact.popleft()
            if table == _COMPACTION_ORDER[-1]:
                self._parts().remove_name(layout.log_name(generation))
            if len(self._to_compact) <= leave:
                break

    def _take_over(self) -> None:
        """Clean up behind a writer that was killed, and go on where it stopped."""
        _remove_half_written(self._held)
        if any(first_schema_folder(self._directory, table).is_dir() for table in layout.TABLES):
            self.join()
        joined = [joined_generation(self._directory / table) or 0 for table in layout.TABLES]
        names = part_names(self._directory)
        generations = generations_of(names)
        self._begin(max([*joined, *generations]) + 1)
        for generation in generations:
            if generation <= min(joined):
                _remove_generation(self._parts(), generation)
            elif layout.segment_name(generation, layout.TRIALS) in names:
                self._parts().remove_name(layout.log_name(generation))
            elif max(joined) < generation == generations[-1]:
                self._begin(generation)
                self._log = TrialLog(self._parts(), layout.log_name(generation))
            else:
                self._to_compact.extend((generation, table) for table in _COMPACTION_ORDER)


def _remove_half_written(directory: HeldDirectory) -> None:
    for name in directory.names():
        if _HALF_WRITTEN.fullmatch(name):
            directory.remove_name(name)
    for folder in (layout.PARTS, layout.IOS, layout.OPERATIONS, layout.EVENTS):
        if directory.mode(folder) is not None:
            below = directory.below(folder)
            for name in filter(_HALF_WRITTEN.fullmatch, below.names()):
                below.remove_name(name)
    if directory.mode(layout.RECORDINGS) is not None:
        recordings = directory.below(layout.RECORDINGS)
        for name in recordings.names():
            if name.startswith("."):
                with suppress(OSError):
                    recordings.remove_directory(name)


def _remove_generation(parts: HeldDirectory, generation: int) -> None:
    names = [layout.log_name(generation), *(layout.segment_name(generation, table) for table in layout.TABLES)]
    for name in names:
        parts.remove_name(name)


def _write_segment(directory: HeldDirectory, generation: int, table: str) -> None:
    folder = directory.path / layout.PARTS
    pieces = list(rows_of_log(folder / layout.log_name(generation), table))
    schema = unified([arrow_schema(COLUMNS[table]), *(rows.schema for rows in pieces)])
    rows = joined_rows(schema, pieces).combine_chunks()
    # short-lived, so made quickly; the whole file is the one to be small
    path = folder / layout.segment_name(generation, table)
    _write_parquet(path, schema, [rows], inside=directory, compression="snappy")


def _join_table(directory: HeldDirectory, table: str, newest: int) -> None:
    whole = directory.path / table
    sources = table_sources(directory.path, table)
    if not sources.logs and sources.files in ((), (whole,)):
        return
    joined = max(newest, joined_generation(whole) or 0)
    schema = table_schema(sources, table).with_metadata({JOINED_KEY: str(joined).encode()})
    row_groups = _row_groups(source_rows(sources, table), schema)
    _write_parquet(whole, schema, row_groups, inside=directory, compression="zstd")


def _write_parquet(
    path: Path, schema: pa.Schema, row_groups: Iterable[pa.Table], *, inside: HeldDirectory, compression: str
) -> None:
    # with check sums a disk that forgets is found out, and not believed
    options = {"compression": compression, "write_page_checksum": True}
    with written_aside(path, inside=inside) as aside, parquet_file(aside, schema, **options) as file:
        for rows in row_groups:
            file.write(rows)


def _row_groups(rows: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows in pieces of about `_ROW_GROUP_BYTES`, with all columns of the schema."""
    gathered: list[pa.Table] = []
    size_bytes = 0
    for piece in rows:
        gathered.append(piece)
        size_bytes += piece.nbytes
        if size_bytes >= _ROW_GROUP_BYTES:
            yield joined_rows(schema, gathered).combine_chunks()
            gathered, size_bytes = [], 0
    if gathered:
        yield joined_rows(schema, gathered).combine_chunks()
