"""What taking a trace costs the I/O that is traced: the same reads, traced and not, in turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from cases import Row, alternate, random_read
from peers import Cost, run_engine

from drivelab.run.following.calls_trace import calls_traced
from drivelab.run.following.rings_trace import rings_traced
from drivelab.run.tracing.collect import RunningTrace, collected_trace
from drivelab.run.tracing.disk import traced_disk

SOURCES = {"tracefs": "events in a private trace instance", "blk_tracer": "the kernel's blk tracer"}
QUEUE_DEPTHS = (1, 32)
QUANTITIES: dict[str, Callable[[Cost], float]] = {
    "IOPS": lambda cost: cost.iops,
    # the kernel guesses which part of it was its own, and knows the sum
    "CPU per I/O, issuing thread (ns)": lambda cost: cost.user_ns_per_io + cost.system_ns_per_io,
}


@dataclass
class TracingCost:
    """Rows of the page, and what else is to be told."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def tracing(path: str, rounds: int, runtime_s: float) -> TracingCost:
    """Rate and processor time of 4 KiB random reads with a trace and without one.

    Parameters
    ----------
    path : str
        A loop device.
    rounds : int
        Pairs.
    runtime_s : float
        Length of one run.
    """
    found = TracingCost()
    device = Path(path).name
    for source, title in SOURCES.items():
        for queue_depth in QUEUE_DEPTHS:
            traces: list[RunningTrace] = []
            workload = random_read(path, "uring", queue_depth, runtime_s)
            plain_run = partial(run_engine, workload)
            traced, plain = alternate(rounds, partial(_traced, plain_run, device, source, traces), plain_run)
            case = f"4 KiB random read, uring, queue depth {queue_depth}; traced by {title}"
            for quantity, value_of in QUANTITIES.items():
                values = (tuple(value_of(cost) for cost in costs) for costs in (traced, plain))
                found.rows.append(Row(case, quantity, *values, "as small a change as can be"))
            found.notes.append(_note(case, traces))
    # the calls of a program at queue depth 1: each is two events more. Of another process, as always: of this one the
    # calls that empty the kernel's buffers would be recorded, too
    workload = random_read(path, "sync", 1, runtime_s)
    traces = []
    with ProcessPoolExecutor(1, get_context("fork")) as program:
        process_id = program.submit(os.getpid).result()

        def followed_run() -> Cost:
            disk = traced_disk(device)
            with rings_traced(disk), calls_traced([process_id], disk):
                return _traced(in_program, device, "tracefs", traces)

        def in_program() -> Cost:
            return program.submit(run_engine, workload).result()

        followed, plain = alternate(rounds, followed_run, in_program)
    case = "4 KiB random read, sync, queue depth 1; followed as by explain --pid"
    for quantity, value_of in QUANTITIES.items():
        values = (tuple(value_of(cost) for cost in costs) for costs in (followed, plain))
        found.rows.append(Row(case, quantity, *values, "at most 5 % of the rate"))
    found.notes.append(f"{case}: {_longer_calls(followed, plain)}")
    return found


def _longer_calls(followed: Sequence[Cost], plain: Sequence[Cost]) -> str:
    """How much longer a call takes that is followed, and from which length on that is within the target."""
    call_us, followed_us = (1e6 / median(cost.iops for cost in costs) for costs in (plain, followed))
    longer_us = followed_us - call_us
    return (
        f"a call takes {longer_us:.1f} us more than the {call_us:.1f} us here; that is 5 % of the rate or less where a"
        f" call takes {longer_us * 19:.0f} us or more"
    )


def _traced(run: Callable[[], Cost], device: str, source: str, traces: list[RunningTrace]) -> Cost:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        with collected_trace(device, Path(directory), source) as trace:
            cost = run()
        traces.append(trace)
        return cost


def _note(case: str, traces: list[RunningTrace]) -> str:
    """Records, what the collecting thread took for each, and losses."""
    records = sum(trace.facts["records"] for trace in traces)
    collecting_ns = sum(trace.facts["collector_cpu_ns"] for trace in traces)
    kept_bytes = sum(trace.facts["collected_bytes"] for trace in traces)
    lost = sum(trace.lost_events for trace in traces)
    return (
        f"{case}: {records / len(traces):,.0f} records a run, {kept_bytes / records:.0f} B of memory and"
        f" {collecting_ns / records:.0f} ns of the collecting thread each; {lost:,} events lost in {len(traces)} runs"
    )


def can_trace() -> bool:
    """Whether the cost of tracing can be measured: by root only."""
    return os.geteuid() == 0
