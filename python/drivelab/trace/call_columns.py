"""Calls of a followed program as columns: a million of them as dictionaries would be 2 GB and take half a minute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.system_calls import (
    APPENDS,
    ENTER_RING,
    FLAGGED,
    FLAGS_AT,
    OPENS,
    READS,
    SEEK,
    SUBMIT_AIO,
    SYNCS,
    TRANSFERS,
    WITHOUT_DESCRIPTOR,
    WRITES,
)
from drivelab.trace.descriptors import CHANGING, CHANGING_COMMANDS
from drivelab.trace.file_positions import APPENDED, FORGOTTEN, KEPT, MOVED, MOVING, NAMED, NAMING, OPENED, SET, Step

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
_LONGS = ("number", "thread", "start_ns", "end_ns", "result")
_ARGUMENTS = ("argument_0", "argument_1", "argument_2", "argument_3")
# of calls that take flags of their own
_FLAGS = "argument_5"
_WORD = 0xFFFFFFFF
# whether a call's thread slept meanwhile
SLEEP_UNKNOWN, AWAKE, SLEPT = range(3)

# a call's code is its place among the names; the first is that of no call
NAMES = ("", *READS, *WRITES, *SYNCS, *TRANSFERS, *CHANGING, SEEK, SUBMIT_AIO, ENTER_RING)
CODES = {name: code for code, name in enumerate(NAMES)}
# they move data or have it moved; others only say what descriptors stand for, or what is followed by itself
ON_DATA = (*READS, *WRITES, *SYNCS, *TRANSFERS, ENTER_RING)


def those(names: Iterable[str]) -> Flags:
    """By code whether a call is one of these."""
    wanted = frozenset(names)
    return np.array([name in wanted for name in NAMES])


READING, WRITING, SYNCING, TRANSFERRING, OPENING = map(those, (READS, WRITES, SYNCS, TRANSFERS, OPENS))
_HAS_FLAGS = those(FLAGS_AT)
_BY_DESCRIPTOR = those({*READS, *WRITES, *SYNCS, *TRANSFERS, *OPENS, SEEK} - {*WITHOUT_DESCRIPTOR})
_IS_FLAGGED = those(FLAGGED)
_KINDS = np.full(len(NAMES), KEPT)
for _names, _kind in ((OPENS, OPENED), ((SEEK,), SET), (MOVING, MOVED), (NAMING, NAMED), (TRANSFERS, FORGOTTEN)):
    _KINDS[those(_names)] = _kind


@dataclass(frozen=True, slots=True, eq=False)
class CallColumns:
    """Some calls, a column each.

    Attributes
    ----------
    name : array of int
        By call its code.
    thread, process, start_ns, submitted_ns, end_ns, result : array of int
        Whose it is, when it began, was submitted and ended, and what it returned.
    arguments : tuple of array
        What it was asked.
    flags : array of int
        Those of a call that takes some (RWF_...); of others 0.
    is_doubtful, is_registered : array of bool
        Whether events were lost meanwhile, and whether its file is a ring's own.
    sleep : array of int
        Whether its thread slept meanwhile: `SLEEP_UNKNOWN`, `AWAKE` or `SLEPT`.
    is_submitted : bool
        Whether these are requests, which go on after the call that made them.
    """

    name: Integers
    thread: Integers
    process: Integers
    start_ns: Integers
    submitted_ns: Integers
    end_ns: Integers
    result: Integers
    arguments: tuple[Integers, ...]
    flags: Integers
    is_doubtful: Flags
    is_registered: Flags
    sleep: Integers
    is_submitted: bool

    def __len__(self) -> int:
        return int(self.name.size)

    def of_descriptors(self) -> tuple[Integers, Integers, Integers]:
        """Calls of a descriptor; which one, or which they opened; and the moment at which it stands for their file.

        Of two descriptors it is the one that is read from.
        """
        (rows,) = np.nonzero(_BY_DESCRIPTOR[self.name])
        opens = OPENING[self.name[rows]]
        descriptors = np.where(opens, self.result[rows], self._side(rows, 0)) & _WORD
        return rows, descriptors, np.where(opens, self.end_ns[rows], self.start_ns[rows])

    def of_outputs(self) -> tuple[Integers, Integers, Integers]:
        """The same of calls with two descriptors, and of the one that is written to."""
        (rows,) = np.nonzero(TRANSFERRING[self.name])
        return rows, self._side(rows, 1) & _WORD, self.start_ns[rows]

    def _side(self, rows: Integers, side: int) -> Integers:
        found = self.arguments[0][rows]
        for call, places in TRANSFERS.items():
            is_one = self.name[rows] == CODES[call]
            # a request has fewer arguments, and is no such call
            found = np.where(is_one, self.arguments[places[side]][rows], found) if is_one.any() else found
        return found

    def steps(self, files: Integers, opened: Integers, outputs: Integers) -> tuple[Integers, Iterator[Step]]:
        """Those that have to do with a place in a file, and what they do with it, as `FilePositions` takes them.

        Parameters
        ----------
        files, opened : array of int
            By call its file, and which open file that is.
        outputs : array of int
            By call with two descriptors which open file it writes to: each of them has a step.
        """
        kinds = _KINDS[self.name]
        is_without_file = np.isin(kinds, (OPENED, SET, FORGOTTEN))
        (rows,) = np.nonzero((self.result >= 0) & (is_without_file | (files > 0)))
        rows = np.repeat(rows, 1 + TRANSFERRING[self.name[rows]])
        is_output = np.append(False, rows[1:] == rows[:-1])[: rows.size]
        opened = np.where(is_output, outputs[rows], opened[rows])
        names, last = self.name[rows], self.arguments[-1][rows]
        kinds = np.where(_IS_FLAGGED[names] & (last < 0), MOVED, kinds[rows])
        kinds = np.where(WRITING[names] & (self.flags[rows] & APPENDS > 0), APPENDED, kinds)
        arguments = last
        for call, place in FLAGS_AT.items():
            arguments = np.where(names == CODES[call], self.arguments[place][rows], arguments)
        arguments = np.where((kinds == OPENED) & ~_HAS_FLAGS[names], 0, arguments)
        columns = (kinds, opened, files[rows], self.start_ns[rows], self.result[rows], arguments, WRITING[names])
        return rows, zip(*(column.tolist() for column in columns), strict=True)


class CallTable:
    """Calls that are gone through in pieces, as often as wanted.

    Parameters
    ----------
    calls : pyarrow.Table
        thread, number, start_ns, end_ns, result, argument_0 ..., argument_5, is_doubtful, has_slept (where that was
        recorded); of requests submitted_ns and is_registered, too.
    numbers : mapping of str to int
        The number of each call.
    processes : mapping of int to int
        The process of each thread; a thread that is not in it is its own.
    """

    def __init__(self, calls: pa.Table, numbers: Mapping[str, int], processes: Mapping[int, int]) -> None:
        self._calls = calls
        self._numbers = numbers
        self._processes = processes
        self._codes = np.zeros(1 + max(numbers.values(), default=0), dtype=np.int64)
        for name, number in numbers.items():
            self._codes[number] = CODES.get(name, 0)
        self._threads = np.array(sorted(processes), dtype=np.int64)
        self._of_threads = np.array([processes[thread] for thread in sorted(processes)], dtype=np.int64)

    def batches(self, rows_at_once: int) -> Iterator[CallColumns]:
        """All of them, in their order."""
        for batch in self._calls.to_batches(rows_at_once):
            number, thread, start_ns, end_ns, result = (_integers(batch, name) for name in _LONGS)
            is_submitted = "submitted_ns" in batch.schema.names
            yield CallColumns(
                name=self._codes[number],
                thread=thread,
                process=self._process(thread),
                start_ns=start_ns,
                submitted_ns=_integers(batch, "submitted_ns") if is_submitted else end_ns,
                end_ns=end_ns,
                result=result,
                arguments=tuple(_integers(batch, name) for name in _ARGUMENTS if name in batch.schema.names),
                flags=self._flags_of(batch),
                is_doubtful=_flags(batch, "is_doubtful"),
                is_registered=_flags(batch, "is_registered"),
                sleep=_sleep(batch),
                is_submitted=is_submitted,
            )

    def changes(self) -> Iterator[dict[str, Any]]:
        """Calls after which a descriptor may stand for something else, or may be closed by an exec."""
        calls = self.named(*CHANGING)
        is_other = pc.not_equal(calls["number"].cast(pa.int64()), self._numbers.get("fcntl", -1))
        command = pc.bit_wise_and(calls["argument_1"].cast(pa.int64()), _WORD)
        is_changing = pc.is_in(command, pa.array(CHANGING_COMMANDS, pa.int64()))
        return self._rows(calls.filter(pc.or_(is_other, is_changing)))

    def rows(self, *names: str) -> Iterator[dict[str, Any]]:
        """Those of some names, as dictionaries."""
        return self._rows(self.named(*names))

    def named(self, *names: str) -> pa.Table:
        """Those of some names."""
        numbers = pa.array([self._numbers[name] for name in names if name in self._numbers], pa.int64())
        return self._calls.filter(pc.is_in(self._calls["number"].cast(pa.int64()), numbers))

    def _rows(self, calls: pa.Table) -> Iterator[dict[str, Any]]:
        names = {number: name for name, number in self._numbers.items()}
        for batch in calls.to_batches(1 << 12):
            for row in batch.to_pylist():
                row["call"] = names[row["number"]]
                row["process"] = self._processes.get(row["thread"], row["thread"])
                yield row

    def _flags_of(self, batch: pa.RecordBatch) -> Integers:
        if _FLAGS not in batch.schema.names:
            return np.zeros(batch.num_rows, dtype=np.int64)
        return np.where(_IS_FLAGGED[self._codes[_integers(batch, "number")]], _integers(batch, _FLAGS), 0)

    def _process(self, threads: Integers) -> Integers:
        if not self._threads.size:
            return threads
        places = np.searchsorted(self._threads, threads).clip(max=self._threads.size - 1)
        return np.where(self._threads[places] == threads, self._of_threads[places], threads)


def _integers(batch: pa.RecordBatch, name: str) -> Integers:
    return np.asarray(batch.column(name).cast(pa.int64()))


def _sleep(batch: pa.RecordBatch) -> Integers:
    if "has_slept" not in batch.schema.names:
        return np.full(batch.num_rows, SLEEP_UNKNOWN)
    has_slept = batch.column("has_slept")
    is_told, slept = (np.asarray(column) for column in (has_slept.is_valid(), pc.fill_null(has_slept, False)))
    return np.select([is_told & slept, is_told], [SLEPT, AWAKE], SLEEP_UNKNOWN)


def _flags(batch: pa.RecordBatch, name: str) -> Flags:
    if name not in batch.schema.names:
        return np.zeros(batch.num_rows, dtype=bool)
    return np.asarray(batch.column(name).cast(pa.bool_()), dtype=bool)
