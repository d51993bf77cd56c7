"""Hosts that begin together, or not at all."""

from __future__ import annotations

import asyncio
import time

import pytest

from drivelab.fleet.rendezvous import NotTogether, Rendezvous, not_together
from own_loop import in_own_loop


def test_all_get_one_moment_that_is_still_to_come() -> None:
    async def meet() -> list[int]:
        meeting = Rendezvous(["a", "b", "c"])
        waiting = [asyncio.ensure_future(meeting.moment()) for _ in range(3)]
        for name in ("b", "a"):
            meeting.is_ready(name)
        await asyncio.sleep(0)
        assert not any(one.done() for one in waiting)
        meeting.is_ready("c")
        return await asyncio.gather(*waiting)

    moments = in_own_loop(meet())
    assert len(set(moments)) == 1
    assert moments[0] > time.time_ns()


def test_nobody_begins_where_one_cannot() -> None:
    async def meet() -> None:
        meeting = Rendezvous(["a", "b"])
        meeting.is_ready("a")
        meeting.fails("b")
        await meeting.moment()

    async def look() -> None:
        meeting = Rendezvous(["a", "b"])
        meeting.require_possible()
        meeting.fails("b")
        meeting.require_possible()

    with pytest.raises(NotTogether, match=r"b could not$"):
        in_own_loop(look())
    with pytest.raises(NotTogether, match=r"b could not$"):
        in_own_loop(meet())


def test_of_several_that_could_not_all_are_named() -> None:
    assert not_together(["gum"]) == "all were to begin together, and gum could not"
    several = not_together(["gum", "fir", "elm"])
    assert several == "all were to begin together, and 3 hosts (gum, fir and elm) could not"


def test_who_fails_after_the_moment_was_set_changes_nothing_for_the_others() -> None:
    async def meet() -> int:
        meeting = Rendezvous(["a", "b"])
        meeting.is_ready("a")
        meeting.is_ready("b")
        meeting.fails("b")
        return await meeting.moment()

    assert in_own_loop(meet()) > 0
