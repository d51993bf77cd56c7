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


async def clock_offset(
    ask: Callable[[], Awaitable[int]], *, good_enough_ns: int = _GOOD_ENOUGH_NS, questions: int = _QUESTIONS
) -> ClockOffset:
    """The offset of the clock that answers in nanoseconds since 1970.

    Parameters
    ----------
    ask : callable
        Asks it once.
    good_enough_ns : int
        The error that ends it.
    questions : int
        How often it is asked at most.
    """
    best = ClockOffset(0, 2**62)
    for _ in range(questions):
        before = time.time_ns()
        there = await ask()
        after = time.time_ns()
        best = min(best, ClockOffset(there - (before + after) // 2, (after - before + 1) // 2), key=_error)
        if best.error_ns <= good_enough_ns:
            break
    return best


def _error(offset: ClockOffset) -> int:
    return offset.error_ns
