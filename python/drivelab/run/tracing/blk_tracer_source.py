"""The third source: the kernel's `blk` tracer, in the one buffer that everybody shares.

Only where nobody uses that buffer. Every setting is written into the journal
before it is changed, and put back.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from drivelab.inventory.sysfs import read_text
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.relay_source import require_untraced
from drivelab.run.tracing.ring_buffer import RingBuffer, chosen_clock
from drivelab.run.tracing.source import Limits, Source, SourceUnavailableError, Stopped, buffer_bytes, cpus_of
from drivelab.run.tracing.tracefs import TraceUnavailableError, tracefs
from drivelab.state.begun_journal import begun_journal
from drivelab.state.journal import Journal
from drivelab.state.kernel_tracing import arm_by_switch, read_trace_file, set_trace_file, switch_path

# the kernel enables it by itself when a program of BPF prints, and never disables it
_HARMLESS_EVENT = "bpf_trace:bpf_trace_printk"


def require(disk: TracedDisk) -> None:
    """Find out whether the shared buffer is free, and the kernel has the tracer.

    Raises
    ------
    SourceUnavailableError
        It is not, or has not.
    """
    if os.geteuid() != 0:
        raise SourceUnavailableError("the blk tracer needs root", "R430")
    require_untraced(disk)
    try:
        with tracefs() as root:
            _require_free(root)
    except TraceUnavailableError as unavailable:
        raise SourceUnavailableError(str(unavailable)) from unavailable


def _require_free(root: Path) -> None:
    if "blk" not in (read_text(root / "available_tracers") or "").split():
        raise SourceUnavailableError("this kernel has no blk tracer")
    if not chosen_clock(root):
        raise SourceUnavailableError("this kernel's traces have no clock that can be joined with ours")
    tracer = read_text(root / "current_tracer")
    if tracer != "nop":
        raise SourceUnavailableError(f"somebody else uses the kernel's tracer {tracer}", "R432")
    events = [name for name in (read_text(root / "set_event") or "").split() if name != _HARMLESS_EVENT]
    if events:
        raise SourceUnavailableError(f"somebody else traces events: {events[0]}", "R432")
    for stats in root.glob("per_cpu/cpu*/stats"):
        if not (read_text(stats) or "").startswith("entries: 0\n"):
            raise SourceUnavailableError("the kernel's trace buffer holds what somebody else has traced", "R432")


class _BlkTracer:
    def __init__(self, disk: TracedDisk, buffer: RingBuffer) -> None:
        self._disk = disk
        self._buffer = buffer
        self.clock = buffer.clock

    def stop(self) -> Stopped:
        """End it, and read what is left."""
        switch_path(self._disk.name).write_text("0")
        self._buffer.mark_end()
        return self._buffer.end("blk_tracer")


@contextmanager
def armed(disk: TracedDisk, limits: Limits) -> Iterator[_BlkTracer]:
    """Trace a disk by the `blk` tracer.

    Raises
    ------
    SourceUnavailableError
        The kernel refuses; R432: somebody else has begun meanwhile.
    """
    try:
        with (
            begun_journal(f"the trace of {disk.name}") as journal,
            tracefs() as root,
            _alone(root),
            ExitStack() as last,
        ):
            _require_free(root)
            try:
                clock = _prepare(root, journal)
                buffer = RingBuffer(root, root, disk, clock)
                last.callback(buffer.abandon)
                buffer.begin(limits)
                arm_by_switch(disk.name, journal)
            except OSError as error:
                raise SourceUnavailableError(f"the blk tracer cannot be used: {error.strerror}") from error
            yield _BlkTracer(disk, buffer)
    except TraceUnavailableError as unavailable:
        raise SourceUnavailableError(str(unavailable)) from unavailable


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Keep another drivelab from the shared buffer; a lock goes with the process that holds it."""
    descriptor = os.open(root / "current_tracer", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise SourceUnavailableError("another drivelab uses the kernel's trace buffer", "R432") from error
    finally:
        os.close(descriptor)


def _prepare(root: Path, journal: Journal) -> str:
    """Set the shared buffer up; returns its clock."""
    clock = chosen_clock(root)
    set_trace_file(root, "trace_clock", clock, journal)
    set_trace_file(root, "buffer_size_kb", str(buffer_bytes(len(cpus_of(root))) // 1024), journal)
    set_trace_file(root, "options/overwrite", "0", journal)
    set_trace_file(root, "tracing_on", "1", journal)
    set_trace_file(root, "current_tracer", "blk", journal)
    if read_trace_file(root, "current_tracer") != "blk":
        raise SourceUnavailableError("the kernel does not take the blk tracer")
    return clock


SOURCE = Source("blk_tracer", "the kernel's blk tracer", require, armed)
