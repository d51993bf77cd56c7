"""Reads one row per I/O a bounded number of rows at a time: a trial can have tens of millions of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from drivelab.store import layout
from drivelab.store.parquet_read import BoundedParquet

_CHUNK_ROWS = 1 << 18


class StoredRecords:
    """The I/Os of one trial, or its traced operations or events, in their file; nothing is read before it is asked for.

    Parameters
    ----------
    table : str
        What its rows are (`drivelab.store.table_check.COLUMNS`): single I/Os, operations or events.

    Raises
    ------
    FileNotFoundError
        There is none.
    DrivelabError
        S506: it is none, or damaged.
    """

    def __init__(self, path: Path, table: str = layout.IOS) -> None:
        self.path, self._table = path, table
        with BoundedParquet(path, table) as file:
            self.num_rows: int = file.metadata.num_rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in the order in which they are stored.

        Raises
        ------
        DrivelabError
            S506: the file cannot be read.
        """
        with BoundedParquet(self.path, self._table) as file, ThreadPoolExecutor(1) as reader:
            numbers = range(file.metadata.num_row_groups)
            # the next rows are decoded while these are looked at
            ahead = reader.submit(file.row_group, 0, columns, threads=False) if numbers else None
            for number in numbers:
                assert ahead is not None
                rows = ahead.result()
                if number + 1 < len(numbers):
                    ahead = reader.submit(file.row_group, number + 1, columns, threads=False)
                yield from rows.to_batches(max_chunksize=_CHUNK_ROWS)
