"""The operations of a traced pass as arrays: what an explanation and a difference are both made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.layer_times import layers_of
from drivelab.model.trace import DEVICE_WORK, OPERATION_NAMES, PARTS

Integers = NDArray[np.int64]

_WRITES = ("write", "durable_write")
_TOLD = {
    "start_ns",
    "latency_ns",
    "size_bytes",
    "layers_ns",
    "is_shared",
    *DEVICE_WORK,
    *(f"{part}_ns" for part in PARTS),
}
# what btt drops in any case, since its records carry no bytes
_NO_BYTES = 0


@dataclass(frozen=True, slots=True, eq=False)
class OperationParts:
    """The operations of one kind of one traced pass, in the order in which they began.

    Attributes
    ----------
    latency_ns : ndarray of int64, shape (n,)
        Of each operation.
    parts_ns : ndarray of int64, shape (n, 6 + layers)
        Its parts, in the order of `PARTS`; then that of each layer, the uppermost first.
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
    # of a million calls of a program their names and files would be most of what is copied
    told = operations.select([name for name in operations.column_names if name in _TOLD])
    rows = told.filter(pc.equal(operations["operation"], OPERATION_NAMES.index(operation))).sort_by("start_ns")
    asked = int(_column(rows, "size_bytes").sum()) if operation in _WRITES else 0
    return OperationParts(
        latency_ns=_column(rows, "latency_ns"),
        parts_ns=np.concatenate(
            [np.stack([_column(rows, f"{part}_ns") for part in PARTS], axis=1), layers_of(rows)], axis=1
        ),
        work={name: int(_column(rows, name).sum()) for name in DEVICE_WORK},
        bytes_asked=asked,
        shared_count=int(np.asarray(rows["is_shared"].fill_null(False)).sum()),
    )


def joined_parts(passes: Sequence[OperationParts]) -> OperationParts:
    """Several passes as one, one after the other."""
    if len(passes) == 1:
        return passes[0]
    width = max((one.parts_ns.shape[1] for one in passes), default=len(PARTS))
    parts = [np.pad(one.parts_ns, ((0, 0), (0, width - one.parts_ns.shape[1]))) for one in passes]
    return OperationParts(
        latency_ns=np.concatenate([one.latency_ns for one in passes] or [np.zeros(0, np.int64)]),
        parts_ns=np.concatenate(parts or [np.zeros((0, width), np.int64)]),
        work={name: sum(one.work[name] for one in passes) for name in DEVICE_WORK},
        bytes_asked=sum(one.bytes_asked for one in passes),
        shared_count=sum(one.shared_count for one in passes),
    )


def layers_together(parts_ns: Integers) -> Integers:
    """The parts in the order of `PARTS`, then those of all layers as one; the same where there are no layers."""
    plain, layers = parts_ns[:, : len(PARTS)], parts_ns[:, len(PARTS) :]
    return np.column_stack([plain, layers.sum(axis=1)]) if layers.shape[1] else plain


def q2c_of_data(events: pa.Table, drives: Collection[str] = ()) -> tuple[int, int]:
    """Sum and number of the times that btt's Q2C is the mean of, in ns, where nobody else uses the disk.

    Parameters
    ----------
    drives : collection of str
        ``major:minor`` of the drives, where the trace is of layers, too.

    Notes
    -----
    btt drops every record without bytes, so a flush is never among them; a bio
    that was split never ends for it, and one that had not ended has no C.
    """
    is_seen = pc.and_(pc.equal(events["kind"], "bio"), pc.greater(events["bytes"], _NO_BYTES))
    # what others had the disk do says nothing of these operations
    is_seen = pc.and_(is_seen, pc.greater_equal(events["operation_index"], 0))
    whole = pc.and_(pc.equal(events["fragments"], 1), pc.is_valid(events["completed_ns"]))
    rows = events.filter(pc.and_(is_seen, whole))
    if drives:
        rows = rows.filter(pc.is_in(rows["device"], pa.array(list(drives))))
    times = _column(rows, "completed_ns") - _column(rows, "queued_ns")
    return int(times.sum()), int(times.size)


def member_times(events: pa.Table, drives: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Of each of several drives the sum of the times of what it was sent for operations, in ns, and how many.

    Parameters
    ----------
    drives : mapping of str to str
        Their names by ``major:minor``.

    Notes
    -----
    Of a command D to C; of a drive without requests, which has no commands, a bio's Q to C.
    """
    rows = events.filter(pc.and_(pc.greater_equal(events["operation_index"], 0), pc.is_valid(events["completed_ns"])))
    found = {}
    for number, name in drives.items():
        here = rows.filter(pc.equal(rows["device"], number))
        commands = here.filter(pc.equal(here["kind"], "command"))
        begin = "issued_ns" if commands.num_rows else "queued_ns"
        seen = commands if commands.num_rows else here
        times = _column(seen, "completed_ns") - _column(seen, begin)
        found[name] = int(times.sum()), int(times.size)
    return found


def drives_without_requests(events: pa.Table, drives: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the drives that were sent data for operations, and have no commands."""
    here = events.filter(
        pc.and_(pc.greater_equal(events["operation_index"], 0), pc.greater(events["bytes"], _NO_BYTES))
    )
    kinds = {(row["device"], row["kind"]) for row in here.select(["device", "kind"]).to_pylist()}
    return tuple(
        name for number, name in drives.items() if (number, "bio") in kinds and (number, "command") not in kinds
    )


def _column(rows: pa.Table, name: str) -> Integers:
    return np.asarray(rows[name].fill_null(0), dtype=np.int64)
