"""Traces of a drive that never was: operations whose parts and commands are known, and that agree with each other.

An operation is a row of steps, one after the other; what a trace would have
recorded of them, and the parts of the latency, both follow from the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from drivelab.model.trace import DEVICE_WORK, PARTS, TraceConduct
from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, arrow_schema

DEVICE = "8:16"
FLUSH_SECTOR = 2**64 - 1
READ, DURABLE_WRITE = 0, 4
JOURNAL_SECTOR = 463_856_467_968 // 512
DATA_SECTOR = 10_737_418_240 // 512
OWN_THREAD, JOURNAL_THREAD, KERNEL_WORKER = 4711, 290, 61
_PROCESSES = {OWN_THREAD: "drivelab", JOURNAL_THREAD: "jbd2/sdb1-8", KERNEL_WORKER: "kworker/1:1H"}
BEGIN_NS = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """Some time of an operation: which part of the latency it is, and the command that is at the device meanwhile."""

    part: str
    length_ns: int
    kind: str = ""
    sector: int = 0
    size: int = 0
    thread: int = OWN_THREAD
    has_preflush: bool = False


Draw = Callable[[np.random.Generator, int], list[Step]]


@dataclass(slots=True)
class MadeUpTrace:
    """The two tables of a traced pass, and how it was taken."""

    operation: int
    size_bytes: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, start_ns: int, offset_bytes: int, steps: list[Step]) -> int:
        """Add an operation; when it ended."""
        index, at = len(self.rows), start_ns
        parts = dict.fromkeys(PARTS, 0)
        work = dict.fromkeys(DEVICE_WORK, 0)
        waited = 0
        for step in steps:
            parts[step.part] += step.length_ns  # type: ignore[index]
            if step.part == "queue":
                waited = step.length_ns
            if step.kind:
                self._command(index, at, waited, step)
                _count(work, step)
                waited = 0
            at += step.length_ns
        row = {"job": 0, "thread": OWN_THREAD, "operation": self.operation, "start_ns": start_ns}
        row |= {"latency_ns": at - start_ns, "offset_bytes": offset_bytes, "size_bytes": self.size_bytes}
        row |= {f"{part}_ns": length for part, length in parts.items()} | work
        self.rows.append(row | {"is_shared": False, "layers_ns": []})
        return at

    def _command(self, index: int, at: int, waited: int, step: Step) -> None:
        """The bio and the command of a step; a flush has a command alone."""
        worker = KERNEL_WORKER if step.kind == "flush" else step.thread
        common = {"operation_index": index, "device": DEVICE, "bytes": step.size, "class": step.kind}
        common |= {"sector": step.sector, "fragments": 1, "requeues": 0, "error": 0}
        common |= {"issued_ns": at, "issued_last_ns": at, "completed_ns": at + step.length_ns}
        self.events.append(common | {"kind": "command", "pid": worker, "process": _PROCESSES[worker]})
        if step.kind != "flush":
            times = {"queued_ns": at - waited, "got_request_ns": at - waited, "ended_ns": at + step.length_ns}
            self.events.append(common | times | {"kind": "bio", "pid": step.thread, "process": _PROCESSES[step.thread]})

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Operations and events, as the store takes them."""
        return (
            pa.Table.from_pylist(self.rows, schema=arrow_schema(OPERATION_COLUMNS)),
            pa.Table.from_pylist(self.events, schema=arrow_schema(EVENT_COLUMNS)),
        )


def _count(work: dict[str, int], step: Step) -> None:
    if step.kind == "flush":
        work["flushes"] += 1
        return
    work["bios"] += 1
    if step.kind == "read":
        work["device_reads"] += 1
        work["bytes_read"] += step.size
        return
    work["device_writes"] += 1
    work["bytes_written"] += step.size
    work["preflush_writes"] += step.has_preflush
    if step.thread == JOURNAL_THREAD:
        work["journal_writes"] += 1
        work["journal_bytes"] += step.size


def appends_on_ext4(flush_ns: int, write_ns: int) -> Draw:
    """4 KiB appended and made durable on ext4: data, two journal writes, and the flushes around the commit block.

    Parameters
    ----------
    flush_ns : int
        How long a flush takes about; 0 for a drive without a volatile cache, which gets none.
    write_ns : int
        How long a write takes.
    """

    def draw(random: np.random.Generator, number: int) -> list[Step]:
        def about(length_ns: float) -> int:
            return max(1, round(length_ns * np.exp(0.14 * random.standard_normal())))

        # now and then the drive tidies up, and the flush takes the time; sometimes the journal's thread has to wait
        stall = 9.0 if random.random() < 0.013 else 1.0
        wait = 22.0 if random.random() < 0.02 else 1.0
        journal = JOURNAL_SECTOR + 32 * (number % 2048)
        steps = [
            Step("fs_in", about(21_000)),
            Step("queue", about(3_500)),
            Step("device", about(write_ns), "write", DATA_SECTOR + 8 * number, 4096),
            Step("between", about(27_000 * wait)),
            Step("queue", about(4_000)),
            Step("device", about(1.4 * write_ns), "metadata_write", journal, 8192, JOURNAL_THREAD),
            Step("between", about(9_000)),
        ]
        if flush_ns:
            steps.append(Step("flush", about(flush_ns * stall), "flush", FLUSH_SECTOR))
        steps.append(Step("device", about(write_ns), "metadata_write", journal + 16, 4096, JOURNAL_THREAD, True))
        if flush_ns:
            steps.append(Step("flush", about(0.9 * flush_ns), "flush", FLUSH_SECTOR))
        return [*steps, Step("return", about(14_000))]

    return draw


def random_reads(read_ns: int) -> Draw:
    """4 KiB read from anywhere in a file of 1 GiB."""

    def draw(random: np.random.Generator, number: int) -> list[Step]:
        slow = 14.0 if random.random() < 0.012 else 1.0
        lengths = [round(length * np.exp(0.12 * random.standard_normal())) for length in (4_000, 2_500, read_ns, 5_000)]
        sector = DATA_SECTOR + 8 * int(random.integers(262_144))
        return [
            Step("fs_in", lengths[0]),
            Step("queue", lengths[1]),
            Step("device", round(slow * lengths[2]), "read", sector, 4096),
            Step("return", lengths[3]),
        ]

    return draw


def made_up_trace(draw: Draw, *, operation: int, operations: int, seed: int, size_bytes: int = 4096) -> MadeUpTrace:
    """So many operations, one after the other."""
    random = np.random.default_rng(seed)
    trace, at = MadeUpTrace(operation, size_bytes), BEGIN_NS
    for number in range(operations):
        at = trace.add(at, number * size_bytes, draw(random, number)) + int(random.integers(1_000, 3_000))
    return trace


def conduct(*, write_cache: str = "write back", **changed: Any) -> TraceConduct:
    """How a made-up trace was taken."""
    environment: Mapping[str, Any] = {
        "kernel": "6.12.41",
        "scheduler": "none",
        "nr_requests": 1023,
        "write_cache": write_cache,
        "fua": 0,
        "rotational": 0,
        "lockdown": "none",
    }
    given: dict[str, Any] = {
        "source": "tracefs",
        "reason": "a private instance of tracefs disturbs nobody",
        "device": "sdb",
        "foreign_bios": 3,
        "environment": environment,
    }
    return TraceConduct(**(given | changed))


def latencies(trace: MadeUpTrace) -> Iterator[int]:
    """Of the operations, in order."""
    yield from (row["latency_ns"] for row in trace.rows)
