"""Trials, targets and drives made by hand, as the engine and the inventory would report them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.summary import summarise
from drivelab.model.drive import BlockUse, DiscardFacts, DriveFacts, DriveIdentity, LinkFacts, WriteCacheFacts
from drivelab.model.histogram import Histogram
from drivelab.model.host import HostFacts
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.target import FilesystemFacts, TargetFacts
from drivelab.model.workload import Access, BlockSizeShare, Durability, OperationShare, TargetRange, Workload
from latency_histograms import histogram_of

INTERVAL_NS = 100_000_000
Latencies = NDArray[np.float64]


def drive(**changes: Any) -> DriveFacts:
    """A SATA drive whose volatile cache is on and flushed."""
    facts = DriveFacts(
        name="sda",
        path="/dev/sda",
        vendor="ATA",
        model="Drive",
        firmware="1",
        serials=("S1",),
        wwn=None,
        size_bytes=10**12,
        is_rotational=False,
        transport="sata",
        virtual="",
        link=LinkFacts("sata", 6_000_000_000, 6_000_000_000),
        logical_block_size_bytes=512,
        physical_block_size_bytes=4096,
        optimal_io_size_bytes=0,
        write_cache=WriteCacheFacts(True, "hdparm", "write back", False),
        scheduler="none",
        queue_requests=64,
        discard=DiscardFacts(512, 1 << 30),
        is_read_only=False,
        is_removable=False,
        use=BlockUse("sda", "/dev/sda", "disk", 10**12),
        identity=DriveIdentity("sda", "8:0", 10**12, ("S1",), None, 1),
    )
    return replace(facts, **changes)


def filesystem(kind: str = "ext4", **changes: Any) -> FilesystemFacts:
    """A file system on the drive."""
    facts = FilesystemFacts(kind, "/dev/sda1", "/data", ("rw",), "8:1", 10**12, 10**11, 10**11, 4096, False)
    return replace(facts, **changes)


def target(on: FilesystemFacts | None = None, drives: Sequence[DriveFacts] | None = None) -> TargetFacts:
    """A directory on a file system, or without one the block device itself."""
    return TargetFacts(
        text="/data",
        kind="directory" if on else "block_device",
        path="/data",
        exists=True,
        filesystem=on,
        devices=(),
        drives=tuple([drive()] if drives is None else drives),
        size_bytes=0,
        logical_block_size_bytes=512,
        is_read_only=False,
    )


def workload(operation: str = "read", **changes: Any) -> Workload:
    """4 KiB operations, one at a time, direct."""
    given: dict[str, Any] = {
        "target": TargetRange(path="/data/file"),
        "operations": (OperationShare(operation=operation),),  # type: ignore[arg-type]
        "block_sizes": (BlockSizeShare(bytes=4096),),
        "access": Access(kind="random"),
        "direct": True,
        "interval_ns": INTERVAL_NS,
    }
    return Workload(**(given | changes))


def durable_workload(method: str = "fdatasync", **changes: Any) -> Workload:
    """4 KiB synchronous appends, as the check issues them."""
    given: dict[str, Any] = {
        "backend": "sync",
        "access": Access(kind="sequential"),
        "durability": Durability(method=method),  # type: ignore[arg-type]
        "file_state": "append",
        "direct": False,
    }
    return workload("write", **(given | changes))


def latencies(count: int = 2000, median_ns: float = 500_000.0, seed: int = 1) -> Latencies:
    """Lognormal latencies in whole nanoseconds."""
    return np.round(np.random.default_rng(seed).lognormal(np.log(median_ns), 0.3, count))


def interval_table(
    values: Mapping[str, Latencies],
    intervals: int | Sequence[int],
    block_bytes: int,
    kind: str = "total",
    interval_ns: int = INTERVAL_NS,
) -> pa.Table:
    """The engine's interval series: operations spread evenly, or each interval but the first from one of them on."""
    rows = []
    for operation, series in values.items():
        for number, part in enumerate(np.array_split(series, intervals)):
            if not part.size:
                continue
            histogram = histogram_of(part)
            rows.append(
                {
                    "operation": operation,
                    "latency": kind,
                    "count": histogram.total_count,
                    "min_ns": histogram.minimum_ns,
                    "max_ns": histogram.maximum_ns,
                    "sum_ns": histogram.sum_ns,
                    "bucket": histogram.bucket.astype(np.uint32),
                    "bucket_count": histogram.count.astype(np.uint64),
                    "interval": number,
                    "start_ns": number * interval_ns,
                    "duration_ns": interval_ns,
                    "bytes": 0 if operation in ("sync", "durable_write") else block_bytes * histogram.total_count,
                    "errors": 0,
                }
            )
    return pa.Table.from_pylist(rows)


def measured(
    asked: Workload | None = None,
    values: Mapping[str, Latencies] | None = None,
    *,
    name: str = "trial",
    intervals: int | Sequence[int] = 20,
    devices: Sequence[DeviceCounts] = (),
    context: Mapping[str, Any] | None = None,
    **engine: Any,
) -> Measurement:
    """A trial of `asked` with these latencies by operation; keys of the engine's summary as named arguments.

    Intervals are a number of them, or which operation each but the first begins with; of the length that is asked.
    """
    asked = asked or workload()
    operation = asked.operations[0].operation
    values = values or {operation: latencies()}
    block = asked.block_sizes[0].bytes
    counts = {
        kind: {"count": int(series.size), "bytes": int(series.size) * block, "errors": 0, "short": 0}
        for kind, series in values.items()
    }
    window_ns = (intervals if isinstance(intervals, int) else len(intervals) + 1) * asked.interval_ns
    summary: dict[str, Any] = {
        "backend": {"name": "uring" if asked.backend == "auto" else asked.backend, "reason": ""},
        "ramp_ns": 0,
        "measured_ns": window_ns,
        "drain_ns": 0,
        "achieved": {
            "queue_depth_mean": float(asked.queue_depth),
            "queue_depth_max": asked.queue_depth,
            "direct": asked.direct,
            "direct_note": "",
            "job_count": asked.job_count,
        },
        "cpu": {"user_ns": window_ns // 10, "system_ns": window_ns // 5, "total_ns": 3 * (window_ns // 10)},
        "operations": counts,
        "all_phases": {kind: dict(count) for kind, count in counts.items() if kind != "durable_write"},
        "errors": [],
        "stopped_by": "runtime",
    }
    histograms: dict[tuple[str, str], Histogram] = {
        (kind, "total"): histogram_of(series) for kind, series in values.items()
    }
    return Measurement(
        name=name,
        workload=asked,
        engine=summary | engine,
        histograms=histograms,
        intervals=interval_table(values, intervals, block, interval_ns=asked.interval_ns),
        devices=tuple(devices),
        context=dict(context or {}),
    )


def durable_values(count: int = 2000, median_ns: float = 500_000.0) -> dict[str, Latencies]:
    """Latencies of writes, of their sync calls, and of both together."""
    write, sync = latencies(count, 5_000.0, seed=2), latencies(count, median_ns, seed=3)
    return {"write": write, "sync": sync, "durable_write": write + sync}


def counted(
    *, reads: int = 0, writes: int = 0, flushes: int = 0, block: int = 4096, low: int | None = None, **changes: Any
) -> DeviceCounts:
    """What the drive executed, every request of one block."""
    counts = DeviceCounts(
        device="sda",
        reads=reads,
        writes=writes,
        discards=0,
        flushes=flushes,
        bytes_read=reads * block,
        bytes_written=writes * block,
        read_merges=0,
        write_merges=0,
        read_ns=0,
        write_ns=0,
        flush_ns=0,
        data_writes_low=writes if low is None else low,
        data_writes_high=writes,
    )
    return replace(counts, **changes)


def evidence(trial: Measurement, on: TargetFacts | None = None, host: HostFacts | None = None) -> TrialEvidence:
    """The trial with its numbers, on a target."""
    facts = on or target(filesystem())
    return TrialEvidence(trial, summarise(trial, facts), facts, host)


VIRTIO = target(None, [drive(virtual="virtio drive of a virtual machine")])
LOOP = target(None, [drive(virtual="loop device")])


def reads_at(
    *rates: float, queue_depth: int = 32, on: TargetFacts = VIRTIO, operation: str = "read", step_ns: int = 10**9
) -> TrialEvidence:
    """Small I/Os at these rates a second, each for a second."""
    asked = workload(operation, queue_depth=queue_depth, interval_ns=step_ns)
    made = measured(asked, {operation: latencies(round(sum(rates)), 1e7)}, intervals=len(rates))
    rows = made.intervals.to_pylist()
    for number, (row, rate) in enumerate(zip(rows, rates, strict=True)):
        row |= {"start_ns": number * step_ns, "duration_ns": step_ns, "count": round(rate * step_ns / 1e9)}
    made.engine["measured_ns"] = len(rates) * step_ns
    return evidence(replace(made, intervals=pa.Table.from_pylist(rows, schema=made.intervals.schema)), on)
