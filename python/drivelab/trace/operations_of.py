"""Operations of a program from the engine's records of single I/Os: what a user waits for.

A record is one call: a write, and the sync call behind it, are two. Where every
write is followed by its own sync call, the two are one operation, a durable
write, from the call of the write until the sync call has returned.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.errors import DrivelabError
from drivelab.model.trace import OPERATION_NAMES
from drivelab.model.workload import SYNC_CALLS, Workload

READ, WRITE, TRIM, SYNC, DURABLE_WRITE = range(len(OPERATION_NAMES))
_DURABLE_BY_FLAG = ("o_dsync", "o_sync", "rwf_dsync")


def operations_of(
    records: pa.Table, threads: Mapping[int, int], workload: Workload, *, backend: str | None = None
) -> pa.Table:
    """The operations of a run, in the order in which they began.

    Parameters
    ----------
    records : pyarrow.Table
        One row per I/O, the columns of ``ios/``; rows of a job in the order of completion.
    threads : mapping of int to int
        The kernel's id of each job's thread.
    backend : str, optional
        What issued it: sync, uring, aio. By default the workload's own.

    Returns
    -------
    pyarrow.Table
        job, thread, operation (an index of `OPERATION_NAMES`), start_ns, submitted_ns, end_ns, offset_bytes,
        size_bytes, is_synchronous (its thread does nothing else meanwhile), is_durable (it ends when its data
        are durable).

    Raises
    ------
    DrivelabError
        B910: a job whose thread is not known.

    Notes
    -----
    A write and its sync call stay two operations when several writes share a
    sync call, and where one of them failed.
    """
    columns = {name: _numbers(records, name) for name in ("job", "operation", "issue_ns", "offset_bytes", "size_bytes")}
    job, operation, start, offset, size = columns.values()
    end = start + _numbers(records, "total_latency_ns")
    is_alone = (backend or workload.backend) == "sync" or workload.queue_depth == 1
    submitted = end if is_alone else np.minimum(start + _numbers(records, "submission_latency_ns"), end)
    last = np.arange(len(job))
    kept = np.ones(len(job), dtype=bool)
    if workload.durability.method in SYNC_CALLS and not workload.durability.covers_several_writes:
        for write, sync in _pairs(columns | {"end_ns": end, "result": _numbers(records, "result")}):
            last[write], kept[sync] = sync, False
    kind = np.where(last != np.arange(len(job)), DURABLE_WRITE, operation)
    end = end[last]
    is_flagged = workload.durability.method in _DURABLE_BY_FLAG
    order = np.flatnonzero(kept)
    order = order[np.argsort(start[order], kind="stable")]
    return pa.table(
        {
            "job": pa.array(job[order], pa.uint16()),
            "thread": pa.array(_threads(job, threads)[order], pa.int32()),
            "operation": pa.array(kind[order], pa.uint8()),
            "start_ns": start[order],
            "submitted_ns": (end if is_alone else submitted)[order],
            "end_ns": end[order],
            "offset_bytes": offset[order],
            "size_bytes": pa.array(size[order], pa.int32()),
            "is_synchronous": np.full(len(order), is_alone),
            "is_durable": (kind[order] >= SYNC) | (is_flagged & (kind[order] == WRITE)),
        }
    )


def _pairs(columns: Mapping[str, NDArray[np.int64]]) -> list[tuple[int, int]]:
    """Rows of each write and its sync call: same job, same place, and the one began when the other was done."""
    names = ("job", "operation", "offset_bytes", "size_bytes", "issue_ns", "end_ns", "result")
    waiting: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    pairs = []
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    for row, (job, operation, offset, size, issue, end, result) in enumerate(rows):
        if result < 0 or operation not in (WRITE, SYNC):
            continue
        writes = waiting.setdefault((job, offset, size), [])
        if operation == WRITE:
            writes.append((end, row))
        elif writes:
            nearest = min(writes, key=lambda write: abs(write[0] - issue))
            writes.remove(nearest)
            pairs.append((nearest[1], row))
    return pairs


def _threads(job: NDArray[np.int64], threads: Mapping[int, int]) -> NDArray[np.int64]:
    unknown = sorted(set(np.unique(job).tolist()) - set(threads))
    if unknown:
        what = f"there are records of job {unknown[0]}, and its thread is not known"
        raise DrivelabError("B910", what, where="records of single I/Os")
    by_job = np.zeros(int(job.max(initial=0)) + 1, dtype=np.int64)
    for number, thread in threads.items():
        if number < len(by_job):
            by_job[number] = thread
    return by_job[job]


def _numbers(records: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(records.column(name).to_numpy(), dtype=np.int64)
