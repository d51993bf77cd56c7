"""Which calls waited for a call of another thread."""

from __future__ import annotations

import numpy as np

from drivelab.model.recording import READ, SYNC, WRITE
from drivelab.recordings.followed_calls import TimedCalls, waits_between_threads

# thread, start, end, operation, file, offset, size
Row = tuple[int, int, int, int, int, int, int]


def waits(rows: list[Row], parents: dict[int, int] | None = None) -> list[tuple[int, int] | None]:
    """By call the thread that it waits for, and for how many of its calls."""
    calls = TimedCalls(*np.array(rows, dtype=np.int64).T)
    who, count = waits_between_threads(calls, parents or {})
    return [(int(one), int(many)) if one >= 0 else None for one, many in zip(who, count, strict=True)]


def test_a_read_waits_for_what_wrote_its_data_and_not_for_what_had_not_ended() -> None:
    rows = [
        (0, 0, 5, WRITE, 0, 0, 10_000),
        (0, 10, 90, WRITE, 0, 20_000, 100),
        (1, 20, 30, READ, 0, 8192, 1),
        (1, 40, 50, READ, 0, 20_050, 1),
        (1, 95, 96, READ, 0, 20_050, 1),
        (1, 97, 98, READ, 1, 0, 10),
        (0, 99, 100, READ, 0, 0, 10),
    ]
    assert waits(rows) == [None, None, (0, 1), None, (0, 2), None, None]


def test_a_sync_waits_for_the_writes_of_its_file() -> None:
    rows = [
        (0, 0, 5, WRITE, 0, 0, 10),
        (2, 1, 6, WRITE, 0, 10, 10),
        (1, 7, 9, SYNC, 0, 2, 0),
        (1, 10, 11, SYNC, 1, 2, 0),
    ]
    assert waits(rows) == [None, None, (2, 1), None]


def test_a_thread_waits_for_who_started_it_and_that_one_for_its_end_where_it_did_nothing_meanwhile() -> None:
    idle = [
        (0, 0, 5, WRITE, 0, 0, 10),
        (1, 10, 15, WRITE, 1, 0, 10),
        (1, 20, 25, WRITE, 1, 10, 10),
        (0, 30, 35, WRITE, 0, 10, 10),
    ]
    assert waits(idle, {1: 0}) == [None, (0, 1), None, (1, 2)]
    busy = sorted([*idle, (0, 12, 14, WRITE, 0, 20, 10)], key=lambda row: row[1])
    assert waits(busy, {1: 0}) == [None, (0, 1), None, None, None]
    assert waits(idle) == [None] * 4
