"""System calls of followed processes: as they are being recorded, and as they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.system_calls import IS_THREAD


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """System calls as they were recorded.

    Attributes
    ----------
    calls : pyarrow.Table
        thread, process (0 by trace events, which do not tell it), number, start_ns, end_ns, result, argument_0 to
        argument_3, argument_5, is_doubtful: events were lost meanwhile, has_slept (by trace events, which do not tell
        it, and on kernels that do not describe their types, null): its thread gave its processor away.
    forks : pyarrow.Table
        parent, child, time_ns, flags (``CLONE_...``): threads and processes that were started.
    facts : dict
        ``source`` (BPF or trace events), ``unfinished``, ``unbegun``, ``gaps``; of trace events ``damaged_pages``
        and ``why_not_bpf``; of BPF ``threads_not_followed``, ``calls_of_32_bits`` (not recorded)
        and, where memory became full, ``recorded_until_ns``: all calls that returned before are there.
    lost_events : int
        Calls, by trace events halves of them, that there was no room for.
    names : dict of int to str
        Names of threads that the kernel knew.
    paths : mapping of (int, int) to str
        By thread and `start_ns` the path that a call was given; by trace events, which do not tell it, none.
    """

    calls: pa.Table
    forks: pa.Table
    facts: dict[str, Any]
    lost_events: int
    names: dict[int, str]
    paths: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def processes(self) -> dict[int, int]:
        """By thread its process, also of threads that nobody looked at while they were there."""
        told = self.calls.filter(pc.greater(self.calls["process"], 0))
        pairs = told.group_by(["thread", "process"]).aggregate([])
        return dict(zip(pairs["thread"].to_pylist(), pairs["process"].to_pylist(), strict=True))

    def names_of(self, looked_up: Mapping[int, str]) -> dict[int, str]:
        """By thread its name: the kernel tells the last one, and a thread may have become another program meanwhile."""
        return {**looked_up, **self.names}

    def processes_of(self, looked_up: Mapping[int, int]) -> dict[int, int]:
        """By thread its process, with those that were looked up, and those that ended before they were."""
        found = {**looked_up, **self.processes}
        columns = (self.forks[name].to_pylist() for name in ("parent", "child", "flags"))
        for parent, child, flags in zip(*columns, strict=True):
            found.setdefault(child, found.get(parent, parent) if flags & IS_THREAD else child)
        return found


class CallsTrace(Protocol):
    """A trace of calls that is being taken."""

    def threads(self) -> list[int]:
        """Threads that are followed now: the kernel adds those that are started, and leaves out those that ended."""
        ...

    def newest(self) -> pa.Table:
        """Calls that have returned since it was asked before, in the columns of `RecordedCalls`; at first none."""
        ...

    def stop(self) -> RecordedCalls:
        """End it, and read what was recorded.

        Raises
        ------
        DrivelabError
            R434: it cannot be read.
        """
        ...
