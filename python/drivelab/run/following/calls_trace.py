"""Records the system calls of some processes, with the threads and children that they start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.model.system_calls import OF_BPF, call_numbers
from drivelab.run.following.calls_by_bpf import traced_by_bpf
from drivelab.run.following.calls_by_events import traced_by_events
from drivelab.run.following.recorded_calls import CallsTrace
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.tracefs import TraceUnavailableError

# of the one that all others are below
_FIRST_PID_NAMESPACE = 0xEFFFFFFC


@contextmanager
def calls_traced(pids: Sequence[int], disk: TracedDisk) -> Iterator[CallsTrace]:
    """Trace the calls of processes while the context lasts; nothing of them is changed or stopped.

    Parameters
    ----------
    pids : sequence of int
        The processes.
    disk : TracedDisk
        What the recording is said to be of.

    Raises
    ------
    DrivelabError
        R430: not root. R431: this kernel cannot, or this is a pid namespace of its own. R434: the trace cannot be read.

    Notes
    -----
    By BPF where the kernel takes it, which costs the processes less; otherwise by trace events.
    """
    numbers = call_numbers(os.uname().machine)
    if os.geteuid() != 0:
        raise DrivelabError("R430", "the system calls of programs can be traced by root only")
    if not numbers:
        raise DrivelabError("R431", f"the numbers of system calls are not known for {os.uname().machine}")
    _require_numbers_of_the_kernel()
    with ExitStack() as stack:
        try:
            trace: CallsTrace = stack.enter_context(traced_by_bpf(pids, numbers))
        except TraceUnavailableError as unavailable:
            told = [number for name, number in numbers.items() if name not in OF_BPF]
            trace = _by_events(stack, pids, disk, told, str(unavailable))
        yield trace


def _require_numbers_of_the_kernel() -> None:
    """Make sure that ``/proc`` has the numbers of processes by which the kernel knows them, as its traces do."""
    own = Path("/proc/self/ns/pid")
    # a kernel without such namespaces has no such file
    if own.exists() and own.stat().st_ino != _FIRST_PID_NAMESPACE:
        do = "run it on the host, or in a container with --pid=host"
        what = "processes have other numbers here than the kernel's traces tell (a pid namespace of its own)"
        raise DrivelabError("R431", what, where=str(own), do=do)


def _by_events(stack: ExitStack, pids: Sequence[int], disk: TracedDisk, numbers: Sequence[int], why: str) -> CallsTrace:
    try:
        return stack.enter_context(traced_by_events(pids, disk, numbers, why))
    except TraceUnavailableError as unavailable:
        raise DrivelabError("R431", str(unavailable)) from unavailable
