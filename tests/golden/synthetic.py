"""Measurements of a drive that never was: known latency laws, repeatable, with the traits that reports must show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.model.histogram import SUB_BUCKET_BITS, SUB_BUCKET_COUNT, Histogram
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.workload import Access, BlockSizeShare, Durability, Limits, OperationShare, TargetRange, Workload

INTERVAL_NS = 100_000_000
Latencies = NDArray[np.int64]
# latencies of n operations, in the order of their issue
Law = Callable[[np.random.Generator, int], Latencies]

INTERVAL_SCHEMA = pa.schema(
    [
        ("operation", pa.string()),
        ("latency", pa.string()),
        ("interval", pa.int32()),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("count", pa.int64()),
        ("bytes", pa.int64()),
        ("errors", pa.int64()),
        ("min_ns", pa.int64()),
        ("max_ns", pa.int64()),
        ("sum_ns", pa.int64()),
        ("bucket", pa.list_(pa.uint32())),
        ("bucket_count", pa.list_(pa.uint64())),
    ]
)


def bucket_of(values_ns: Latencies) -> NDArray[np.int64]:
    """Index of the bucket of each value, by the layout of `drivelab.model.histogram`."""
    # frexp is exact where a logarithm rounds at a power of two
    bits = np.frexp(values_ns.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - 1 - SUB_BUCKET_BITS, 0)
    return shift * SUB_BUCKET_COUNT + (values_ns >> shift)


def histogram_of(values_ns: Latencies) -> Histogram:
    """The histogram that the engine would have made of these latencies."""
    if values_ns.size == 0:
        return Histogram(np.empty(0, np.int64), np.empty(0, np.int64), 0, 0, 0)
    bucket, count = np.unique(bucket_of(values_ns), return_counts=True)
    return Histogram(bucket, count, int(values_ns.min()), int(values_ns.max()), int(values_ns.sum()))


def log_normal(median_ns: float, spread: float) -> Law:
    """Independent latencies around a median; `spread` is the standard deviation of their logarithm."""
    return lambda random, n: np.round(median_ns * np.exp(spread * random.standard_normal(n))).astype(np.int64)


def two_levels(low: Law, high: Law, high_share: float) -> Law:
    """Mostly one law, sometimes another: a flush that finds the cache empty, or full."""

    def draw(random: np.random.Generator, n: int) -> Latencies:
        return np.where(random.random(n) < high_share, high(random, n), low(random, n))

    return draw


def with_stalls(law: Law, stall_ns: int, every: int) -> Law:
    """A stall at equal distances, as garbage collection or a journal's checkpoint makes them."""

    def draw(random: np.random.Generator, n: int) -> Latencies:
        values = law(random, n)
        at = np.arange(every, n, every)
        values[at] = np.round(stall_ns * (0.8 + 0.4 * random.random(at.size))).astype(np.int64)
        return values

    return draw


def with_step(law: Law, factor: float, at_share: float) -> Law:
    """A level that changes once: the cache is full."""

    def draw(random: np.random.Generator, n: int) -> Latencies:
        values = law(random, n)
        begin = int(at_share * n)
        values[begin:] = np.round(values[begin:] * factor).astype(np.int64)
        return values

    return draw


@dataclass(frozen=True, slots=True)
class SyntheticTrial:
    """A trial to make up: what is issued, and how long each operation takes."""

    name: str
    law: Law
    operation: str = "read"
    block_size_bytes: int = 4096
    queue_depth: int = 1
    duration_ns: int = 3_000_000_000
    access: str = "random"
    durable: bool = False
    sync_share: float = 0.9
    device_writes: float = 1.0
    device_flushes: float = 1.0
    device_bytes_factor: float = 1.0
    path: str = "/var/lib/etcd/.drivelab-check"
    device: str = "nvme0n1"
    has_records: bool = False

    def measurement(self, seed: int) -> Measurement:
        """What the engine and the kernel would have measured."""
        random = np.random.default_rng(seed)
        mean = float(self.law(random, 2000).mean())
        count = max(20, int(self.duration_ns * self.queue_depth / mean))
        latencies = np.maximum(self.law(random, count), 200)
        ends = np.cumsum(latencies) / self.queue_depth
        keep = ends < self.duration_ns
        latencies, ends = latencies[keep], ends[keep]
        series = {("durable_write" if self.durable else self.operation, "total"): latencies}
        if self.durable:
            sync = np.round(latencies * self.sync_share).astype(np.int64)
            series |= {("write", "total"): latencies - sync, ("sync", "total"): sync}
        return Measurement(
            name=self.name,
            workload=self.workload(seed),
            engine=self._engine(latencies),
            histograms={key: histogram_of(values) for key, values in series.items()},
            intervals=self._intervals(series, ends),
            records=self._records(series, ends) if self.has_records else None,
            devices=(self._device(latencies.size),),
            context={"extents": {"written_fraction": 1.0}, "temperature_celsius": {"before": 34, "after": 36}},
        )

    def workload(self, seed: int) -> Workload:
        """What was asked."""
        return Workload(
            target=TargetRange(path=self.path, size_bytes=256 * 2**20),
            operations=(OperationShare(operation="write" if self.durable else self.operation),),  # type: ignore[arg-type]
            block_sizes=(BlockSizeShare(bytes=self.block_size_bytes),),
            access=Access(kind="sequential" if self.durable else self.access),  # type: ignore[arg-type]
            queue_depth=self.queue_depth,
            direct=not self.durable,
            durability=Durability(method="fdatasync" if self.durable else "none"),
            file_state="append" if self.durable else "overwrite",
            limits=Limits(runtime_ns=self.duration_ns),
            seed=seed,
            record_ios=self.has_records,
        )

    def _records(self, series: dict[tuple[str, str], Latencies], ends: NDArray[np.float64]) -> pa.Table:
        """One row per I/O; each write is followed by its sync call."""
        whole = series["durable_write" if self.durable else self.operation, "total"]
        parts = [series["write", "total"], series["sync", "total"]] if self.durable else [whole]
        codes = [1, 3] if self.durable else [("read", "write", "trim").index(self.operation)]
        begin = np.round(ends - whole).astype(np.int64) + 1_000_000_000
        issue = [begin, begin + parts[0]][: len(parts)]
        count = whole.size
        size = self.block_size_bytes
        sizes = [np.full(count, size), np.zeros(count, dtype=np.int64)][: len(parts)]
        columns = {
            "job": np.zeros(count * len(parts), dtype=np.uint16),
            "operation": np.tile(np.array(codes, dtype=np.uint8), count),
            "issue_ns": np.column_stack(issue).ravel(),
            "offset_bytes": np.repeat(np.arange(count, dtype=np.int64) * size, len(parts)),
            "size_bytes": np.column_stack(sizes).ravel().astype(np.int32),
            "submission_latency_ns": np.zeros(count * len(parts), dtype=np.int32),
            "total_latency_ns": np.column_stack(parts).ravel(),
            "response_latency_ns": np.zeros(count * len(parts), dtype=np.int64),
            "result": np.column_stack(sizes).ravel().astype(np.int32),
        }
        return pa.table(columns)

    def _engine(self, latencies: Latencies) -> dict[str, object]:
        counts = {"count": int(latencies.size), "bytes": int(latencies.size) * self.block_size_bytes}
        operation = "write" if self.durable else self.operation
        operations = {operation: counts | {"errors": 0, "short": 0}}
        phases = {operation: counts}
        if self.durable:
            operations["sync"] = {"count": int(latencies.size), "bytes": 0, "errors": 0, "short": 0}
            phases["sync"] = {"count": int(latencies.size), "bytes": 0}
        backend = {"name": "sync", "reason": "one I/O at a time"} if self.queue_depth == 1 else None
        return {
            "backend": backend or {"name": "uring", "reason": "io_uring is usable"},
            "clock": {"source": "tsc", "cost_ns": 21, "rate_error_ppm": 0.4},
            "started_monotonic_ns": 1_000_000_000,
            "ramp_ns": 0,
            "measured_ns": self.duration_ns,
            "drain_ns": 200_000,
            "achieved": {
                "queue_depth_mean": round(0.985 * self.queue_depth, 2),
                "queue_depth_max": self.queue_depth,
                "direct": not self.durable,
                "job_count": 1,
            },
            "cpu": {"user_ns": int(latencies.size) * 450, "system_ns": int(latencies.size) * 3100},
            "operations": operations,
            "all_phases": phases,
            "errors": [],
            "arrivals": None,
            "recorder": None,
            "stopped_by": "runtime",
        }

    def _intervals(self, series: dict[tuple[str, str], Latencies], ends: NDArray[np.float64]) -> pa.Table:
        place = (ends // INTERVAL_NS).astype(np.int64)
        rows = []
        for (operation, latency), values in series.items():
            for interval in range(self.duration_ns // INTERVAL_NS):
                inside = histogram_of(values[place == interval])
                rows.append(
                    {
                        "operation": operation,
                        "latency": latency,
                        "interval": interval,
                        "start_ns": interval * INTERVAL_NS,
                        "duration_ns": INTERVAL_NS,
                        "count": inside.total_count,
                        "bytes": inside.total_count * self.block_size_bytes if operation != "sync" else 0,
                        "errors": 0,
                        "min_ns": inside.minimum_ns,
                        "max_ns": inside.maximum_ns,
                        "sum_ns": inside.sum_ns,
                        "bucket": inside.bucket,
                        "bucket_count": inside.count,
                    }
                )
        return pa.Table.from_pylist(rows, schema=INTERVAL_SCHEMA)

    def _device(self, count: int) -> DeviceCounts:
        moved = round(count * self.block_size_bytes * self.device_bytes_factor)
        is_read = self.operation == "read" and not self.durable
        writes = round(count * self.device_writes) if self.durable else 0 if is_read else count
        flushes = round(count * self.device_flushes) if self.durable else 0
        return DeviceCounts(
            device=self.device,
            reads=count if is_read else 0,
            writes=writes + flushes,
            discards=0,
            flushes=flushes,
            bytes_read=moved if is_read else 0,
            bytes_written=0 if is_read else moved,
            read_merges=0,
            write_merges=0,
            read_ns=0,
            write_ns=0,
            flush_ns=0,
            data_writes_low=writes,
            data_writes_high=writes,
        )
