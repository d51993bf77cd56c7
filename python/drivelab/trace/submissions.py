"""Operations that a program submits and does not wait for in the same call: requests of io_uring, and of aio."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.system_calls import AIO_READ, AIO_WRITE, RING_FILE, RING_OPERATIONS

Row = dict[str, Any]


def rows_of_requests(requests: pa.Table, entered: Iterable[Row], followed: Mapping[int, int]) -> list[Row]:
    """Requests of io_uring that the followed processes made, in the form of calls.

    Parameters
    ----------
    requests : pyarrow.Table
        As recorded, of all programs.
    entered : iterable of dict
        The calls that entered a ring: thread, end_ns.
    followed : mapping of int to int
        The process of each thread.

    Notes
    -----
    Bios that the submitting thread queues until it submits the next request, or returns, are of this one.
    """
    known = pa.array(RING_OPERATIONS, requests["opcode"].type)
    mine = requests.filter(
        pc.and_(
            pc.is_in(requests["thread"], pa.array(followed, requests["thread"].type)),
            pc.is_in(requests["opcode"], known),
        )
    ).to_pylist()
    returns: dict[int, list[int]] = defaultdict(list)
    for row in entered:
        returns[row["thread"]].append(row["end_ns"])
    for request in requests.select(["thread", "start_ns"]).to_pylist():
        if request["thread"] in followed:
            returns[request["thread"]].append(request["start_ns"])
    for moments in returns.values():
        moments.sort()
    return [_row_of_request(row, followed[row["thread"]], returns[row["thread"]]) for row in mine]


def _row_of_request(row: Row, process: int, returns: Sequence[int]) -> Row:
    is_numbered = row["is_registered"] and row["descriptor"] < 0
    return {
        "thread": row["thread"],
        "process": process,
        "call": RING_OPERATIONS[row["opcode"]],
        "argument_0": RING_FILE if is_numbered else row["descriptor"],
        "argument_3": 0,
        "start_ns": row["start_ns"],
        "submitted_ns": _next(returns, row["start_ns"], row["end_ns"]),
        "end_ns": row["end_ns"],
        "result": row["result"],
        "is_doubtful": row["is_doubtful"],
        "is_registered": is_numbered,
    }


def _next(moments: Sequence[int], start_ns: int, end_ns: int) -> int:
    place = bisect_right(moments, start_ns)
    return min(moments[place], end_ns) if place < len(moments) else end_ns


def rows_of_submissions(submissions: Sequence[Row], events: pa.Table) -> Iterator[tuple[Row, list[Row]]]:
    """What each call of ``io_submit`` had the disk do, one row per I/O; none where it had it do nothing.

    Parameters
    ----------
    submissions : sequence of dict
        The calls: thread, process, start_ns, end_ns, result (how many I/Os).
    events : pyarrow.Table
        Bios and commands of the disk.

    Notes
    -----
    The kernel tells neither what is submitted nor when it is done. A bio that the thread queues within the call is
    one of its I/Os, which ends with it; where there are more or fewer bios than I/Os, all of them are one.
    """
    bios = events.filter(pc.and_(pc.equal(events["kind"], "bio"), pc.is_valid(events["queued_ns"])))
    bios = bios.filter(pc.and_(pc.is_valid(bios["ended_ns"]), pc.greater(bios["bytes"], 0))).sort_by("queued_ns")
    queued = bios["queued_ns"].to_numpy()
    threads = bios["pid"].to_numpy()
    for row in submissions:
        first, last = np.searchsorted(queued, [row["start_ns"], row["end_ns"]])
        places = first + np.flatnonzero(threads[first:last] == row["thread"])
        mine = bios.take(places).to_pylist()
        if mine and len(mine) != row["result"]:
            whole = sum(bio["bytes"] for bio in mine)
            mine = [{**mine[0], "bytes": whole, "ended_ns": max(bio["ended_ns"] for bio in mine)}]
        yield (
            row,
            [
                {
                    **row,
                    "call": AIO_READ if bio["class"] == "read" else AIO_WRITE,
                    "submitted_ns": row["end_ns"],
                    "end_ns": bio["ended_ns"],
                    "result": bio["bytes"],
                }
                for bio in mine
            ],
        )


def polled_requests(requests: pa.Table | None, processes: Mapping[int, int]) -> int:
    """How many requests of the followed processes a polling thread of the kernel took from their rings."""
    if requests is None:
        return 0
    polled = requests.filter(requests["is_polled"])
    return sum(thread in processes for thread in polled["thread"].to_pylist())
