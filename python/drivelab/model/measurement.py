"""What one trial measured: the engine's numbers beside the kernel's counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pyarrow as pa

from drivelab.model.histogram import Histogram
from drivelab.model.workload import Workload


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """Commands one block device executed while a trial ran, by the kernel's counters.

    Attributes
    ----------
    device : str
        Kernel name (``sda``, ``loop3``).
    reads, writes, discards, flushes : int
        Requests completed, from ``/sys/block/DEVICE/stat``. `writes` includes
        empty flushes sent on their own, which that file counts as writes too.
    bytes_read, bytes_written : int
        Data moved.
    read_merges, write_merges : int
        Requests merged into others before they were issued.
    read_ns, write_ns, flush_ns : int
        Time the kernel counted for them (resolution 1 ms).
    data_writes, fua_writes, issued_flushes : int or None
        Exact counts from the block layer's trace events; None when tracing was
        not possible, and then `data_writes_low`..`data_writes_high` bound them.
    data_writes_low, data_writes_high : int
        Bounds on the writes that carried data, from the counters alone.
    foreign_requests : int or None
        Requests issued by other programs, from the trace; None without one.
    busy_ns : int or None
        Time in which it had at least one request; None where nobody looked.
    """

    device: str
    reads: int
    writes: int
    discards: int
    flushes: int
    bytes_read: int
    bytes_written: int
    read_merges: int
    write_merges: int
    read_ns: int
    write_ns: int
    flush_ns: int
    data_writes_low: int
    data_writes_high: int
    data_writes: int | None = None
    fua_writes: int | None = None
    issued_flushes: int | None = None
    foreign_requests: int | None = None
    busy_ns: int | None = None

    def plus(self, other: DeviceCounts) -> DeviceCounts:
        """Both together; what is unknown of one is unknown."""

        def known(name: str) -> int | None:
            one, another = getattr(self, name), getattr(other, name)
            return None if one is None or another is None else one + another

        counts: Any = {one.name: known(one.name) for one in fields(self) if one.name != "device"}
        return replace(self, **counts)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One trial, as measured.

    Attributes
    ----------
    name : str
        Name of the trial, unique within its run (``sync-write-4096``).
    engine : dict
        The engine's summary: backend and why it was chosen, achieved queue
        depth, counts, errors, processor time (``docs/data_format.md``).
    histograms : dict of (operation, latency) to Histogram
        Whole measured window. Operations: read, write, trim, sync (the sync
        call alone), durable_write (write until its sync call returned).
        Latencies: submission, completion, total, response.
    intervals : pyarrow.Table
        One row per interval, operation and latency, with its sparse histogram.
    records : pyarrow.Table or None
        One row per I/O when the workload asked for it.
    devices : tuple of DeviceCounts
        The drive first, then each layer above it.
    context : dict
        Everything else observed about the trial (resident pages, extents, facts
        before and after).
    """

    name: str
    workload: Workload
    engine: dict[str, Any]
    histograms: dict[tuple[str, str], Histogram]
    intervals: pa.Table
    records: pa.Table | None = None
    devices: tuple[DeviceCounts, ...] = ()
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def measured_s(self) -> float:
        """Length of the measured window in seconds."""
        return float(self.engine["measured_ns"]) / 1e9

    def rated_ns(self, operations: Iterable[str]) -> float:
        """Time by which the operations of the window are divided for a rate.

        Those that a ramp had begun are served in the window and are not counted, while all that the window began
        is waited for. In a closed loop as many are outstanding at the one end as at the other; rate times mean
        latency says how many that are (Little 1961), so the time is a mean latency shorter than each window.
        """
        window_ns = float(self.engine["measured_ns"])
        if not self.engine.get("ramp_ns") or self.workload.is_open_loop:
            return window_ns
        known = [one for name in operations if (one := self.histograms.get((name, "total"))) and one.total_count]
        count = sum(one.total_count for one in known)
        mean_ns = sum(one.sum_ns for one in known) / count if count else 0.0
        # of a window of one turn nothing would be left
        return max(window_ns - mean_ns * max(1, len(self.engine.get("windows") or ())), window_ns / 2)

    @property
    def counted_device(self) -> DeviceCounts | None:
        """Counts of the device that commands per operation are about.

        The uppermost whole disk beneath the target: a loop device rather than
        the disk that holds its file, a disk rather than its partition. None
        when no device is counted.
        """
        name = self.context.get("counted_device")
        return next((counts for counts in self.devices if counts.device == name), next(iter(self.devices), None))

    def jobs_apart(self) -> tuple[Measurement, ...]:
        """What each job alone measured, in their order; nothing where that was not kept (``record_jobs``).

        Intervals hold counts and bytes of total latencies. Devices were counted for all jobs together.
        """

        def alone(job: dict[str, Any]) -> Measurement:
            intervals = pa.table(job["intervals"])
            latency = pa.array(["total"] * len(intervals), pa.string())
            return replace(
                self,
                workload=self.workload.model_copy(update={"job_count": 1}),
                engine=job,
                histograms={(row["operation"], row["latency"]): Histogram.from_row(row) for row in job["histograms"]},
                intervals=intervals.append_column("latency", latency),
                records=None,
            )

        return tuple(map(alone, self.engine.get("jobs") or ()))

    @property
    def mixes_file_operations(self) -> bool:
        """Whether several operations on files are done by turns: their rate is one, their latencies are not."""
        return self.workload.tree is not None and len(self.workload.operations) > 1

    def operation_count(self, operation: str) -> int:
        """Completed I/Os of one operation in the measured window."""
        return int(self.engine["operations"].get(operation, {}).get("count", 0))

    def durable_operation(self) -> str:
        """The operation whose latency ends when a write is durable."""
        return "durable_write" if ("durable_write", "total") in self.histograms else "write"
