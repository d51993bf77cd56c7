"""The I/Os of a trial that are in memory, in the form in which stored ones are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa


class HeldRecords:
    """Rows as `drivelab.store.record_batches.StoredRecords` gives them."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.num_rows: int = rows.num_rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows."""
        yield from self.rows.select(list(columns)).to_batches(max_chunksize=1 << 16)
