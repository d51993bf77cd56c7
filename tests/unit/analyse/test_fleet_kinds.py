"""Hosts of several kinds that nothing tells apart but what they take: a slow one is found among its own kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from simulated_fleet import Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.model.fleet import HostSeries

DAY = Fleet(hosts=8, drives=6, dates=1, hours=24.0, step_s=60)
SLOW_AFTER_NOON = [Slowdown("h6", "", 3.0, 0.5)]


def of_kinds(fleet: Fleet, seed: int, factors: Mapping[str, float]) -> list[HostSeries]:
    """The hosts of a fleet, some of them of hardware that takes so many times as long."""
    return [replace(one, latency=one.latency * np.float32(factors.get(one.host, 1.0))) for one in fleet.made(seed)]


def slower(factor: float, *numbers: int) -> dict[str, float]:
    """The factor of some hosts."""
    return {f"h{number}": factor for number in numbers}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slow", [(5, 6, 7, 8), (1, 2, 3, 4)])
def test_a_slow_host_is_found_where_hosts_are_of_two_kinds(slow: Sequence[int], seed: int) -> None:
    fleet = replace(DAY, slowdowns=SLOW_AFTER_NOON)
    answer = judge_fleet(of_kinds(fleet, seed, slower(7.5, *slow)))
    (one,) = answer.hosts
    assert (one.host, one.drive, one.peer_count, one.is_still_slow) == ("h6", "", 3, True)
    assert one.ratio == pytest.approx(3.0, rel=0.1)
    assert abs(one.spans[0].since_s - (answer.begin_s + 43_200)) <= 600
    assert (answer.drives, answer.hosts_unjudged) == ((), ())
    (kinds,) = answer.host_kinds
    names = tuple(f"h{number}" for number in slow)
    assert kinds.hosts[1] == names
    assert kinds.ratios[1] == pytest.approx(7.5, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_kinds_that_differ_as_much_as_the_slow_host_became_slower_are_told_apart(seed: int) -> None:
    fleet = replace(DAY, hours=12.0, slowdowns=[Slowdown("h6", "", 2.0, 0.5)])
    answer = judge_fleet(of_kinds(fleet, seed, slower(2.0, 1, 2, 3, 4)))
    assert [one.host for one in answer.hosts] == ["h6"]


def test_drives_of_hosts_with_few_are_held_against_their_own_kind() -> None:
    fleet = replace(DAY, drives=2, slowdowns=[Slowdown("h6", "disk1", 3.0, 0.5)])
    answer = judge_fleet(of_kinds(fleet, 1, slower(7.5, 1, 2, 3, 4)))
    assert [(one.host, one.drive) for one in answer.drives] == [("h6", "disk1")]


def test_hosts_of_two_kinds_that_are_as_they_should_be_have_no_slow_one() -> None:
    for seed in range(8):
        answer = judge_fleet(of_kinds(replace(DAY, hours=12.0), seed, slower(3.0, 2, 4, 6, 8)))
        assert (answer.hosts, answer.odd_hosts, answer.hosts_unjudged) == ((), (), ())
        assert len(answer.host_kinds) == 1


def test_hosts_that_are_alike_are_of_one_kind() -> None:
    for seed in range(10):
        assert judge_fleet(replace(DAY, hours=6.0).made(seed)).host_kinds == ()


def test_a_few_slow_hosts_are_no_kind() -> None:
    answer = judge_fleet(of_kinds(replace(DAY, hosts=12, hours=12.0), 1, slower(2.0, 1, 2, 3, 4)))
    assert answer.host_kinds == ()
    assert {one.host for one in answer.hosts} == {"h1", "h2", "h3", "h4"}


def test_hosts_that_all_differ_cannot_be_judged() -> None:
    factors = {f"h{number}": 2.0**number for number in range(1, 9)}
    answer = judge_fleet(of_kinds(DAY, 1, factors))
    assert answer.hosts == ()
    assert {one.host for one in answer.hosts_unjudged} == set(factors)
    assert all(one.lacks_model and "tell their models in a column 'model'" in one.why for one in answer.hosts_unjudged)
    assert answer.least_ratios["hosts"] == {}
