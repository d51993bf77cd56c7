"""The offset of another clock, where ways there and back differ and wait."""

from __future__ import annotations

import random
import time

from drivelab.fleet.clock import clock_offset, offset_of
from own_loop import in_own_loop


def offset_of_a_clock(ahead_ns: int, seed: int) -> tuple[int, int]:
    """What is found of a clock that is so far ahead, over ways of 0.1 to 3 ms."""
    chance = random.Random(seed)

    async def ask() -> int:
        time.sleep(chance.uniform(1e-4, 3e-3))
        there = time.time_ns() + ahead_ns
        time.sleep(chance.uniform(1e-4, 3e-3))
        return there

    found = in_own_loop(clock_offset(ask))
    return found.ahead_ns, found.error_ns


def test_the_truth_lies_within_the_error() -> None:
    for seed, ahead_ns in enumerate((0, 3_600_000_000_000, -12_345_678)):
        found, error_ns = offset_of_a_clock(ahead_ns, seed)
        assert abs(found - ahead_ns) <= error_ns
        # of a hundred ways the quickest counts
        assert error_ns < 3_000_000


def test_a_clock_that_answers_at_once_is_asked_no_more_than_needed() -> None:
    count = 0

    async def ask() -> int:
        nonlocal count
        count += 1
        return time.time_ns()

    assert in_own_loop(clock_offset(ask)).error_ns < 1_000_000
    assert count <= 100


def test_a_question_that_takes_its_time_is_off_by_its_ways_alone() -> None:
    # sent at 0, 3 ms on its way to a clock that is an hour ahead, a second of work, 1 ms back
    hour_ns, ms_ns = 3_600 * 10**9, 10**6
    found = offset_of(0, hour_ns + 3 * ms_ns, hour_ns + 1003 * ms_ns, 1004 * ms_ns)
    assert (found.ahead_ns, found.error_ns) == (hour_ns + ms_ns, 2 * ms_ns)
