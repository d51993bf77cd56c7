"""Opens Parquet files for writing so that a failure leaves no open file behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class ParquetFile:
    """A Parquet file that is being written.

    Parameters
    ----------
    **options
        As for `pyarrow.parquet.ParquetWriter`.

    Raises
    ------
    OSError
        The file cannot be made.
    """

    def __init__(self, path: Path, schema: pa.Schema, **options: Any) -> None:
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(self._file, schema, **options)

    def write(self, rows: pa.Table) -> None:
        """Write rows as one row group."""
        self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))

    def close(self) -> None:
        """Write the footer, and close the file."""
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Close the file, whatever it holds by now."""
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
        # Arrow would try again when the writer is collected
        self._writer.is_open = False
        with suppress(OSError, pa.ArrowException):
            self._file.close()


@contextmanager
def parquet_file(path: Path, schema: pa.Schema, **options: Any) -> Iterator[ParquetFile]:
    """A Parquet file to write to; it is closed however the block ends.

    Raises
    ------
    OSError
        The file cannot be made or written.
    """
    file = ParquetFile(path, schema, **options)
    try:
        yield file
        file.close()
    except BaseException:
        file.abandon()
        raise
