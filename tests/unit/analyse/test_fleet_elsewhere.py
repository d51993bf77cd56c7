"""Drives that only other hosts tell of: those of hosts with few drives, and of hosts in which some are slow."""

from __future__ import annotations

import pytest
from simulated_fleet import Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.model.fleet import SlowOne
from drivelab.report.sentences.fleet_odd import answer_sentence


def places(found: tuple[SlowOne, ...]) -> set[tuple[str, str]]:
    """Which ones they are."""
    return {(one.host, one.drive) for one in found}


@pytest.mark.parametrize("drives", [1, 2, 3])
def test_the_drives_of_hosts_with_few_are_held_against_all_hosts(drives: int) -> None:
    fleet = Fleet(hosts=10, drives=drives, slowdowns=[Slowdown("h7", "disk1", 2.0, 0.4, date=1)])
    answer = judge_fleet(fleet.made(8))
    assert (places(answer.drives), answer.hosts, answer.unjudged) == ({("h7", "disk1")}, (), ())
    (one,) = answer.drives
    assert one.are_peers_elsewhere
    assert one.is_only_drive == (drives == 1)
    assert one.ratio == pytest.approx(2.0, rel=0.1)
    sentence = answer_sentence(answer)
    assert "disk1 of h7 takes " in sentence
    assert " what the drives of other hosts take for the same load" in sentence
    assert ("the only drive of its host, so either may be slow" in sentence) == (drives == 1)


@pytest.mark.parametrize("drives", [2, 3])
def test_a_host_all_of_whose_few_drives_are_slow_is_slow_as_a_whole(drives: int) -> None:
    answer = judge_fleet(Fleet(hosts=10, drives=drives, slowdowns=[Slowdown("h7", "", 2.0, 0.4, date=1)]).made(9))
    assert (answer.drives, places(answer.hosts)) == ((), {("h7", "")})


@pytest.mark.parametrize("drives", [1, 2, 3])
def test_hosts_with_few_drives_that_are_as_they_should_be_have_no_slow_one(drives: int) -> None:
    for seed in range(10):
        answer = judge_fleet(Fleet(hosts=12, drives=drives).made(100 + seed))
        assert (answer.drives, answer.hosts, answer.unjudged) == ((), (), ())


def slow_drives(count: int, of: int, begin_h: float, end_h: float) -> Fleet:
    """A fleet of hosts with few drives, of one of which some are slow for hours of a date."""
    slowdowns = [Slowdown("h4", f"disk{place + 1}", 2.0, begin_h / 24, end_h / 24) for place in range(count)]
    return Fleet(hosts=6, drives=of, dates=1, hours=24.0, step_s=60, wander=0.03, slowdowns=slowdowns)


@pytest.mark.parametrize(("begin_h", "end_h"), [(0, 24), (10, 24), (5, 8)])
@pytest.mark.parametrize(("count", "of"), [(2, 4), (3, 4), (4, 8)])
def test_where_half_of_a_host_is_slow_the_drives_are_and_not_the_host(
    count: int, of: int, begin_h: float, end_h: float
) -> None:
    assert judge_fleet(slow_drives(0, of, begin_h, end_h).made(6)).drives == ()
    answer = judge_fleet(slow_drives(count, of, begin_h, end_h).made(6))
    assert places(answer.drives) == {("h4", f"disk{place + 1}") for place in range(count)}
    assert answer.hosts == ()
    assert answer.unjudged == ()
    assert all(one.ratio == pytest.approx(2.0, rel=0.15) for one in answer.drives)


@pytest.mark.parametrize("of", [4, 8])
def test_where_all_of_a_host_is_slow_the_host_is(of: int) -> None:
    answer = judge_fleet(slow_drives(of, of, 5, 8).made(4))
    assert (answer.drives, places(answer.hosts)) == ((), {("h4", "")})


def test_where_most_hosts_are_mixed_none_is_held_against_the_others() -> None:
    slowdowns = [Slowdown(f"h{host}", drive, 2.0) for host in (1, 2, 3) for drive in ("disk1", "disk2")]
    answer = judge_fleet(Fleet(hosts=6, drives=4, slowdowns=slowdowns).made(5))
    assert answer.drives == ()
    assert {one.host for one in answer.unjudged} == {"h1", "h2", "h3"}
