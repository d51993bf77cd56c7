"""The first source: trace events in a private instance, which disturbs nobody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drivelab import _engine
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.ring_buffer import RingBuffer, chosen_clock
from drivelab.run.tracing.source import Limits, Source, SourceUnavailableError, Stopped, buffer_bytes, cpus_of
from drivelab.run.tracing.tracefs import TraceUnavailableError, trace_instance, tracefs

# without these there is nothing to explain
_NEEDED = ("block_bio_queue", "block_rq_issue", "block_rq_complete")
# they name no device, so those of all disks would come along; and they tell nothing of any bio or command, and cost
# as much as a third of all others together (0.2 of 0.6 us for a read at queue depth 1)
_LEFT_OUT = ("block_plug", "block_unplug", "block_unplug_io", "block_unplug_timer")


def require(_disk: TracedDisk) -> None:
    """Find out whether events can be traced in an instance of our own.

    Raises
    ------
    SourceUnavailableError
        They cannot.
    """
    if os.geteuid() != 0:
        raise SourceUnavailableError("trace events need root", "R430")
    try:
        with tracefs() as root:
            missing = [name for name in _NEEDED if not (root / "events" / "block" / name / "enable").exists()]
            if missing:
                raise SourceUnavailableError(f"this kernel has no event {missing[0]}")
            if not (root / "instances").is_dir():
                raise SourceUnavailableError("this kernel has no private trace instances")
            if not chosen_clock(root):
                raise SourceUnavailableError("this kernel's traces have no clock that can be joined with ours")
    except TraceUnavailableError as unavailable:
        raise SourceUnavailableError(str(unavailable)) from unavailable


class _Events:
    def __init__(self, instance: Path, events: list[Path], buffer: RingBuffer) -> None:
        self._instance = instance
        self._events = events
        self._buffer = buffer
        self.clock = buffer.clock

    def stop(self) -> Stopped:
        """End it, and read what is left."""
        formats = [(event / "format").read_text() for event in self._events]
        # likewise, all of them end at once
        self._buffer.mark_end()
        (self._instance / "tracing_on").write_text("0")
        if self.clock != "mono":
            formats.append((self._instance / "events" / "ftrace" / "print" / "format").read_text())
        return self._buffer.end("events", formats)


@contextmanager
def armed(disk: TracedDisk, limits: Limits) -> Iterator[_Events]:
    """Trace a disk by events.

    Raises
    ------
    SourceUnavailableError
        The kernel refuses.
    """
    try:
        with tracefs() as root, trace_instance(root, f"trace-{disk.name}") as instance:
            yield from _armed_in(root, instance, disk, limits)
    except TraceUnavailableError as unavailable:
        raise SourceUnavailableError(str(unavailable)) from unavailable


def _armed_in(root: Path, instance: Path, disk: TracedDisk, limits: Limits) -> Iterator[_Events]:
    block = instance / "events" / "block"
    names = [name for name in _engine.trace_event_names() if name not in _LEFT_OUT]
    events = [block / name for name in names if (block / name / "enable").exists()]
    clock = chosen_clock(instance)
    buffer = None
    try:
        try:
            (instance / "trace_clock").write_text(clock)
            # a full buffer must not overwrite what came first: it counts what it drops instead
            (instance / "options" / "overwrite").write_text("0")
            (instance / "buffer_size_kb").write_text(str(buffer_bytes(len(cpus_of(instance))) // 1024))
            for event in events:
                (event / "filter").write_text(disk.filter)
            buffer = RingBuffer(root, instance, disk, clock)
            # all events begin at once: of a bio that is under way when one begins after the other, an end is missed
            (instance / "tracing_on").write_text("0")
            for event in events:
                (event / "enable").write_text("1")
            (instance / "tracing_on").write_text("1")
            buffer.begin(limits)
        except OSError as error:
            raise SourceUnavailableError(f"the block layer's events cannot be traced: {error.strerror}") from error
        yield _Events(instance, events, buffer)
    finally:
        with suppress(OSError):
            (instance / "tracing_on").write_text("0")
        # its files are held open until then, and an instance in use cannot be removed
        if buffer is not None:
            buffer.abandon()


SOURCE = Source("tracefs", "a private trace instance", require, armed)
