"""The I/Os that were issued, kept beside those of their recording."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.recording import RECORDED_OPERATIONS, CallPairs, RecordedThread, Recording

_COLUMNS = ("job", "operation", "issue_ns", "total_latency_ns", "response_latency_ns", "result")
# of more I/Os single ones are not kept for a comparison: 40 bytes each
_KEPT_MAX = 10_000_000


class IssuedRows:
    """Takes the rows of a replay's I/Os, for a comparison and for whoever keeps them.

    Attributes
    ----------
    sink : callable or None
        What keeps all columns of them in the run.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._batches: list[pa.RecordBatch] = []
        self.sink: Callable[[pa.RecordBatch], object] | None = None

    @property
    def are_wanted(self) -> bool:
        """Whether there is something to compare each of them with."""
        return self._recording.has_latencies and self._recording.count <= _KEPT_MAX

    def take(self, batch: pa.RecordBatch) -> None:
        """Keep some rows."""
        if self.sink is not None:
            self.sink(batch)
        if self.are_wanted:
            self._batches.append(batch.select([name for name in _COLUMNS if name in batch.schema.names]))

    def pairs(self) -> CallPairs | None:
        """Each that came to an end beside the same one of the recording; None where there is nothing to compare.

        Notes
        -----
        Of a thread the first read is its first read in the recording, and so on: it issues them in that order.
        """
        if not self._batches:
            return None
        rows = pa.Table.from_batches(self._batches)
        columns = {name: rows[name].to_numpy().astype(np.int64) for name in rows.column_names}
        order = np.lexsort((columns["issue_ns"], columns["operation"], columns["job"]))
        columns = {name: values[order] for name, values in columns.items()}
        parts = [_pairs_of(thread, columns, job) for job, thread in enumerate(self._recording.threads)]
        whole = np.concatenate(parts, axis=1)
        whole = whole[:, np.argsort(whole[0], kind="stable")]
        has_response = "response_latency_ns" in columns
        return CallPairs(
            name=whole[1],
            file=whole[2],
            recorded_ns=whole[3].astype(np.float64),
            replayed_ns=whole[4].astype(np.float64),
            response_ns=whole[5].astype(np.float64) if has_response else None,
        )


def _pairs_of(thread: RecordedThread, columns: dict[str, NDArray[np.int64]], job: int) -> NDArray[np.int64]:
    """Start, name, file and latency of each I/O of a thread, with its latency and response here: one column each."""
    assert thread.latency_ns is not None
    total = columns["total_latency_ns"]
    response = columns.get("response_latency_ns", total)
    # latency, response, and whether it came to an end
    replayed = np.zeros((3, len(thread)), dtype=np.int64)
    for operation in range(len(RECORDED_OPERATIONS)):
        here = np.flatnonzero((columns["job"] == job) & (columns["operation"] == operation))
        there = np.flatnonzero(thread.operation == operation)[: len(here)]
        here = here[: len(there)]
        replayed[:, there] = total[here], response[here], columns["result"][here] >= 0
    if thread.part_of is not None:
        halves = np.flatnonzero(thread.part_of >= 0)
        wholes = thread.part_of[halves]
        replayed[:2, wholes] += replayed[:2, halves]
        replayed[2, wholes] &= replayed[2, halves]
        replayed[2, halves] = 0
    name = thread.operation if thread.call is None else thread.call
    file = np.zeros_like(name) if thread.file is None else thread.file
    pairs = np.stack([thread.start_ns, name, file, thread.latency_ns, replayed[0], replayed[1]])
    return pairs[:, replayed[2] > 0]
