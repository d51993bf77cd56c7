"""The operations of a traced pass as arrays: what an explanation and a difference are both made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.trace import DEVICE_WORK, OPERATION_NAMES, PARTS

Integers = NDArray[np.int64]

_WRITES = ("write", "durable_write")
# what btt drops in any case, since its records carry no bytes
_NO_BYTES = 0


@dataclass(frozen=True, slots=True, eq=False)
class OperationParts:
    """The operations of one kind of one traced pass, in the order in which they began.

    Attributes
    ----------
    latency_ns : ndarray of int64, shape (n,)
        Of each operation.
    parts_ns : ndarray of int64, shape (n, 6)
        Its parts, in the order of `PARTS`.
    work : mapping of str to int
        Sums over all operations, keys of `DEVICE_WORK`.
    bytes_asked : int
        Bytes that the program wrote; 0 where it did not.
    shared_count : int
        Operations that waited together with others.
    """

    latency_ns: Integers
    parts_ns: Integers
    work: Mapping[str, int]
    bytes_asked: int = 0
    shared_count: int = 0

    @property
    def count(self) -> int:
        """Number of operations."""
        return int(self.latency_ns.size)

    @property
    def residual_ns(self) -> int:
        """Largest difference between a latency and the sum of its parts; 0 by construction."""
        return int(np.abs(self.latency_ns - self.parts_ns.sum(axis=1)).max(initial=0))


def operation_parts(operations: pa.Table, operation: str) -> OperationParts:
    """The operations of one kind of a table of operations.

    Parameters
    ----------
    operations : pyarrow.Table
        One row per operation of a traced pass (``docs/data_format.md``).
    operation : str
        read, write, trim, sync or durable_write.
    """
    rows = operations.filter(pc.equal(operations["operation"], OPERATION_NAMES.index(operation))).sort_by("start_ns")
    asked = int(_column(rows, "size_bytes").sum()) if operation in _WRITES else 0
    return OperationParts(
        latency_ns=_column(rows, "latency_ns"),
        parts_ns=np.stack([_column(rows, f"{part}_ns") for part in PARTS], axis=1),
        work={name: int(_column(rows, name).sum()) for name in DEVICE_WORK},
        bytes_asked=asked,
        shared_count=int(np.asarray(rows["is_shared"].fill_null(False)).sum()),
    )


def joined_parts(passes: Sequence[OperationParts]) -> OperationParts:
    """Several passes as one, one after the other."""
    if len(passes) == 1:
        return passes[0]
    return OperationParts(
        latency_ns=np.concatenate([one.latency_ns for one in passes] or [np.zeros(0, np.int64)]),
        parts_ns=np.concatenate([one.parts_ns for one in passes] or [np.zeros((0, len(PARTS)), np.int64)]),
        work={name: sum(one.work[name] for one in passes) for name in DEVICE_WORK},
        bytes_asked=sum(one.bytes_asked for one in passes),
        shared_count=sum(one.shared_count for one in passes),
    )


def q2c_of_data(events: pa.Table) -> tuple[int, int]:
    """Sum and number of the times that btt's Q2C is the mean of, in ns.

    Parameters
    ----------
    events : pyarrow.Table
        One row per bio and per command of a traced pass.

    Notes
    -----
    btt drops every record without bytes, so a flush is never among them; a bio
    that was split never ends for it, and one that had not ended has no C.
    """
    is_seen = pc.and_(pc.equal(events["kind"], "bio"), pc.greater(events["bytes"], _NO_BYTES))
    whole = pc.and_(pc.equal(events["fragments"], 1), pc.is_valid(events["completed_ns"]))
    rows = events.filter(pc.and_(is_seen, whole))
    times = _column(rows, "completed_ns") - _column(rows, "queued_ns")
    return int(times.sum()), int(times.size)


def _column(rows: pa.Table, name: str) -> Integers:
    return np.asarray(rows[name].fill_null(0), dtype=np.int64)
