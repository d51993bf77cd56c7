"""Tables of a traced pass, made up: a write and a flush for every operation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, arrow_schema

WRITE_NS, FLUSH_NS, SOFTWARE_NS = 30_000, 150_000, 20_000
THREAD = 4711


def operations(count: int, *, first_ns: int = 10**15) -> pa.Table:
    """Durable writes of 4 KiB, each with four stretches of software of the same length around a write and a flush."""
    latency = 4 * SOFTWARE_NS + WRITE_NS + FLUSH_NS
    parts = {"fs_in": SOFTWARE_NS, "queue": SOFTWARE_NS, "device": WRITE_NS, "flush": FLUSH_NS}
    parts |= {"between": SOFTWARE_NS, "return": SOFTWARE_NS}
    columns: dict[str, object] = {column.name: np.zeros(count, np.int64) for column in OPERATION_COLUMNS}
    columns |= {f"{name}_ns": np.full(count, value) for name, value in parts.items()}
    columns |= {
        "thread": np.full(count, THREAD),
        "operation": np.full(count, 4),
        "start_ns": first_ns + np.arange(count) * (latency + 1000),
        "latency_ns": np.full(count, latency),
        "offset_bytes": np.arange(count) * 4096,
        "size_bytes": np.full(count, 4096),
        "device_writes": np.ones(count, np.int64),
        "flushes": np.ones(count, np.int64),
        "bytes_written": np.full(count, 4096),
        "bios": np.full(count, 2),
        "is_shared": np.zeros(count, bool),
        "layers_ns": [[]] * count,
    }
    schema = arrow_schema(OPERATION_COLUMNS)
    return pa.table({name: pa.array(columns[name]).cast(schema.field(name).type) for name in schema.names})


def events(count: int, *, first_ns: int = 10**15, thread: int = THREAD) -> pa.Table:
    """The write and the flush of each of those operations, as bios and as commands."""
    begins = first_ns + np.arange(count) * (4 * SOFTWARE_NS + WRITE_NS + FLUSH_NS + 1000)
    rows = []
    for index, begin in enumerate(begins.tolist()):
        write = {"class": "write", "sector": index * 8, "bytes": 4096, "pid": thread, "process": "drivelab-job-0"}
        flush = {"class": "flush", "sector": 0, "bytes": 0, "pid": 93, "process": "kworker/0:1H"}
        issued = begin + 2 * SOFTWARE_NS
        flushed = issued + WRITE_NS + SOFTWARE_NS
        for what, at, length in ((write, issued, WRITE_NS), (flush, flushed, FLUSH_NS)):
            queued = at - SOFTWARE_NS
            common = {"operation_index": index, "device": "7:0", "issued_ns": at, "issued_last_ns": at}
            common |= {"completed_ns": at + length, "ended_ns": at + length, "fragments": 1, "requeues": 0, "error": 0}
            bio = {"pid": thread, "process": "drivelab-job-0"} if what is flush else {}
            rows.append({"kind": "bio", "queued_ns": queued, **what, **common, **bio})
            rows.append({"kind": "command", **what, **common})
    return pa.Table.from_pylist(rows, schema=arrow_schema(EVENT_COLUMNS))
