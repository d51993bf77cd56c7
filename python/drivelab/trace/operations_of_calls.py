"""Operations of a followed program: its calls on files of the disk, each with its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.system_calls import (
    APPENDS,
    ENTER_RING,
    MAKES_DURABLE,
    MAKES_SYNCED,
    MAP,
    RING_OPERATIONS,
    SUBMIT_AIO,
)
from drivelab.trace.call_columns import (
    CODES,
    NAMES,
    ON_DATA,
    READING,
    SYNCING,
    TRANSFERRING,
    WRITING,
    CallColumns,
    CallTable,
    Integers,
    those,
)
from drivelab.trace.descriptors import Descriptors, starts_of
from drivelab.trace.file_positions import NAMING, FilePositions, first_seen, plain_path, sizes_at_first
from drivelab.trace.files_of_calls import LEFT_OUT, TOUCHED, CallFiles, File, FoundFiles
from drivelab.trace.mappings import Mappings
from drivelab.trace.operations_of import DURABLE_WRITE, READ, SYNC, WRITE
from drivelab.trace.submissions import calls_of_requests, rows_of_submissions

_SIZE_MAX = 2**31 - 1
_ROWS_AT_ONCE = 1 << 15
_UNPLACED = -1
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
    "sleep": pa.uint8(),
    "call": pa.string(),
    "process": pa.int32(),
    "file": pa.string(),
    "is_placed": pa.bool_(),
    "is_direct": pa.bool_(),
    "is_synced": pa.bool_(),
}
_BESIDE = ("call", "process", "file", "is_placed", "is_direct", "is_synced")
UNKNOWN = ""
# why calls are left out
_WITHOUT_COMMANDS = "calls of aio that had this disk do nothing"
_OF_SUBMISSIONS = ("thread", "start_ns", "submitted_ns", "end_ns", "result")


@dataclass(frozen=True, slots=True)
class FollowedCalls:
    """The calls of a program that count.

    Attributes
    ----------
    operations : pyarrow.Table
        What `drivelab.trace.join.join_trace` takes, one row per call.
    calls : pyarrow.Table
        Beside it, row by row: call, process, file (empty where it was not seen), is_placed, is_direct,
        is_synced.
    left_out : mapping of str to int
        Calls that do not count, by the reason.
    of_unknown_files : mapping of str to int
        By name of the call how many of these are left out because nobody knows their file.
    elsewhere : mapping of str to (int, str)
        By ``major:minor`` of another device how long calls on its files took, in ns, and the file with most of it.
    submissions : sequence of dict
        Calls that submit to aio: `with_submissions` makes operations of them.
    sizes : mapping of str to int
        By the name of each file its size when its first call came.
    """

    operations: pa.Table
    calls: pa.Table
    left_out: Mapping[str, int]
    of_unknown_files: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    submissions: Sequence[dict[str, Any]] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)


def operations_of_calls(
    calls: pa.Table,
    numbers: Mapping[str, int],
    files: Iterable[File],
    devices: Collection[str],
    processes: Mapping[int, int],
    requests: pa.Table | None = None,
    forks: pa.Table | None = None,
) -> FollowedCalls:
    """The calls on files of a disk as operations, in the order in which they began.

    Parameters
    ----------
    calls : pyarrow.Table
        As recorded: thread, number, start_ns, end_ns, result, argument_0 to argument_3, argument_5 (where it was
        recorded), is_doubtful, has_slept (where it was recorded).
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
    forks : pyarrow.Table or None
        Threads and processes that were started: parent, child, time_ns, flags. A process has the descriptors of who
        started it.

    Notes
    -----
    A sync call whose file was not seen counts, since only files are synced; of
    other calls it could be anything, and they are counted as left out. So are
    those that failed, and those in whose time events were lost.
    """
    seen = tuple(files)
    table = CallTable(calls, numbers, processes)
    tables = [table]
    counted = ON_DATA
    if requests is not None:
        counted = tuple(name for name in ON_DATA if name != ENTER_RING)
        every = {**processes} | {one: processes.get(one, one) for one in pc.unique(calls["thread"]).to_pylist()}
        asked = calls_of_requests(requests, table.named(ENTER_RING), every)
        tables.append(CallTable(asked, {name: number for number, name in RING_OPERATIONS.items()}, every))
    starts = tuple(starts_of(forks, processes)) if forks is not None else ()
    descriptors = Descriptors(seen, table.changes(), starts)
    mappings = Mappings(seen, descriptors, table.rows(MAP), starts)
    found = CallFiles(seen, descriptors, mappings, devices, counted)
    of_calls = [[found.find(batch) for batch in one.batches(_ROWS_AT_ONCE)] for one in tables]
    positions = FilePositions(found.known, _sizes(table, of_calls[0], found.known))
    pieces = [
        _operations(batch, files, _places(batch, files, positions), found.known)
        for one, of_table in zip(tables, of_calls, strict=True)
        for batch, files in zip(one.batches(_ROWS_AT_ONCE), of_table, strict=True)
    ]
    # what failed submitted nothing
    submissions = [row for row in table.rows(SUBMIT_AIO) if row["result"] > 0]
    told = _tables(pieces, found.left_out)
    unknown = dict(found.of_unknown_files.most_common())
    return replace(
        told,
        of_unknown_files=unknown,
        elsewhere=found.elsewhere,
        submissions=submissions,
        sizes=positions.sizes,
    )


def _sizes(table: CallTable, found: Sequence[FoundFiles], known: Sequence[File | None]) -> dict[str, int]:
    """How large each file was when its first call came."""
    used = np.unique(np.concatenate([[0], *(files.number for files in found)]))
    files = {number: file for number in used[used > 0].tolist() if (file := known[number]) is not None}
    first = first_seen(files.values())
    paths = {number: plain_path(file.path) for number, file in files.items()}
    sized_ns = np.zeros(len(known), dtype=np.int64)
    for number, path in paths.items():
        sized_ns[number] = first[path].sized_ns
    is_named = those(NAMING)
    written: list[tuple[str, bool, int, int]] = []
    for batch, of_batch in zip(table.batches(_ROWS_AT_ONCE), found, strict=True):
        number = of_batch.number
        is_write = (number > 0) & WRITING[batch.name] & (batch.result > 0)
        (rows,) = np.nonzero(is_write & (batch.start_ns < sized_ns[number]))
        columns = (number, is_named[batch.name] & (batch.flags & APPENDS == 0), batch.arguments[-1], batch.result)
        told = zip(*(column[rows].tolist() for column in columns), strict=True)
        written += [(paths[file], named, place, size) for file, named, place, size in told]
    return sizes_at_first(first, written)


def _places(batch: CallColumns, files: FoundFiles, positions: FilePositions) -> Integers:
    """By call where in its file it read or wrote."""
    found = np.full(len(batch), _UNPLACED, dtype=np.int64)
    if batch.is_submitted:
        return found
    rows, steps = batch.steps(files.number, files.opened, files.outputs)
    places = (_UNPLACED if place is None else place for place in positions.places(steps))
    found[rows] = np.fromiter(places, dtype=np.int64, count=rows.size)
    return found


def _operations(batch: CallColumns, files: FoundFiles, place: Integers, known: Sequence[File | None]) -> pa.Table:
    """The calls that count as operations, with what is told of them beside."""
    (rows,) = np.nonzero(files.number != LEFT_OUT)
    name, file, place = batch.name[rows], files.number[rows], place[rows]
    is_output, is_transfer = files.is_output[rows], TRANSFERRING[name]
    is_sync, is_read, is_write = SYNCING[name], READING[name] | is_transfer & ~is_output, WRITING[name] | is_output
    flags = batch.flags[rows]
    of_files = [(one.is_durable, one.is_synced, one.is_direct) if one else (False, False, False) for one in known]
    is_durable, is_synced, is_direct = np.array(of_files)[file].T
    is_synced = is_write & (is_synced | (flags & MAKES_SYNCED > 0))
    is_flagged = is_write & (is_durable | is_synced | (flags & MAKES_DURABLE > 0))
    columns = {
        "job": np.zeros(rows.size, dtype=np.int64),
        "thread": batch.thread[rows],
        "operation": np.select([is_sync, is_read, is_flagged], [SYNC, READ, DURABLE_WRITE], WRITE),
        "start_ns": batch.start_ns[rows],
        "submitted_ns": batch.submitted_ns[rows],
        "end_ns": batch.end_ns[rows],
        "offset_bytes": np.maximum(place, 0),
        "size_bytes": np.where(is_sync, 0, np.minimum(batch.result[rows], _SIZE_MAX)),
        "is_synchronous": np.full(rows.size, not batch.is_submitted),
        "is_durable": is_sync | is_flagged,
        "sleep": batch.sleep[rows],
        "call": pa.array(NAMES).take(pa.array(name)),
        "process": batch.process[rows],
        "file": pa.array([UNKNOWN if one is None else one.path for one in known]).take(pa.array(file)),
        "is_placed": place != _UNPLACED,
        "is_direct": is_direct,
        "is_synced": is_synced,
    }
    return pa.table({name: pa.array(column).cast(_OPERATION_TYPES[name]) for name, column in columns.items()})


def _tables(pieces: Sequence[pa.Table], left_out: Counter[str]) -> FollowedCalls:
    told = pa.concat_tables(pieces or [pa.schema(list(_OPERATION_TYPES.items())).empty_table()])
    told = told.take(pc.sort_indices(told, [("start_ns", "ascending")]))
    return FollowedCalls(told.drop_columns(_BESIDE), told.select(_BESIDE), dict(left_out.most_common()))


def with_submissions(counted: FollowedCalls, events: pa.Table) -> FollowedCalls:
    """The same with the I/Os that the calls of aio submitted, as far as commands of the disk tell them."""
    kept: list[dict[str, Any]] = []
    left_out = Counter(counted.left_out)
    for row, found in rows_of_submissions(counted.submissions, events):
        kept += [one for one in found if not row["is_doubtful"]]
        if not found or row["is_doubtful"]:
            left_out[TOUCHED if row["is_doubtful"] else _WITHOUT_COMMANDS] += 1
    columns = {name: [row[name] for row in kept] for name in _OF_SUBMISSIONS}
    columns["number"] = [CODES[row["call"]] for row in kept]
    submitted = CallTable(pa.table(columns), CODES, {row["thread"]: row["process"] for row in kept})
    pieces = [
        _operations(batch, FoundFiles.unknown(len(batch)), np.full(len(batch), _UNPLACED), [None])
        for batch in submitted.batches(_ROWS_AT_ONCE)
    ]
    told = _tables(pieces, left_out)
    operations = pa.concat_tables([counted.operations, told.operations])
    order = pc.sort_indices(operations, [("start_ns", "ascending")])
    calls = pa.concat_tables([counted.calls, told.calls])
    return replace(counted, operations=operations.take(order), calls=calls.take(order), left_out=told.left_out)
