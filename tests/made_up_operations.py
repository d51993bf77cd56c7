"""Tables of operations and events of a traced pass that never was, with known parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.trace import PARTS, TraceConduct
from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, arrow_schema

# one byte written over and fdatasync on ext4: 333 us, of which 153 us are the flush
OVERWRITE_NS: Mapping[str, float] = {
    "fs_in": 60_000,
    "queue": 2_000,
    "device": 36_000,
    "flush": 153_000,
    "between": 61_000,
    "return": 21_000,
}
OVERWRITE_WORK: Mapping[str, int] = {"device_writes": 1, "flushes": 1, "bytes_written": 4096, "bios": 2}
# one byte appended and fdatasync on ext4: the journal is written, and the cache emptied twice
APPEND_NS: Mapping[str, float] = {
    "fs_in": 90_000,
    "queue": 9_000,
    "device": 137_000,
    "flush": 684_000,
    "between": 190_000,
    "return": 30_000,
}
APPEND_WORK: Mapping[str, int] = {
    "device_writes": 3,
    "journal_writes": 3,
    "flushes": 2,
    "fua_writes": 1,
    "preflush_writes": 1,
    "bytes_written": 16_384,
    "journal_bytes": 12_288,
    "bios": 5,
}
READ_NS: Mapping[str, float] = {"fs_in": 5_000, "queue": 1_000, "device": 80_000, "return": 6_000}
READ_WORK: Mapping[str, int] = {"device_reads": 1, "bytes_read": 4096, "bios": 1}
_CODES = {"read": 0, "write": 1, "trim": 2, "sync": 3, "durable_write": 4}
CONDUCT = TraceConduct(
    source="tracefs",
    reason="a private instance can be made",
    device="sda",
    foreign_bios=12,
    environment={"write_cache": "write back", "fua": "0", "scheduler": "none"},
)


def operations(
    count: int = 1000,
    parts_ns: Mapping[str, float] = OVERWRITE_NS,
    work: Mapping[str, int] = OVERWRITE_WORK,
    *,
    operation: str = "durable_write",
    spread: float = 0.1,
    correlation: float = 0.0,
    seed: int = 1,
    size_bytes: int = 1,
    scale: float = 1.0,
) -> pa.Table:
    """Operations one after the other; each part is log-normal around what is given, `correlation` from one to the next.

    A part that is not named is 0 in every operation.
    """
    random = np.random.default_rng(seed)
    values = {
        part: np.round(scale * parts_ns.get(part, 0.0) * np.exp(spread * noise(random, count, correlation)))
        for part in PARTS
    }
    return table_of({part: found.astype(np.int64) for part, found in values.items()}, work, operation, size_bytes)


def noise(random: np.random.Generator, count: int, correlation: float) -> NDArray[np.float64]:
    """Standard normal numbers, each correlated so much with the one before."""
    steps = random.standard_normal(count)
    if not correlation:
        return steps
    for place in range(1, count):
        steps[place] = correlation * steps[place - 1] + (1 - correlation**2) ** 0.5 * steps[place]
    return steps


def table_of(
    parts_ns: Mapping[str, NDArray[np.int64]],
    work: Mapping[str, int] = OVERWRITE_WORK,
    operation: str = "durable_write",
    size_bytes: int = 1,
) -> pa.Table:
    """The table of operations with just these parts, in order of time."""
    count = len(next(iter(parts_ns.values())))
    zeros = np.zeros(count, np.int64)
    parts = {f"{part}_ns": parts_ns.get(part, zeros) for part in PARTS}
    latency = np.sum(list(parts.values()), axis=0)
    columns: dict[str, Any] = {
        "operation": np.full(count, _CODES[operation]),
        "thread": np.full(count, 4711),
        "start_ns": 10**12 + np.cumsum(latency) - latency,
        "latency_ns": latency,
        "offset_bytes": np.arange(count) * size_bytes,
        "size_bytes": np.full(count, size_bytes),
        "is_shared": np.zeros(count, bool),
        "layers_ns": [[]] * count,
        **parts,
        **{name: np.full(count, each) for name, each in work.items()},
    }
    schema = arrow_schema(OPERATION_COLUMNS)
    return pa.table([pa.array(columns.get(field.name, zeros)).cast(field.type) for field in schema], schema=schema)


def events(*bios: Mapping[str, Any]) -> pa.Table:
    """A table of events; what is not given is null."""
    schema = arrow_schema(EVENT_COLUMNS)
    rows = [{field.name: row.get(field.name) for field in schema} for row in bios]
    return pa.Table.from_pylist(rows, schema=schema)


def bio(queued_ns: int, completed_ns: int | None, **changes: Any) -> dict[str, Any]:
    """One row of the events: a bio with data unless told otherwise."""
    row = {"kind": "bio", "bytes": 4096, "class": "write", "fragments": 1, "operation_index": 0, "device": "8:0"}
    return row | {"queued_ns": queued_ns, "completed_ns": completed_ns, "ended_ns": completed_ns} | changes
