"""Operations of a followed program: its calls on files of the disk, each with its file."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.system_calls import (
    COPIES,
    COPYING_COMMANDS,
    ENTER_RING,
    FILE_UNKNOWN,
    OPENS,
    READS,
    SEEK,
    SUBMIT_AIO,
    SYNCS,
    WRITES,
)
from drivelab.trace.file_positions import FilePositions
from drivelab.trace.operations_of import DURABLE_WRITE, READ, SYNC, WRITE
from drivelab.trace.submissions import Row, rows_of_requests, rows_of_submissions

_SIZE_MAX = 2**31 - 1
_ROWS_AT_ONCE = 1 << 12
_LEFT_OUT = -1
_OPERATION_TYPES = {
    "job": pa.uint16(),
    "thread": pa.int32(),
    "operation": pa.uint8(),
    "start_ns": pa.int64(),
    "submitted_ns": pa.int64(),
    "end_ns": pa.int64(),
    "offset_bytes": pa.int64(),
    "size_bytes": pa.int32(),
    "is_synchronous": pa.bool_(),
    "is_durable": pa.bool_(),
    "call": pa.string(),
    "process": pa.int32(),
    "file": pa.string(),
    "is_placed": pa.bool_(),
    "is_direct": pa.bool_(),
}
UNKNOWN = ""
# why calls are left out
ELSEWHERE = "calls on files elsewhere"
SUBMISSIONS = "calls of io_uring, which this kernel does not tell apart"
REGISTERED = "requests of io_uring on registered files that the kernel does not tell apart"
_TOUCHED = "calls that lost events touch"
_WITHOUT_COMMANDS = "calls of aio that had this disk do nothing"


class File(Protocol):
    """What a descriptor stood for, from when it was seen first to when it was seen last."""

    process: int
    descriptor: int
    path: str
    device: str
    is_durable: bool
    is_direct: bool
    is_append: bool
    size_bytes: int
    position_bytes: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class FollowedCalls:
    """The calls of a program that count.

    Attributes
    ----------
    operations : pyarrow.Table
        What `drivelab.trace.join.join_trace` takes, one row per call.
    calls : pyarrow.Table
        Beside it, row by row: call, process, file (empty where it was not seen), is_placed, is_direct.
    left_out : mapping of str to int
        Calls that do not count, by the reason.
    of_unknown_files : mapping of str to int
        By name of the call how many of these are left out because nobody knows their file.
    submissions : sequence of dict
        Calls that submit to aio: `with_submissions` makes operations of them.
    sizes : mapping of str to int
        By the name of each file its size when its first call came.
    """

    operations: pa.Table
    calls: pa.Table
    left_out: Mapping[str, int]
    of_unknown_files: Mapping[str, int] = field(default_factory=dict)
    submissions: Sequence[dict[str, Any]] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)


class _Rows:
    """Calls as dictionaries, made anew each time they are gone through: all at once, a million would be 2 GB."""

    def __init__(self, calls: pa.Table, numbers: Mapping[str, int], processes: Mapping[int, int]) -> None:
        self._calls = calls
        self._numbers = numbers
        self._names = {number: name for name, number in numbers.items()}
        self._processes = processes

    def __len__(self) -> int:
        return int(self._calls.num_rows)

    def __iter__(self) -> Iterator[Row]:
        return self._made(self._calls)

    def named(self, *names: str) -> Iterator[Row]:
        """Those of some names."""
        numbers = pa.array([self._numbers[name] for name in names if name in self._numbers], pa.int64())
        return self._made(self._calls.filter(pc.is_in(self._calls["number"].cast(pa.int64()), numbers)))

    def _made(self, calls: pa.Table) -> Iterator[Row]:
        for batch in calls.to_batches(_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                row["call"] = self._names.get(row["number"], "")
                row["process"] = self._processes.get(row["thread"], row["thread"])
                yield row


@dataclass(frozen=True, slots=True)
class _OfRows:
    """By row its file, gone through as often as wanted."""

    files: Sequence[File | None]
    numbers: NDArray[np.int32]

    def __iter__(self) -> Iterator[File | None]:
        for first in range(0, len(self.numbers), _ROWS_AT_ONCE):
            for number in self.numbers[first : first + _ROWS_AT_ONCE].tolist():
                yield None if number == _LEFT_OUT else self.files[number]


class _Files:
    """Finds the file of a descriptor at a time: opening and closing are where one ends to be the other.

    Attributes
    ----------
    known : list of File or None
        All of them, behind the one that is none.
    """

    def __init__(self, files: Iterable[File]) -> None:
        self.known: list[File | None] = [None]
        self._seen: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._changes: dict[tuple[int, int], list[int]] = defaultdict(list)
        for file in files:
            self._seen[file.process, file.descriptor].append(len(self.known))
            self.known.append(file)

    def change(self, process: int, descriptor: int, time_ns: int) -> None:
        self._changes[process, descriptor].append(time_ns)

    def sort(self) -> None:
        for changes in self._changes.values():
            changes.sort()

    def of(self, row: Row) -> int:
        """The place of a call's file in `known`."""
        descriptor = _descriptor(row)
        place = self._at(row["process"], descriptor, row["start_ns"]) if descriptor is not None else 0
        file = self.known[place]
        if file is not None and not file.device and row["call"] in SYNCS and row["result"] >= 0:
            # nothing else can be synced: a copy of a descriptor was missed where the program began
            return 0
        return place

    def _at(self, process: int, descriptor: int, time_ns: int) -> int:
        seen = self._seen.get((process, descriptor))
        if not seen:
            return 0
        changes = self._changes.get((process, descriptor), ())
        place = bisect_right(changes, time_ns)
        for number in seen:
            file = self.known[number]
            assert file is not None
            if bisect_right(changes, file.first_ns) <= place <= bisect_right(changes, file.last_ns):
                return number
        return 0


def operations_of_calls(
    calls: pa.Table,
    numbers: Mapping[str, int],
    files: Iterable[File],
    devices: Collection[str],
    processes: Mapping[int, int],
    requests: pa.Table | None = None,
) -> FollowedCalls:
    """The calls on files of a disk as operations, in the order in which they began.

    Parameters
    ----------
    calls : pyarrow.Table
        As recorded: thread, number, start_ns, end_ns, result, argument_0 to argument_3, is_doubtful.
    numbers : mapping of str to int
        The kernel's number of each call.
    files : iterable of File
        What descriptors stood for.
    devices : collection of str
        ``major:minor`` of everything on the disk.
    processes : mapping of int to int
        The process of each thread; a thread that is not in it is its own.
    requests : pyarrow.Table or None
        Requests of io_uring of all programs; None where the kernel does not tell them.

    Notes
    -----
    A sync call whose file was not seen counts, since only files are synced; of
    other calls it could be anything, and they are counted as left out. So are
    those that failed, and those in whose time events were lost.
    """
    rows = _Rows(calls, numbers, processes)
    skipped = {*OPENS, *COPIES, "close", SEEK, SUBMIT_AIO}
    asked: Sequence[Row] = ()
    if requests is not None:
        skipped.add(ENTER_RING)
        followed = {thread: processes.get(thread, thread) for thread in pc.unique(calls["thread"]).to_pylist()}
        asked = rows_of_requests(requests, rows.named(ENTER_RING), {**processes, **followed})
    found = _Files(files)
    for row in rows.named(*OPENS, *COPIES, "close"):
        if row["call"] == "close":
            found.change(row["process"], row["argument_0"], row["start_ns"])
        elif _gives_a_number(row) and row["result"] >= 0:
            found.change(row["process"], row["result"], row["end_ns"])
    found.sort()
    left_out: Counter[str] = Counter()
    of_unknown_files: Counter[str] = Counter()
    on_files = np.full(len(rows) + len(asked), _LEFT_OUT, dtype=np.int32)
    for number, row in enumerate(chain(rows, asked)):
        if row["call"] not in skipped:
            place = found.of(row)
            reason = _why_left_out(row, found.known[place], devices)
            left_out.update([reason] if reason else [])
            of_unknown_files.update([row["call"]] if reason == FILE_UNKNOWN else [])
            on_files[number] = _LEFT_OUT if reason else place
    positions = FilePositions(rows, _OfRows(found.known, on_files[: len(rows)]))
    placed = chain(zip(rows, positions.places(), strict=True), ((row, None) for row in asked))
    operations = (
        _operation(row, found.known[number], place)
        for (row, place), number in zip(placed, on_files, strict=True)
        if number != _LEFT_OUT
    )
    # what failed submitted nothing
    submissions = [row for row in rows.named(SUBMIT_AIO) if row["result"] > 0]
    told = _tables(operations, left_out)
    unknown = dict(of_unknown_files.most_common())
    return replace(told, of_unknown_files=unknown, submissions=submissions, sizes=positions.sizes)


def with_submissions(counted: FollowedCalls, events: pa.Table) -> FollowedCalls:
    """The same with the I/Os that the calls of aio submitted, as far as commands of the disk tell them."""
    kept: list[dict[str, Any]] = []
    left_out = Counter(counted.left_out)
    for row, found in rows_of_submissions(counted.submissions, events):
        kept += [_operation(one, None, None) for one in found if not row["is_doubtful"]]
        if not found or row["is_doubtful"]:
            left_out[_TOUCHED if row["is_doubtful"] else _WITHOUT_COMMANDS] += 1
    told = _tables(kept, left_out)
    operations = pa.concat_tables([counted.operations, told.operations])
    order = pc.sort_indices(operations, [("start_ns", "ascending")])
    calls = pa.concat_tables([counted.calls, told.calls])
    return replace(counted, operations=operations.take(order), calls=calls.take(order), left_out=told.left_out)


def _gives_a_number(row: Mapping[str, Any]) -> bool:
    """Whether a call's result is a number that stands for another file than before."""
    if row["call"] == "fcntl":
        return row["argument_1"] & 0xFFFFFFFF in COPYING_COMMANDS
    return row["call"] in OPENS or row["call"] in COPIES


def _descriptor(row: Mapping[str, Any]) -> int | None:
    return None if row["call"] == "msync" else int(row["argument_0"]) & 0xFFFFFFFF


def _why_left_out(row: Mapping[str, Any], file: File | None, devices: Collection[str]) -> str:
    if row["call"] == ENTER_RING:
        return SUBMISSIONS
    if row["result"] < 0:
        return "calls that failed"
    if file is None and row.get("is_registered") and row["call"] not in SYNCS:
        return REGISTERED
    if file is not None and not file.device:
        return "calls on sockets, pipes and the like"
    if file is not None and file.device not in devices:
        return ELSEWHERE
    if file is None and row["call"] not in SYNCS:
        return FILE_UNKNOWN
    return _TOUCHED if row["is_doubtful"] else ""


def _operation(row: Mapping[str, Any], file: File | None, place: int | None) -> dict[str, Any]:
    call = row["call"]
    is_flagged = call in WRITES and file is not None and file.is_durable
    kind = SYNC if call in SYNCS else READ if call in READS else DURABLE_WRITE if is_flagged else WRITE
    return {
        "job": 0,
        "thread": row["thread"],
        "operation": kind,
        "start_ns": row["start_ns"],
        "submitted_ns": row.get("submitted_ns", row["end_ns"]),
        "end_ns": row["end_ns"],
        "offset_bytes": place or 0,
        "size_bytes": min(row["result"], _SIZE_MAX) if call not in SYNCS else 0,
        "is_synchronous": "submitted_ns" not in row,
        "is_durable": kind in (SYNC, DURABLE_WRITE),
        "call": call,
        "process": row["process"],
        "file": file.path if file is not None else UNKNOWN,
        "is_placed": place is not None,
        "is_direct": file is not None and file.is_direct,
    }


def _tables(kept: Iterable[dict[str, Any]], left_out: Counter[str]) -> FollowedCalls:
    schema = pa.schema(list(_OPERATION_TYPES.items()))
    rest = iter(kept)
    pieces = []
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        pieces.append(pa.Table.from_pylist(some, schema))
    told = pa.concat_tables(pieces or [schema.empty_table()])
    told = told.take(pc.sort_indices(told, [("start_ns", "ascending")]))
    beside = ("call", "process", "file", "is_placed", "is_direct")
    return FollowedCalls(told.drop_columns(beside), told.select(beside), dict(left_out.most_common()))
