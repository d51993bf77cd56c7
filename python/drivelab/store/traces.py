"""Stores what a traced pass of a trial left: two tables and the tracer's own files, each whole or not at all.

The tables are small, because times are stored as differences and compressed
with Zstandard: 1000 durable overwrites came to 28 kB of operations and 48 kB of
events. The recording (0.54 MB then) stays as the tracer wrote it, so that any
program which knows block traces reads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from drivelab.held_directory import HeldDirectory, aside_name
from drivelab.store import layout
from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, Column, arrow_schema
from drivelab.store.durable import storage_error, written_aside
from drivelab.store.parquet_file import parquet_file

TABLES: Mapping[str, tuple[Column, ...]] = {layout.OPERATIONS: OPERATION_COLUMNS, layout.EVENTS: EVENT_COLUMNS}
_ENCODED = (pa.int32(), pa.int64())


class TraceSink:
    """Takes the trace of one trial.

    Attributes
    ----------
    recording : Path
        A directory for the files of the tracer; it becomes ``recordings/TRIAL``.
    """

    def __init__(self, directory: HeldDirectory, trial: str) -> None:
        self._directory = directory
        self._trial = trial
        self._recordings = directory.below_or_made(layout.RECORDINGS)
        self._aside = aside_name(trial)
        self._recordings.make(self._aside, 0o755)
        self._held = self._recordings.below(self._aside)
        self.recording = self._held.reopened

    def keep(self, operations: pa.Table | None = None, events: pa.Table | None = None) -> None:
        """Put everything in its place, durably: the recording first, the operations last.

        Parameters
        ----------
        operations, events : pyarrow.Table, optional
            With the columns of `OPERATION_COLUMNS` and `EVENT_COLUMNS`; without
            them only the recording is kept.

        Raises
        ------
        DrivelabError
            S501, S502, S503: something cannot be written.
        """
        self._keep_recording()
        for folder, rows in ((layout.EVENTS, events), (layout.OPERATIONS, operations)):
            if rows is not None:
                path = self._directory.path / folder / layout.ios_name(self._trial)
                try:
                    self._directory.below_or_made(folder)
                except OSError as error:
                    raise storage_error(error, path) from error
                _write(path, rows, TABLES[folder], self._directory)

    def _keep_recording(self) -> None:
        try:
            for name in self._held.names():
                descriptor = self._held.open_file(name)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
            self._held.sync()
            self._recordings.rename(self._aside, self._trial)
            self._recordings.sync()
        except OSError as error:
            raise storage_error(error, self._recordings.path / self._trial) from error

    def close(self) -> None:
        """Remove what was not kept."""
        with suppress(OSError):
            if self._recordings.leads_to(self._aside, self._held.descriptor):
                self._recordings.remove_directory(self._aside)
        self._held.close()


@contextmanager
def trace_sink(directory: HeldDirectory, trial: str) -> Iterator[TraceSink]:
    """What takes the trace of a trial; what it does not keep is gone when the context ends, and all of it on failure.

    Whatever an earlier, unfinished attempt at the trial left is removed first.

    Raises
    ------
    DrivelabError
        S501, S502, S503: the run directory cannot be written.
    """
    try:
        _remove_trace(directory, trial)
        sink = TraceSink(directory, trial)
    except OSError as error:
        raise storage_error(error, directory.path / layout.RECORDINGS / trial) from error
    try:
        yield sink
    except BaseException:
        # on a full disk the room is for the trial itself
        with suppress(OSError):
            _remove_trace(directory, trial)
        raise
    finally:
        sink.close()


def _remove_trace(directory: HeldDirectory, trial: str) -> None:
    """Remove what is stored of the trace of a trial: the operations first, by which readers know of it."""
    for folder in TABLES:
        if directory.mode(folder) is not None:
            directory.below(folder).remove_name(layout.ios_name(trial))
    if directory.mode(layout.RECORDINGS) is not None:
        with suppress(FileNotFoundError):
            directory.below(layout.RECORDINGS).remove_directory(trial)


def _write(path: Path, rows: pa.Table, columns: tuple[Column, ...], inside: HeldDirectory) -> None:
    schema = arrow_schema(columns)
    whole = rows.select(schema.names).cast(schema)
    encoded = [field.name for field in schema if field.type in _ENCODED]
    options: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": [name for name in schema.names if name not in encoded],
        "column_encoding": dict.fromkeys(encoded, "DELTA_BINARY_PACKED"),
        "write_page_checksum": True,
    }
    with written_aside(path, inside=inside) as aside, parquet_file(aside, schema, **options) as file:
        file.write(whole)
