"""Records the system calls of processes by programs of ours in the kernel (BPF), which knows their threads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from drivelab._engine import CallProbe
from drivelab.model.system_calls import MAP, PATHS_AT, PIPES
from drivelab.run.following.processes import threads_of
from drivelab.run.following.recorded_calls import RecordedCalls
from drivelab.run.tracing.source import ROOM_BYTES, buffer_bytes
from drivelab.run.tracing.tracefs import TraceUnavailableError, tracefs

# 2 million calls a second of one thread fill half of its ring
_INTERVAL_NS = 20_000_000
# where memory becomes full, what is told least by: others of their descriptor are placed without them
_DISPENSABLE = ("pread64", "preadv")
_FORK, _EXEC = "events/task/task_newtask/format", "events/sched/sched_process_exec/format"


class BpfTrace:
    """A trace of calls that is being taken by programs in the kernel."""

    def __init__(self, probe: CallProbe) -> None:
        self._probe = probe

    def threads(self) -> list[int]:
        """Threads that are followed now."""
        return self._probe.threads()

    def newest(self) -> pa.Table:
        """Calls that have returned since it was asked before."""
        return pa.Table.from_batches([pa.record_batch(self._probe.newest())])

    def stop(self) -> RecordedCalls:
        """End it; what was recorded."""
        calls, forks, text = self._probe.stop()
        told = json.loads(text)
        return RecordedCalls(
            calls=pa.Table.from_batches([pa.record_batch(calls)]),
            forks=pa.Table.from_batches([pa.record_batch(forks)]),
            facts={"source": "BPF", **{key: value for key, value in told["facts"].items() if value is not None}},
            lost_events=told["lost_events"],
            names=dict(told["names"]),
            paths={(thread, start_ns): path for thread, start_ns, path in told["paths"]},
        )


@contextmanager
def traced_by_bpf(pids: Sequence[int], numbers: Mapping[str, int]) -> Iterator[BpfTrace]:
    """Record the calls of processes while the context lasts.

    Parameters
    ----------
    pids : sequence of int
        The processes.
    numbers : mapping of str to int
        The kernel's numbers of the calls that are wanted.

    Raises
    ------
    TraceUnavailableError
        This kernel has no BPF, or refuses it.

    Notes
    -----
    It costs 200 ns for each call that is wanted, and nothing when a processor goes from one thread to another.
    """
    try:
        with tracefs() as root:
            probe = CallProbe(
                list(numbers.values()),
                of_paths=[[number for name, number in numbers.items() if PATHS_AT.get(name) == at] for at in (0, 1)],
                of_pairs=[numbers[name] for name in PIPES if name in numbers],
                of_mappings=[numbers[name] for name in (MAP,) if name in numbers],
                fork_format=(root / _FORK).read_text(),
                exec_format=(root / _EXEC).read_text(),
                buffer_bytes=buffer_bytes(os.cpu_count() or 1),
                interval_ns=_INTERVAL_NS,
                memory_limit_bytes=ROOM_BYTES,
                threads_max=_threads_max(),
                dispensable=[numbers[name] for name in _DISPENSABLE if name in numbers],
            )
        _follow_all(probe, pids)
    except OSError as error:
        raise TraceUnavailableError(f"the kernel takes no programs: {error.strerror or error}") from error
    try:
        yield BpfTrace(probe)
    finally:
        with suppress(RuntimeError):
            probe.stop()


def _threads_max() -> int:
    """How many threads this machine may have."""
    return int(Path("/proc/sys/kernel/pid_max").read_text())


def _follow_all(probe: CallProbe, pids: Sequence[int]) -> None:
    """Follow all threads; one that was started before the one that started it was followed is looked for."""
    known: set[int] = set()
    while new := {thread for pid in pids for thread in threads_of(pid)} - known:
        probe.follow(sorted(new))
        known |= new
