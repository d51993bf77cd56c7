"""Hosts begin once it is told what all of them are going to do, and none does where the list means no drive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from drivelab.fleet.census import Census, FleetRefused
from drivelab.fleet.erase_list import EraseList
from drivelab.model.errors import DrivelabError
from own_loop import in_own_loop

A, B = [{"name": "sda", "serials": ["S1"]}], [{"name": "sda", "serials": ["S2"]}]


class Told:
    """What was told, in order."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def __call__(self, hosts: Sequence[str], lines: Sequence[str]) -> None:
        self.said.append((list(hosts), list(lines)))


def test_nobody_begins_until_all_have_said_what_they_do_and_it_is_told() -> None:
    told = Told()

    async def meet() -> None:
        census = Census(["a", "b", "c"], EraseList(["S1", "b:sda"]), told)
        # told as they are listed, whoever answers first
        waiting = [asyncio.ensure_future(census.may_begin("b", B)), asyncio.ensure_future(census.may_begin("a", A))]
        await asyncio.sleep(0.01)
        assert not any(one.done() for one in waiting)
        assert told.said == []
        census.leaves("c")
        await asyncio.gather(*waiting)

    in_own_loop(meet())
    assert told.said == [(["a", "b"], [])]


@pytest.mark.provokes("F902")
@pytest.mark.parametrize("line", ["S9", "a:sdb"])
def test_a_line_that_means_no_drive_stops_all_of_them(line: str) -> None:
    told = Told()

    async def meet() -> None:
        census = Census(["a", "b"], EraseList(["S1", line]), told)
        await asyncio.gather(census.may_begin("a", A), census.may_begin("b", B))

    with pytest.raises(FleetRefused, match=f"no drive is meant by {line} of the erase list") as caught:
        in_own_loop(meet())
    assert caught.value.error.code == "F902"
    assert told.said == []


def test_a_serial_may_be_that_of_a_drive_whose_host_is_off() -> None:
    told = Told()

    async def meet() -> None:
        census = Census(["a", "b"], EraseList(["S1", "S9", "b:sda"]), told)
        census.leaves("b")
        await census.may_begin("a", A)

    in_own_loop(meet())
    assert told.said == [(["a"], ["S9", "b:sda"])]


def test_a_serial_may_be_that_of_a_drive_whose_host_is_not_asked() -> None:
    told = Told()

    async def meet() -> None:
        census = Census(["a"], EraseList(["S1", "S9", "b:sda"]), told, are_all=False)
        await census.may_begin("a", A)

    in_own_loop(meet())
    assert told.said == [(["a"], ["S9", "b:sda"])]


def test_who_comes_late_holds_up_nobody_and_is_subject_to_the_same_list() -> None:
    told = Told()

    async def meet() -> DrivelabError:
        census = Census(["a", "b", "c"], EraseList(["S1", "c:sdb"]), told, quiet_s=0.01)
        await census.may_begin("a", A)
        await census.may_begin("b", B)
        with pytest.raises(DrivelabError, match="c:sdb") as caught:
            await census.may_begin("c", [])
        return caught.value

    assert in_own_loop(meet()).code == "F902"
    assert told.said == [(["a"], ["c:sdb"]), (["b"], [])]
