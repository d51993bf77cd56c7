"""Writes one row per I/O to Parquet while the I/O goes on: little processor time, few bytes, bounded memory.

Most columns are split into byte streams (the high bytes of neighbouring values
are alike) and compressed with Snappy. Measured on a million random reads of
4 KiB at queue depth 32: 12 ns of processor time and 14 bytes a row.
DELTA_BINARY_PACKED gives 11 bytes, but takes 45 ns; a dictionary takes 3 ns a
column even when all values are equal, and 30 ns when they are not.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.model.issued_as import IssuedAs
from drivelab.store.columns import RECORD_COLUMNS, arrow_schema
from drivelab.store.durable import AsideFile, storage_error
from drivelab.store.parquet_file import ParquetFile

ISSUED_AS_KEY = b"drivelab.issued_as"
# 13 MB of rows are held until they are written
ROW_GROUP_ROWS = 1 << 18
_RESPONSE = "response_latency_ns"
# a few bytes of little regularity: compressing them costs more time than it saves room
_NOT_COMPRESSED = ("submission_latency_ns",)
_FORMAT: dict[str, Any] = {
    "use_dictionary": False,
    "write_statistics": False,
    "write_batch_size": ROW_GROUP_ROWS,
}


class RecordSink:
    """Takes Arrow record batches as the engine hands them over, and becomes a Parquet file.

    Parameters
    ----------
    path : Path
        The file to become; it appears when `close` returns, whole or not at all.
    open_loop : bool
        Whether I/Os arrive by a schedule. In a closed loop the response latency
        means nothing, and the column is left out.
    issued_as : IssuedAs, optional
        What the rows do not tell: it is put into the metadata, for a file that no run is around.
    inside : HeldDirectory, optional
        A directory above it, from which on no link is followed.

    Notes
    -----
    Rows are held up to `ROW_GROUP_ROWS` and then written, so memory does not
    grow with the length of a trial. A failure to write is raised to the engine,
    which stops.
    """

    def __init__(
        self,
        path: Path,
        *,
        open_loop: bool = False,
        issued_as: IssuedAs | None = None,
        inside: HeldDirectory | None = None,
    ) -> None:
        self.path = path
        self.row_count = 0
        columns = tuple(column for column in RECORD_COLUMNS if open_loop or column.name != _RESPONSE)
        self._schema = arrow_schema(columns, nullable=False)
        if issued_as is not None:
            self._schema = self._schema.with_metadata({ISSUED_AS_KEY: issued_as.model_dump_json().encode()})
        self._aside = AsideFile(path, inside=inside)
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._failure: DrivelabError | None = None
        try:
            self._file = ParquetFile(self._aside.reopened, self._schema, **_FORMAT, **_column_formats(self._schema))
        except OSError as error:
            self._aside.discard()
            raise storage_error(error, path) from error

    def __call__(self, batch: Any) -> None:
        """Take a record batch: a pyarrow one, or anything that exports itself as an Arrow array.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it could not be written.
        """
        if self._failure is not None:
            raise self._failure
        rows = pa.record_batch(batch)
        arrays = [rows.column(field.name) for field in self._schema]
        self._held.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._held_rows += rows.num_rows
        self.row_count += rows.num_rows
        if self._held_rows >= ROW_GROUP_ROWS:
            self._write_held()

    def close(self) -> None:
        """Write what is held, and put the file in place.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it could not be written; nothing is left behind.
        """
        try:
            self._write_held()
            self._file.close()
            self._aside.put_in_place()
        except DrivelabError:
            self.discard()
            raise
        except OSError as error:
            self.discard()
            raise storage_error(error, self.path) from error

    def discard(self) -> None:
        """Forget everything; no file appears."""
        self._held.clear()
        self._file.abandon()
        self._aside.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _write_held(self) -> None:
        if not self._held:
            return
        try:
            self._file.write(pa.Table.from_batches(self._held))
        except OSError as error:
            self._failure = storage_error(error, self.path)
            raise self._failure from error
        finally:
            self._held.clear()
            self._held_rows = 0


def _column_formats(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """Encoding and compression of every column."""
    whole = [field.name for field in schema if field.type in (pa.uint8(), pa.uint16())]
    return {
        "column_encoding": {
            name: "PLAIN" if name in (*whole, *_NOT_COMPRESSED) else "BYTE_STREAM_SPLIT" for name in schema.names
        },
        "compression": {name: "NONE" if name in _NOT_COMPRESSED else "SNAPPY" for name in schema.names},
    }
