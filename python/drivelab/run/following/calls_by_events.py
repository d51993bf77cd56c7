"""Records the system calls of processes by trace events in a private instance, which knows their threads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from drivelab._engine import LiveTrace
from drivelab.model.errors import DrivelabError
from drivelab.run.following.processes import threads_of
from drivelab.run.following.recorded_calls import RecordedCalls
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.ring_buffer import RingBuffer
from drivelab.run.tracing.source import Limits, buffer_bytes, cpus_of
from drivelab.run.tracing.tracefs import trace_instance, tracefs

_EVENTS = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit", "task/task_newtask")


class EventsTrace:
    """A trace of calls that is being taken in an instance."""

    def __init__(self, root: Path, instance: Path, buffer: RingBuffer, why: str) -> None:
        self._root = root
        self._instance = instance
        self._buffer = buffer
        self._why = why
        self._live: LiveTrace | None = None

    def threads(self) -> list[int]:
        """Threads that are followed now."""
        return [int(word) for word in (self._instance / "set_event_pid").read_text().split()]

    def newest(self) -> pa.Table:
        """Calls that have returned since it was asked before."""
        if self._live is None:
            self._live = LiveTrace(self._buffer.header_page, self._formats())
        return pa.Table.from_batches([pa.record_batch(self._buffer.newest_calls(self._live))])

    def _formats(self) -> list[str]:
        return [(self._root / "events" / name / "format").read_text() for name in _EVENTS]

    def stop(self) -> RecordedCalls:
        """End it, and read what was recorded.

        Raises
        ------
        DrivelabError
            R434: it cannot be read.
        """
        try:
            formats = self._formats()
            (self._instance / "tracing_on").write_text("0")
            stopped = self._buffer.end("events", formats)
            calls, forks, facts = stopped.collected.calls(stopped.description["header_page"], formats)
        except (OSError, ValueError) as error:
            raise DrivelabError("R434", f"the trace of calls cannot be read: {error}") from error
        if stopped.collected.failure:
            raise DrivelabError("R434", f"the trace of calls could not be kept: {stopped.collected.failure}")
        return RecordedCalls(
            calls=pa.Table.from_batches([pa.record_batch(calls)]),
            forks=pa.Table.from_batches([pa.record_batch(forks)]),
            facts={"source": "trace events", "why_not_bpf": self._why, **json.loads(facts)},
            lost_events=stopped.lost_events,
            names=stopped.description["processes"],
        )


@contextmanager
def traced_by_events(pids: Sequence[int], disk: TracedDisk, numbers: Sequence[int], why: str) -> Iterator[EventsTrace]:
    """Record the calls of processes while the context lasts.

    Parameters
    ----------
    pids : sequence of int
        The processes.
    disk : TracedDisk
        What the recording is said to be of.
    numbers : sequence of int
        The kernel's numbers of the calls that are wanted.
    why : str
        Why it is not done by BPF.

    Raises
    ------
    TraceUnavailableError
        This kernel cannot.
    DrivelabError
        R431: its trace refuses something. R434: the trace cannot be read.

    Notes
    -----
    A list of threads makes the kernel look at it each time a processor goes from one thread to another, and a filter
    is gone through for each call of theirs: 370 ns for a call, 230 ns for a switch of anything on the machine.
    """
    wanted = " || ".join(f"id == {number}" for number in sorted(numbers))
    with tracefs() as root, trace_instance(root, "calls") as instance:
        buffer = RingBuffer(root, instance, disk, "mono")
        with _armed(instance, buffer, pids, wanted):
            yield EventsTrace(root, instance, buffer, why)


@contextmanager
def _armed(instance: Path, buffer: RingBuffer, pids: Sequence[int], wanted: str) -> Iterator[None]:
    try:
        try:
            (instance / "trace_clock").write_text("mono")
            # only a buffer that overwrites says between which of its events others are missing
            (instance / "options" / "overwrite").write_text("1")
            (instance / "options" / "event-fork").write_text("1")
            (instance / "buffer_size_kb").write_text(str(buffer_bytes(len(cpus_of(instance))) // 1024))
            threads = [str(thread) for pid in pids for thread in threads_of(pid)]
            (instance / "set_event_pid").write_text(" ".join(threads))
            for name in _EVENTS[:2]:
                (instance / "events" / name / "filter").write_text(wanted)
            # all at once: of a call that is under way when one begins after the other, the return is missed
            (instance / "tracing_on").write_text("0")
            for name in _EVENTS:
                (instance / "events" / name / "enable").write_text("1")
            (instance / "tracing_on").write_text("1")
            buffer.begin(Limits())
            # a thread that was started between the two looks is followed by no fork
            _add_late_threads(instance, pids, threads)
        except OSError as error:
            raise DrivelabError("R431", f"system calls cannot be traced: {error.strerror or error}") from error
        yield
    finally:
        with suppress(OSError):
            (instance / "tracing_on").write_text("0")
        buffer.abandon()


def _add_late_threads(instance: Path, pids: Sequence[int], known: Sequence[str]) -> None:
    late = {str(thread) for pid in pids for thread in threads_of(pid)} - set(known)
    if late:
        # no Python file: opened to append it seeks, and the kernel refuses that here
        descriptor = os.open(instance / "set_event_pid", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, " ".join(sorted(late)).encode())
        finally:
            os.close(descriptor)
