"""How a fleet stands: what is counted, what is added up, and the time left of the slowest host."""

from __future__ import annotations

from typing import Any

import pytest

from drivelab.model.fleet_plan import FleetItem, ItemPlan
from drivelab.model.fleet_standing import FleetStanding, Pace, standing_of

S = 10**9
PLAN = ItemPlan(expected_ns=100 * S)


def item(host: str, name: str, state: Any, target: str = "/dev/sda", plan: ItemPlan | None = PLAN) -> FleetItem:
    return FleetItem(f"{host}/{name}", host, target, state=state, plan=plan)


def standing(*items: FleetItem, **paces: Pace) -> FleetStanding:
    """Ten seconds after the clock began; hosts a to d, of which d has gone."""
    reasons = {"a": "", "b": "", "c": "", "d": "it has left"}
    known = {key.replace("_", "/"): pace for key, pace in paces.items()}
    return standing_of(reasons, {one.key: one for one in items}, known, now_s=10, fresh_s=5)


def test_targets_and_hosts_are_counted() -> None:
    found = standing(item("a", "1", "complete"), item("a", "2", "measuring"), item("b", "1", "failed"))
    assert (found.targets, found.complete, found.measuring, found.failed, found.waiting) == (3, 1, 1, 1, 0)
    assert (found.hosts_awaited, found.hosts_gone) == (1, 1)


def test_only_what_is_measured_now_in_real_time_adds_up() -> None:
    rate = {"operations_per_s": 1000.0, "bytes_per_s": 4096e3}
    found = standing(
        item("a", "1", "measuring"),
        item("a", "2", "complete"),
        item("b", "1", "measuring"),
        item("b", "2", "measuring"),
        item("c", "1", "measuring", "sim:disk-7200"),
        a_1=Pace(9, **rate),
        a_2=Pace(9, **rate),
        # told long ago; getting ready; in a time of its own
        b_1=Pace(2, **rate),
        b_2=Pace(9),
        c_1=Pace(9, **rate),
    )
    assert (found.measuring, found.paced, found.operations_per_s, found.bytes_per_s) == (4, 1, 1000, 4096e3)


@pytest.mark.parametrize(("sizes", "is_of_bytes"), [((4096, 8192), False), ((4096, 2**20), True), ((2**20,), True)])
def test_operations_add_up_where_all_are_small(sizes: tuple[int, ...], is_of_bytes: bool) -> None:
    items = [item("a", str(size), "measuring") for size in sizes]
    paces = {f"a_{size}": Pace(9, operations_per_s=10, bytes_per_s=10 * size) for size in sizes}
    assert standing(*items, **paces).is_of_bytes == is_of_bytes


def test_the_host_that_takes_longest_says_how_long_it_takes() -> None:
    items = [item("a", "1", "measuring"), item("a", "2", "planned"), item("b", "1", "measuring")]
    # what its host told two seconds ago, and the plan of what waits
    assert standing(*items, a_1=Pace(8, 30 * S), b_1=Pace(8, 40 * S)).left_ns == 128 * S
    assert standing(*items).left_ns == 200 * S
    assert standing(*items, item("c", "1", "planned", plan=None)).left_ns is None
    assert standing(item("a", "1", "complete")).left_ns is None
