"""Which open file each descriptor of a followed program stood for: by its calls, and by what its children inherit."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from drivelab.model.system_calls import (
    CLOSE_RANGE,
    COPIES,
    COPYING_COMMANDS,
    EXECS,
    FLAGS_AT,
    IS_THREAD,
    NO_FILES,
    OPENS,
    PIPES,
    SHARES_FILES,
)

_O_CLOEXEC = 0o2000000
# commands of fcntl (F_DUPFD_CLOEXEC, F_SETFD), and a flag of close_range
_COPY_TO_BE_CLOSED, _SET_TO_BE_CLOSED, _RANGE_TO_BE_CLOSED = 1030, 2, 4
_WORD = 0xFFFFFFFF
_EVER = -(2**63)
# after them a descriptor may stand for something else, or be closed by an exec; of fcntl after these commands
CHANGING_COMMANDS = (*COPYING_COMMANDS, _SET_TO_BE_CLOSED)
CHANGING = (*OPENS, *NO_FILES, *PIPES, *COPIES, *EXECS, "close", CLOSE_RANGE)


class SeenDescriptor(Protocol):
    """What a descriptor stood for, from when it was seen first to when it was seen last."""

    process: int
    descriptor: int
    path: str
    is_closed_on_exec: bool
    is_told: bool
    first_ns: int
    last_ns: int


class Start(NamedTuple):
    """A process that was started by another one: when, and what they share (``CLONE_...``)."""

    time_ns: int
    parent: int
    child: int
    flags: int


def starts_of(forks: pa.Table, processes: Mapping[int, int]) -> Iterator[Start]:
    """Processes among the threads and processes that were started.

    Parameters
    ----------
    forks : pyarrow.Table
        As recorded: parent, child, time_ns, flags.
    processes : mapping of int to int
        The process of each thread; a thread that is not in it is its own.
    """
    columns = (forks[name].to_pylist() for name in ("time_ns", "parent", "child", "flags"))
    for time_ns, parent, child, flags in zip(*columns, strict=True):
        if not flags & IS_THREAD:
            yield Start(time_ns, processes.get(parent, parent), child, flags)


def pair_of(row: Mapping[str, Any]) -> tuple[int, ...]:
    """The descriptors of a pipe that a call made; none where the kernel could not read them."""
    read, written = row["argument_0"] & _WORD, row["argument_0"] >> 32 & _WORD
    return (read, written) if read != written else ()


@dataclass(slots=True, eq=False)
class _Table:
    """The descriptors of a process since it was started.

    Attributes
    ----------
    root : int
        The process from which it has all that no recorded call has changed.
    left_ns : int or None
        When it was started by that one, or who started it was; None for that one itself.
    inherited, now : dict
        By descriptor which open file it stood for at the start, and does now, and whether an exec closes it.
    changes : dict
        By descriptor from when on it stood for which.
    """

    root: int
    left_ns: int | None = None
    inherited: dict[int, tuple[int, bool]] = field(default_factory=dict)
    now: dict[int, tuple[int, bool]] = field(default_factory=dict)
    is_shared: bool = False
    changes: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))


class Spans(NamedTuple):
    """From when on a descriptor stood for which open file, and which of the files that were seen that is."""

    starts: list[int]
    opened: list[int]
    files: list[int]

    def at(self, time_ns: int) -> tuple[int, int]:
        """The file at a moment, 0 where nobody knows it, and the open file."""
        place = bisect_right(self.starts, time_ns) - 1
        return self.files[place], self.opened[place]


class Descriptors:
    """Tells which file a descriptor stood for at a moment.

    Parameters
    ----------
    files : sequence of file
        What descriptors stood for when they were looked up.
    changes : iterable of dict
        The calls of `CHANGING`: call, process, start_ns, end_ns, result, arguments.
    starts : iterable of Start
        Processes that were started.

    Notes
    -----
    Copies of a descriptor and those that a child inherits are one open file: who is
    seen with it names it for all. What nobody opened by a recorded call (what was open
    before) is a child's only if it was seen before the child was started.
    """

    def __init__(
        self, files: Sequence[SeenDescriptor], changes: Iterable[Mapping[str, Any]], starts: Iterable[Start]
    ) -> None:
        self._files = files
        self._seen: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._of_process: dict[int, set[int]] = defaultdict(set)
        for number, file in enumerate(files, start=1):
            self._seen[file.process, file.descriptor].append(number)
            self._of_process[file.process].add(file.descriptor)
        self._tables: dict[int, list[tuple[int, _Table]]] = {}
        self._before: dict[tuple[int, int], int] = {}
        # of what no recorded call opened, in whose table it is
        self._owners: list[_Table | None] = []
        self._names: dict[int, list[int]] = defaultdict(list)
        self._spans: dict[tuple[int, int], Spans] = {}
        self._carry_out(changes, starts)
        self._name_opened()

    def spans(self, process: int, descriptor: int) -> Spans:
        """Which files a descriptor stood for, one after the other; 0 where nobody knows."""
        key = process, descriptor
        if key not in self._spans:
            starts, opened, tables = self._history(process, descriptor)
            files = self._seen_at(key, starts)
            for place, number in enumerate(files):
                files[place] = number or self._name_of(opened[place], tables[place])
            self._spans[key] = Spans(starts, opened, files)
        return self._spans[key]

    def _seen_at(self, key: tuple[int, int], starts: Sequence[int]) -> list[int]:
        """Which file it was each time: what was looked at says more, but may have been another one in between."""
        files = [0] * len(starts)
        seen = [(number, self._files[number - 1]) for number in self._seen.get(key, ())]
        told = {self._place(starts, file.first_ns): number for number, file in seen if file.is_told}
        for number, file in seen:
            first, last = (self._place(starts, time) for time in self._times(number))
            for place in range(first, last + 1):
                is_other = place in told and self._files[told[place] - 1].path != file.path
                files[place] = files[place] or (0 if is_other else number)
        return files

    def _carry_out(self, changes: Iterable[Mapping[str, Any]], starts: Iterable[Start]) -> None:
        events: list[tuple[int, Mapping[str, Any] | Start]] = [(one.time_ns, one) for one in starts]
        for row in changes:
            if row["result"] >= 0:
                is_closing = row["call"] in ("close", CLOSE_RANGE)
                events.append((row["start_ns" if is_closing else "end_ns"], row))
        for time_ns, event in sorted(events, key=lambda one: one[0]):
            if isinstance(event, Start):
                self._start(event)
            else:
                self._change(time_ns, event)

    def _start(self, start: Start) -> None:
        table = self._table(start.parent)
        child = table
        if not start.flags & SHARES_FILES:
            table.is_shared = True
            left_ns = start.time_ns if table.left_ns is None else table.left_ns
            child = _Table(table.root, left_ns, table.now, table.now, is_shared=True)
        births = self._tables.setdefault(start.child, [])
        births.append((start.time_ns if births else _EVER, child))

    def _change(self, time_ns: int, row: Mapping[str, Any]) -> None:
        table, call, result = self._table(row["process"]), row["call"], row["result"]
        descriptor, argument = row["argument_0"] & _WORD, row["argument_1"] & _WORD
        flags = row[f"argument_{FLAGS_AT[call]}"] if call in FLAGS_AT else 0
        if call in OPENS or call in NO_FILES:
            self._put(table, result, time_ns, self._opened(), is_closed=bool(flags & _O_CLOEXEC))
        elif call in PIPES:
            for number in pair_of(row):
                self._put(table, number, time_ns, self._opened(), is_closed=bool(flags & _O_CLOEXEC))
        elif call == "close":
            self._put(table, descriptor, time_ns, self._opened(table))
        elif call in EXECS:
            self._close(table, row["process"], time_ns, lambda number: self._now(table, number)[1])
        elif call == CLOSE_RANGE:
            wanted = range(descriptor, argument + 1)
            if row["argument_2"] & _RANGE_TO_BE_CLOSED:
                for number in self._known(table, row["process"], wanted):
                    self._put(table, number, None, self._now(table, number)[0], is_closed=True)
            else:
                self._close(table, row["process"], time_ns, wanted.__contains__)
        elif call != "fcntl" or argument in COPYING_COMMANDS:
            is_closed = bool(flags & _O_CLOEXEC) or (call == "fcntl" and argument == _COPY_TO_BE_CLOSED)
            self._put(table, result, time_ns, self._now(table, descriptor)[0], is_closed=is_closed)
        elif argument == _SET_TO_BE_CLOSED:
            self._put(table, descriptor, None, self._now(table, descriptor)[0], is_closed=bool(row["argument_2"] & 1))

    def _close(self, table: _Table, process: int, time_ns: int, is_meant: Callable[[int], bool]) -> None:
        for number in [one for one in self._known(table, process) if is_meant(one)]:
            self._put(table, number, time_ns, self._opened(table))

    def _known(self, table: _Table, process: int, among: range | None = None) -> list[int]:
        """Descriptors of which anything is known."""
        known = table.now.keys() | self._of_process.get(process, set()) | self._of_process.get(table.root, set())
        return sorted(known if among is None else (one for one in known if one in among))

    def _put(self, table: _Table, number: int, time_ns: int | None, opened: int, *, is_closed: bool = False) -> None:
        """Have a descriptor stand for an open file; without a time only whether an exec closes it is another."""
        if table.is_shared:
            table.now, table.is_shared = dict(table.now), False
        table.now[number] = opened, is_closed
        if time_ns is not None:
            table.changes[number].append((time_ns, opened))

    def _table(self, process: int) -> _Table:
        return self._tables.setdefault(process, [(_EVER, _Table(process))])[-1][1]

    def _opened(self, owner: _Table | None = None) -> int:
        self._owners.append(owner)
        return len(self._owners) - 1

    def _now(self, table: _Table, descriptor: int) -> tuple[int, bool]:
        if descriptor in table.now:
            return table.now[descriptor]
        seen = self._seen.get((table.root, descriptor), ())
        return self._at_first(table.root, descriptor), any(self._files[one - 1].is_closed_on_exec for one in seen[:1])

    def _at_first(self, root: int, descriptor: int) -> int:
        """What a descriptor of a process that was there at the beginning stood for then."""
        key = root, descriptor
        if key not in self._before:
            self._before[key] = self._opened(self._tables[root][0][1])
        return self._before[key]

    def _history(self, process: int, descriptor: int) -> tuple[list[int], list[int], list[_Table]]:
        """From when on a descriptor stood for which open file, and in which table."""
        self._table(process)
        starts: list[int] = []
        opened: list[int] = []
        tables: list[_Table] = []
        for born_ns, table in self._tables[process]:
            first = table.inherited.get(descriptor)
            inherited = first[0] if first is not None else self._at_first(table.root, descriptor)
            for time_ns, one in [(born_ns, inherited), *table.changes.get(descriptor, ())]:
                starts.append(time_ns)
                opened.append(one)
                tables.append(table)
        return starts, opened, tables

    def _place(self, starts: Sequence[int], time_ns: int) -> int:
        return bisect_right(starts, time_ns) - 1

    def _times(self, number: int) -> tuple[int, int]:
        file = self._files[number - 1]
        return file.first_ns, file.last_ns

    def _name_opened(self) -> None:
        for (process, descriptor), numbers in self._seen.items():
            starts, opened, tables = self._history(process, descriptor)
            for number in numbers:
                for place in {self._place(starts, time) for time in self._times(number)}:
                    owner = self._owners[opened[place]]
                    if owner is None or owner is tables[place]:
                        self._names[opened[place]].append(number)

    def _name_of(self, opened: int, table: _Table) -> int:
        numbers: Iterable[int] = self._names.get(opened, ())
        if self._owners[opened] not in (None, table) and table.left_ns is not None:
            # whoever it is from may have been given something else since
            left_ns = table.left_ns
            numbers = [number for number in numbers if self._files[number - 1].first_ns <= left_ns]
            return max(numbers, key=lambda number: self._files[number - 1].first_ns, default=0)
        return min(numbers, key=lambda number: (not self._files[number - 1].is_told, number), default=0)
