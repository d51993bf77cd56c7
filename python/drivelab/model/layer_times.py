"""The column that tells how long each operation was in each layer above its drives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def layers_of(rows: pa.Table | pa.RecordBatch) -> NDArray[np.int64]:
    """Time in each layer, a row for each operation, shape (n, layers); of older tables there are none.

    Parameters
    ----------
    rows : pyarrow.Table or RecordBatch
        Operations of one traced pass, in ns: all have as many layers.
    """
    if "layers_ns" not in rows.schema.names or not rows.num_rows:
        return np.zeros((rows.num_rows, 0), np.int64)
    lists = rows["layers_ns"]
    flat = lists.flatten() if isinstance(lists, pa.Array) else lists.combine_chunks().flatten()
    return np.asarray(flat, dtype=np.int64).reshape(rows.num_rows, -1)
