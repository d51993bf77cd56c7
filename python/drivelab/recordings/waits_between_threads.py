"""Which calls of a program waited for a call of another of its threads, as far as what they did tells."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from drivelab.model.recording import READ, SYNC, WRITE

_PAGE = 4096
_Numbers = NDArray[np.int64]
# when it ended, its thread, and its number there
_Call = tuple[int, int, int]


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
