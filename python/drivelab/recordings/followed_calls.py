"""A load as the system calls of a followed program, each on its file and at its place there."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.errors import DrivelabError
from drivelab.model.recording import READ, SYNC, WRITE, RecordedFile, RecordedThread, Recording, deepest, on_files
from drivelab.model.system_calls import AIO_READ, AIO_WRITE, FILE_UNKNOWN, FLAGGED, RING_WRITES, TRANSFERS
from drivelab.model.units import format_count, format_duration_ns
from drivelab.store.followed import FollowedFile, StoredFollowed, named_by_durability
from drivelab.trace.file_positions import NAMING, plain_path
from drivelab.trace.files_of_calls import REGISTERED, SUBMISSIONS, TOUCHED

_PAGE = 4096
# when it ended, its thread, and its number there
_Call = tuple[int, int, int]
# by the name of a sync call its place in the addresses of its file, which tells the engine which one it is
_SYNC_PLACES = {"fsync": 1, "fdatasync": 2, "sync_file_range": 3, "io_uring fsync": 1, "io_uring sync_file_range": 3}
# operations of a followed program; a durable write is one by the flag of its file
_OPERATIONS = {0: READ, 1: WRITE, 3: SYNC, 4: WRITE}
# why calls are not issued again, behind how many these are
_ON_DIRECTORIES = "sync calls: those on directories"
_OF_TWO_FILES = "calls that hand data from one file to another: those of"
_OF_AIO = "reads and writes of aio, whose files the kernel does not tell"
_FILE_NOT_SEEN = "calls on files that were not seen"
_FOUND_NOTHING = "reads that found nothing"
# why calls were not kept that may have been on the disk
_MAY_BE_OF_DISK = (FILE_UNKNOWN, SUBMISSIONS, REGISTERED, TOUCHED)
_LARGEST = 1 << 30
_FILES_MAX = 1024
_VALUE_MAX = 1 << 60
# between the end of the trace and when it was noted
_CLOCK_SLACK_NS = 10_000_000_000
_Numbers = NDArray[np.int64]
# name of a file, and whether calls on it are direct, and durable by O_DSYNC or by O_SYNC
_Opened = tuple[str, bool, bool, bool]


def read_followed_calls(stored: StoredFollowed) -> Recording:
    """The calls of a followed program on files of its disk.

    Raises
    ------
    DrivelabError
        B920: it has too many files. B921: it has numbers that no call can have. B922: it has no call that can be
        issued again. S506: a table is damaged.
    """
    calls, not_played = _issued(_sound(stored), stored.record.files)
    of_disk = {reason: stored.record.left_out.get(reason, 0) for reason in _MAY_BE_OF_DISK}
    not_played += [f"{format_count(count)} {reason}" for reason, count in of_disk.items() if count]
    if not calls.num_rows:
        do = "play the commands of its disk: --commands"
        raise DrivelabError("B922", "it holds no call on a file that was seen", where=str(stored.directory), do=do)
    keys = _opened(calls)
    opened = list(dict.fromkeys(keys))
    if len(opened) > _FILES_MAX:
        what = f"its calls are on {len(opened)} files, and {_FILES_MAX} are laid out at most"
        raise DrivelabError("B920", what, where=str(stored.directory), do="play its commands: --commands")
    place_of = {key: place for place, key in enumerate(opened)}
    number = np.array([place_of[key] for key in keys], dtype=np.int64)
    offset = _offsets(calls, number)
    files = tuple(_files(calls, offset, opened, stored.record.files))
    called = named_by_durability(calls)["call"]
    kinds = tuple(sorted(set(called.to_pylist())))
    kind = pc.index_in(called, pa.array(kinds)).to_numpy(zero_copy_only=False).astype(np.int64)
    unsure = _of_unknown_flags(calls)
    recording = Recording(
        source=stored.directory.name,
        kind=f"system calls of {stored.record.program}",
        threads=tuple(_threads(calls, number, offset, kind, stored.record.parents)),
        direct=False,
        notes=(*_notes_of_places(calls), *_notes_of_files(files, stored.record.files)),
        not_played=tuple(not_played),
        not_compared=unsure,
        doubt=f"{' and '.join(unsure)}, of which no flags were recorded that make them durable" if unsure else "",
        level="calls",
        calls=kinds,
    )
    return on_files(recording, files)


def _sound(stored: StoredFollowed) -> pa.Table:
    """All calls, in the order in which they began."""
    calls = stored.calls().sort_by("start_ns")
    for name in ("start_ns", "latency_ns", "offset_bytes", "size_bytes"):
        bounds = pc.min_max(calls[name]).as_py()
        if calls.num_rows and not 0 <= bounds["min"] <= bounds["max"] <= _VALUE_MAX:
            what = (
                f"the column {name} holds {bounds['min']} to {bounds['max']}, and no call is beyond 0 to {_VALUE_MAX}"
            )
            raise DrivelabError("B921", what, where=str(stored.directory))
    spanned_ns = calls["start_ns"][-1].as_py() - calls["start_ns"][0].as_py() if calls.num_rows else 0
    if spanned_ns > stored.record.duration_ns + _CLOCK_SLACK_NS:
        spans = f"its calls span {format_duration_ns(spanned_ns)}"
        what = f"{spans}, and it was followed for {format_duration_ns(stored.record.duration_ns)}: times of two clocks"
        raise DrivelabError("B921", what, where=str(stored.directory))
    return calls


def _issued(calls: pa.Table, known: Mapping[str, FollowedFile]) -> tuple[pa.Table, list[str]]:
    """The calls that are issued again, and what is said of what is not."""
    names = pa.array([plain_path(name) for name in calls["file"].to_pylist()], pa.string())
    calls = calls.set_column(calls.column_names.index("file"), "file", names)
    left_out: Counter[str] = Counter()
    kept = []
    for name, call, operation, size in zip(
        *(calls[column].to_pylist() for column in ("file", "call", "operation", "size_bytes")), strict=True
    ):
        reason = _why_left_out(name, call, operation, size, known)
        kept.append(not reason)
        left_out[reason] += 1
    syncs = format_count(pc.sum(pc.equal(calls["operation"], 3)).as_py() or 0)
    not_played = [
        f"{format_count(count)} {f'of {syncs} ' if reason.startswith('sync') else ''}{reason}"
        for reason, count in left_out.most_common()
        if reason
    ]
    calls = calls.filter(pa.array(kept, pa.bool_()))
    if "is_placed" not in calls.column_names:
        calls = calls.append_column("is_placed", pc.is_in(calls["call"], pa.array(NAMING)))
    of_rings = pc.sum(pc.is_in(calls["call"], pa.array(RING_WRITES))).as_py() or 0
    if of_rings:
        not_played.append(
            f"flags of {format_count(of_rings)} io_uring writes (RWF_DSYNC), which the kernel does not tell"
        )
    return calls, not_played


def _of_unknown_flags(calls: pa.Table) -> tuple[str, ...]:
    """Calls of which an older drivelab did not record the flags that may have made them durable."""
    if "is_synced" in calls.column_names:
        return ()
    written = calls.filter(pc.equal(calls["operation"], 1))["call"].unique().to_pylist()
    return tuple(name for name in FLAGGED if name in written)


def _notes_of_places(calls: pa.Table) -> Iterator[str]:
    unplaced = calls.num_rows - (pc.sum(calls["is_placed"]).as_py() or 0)
    unplaced -= pc.sum(pc.and_(pc.equal(calls["operation"], 3), pc.invert(calls["is_placed"]))).as_py() or 0
    if unplaced:
        what = "call of which the place is" if unplaced == 1 else "calls of which the places are"
        yield f"{format_count(unplaced)} {what} not known: each follows the one before in its file"


def _why_left_out(name: str, call: str, operation: int, size: int, known: Mapping[str, FollowedFile]) -> str:
    if operation == 3 and call not in _SYNC_PLACES:
        # msync has no descriptor, and syncfs and sync are about all files
        return f"sync calls: those of {call}"
    if call in TRANSFERS:
        return f"{_OF_TWO_FILES} {call}"
    if not name:
        return _OF_AIO if call in (AIO_READ, AIO_WRITE) else _FILE_NOT_SEEN
    if operation == 3:
        return _ON_DIRECTORIES if name in known and known[name].kind == "directory" else ""
    return "" if size else _FOUND_NOTHING


def _offsets(calls: pa.Table, file: _Numbers) -> _Numbers:
    """Places in their files: as recorded; where that is not known, behind the one before of the same process."""
    offset: _Numbers = calls["offset_bytes"].to_numpy().astype(np.int64)
    size, process = calls["size_bytes"].to_numpy().astype(np.int64), calls["process"].to_numpy()
    operation = calls["operation"].to_numpy()
    placed = calls["is_placed"].to_numpy(zero_copy_only=False)
    names = calls["call"].to_pylist()
    ends: dict[tuple[int, int, int], int] = {}
    for place in np.flatnonzero(operation != 3).tolist():
        of = (int(process[place]), int(file[place]), int(operation[place]))
        if not placed[place]:
            offset[place] = ends.get(of, 0)
        ends[of] = int(offset[place] + size[place])
    for place in np.flatnonzero(operation == 3).tolist():
        offset[place] = _SYNC_PLACES[names[place]]
    return offset


def _opened(calls: pa.Table) -> list[_Opened]:
    """By call its file, with its flags, those of its descriptor and its own; a sync call needs none."""
    operation = calls["operation"].to_numpy()
    columns = (calls["file"].to_pylist(), _told(calls, "is_direct").tolist(), (operation == 4).tolist())
    opened = list(zip(*columns, _told(calls, "is_synced").tolist(), strict=True))
    is_sync = (operation == 3).tolist()
    first: dict[str, _Opened] = {}
    for one, is_other in zip(opened, is_sync, strict=True):
        if not is_other:
            first.setdefault(one[0], one)
    return [
        first.get(one[0], (one[0], False, False, False)) if is_other else one
        for one, is_other in zip(opened, is_sync, strict=True)
    ]


def _told(calls: pa.Table, name: str) -> NDArray[np.bool_]:
    """A column of claims; an older drivelab does not tell."""
    if name not in calls.column_names:
        return np.zeros(calls.num_rows, dtype=np.bool_)
    return np.asarray(calls[name].to_numpy(zero_copy_only=False), dtype=np.bool_)


def _files(
    calls: pa.Table, offset: _Numbers, opened: list[_Opened], known: Mapping[str, FollowedFile]
) -> Iterator[RecordedFile]:
    """The files of all calls; what reads and writes tell of them is looked up once for all."""
    operation, size = calls["operation"].to_numpy(), calls["size_bytes"].to_numpy().astype(np.int64)
    columns = {
        "thread": calls["thread"].to_numpy(),
        "size": size,
        "end": offset + size,
        "is_read": operation == 0,
        "is_direct": _told(calls, "is_direct"),
        "below": _read_below(calls),
    }
    names = pc.unique(calls["file"])
    number = np.where(operation == 3, -1, pc.index_in(calls["file"], names).to_numpy())
    order = np.argsort(number, kind="stable")
    of_name = {}
    for place, name in enumerate(names.to_pylist()):
        mine = order[slice(*np.searchsorted(number[order], [place, place + 1]))]
        of_name[name] = _file({key: column[mine] for key, column in columns.items()}, name, known.get(name))
    for name, is_direct, is_durable, is_synced in opened:
        yield replace(of_name[name], is_direct=is_direct, is_durable=is_durable, is_synced=is_synced)


def _file(columns: Mapping[str, NDArray[Any]], name: str, known: FollowedFile | None) -> RecordedFile:
    """How large a file was, and became, by what is known of it and by its reads and writes."""
    thread, ends, reads = columns["thread"], columns["end"], columns["is_read"]
    facts = known or FollowedFile(size_bytes=0)
    through_cache = reads & ~columns["is_direct"]
    # what was read was there before, or had been written by then; what another thread had written may come later
    # here, and a hole is read until then
    missing = _read_beyond(ends, reads)
    readable = max((_read_beyond(ends[thread == one], reads[thread == one]) for one in np.unique(thread)), default=0)
    end = max(int(ends.max(initial=1)), facts.size_bytes)
    begin = end if facts.kind == "other" else max(facts.size_bytes, missing)
    return RecordedFile(
        name=name,
        size_bytes=begin,
        end_bytes=end,
        readable_bytes=max(begin, readable),
        is_cached=2 * int(columns["below"][through_cache].sum()) < int(columns["size"][through_cache].sum()),
    )


def _read_below(calls: pa.Table) -> _Numbers:
    """By call how many bytes were read for it below the page cache: of the disk, or at least of a layer above it."""
    found: _Numbers = calls["bytes_read"].to_numpy().astype(np.int64)
    if "layers_ns" not in calls.column_names:
        return found
    layers = calls["layers_ns"].combine_chunks()
    times = pc.list_flatten(layers).fill_null(0).to_numpy(zero_copy_only=False)
    waited = pc.list_parent_indices(layers).to_numpy(zero_copy_only=False)[times > 0]
    found[waited] = np.maximum(found, calls["size_bytes"].to_numpy())[waited]
    return found


def _read_beyond(ends: _Numbers, reads: NDArray[np.bool_]) -> int:
    """How far reads, in their order among writes, went beyond what had been written."""
    written = np.maximum.accumulate(np.where(reads, 0, ends)) if len(ends) else ends
    return int(ends[reads & (ends > written)].max(initial=0))


def _threads(
    calls: pa.Table, file: _Numbers, offset: _Numbers, kind: _Numbers, parents: Mapping[int, int]
) -> Iterator[RecordedThread]:
    names, thread = np.unique(calls["thread"].to_numpy(), return_inverse=True)
    start = calls["start_ns"].to_numpy().astype(np.int64)
    latency = calls["latency_ns"].to_numpy().astype(np.int64)
    size = np.minimum(calls["size_bytes"].to_numpy().astype(np.int64), _LARGEST)
    operation = np.array([_OPERATIONS[code] for code in calls["operation"].to_pylist()], dtype=np.int64)
    begin = int(start.min())
    place_of = {int(name): place for place, name in enumerate(names)}
    related = {place_of[one]: place_of[two] for one, two in parents.items() if one in place_of and two in place_of}
    order = np.argsort(start, kind="stable")
    path = pc.index_in(calls["file"], pc.unique(calls["file"])).to_numpy().astype(np.int64)
    timed = TimedCalls(*(one[order] for one in (thread, start, start + latency, operation, path, offset, size)))
    who, count = np.zeros_like(order), np.zeros_like(order)
    who[order], count[order] = waits_between_threads(timed, related)
    for one in range(len(names)):
        chosen = order[thread[order] == one]
        starts, latencies = start[chosen] - begin, latency[chosen]
        found = RecordedThread(
            starts, operation[chosen], offset[chosen], size[chosen], latencies, deepest(starts, latencies)
        )
        yield replace(found, call=kind[chosen], file=file[chosen], after_thread=who[chosen], after_count=count[chosen])


def _notes_of_files(files: tuple[RecordedFile, ...], known: Mapping[str, FollowedFile]) -> Iterator[str]:
    again = sum(known[name].inodes > 1 for name in {file.name for file in files} if name in known)
    if again:
        names = "1 file that was" if again == 1 else f"{format_count(again)} files that were"
        yield f"{names} removed and made again is one file here: what making it costs is not played"
    if not known:
        yield "an older drivelab recorded it, without the sizes of files: they begin as small as they may"


@dataclass(frozen=True, slots=True)
class TimedCalls:
    """Calls in the order in which they began, each with its thread, times, operation, file and place."""

    thread: _Numbers
    start_ns: _Numbers
    end_ns: _Numbers
    operation: _Numbers
    file: _Numbers
    offset_bytes: _Numbers
    size_bytes: _Numbers


@dataclass(slots=True)
class _Written:
    """Who wrote what last, by page and by file."""

    pages: dict[tuple[int, int], _Call] = field(default_factory=dict)
    files: dict[int, dict[int, _Call]] = field(default_factory=lambda: defaultdict(dict))


def waits_between_threads(calls: TimedCalls, parents: Mapping[int, int]) -> tuple[_Numbers, _Numbers]:
    """By call the thread that it waits for, -1 for none, and how many of that thread's calls must have ended.

    Parameters
    ----------
    parents : mapping of int to int
        Who started each thread.

    Notes
    -----
    A call waits for one that had ended before it began: a read for what wrote its data, a sync call for the writes of
    its file, the first call of a thread for what its parent had done, and a parent that did nothing while a thread
    lived for the last call of it. Of several the one that ended last counts. Nothing tells of locks and signals.
    """
    number = _numbers_in_threads(calls.thread)
    of_relatives = _of_relatives(calls, number, parents)
    written = _Written()
    who, count = np.full(len(number), -1, dtype=np.int64), np.zeros(len(number), dtype=np.int64)
    columns = (calls.thread, calls.start_ns, calls.end_ns, calls.operation, calls.file)
    rows = zip(*(column.tolist() for column in (*columns, calls.offset_bytes, calls.size_bytes, number)), strict=True)
    for place, (thread, start, end, operation, file, offset, size, own) in enumerate(rows):
        found = [of_relatives[place]] if place in of_relatives else []
        pages = range(offset // _PAGE, (offset + size - 1) // _PAGE + 1)
        if operation == READ:
            found += [written.pages[file, page] for page in pages if (file, page) in written.pages]
        elif operation == SYNC:
            found += written.files[file].values()
        elif operation == WRITE:
            written.files[file][thread] = (end, thread, own)
            written.pages.update(((file, page), (end, thread, own)) for page in pages)
        waited = max((one for one in found if one[0] <= start and one[1] != thread), default=None)
        if waited is not None:
            who[place], count[place] = waited[1], waited[2] + 1
    return who, count


def _numbers_in_threads(thread: _Numbers) -> _Numbers:
    number = np.zeros(len(thread), dtype=np.int64)
    for one in np.unique(thread):
        mine = thread == one
        number[mine] = np.arange(mine.sum())
    return number


def _of_relatives(calls: TimedCalls, number: _Numbers, parents: Mapping[int, int]) -> dict[int, _Call]:
    """By call what it waits for because its thread was started, or because it waited for one to end."""
    places = {one: np.flatnonzero(calls.thread == one) for one in np.unique(calls.thread).tolist()}
    found: dict[int, _Call] = {}
    for child, parent in parents.items():
        if child not in places or parent not in places:
            continue
        for place, waited in _of_child(calls, places[child], places[parent]):
            call = (int(calls.end_ns[waited]), int(calls.thread[waited]), int(number[waited]))
            found[place] = max(call, found.get(place, call))
    return found


def _of_child(calls: TimedCalls, child: _Numbers, parent: _Numbers) -> Iterator[tuple[int, int]]:
    """Which call waits for which: the child's first one, and the parent's next one."""
    first, last = int(child[0]), int(child[-1])
    ends = calls.end_ns[parent].tolist()
    before = bisect_right(ends, int(calls.start_ns[first]))
    if before:
        yield first, int(parent[before - 1])
    # while the child was at work the parent did nothing
    for one, following in pairwise((-1, *parent.tolist())):
        began = one < 0 or calls.end_ns[one] <= calls.start_ns[first]
        if began and calls.start_ns[following] >= calls.end_ns[last]:
            yield following, last
            return
