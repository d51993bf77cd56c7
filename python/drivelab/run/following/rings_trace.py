"""Traces the requests of io_uring in a private instance: those of everybody, since workers complete them, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from drivelab.inventory.sysfs import read_text
from drivelab.model.errors import DrivelabError
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.ring_buffer import RingBuffer
from drivelab.run.tracing.source import Limits, buffer_bytes, cpus_of
from drivelab.run.tracing.tracefs import TraceUnavailableError, trace_instance, tracefs

# a submission has one of two names, by the age of the kernel
_EVENTS = ("io_uring_submit_sqe", "io_uring_submit_req", "io_uring_complete")
_TELL_MORE = ("io_uring_file_get", "io_uring_queue_async_work")


@dataclass(frozen=True, slots=True)
class RecordedRequests:
    """Requests of io_uring as they were recorded, of all programs.

    Attributes
    ----------
    requests : pyarrow.Table or None
        thread, opcode, descriptor (-1 where it was not told), start_ns, end_ns, result, is_polled, is_registered,
        is_handed_over, is_doubtful; None where this kernel does not tell them apart.
    facts : dict
        ``unfinished``, ``unbegun``, ``damaged_pages``, ``gaps``.
    lost_events : int
        Events that the kernel could not keep.
    """

    requests: pa.Table | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    lost_events: int = 0


class RingsTrace:
    """A trace of requests that is being taken, or none where the kernel has no such events."""

    def __init__(self, instance: Path | None = None, buffer: RingBuffer | None = None) -> None:
        self._instance = instance
        self._buffer = buffer

    def stop(self) -> RecordedRequests:
        """End it, and read what was recorded.

        Raises
        ------
        DrivelabError
            R434: it cannot be read.
        """
        if self._instance is None or self._buffer is None:
            return RecordedRequests()
        try:
            formats = [(event / "format").read_text() for event in _events(self._instance)]
            (self._instance / "tracing_on").write_text("0")
            stopped = self._buffer.end("events", formats)
            requests, facts = stopped.collected.requests(stopped.description["header_page"], formats)
        except (OSError, ValueError) as error:
            raise DrivelabError("R434", f"the trace of io_uring cannot be read: {error}") from error
        return RecordedRequests(
            pa.Table.from_batches([pa.record_batch(requests)]), json.loads(facts), stopped.lost_events
        )


@contextmanager
def rings_traced(disk: TracedDisk) -> Iterator[RingsTrace]:
    """Trace the requests of io_uring while the context lasts.

    Parameters
    ----------
    disk : TracedDisk
        What the recording is said to be of.

    Raises
    ------
    DrivelabError
        R431: this kernel has such events and cannot trace them.

    Notes
    -----
    Kernels before Linux 5.18 do not tell of which request a completion is: there nothing is traced.
    """
    try:
        with tracefs() as root, trace_instance(root, "rings") as instance:
            if not _tells_requests(instance):
                yield RingsTrace()
                return
            yield from _armed(instance, RingBuffer(root, instance, disk, "mono"))
    except TraceUnavailableError as unavailable:
        raise DrivelabError("R431", str(unavailable)) from unavailable


def _events(instance: Path) -> list[Path]:
    places = [instance / "events" / "io_uring" / name for name in (*_EVENTS, *_TELL_MORE)]
    return [place for place in places if (place / "enable").exists()]


def _tells_requests(instance: Path) -> bool:
    needed = [place for place in _events(instance) if place.name in _EVENTS]
    return len(needed) > 1 and all(" req;" in (read_text(place / "format") or "") for place in needed)


def _armed(instance: Path, buffer: RingBuffer) -> Iterator[RingsTrace]:
    try:
        try:
            (instance / "trace_clock").write_text("mono")
            # only a buffer that overwrites says between which of its events others are missing
            (instance / "options" / "overwrite").write_text("1")
            (instance / "buffer_size_kb").write_text(str(buffer_bytes(len(cpus_of(instance))) // 1024))
            (instance / "tracing_on").write_text("0")
            for event in _events(instance):
                (event / "enable").write_text("1")
            (instance / "tracing_on").write_text("1")
            buffer.begin(Limits())
        except OSError as error:
            raise DrivelabError("R431", f"io_uring cannot be traced: {error.strerror or error}") from error
        yield RingsTrace(instance, buffer)
    finally:
        with suppress(OSError):
            (instance / "tracing_on").write_text("0")
        buffer.abandon()
