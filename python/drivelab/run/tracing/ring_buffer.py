"""What the two sources that fill the kernel's ring buffer have in common: pages, losses, names, clocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drivelab._engine import ArrowTable, LiveTrace, TraceCollector
from drivelab.inventory.sysfs import read_text
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.source import INTERVAL_NS, Limits, Stopped, buffer_bytes, cpus_of
from drivelab.run.tracing.tracefs import lost_events_by_cpu

# that of the operations; then those that run evenly with it, to be joined by marks
CLOCKS = ("mono", "perf", "global")
_MARKS = 9


class RingBuffer:
    """A ring buffer that is filled and emptied; `directory` is an instance or the shared one.

    Parameters
    ----------
    root, directory : Path
        The kernel's trace directory, and that of the buffer.

    Attributes
    ----------
    header_page : str
        How the kernel describes a page of it.
    """

    def __init__(self, root: Path, directory: Path, disk: TracedDisk, clock: str) -> None:
        self._root = root
        self._directory = directory
        self._disk = disk
        self.clock = clock
        self._cpus = cpus_of(directory)
        self.header_page = (root / "events" / "header_page").read_text()
        self._collector: TraceCollector | None = None
        self._began_ns = (0, 0)
        self._marks: list[tuple[str, int]] = []
        self._lost_before: dict[int, int] = {}

    def begin(self, limits: Limits) -> None:
        """Begin to empty it.

        Raises
        ------
        OSError
            A file of the buffer cannot be opened.
        """
        self._lost_before = lost_events_by_cpu(self._directory)
        files = [(cpu, self._directory / "per_cpu" / f"cpu{cpu}" / "trace_pipe_raw") for cpu in self._cpus]
        self._collector = TraceCollector(
            files,
            header_page=self.header_page,
            buffer_bytes=buffer_bytes(len(self._cpus)),
            interval_ns=INTERVAL_NS,
            memory_limit_bytes=limits.memory_bytes,
            spill_directory=limits.spill_directory,
        )
        self._began_ns = (time.monotonic_ns(), time.time_ns())
        self._mark()

    def end(self, source: str, formats: Sequence[str] = ()) -> Stopped:
        """What was collected; nothing may be written into the buffer any more, but for marks.

        Raises
        ------
        OSError
            The buffer cannot be read.
        """
        assert self._collector is not None, "it was begun"
        collector, self._collector = self._collector, None
        collected = collector.stop()
        lost = {
            cpu: count - self._lost_before.get(cpu, 0)
            for cpu, count in lost_events_by_cpu(self._directory).items()
            if count > self._lost_before.get(cpu, 0)
        }
        description: dict[str, Any] = {
            "source": source,
            "header_page": self.header_page,
            "formats": list(formats),
            "device": self._disk.number,
            "partitions": self._disk.partitions,
            "stack": self._disk.stack,
            "processes": self._names(),
            "markers": self._marks,
            "began_ns": self._began_ns,
            "lost": lost,
        }
        return Stopped(collected, description, sum(lost.values()))

    def mark_end(self) -> None:
        """Join the clocks a second time, while the buffer still takes marks."""
        self._mark()

    def newest_calls(self, live: LiveTrace) -> ArrowTable:
        """System calls that were recorded since it was asked before; none the first time."""
        assert self._collector is not None, "it was begun"
        return live.next(self._collector)[0]

    def abandon(self) -> None:
        """Stop emptying it, whatever it holds."""
        if self._collector is not None:
            collector, self._collector = self._collector, None
            collector.stop()

    def _mark(self) -> None:
        """Write into the buffer what time it is, where its clock is not that of the operations."""
        if self.clock == "mono":
            return
        best: tuple[int, str, int] | None = None
        for _ in range(_MARKS):
            before_ns = time.monotonic_ns()
            text = f"drivelab {before_ns}"
            (self._directory / "trace_marker").write_text(f"{text}\n")
            took_ns = time.monotonic_ns() - before_ns
            if best is None or took_ns < best[0]:
                best = took_ns, text, before_ns + took_ns // 2
        assert best is not None
        self._marks.append(best[1:])

    def _names(self) -> dict[int, str]:
        """Names of threads that the kernel kept, for events that carry none."""
        names = {}
        for line in (read_text(self._root / "saved_cmdlines") or "").splitlines():
            number, _, name = line.strip().partition(" ")
            if number.isdigit() and name and name != "<...>":
                names[int(number)] = name
        return names


def chosen_clock(directory: Path) -> str:
    """The clock of a buffer that suits best; empty where it has none of those that are known."""
    known = (read_text(directory / "trace_clock") or "").replace("[", " ").replace("]", " ").split()
    return next((clock for clock in CLOCKS if clock in known), "")
