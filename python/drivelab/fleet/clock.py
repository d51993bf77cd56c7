"""How far the clocks of hosts are ahead of ours, from questions that come back at once."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

# the quickest of many answers knows best: nothing waited on its way
_QUESTIONS = 100
_GOOD_ENOUGH_NS = 50_000


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far a clock is ahead of ours.

    Attributes
    ----------
    ahead_ns : int
        The middle of what it can be.
    error_ns : int
        Half of the way there and back: it is off by no more, however long the two ways were.
    """

    ahead_ns: int
    error_ns: int


def offset_of(sent_ns: int, asked_ns: int, answered_ns: int, came_ns: int) -> ClockOffset:
    """The offset of the clock of who was asked.

    Parameters
    ----------
    sent_ns, came_ns : int
        When the question was sent and its answer came, by our clock, in nanoseconds since 1970.
    asked_ns, answered_ns : int
        When the question came and its answer was sent, by the other.
    """
    ahead_ns = (asked_ns - sent_ns + answered_ns - came_ns) // 2
    return ClockOffset(ahead_ns, (came_ns - sent_ns - (answered_ns - asked_ns) + 1) // 2)


async def clock_offset(ask: Callable[[], Awaitable[int]]) -> ClockOffset:
    """The offset of the clock that answers in nanoseconds since 1970.

    Parameters
    ----------
    ask : callable
        Asks it once.
    """
    best = ClockOffset(0, 2**62)
    for _ in range(_QUESTIONS):
        before = time.time_ns()
        there = await ask()
        best = min(best, offset_of(before, there, there, time.time_ns()), key=_error)
        if best.error_ns <= _GOOD_ENOUGH_NS:
            break
    return best


def _error(offset: ClockOffset) -> int:
    return offset.error_ns
