"""Operations that a program submits and does not wait for in the same call: requests of io_uring, and of aio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.system_calls import AIO_READ, AIO_WRITE, RING_FILE, RING_OPERATIONS

Row = dict[str, Any]


def calls_of_requests(requests: pa.Table, entered: pa.Table, followed: Mapping[int, int]) -> pa.Table:
    """Requests of io_uring that the followed processes made, in the form of calls.

    Parameters
    ----------
    requests : pyarrow.Table
        As recorded, of all programs.
    entered : pyarrow.Table
        The calls that entered a ring: thread, end_ns.
    followed : mapping of int to int
        The process of each thread.

    Returns
    -------
    pyarrow.Table
        thread, number (of the request), argument_0, start_ns, submitted_ns, end_ns, result, is_doubtful,
        is_registered: whether its file is known to the ring by a number that is not told.

    Notes
    -----
    Bios that the submitting thread queues until it submits the next request, or returns, are of this one.
    """
    known = pa.array(RING_OPERATIONS, requests["opcode"].type)
    of_followed = requests.filter(pc.is_in(requests["thread"], pa.array(followed, requests["thread"].type)))
    mine = of_followed.filter(pc.is_in(of_followed["opcode"], known))
    threads, starts, ends = (mine[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    submitted = np.zeros(mine.num_rows, dtype=np.int64)
    for thread in np.unique(threads).tolist():
        returns = entered.filter(pc.equal(entered["thread"], thread))["end_ns"].to_numpy()
        others = of_followed.filter(pc.equal(of_followed["thread"], thread))["start_ns"].to_numpy()
        # after the last one comes none
        moments = np.append(np.sort(np.concatenate([returns, others])), np.iinfo(np.int64).max)
        places = threads == thread
        submitted[places] = moments[np.searchsorted(moments, starts[places], side="right")]
    is_numbered = pc.and_(mine["is_registered"], pc.less(mine["descriptor"], 0))
    columns = {name: mine[name] for name in ("thread", "start_ns", "end_ns", "result", "is_doubtful")}
    return pa.table(
        columns
        | {
            "number": mine["opcode"],
            "argument_0": pc.if_else(is_numbered, RING_FILE, mine["descriptor"]),
            "submitted_ns": np.minimum(submitted, ends),
            "is_registered": is_numbered,
        }
    )


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
