"""Stores what a traced pass of a trial left: two tables and the tracer's own files, each whole or not at all.

The tables are small, because times are stored as differences and compressed
with Zstandard: 1000 durable overwrites came to 28 kB of operations and 48 kB of
events. The recording (0.54 MB then) stays as the tracer wrote it, so that any
program which knows block traces reads it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from drivelab.store import layout
from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, Column, arrow_schema
from drivelab.store.durable import make_directory, storage_error, sync_directory, sync_file, written_aside
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

    def __init__(self, directory: Path, trial: str) -> None:
        self._directory = directory
        self._trial = trial
        self.recording = directory / layout.RECORDINGS / f".{trial}.{os.getpid()}"

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
                make_directory(self._directory / folder)
                _write(self._directory / folder / layout.ios_name(self._trial), rows, TABLES[folder])

    def _keep_recording(self) -> None:
        place = self.recording.with_name(self._trial)
        try:
            for path in self.recording.iterdir():
                sync_file(path)
            sync_directory(self.recording)
            self.recording.replace(place)
            sync_directory(place.parent)
        except OSError as error:
            raise storage_error(error, place) from error


@contextmanager
def trace_sink(directory: Path, trial: str) -> Iterator[TraceSink]:
    """What takes the trace of a trial; what it does not keep is gone when the context ends, and all of it on failure.

    Whatever an earlier, unfinished attempt at the trial left is removed first.

    Raises
    ------
    DrivelabError
        S501, S502, S503: the run directory cannot be written.
    """
    sink = TraceSink(directory, trial)
    remove_trace(directory, trial)
    make_directory(sink.recording.parent)
    try:
        sink.recording.mkdir()
    except OSError as error:
        raise storage_error(error, sink.recording) from error
    try:
        yield sink
    except BaseException:
        # on a full disk the room is for the trial itself
        remove_trace(directory, trial)
        raise
    finally:
        shutil.rmtree(sink.recording, ignore_errors=True)


def remove_trace(directory: Path, trial: str) -> None:
    """Remove what is stored of the trace of a trial: the operations first, by which readers know of it."""
    for folder in TABLES:
        with suppress(FileNotFoundError):
            (directory / folder / layout.ios_name(trial)).unlink()
    shutil.rmtree(directory / layout.RECORDINGS / trial, ignore_errors=True)


def _write(path: Path, rows: pa.Table, columns: tuple[Column, ...]) -> None:
    schema = arrow_schema(columns)
    whole = rows.select(schema.names).cast(schema)
    encoded = [field.name for field in schema if field.type in _ENCODED]
    options: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": [name for name in schema.names if name not in encoded],
        "column_encoding": dict.fromkeys(encoded, "DELTA_BINARY_PACKED"),
        "write_page_checksum": True,
    }
    with written_aside(path) as aside, parquet_file(aside, schema, **options) as file:
        file.write(whole)
