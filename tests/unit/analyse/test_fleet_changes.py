"""Many drives that become slower at one moment, which no peers can tell; and what is only the work of a day."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_fleet import DAY_S, MONDAY_S, Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.analyse.fleet_changes import common_changes
from drivelab.model.fleet import HostSeries
from drivelab.report.sentences.fleet_odd import answer_sentence

BEGIN_S = MONDAY_S + 13 * 3600
HOSTS = [f"h{number}" for number in range(1, 7)]
DRIVES = [f"disk{number}" for number in range(1, 9)]


def fleet(slowdowns: list[Slowdown], dates: int = 1) -> Fleet:
    """Six hosts with eight drives, a sample a minute."""
    return Fleet(hosts=6, drives=8, dates=dates, hours=24.0, step_s=60, slowdowns=slowdowns)


def slower(hosts: list[str], drives: list[str], ratio: float, begin_h: float, end_h: float = 24.0) -> list[Slowdown]:
    """Each of these drives of each of these hosts, for hours of the first date."""
    return [Slowdown(host, drive, ratio, begin_h / 24, end_h / 24, date=0) for host in hosts for drive in drives]


def test_half_of_the_drives_of_each_host_are_told_with_their_begin() -> None:
    answer = judge_fleet(fleet(slower(HOSTS, DRIVES[:4], 2.0, 10)).made(1))
    (change,) = answer.changes
    assert abs(change.since_s - (BEGIN_S + 10 * 3600)) <= 60
    assert change.is_still_slow
    assert change.ratio == pytest.approx(2.0, rel=0.1)
    assert change.by_host == {host: tuple(DRIVES[:4]) for host in HOSTS}
    assert (change.drive_count, change.is_of_hosts) == (48, False)
    # none of them is told twice, nor is any said to be of another kind
    assert (answer.drives, answer.hosts, answer.unjudged) == ((), (), ())
    sentence = answer_sentence(answer)
    assert sentence.startswith("24 of 48 drives in 6 hosts are slower since 2023-11-20 23:0")
    assert "disk1, disk2, disk3 and disk4 of each of them take " in sentence
    assert "what they took before, with hardly more to do. No other drive stays slower" in sentence


def test_half_of_the_hosts_are_told_by_their_own_past() -> None:
    answer = judge_fleet(fleet(slower(HOSTS[:3], [""], 1.7, 12)).made(2))
    (change,) = answer.changes
    assert (change.is_of_hosts, change.whole_hosts) == (True, ("h1", "h2", "h3"))
    assert (answer.drives, answer.hosts) == ((), ())
    sentence = answer_sentence(answer)
    assert sentence.startswith("3 of 6 hosts are slower since 2023-11-21 01:0")
    assert ": h1, h2 and h3 take 1." in sentence


def test_all_drives_are_told_by_their_own_past() -> None:
    answer = judge_fleet(fleet(slower(HOSTS, [""], 1.7, 12)).made(3))
    (change,) = answer.changes
    assert abs(change.since_s - (BEGIN_S + 12 * 3600)) <= 60
    assert len(change.ratios) == 48
    assert answer_sentence(answer).startswith("All 48 drives in 6 hosts are slower since 2023-11-21 01:0")
    plain = answer.to_json()["changes"][0]
    assert (len(plain["drives"]), plain["hosts"]) == (48, HOSTS)


@pytest.mark.parametrize("drives", [DRIVES[:4], [""]])
def test_what_they_came_back_from_has_an_end(drives: list[str]) -> None:
    answer = judge_fleet(fleet(slower(HOSTS, drives, 2.0, 6, 11)).made(4))
    (change,) = answer.changes
    assert not change.is_still_slow
    assert abs(change.until_s - (BEGIN_S + 11 * 3600)) <= 120
    sentence = answer_sentence(answer)
    assert " were slower from 2023-11-20 19:0" in sentence
    assert ", not since: " in sentence


def test_a_drive_that_is_slow_beside_such_a_change_is_told_as_well() -> None:
    one = Slowdown("h2", "disk7", 2.5, 0.1)
    answer = judge_fleet(fleet([*slower(HOSTS, DRIVES[:4], 2.0, 10), one]).made(5))
    assert [(found.host, found.drive) for found in answer.drives] == [("h2", "disk7")]
    assert ". 1 of 48 drives is slow: disk7 of h2" in answer_sentence(answer)


def test_a_drive_that_is_slow_now_comes_before_what_many_came_back_from() -> None:
    one = Slowdown("h2", "disk7", 2.5, 0.6)
    first, second = answer_sentence(judge_fleet(fleet([*slower(HOSTS, [""], 2.0, 3, 8), one]).made(7))).split(". ")
    assert first.startswith("1 of 48 drives is slow: disk7 of h2 takes ")
    assert second.startswith("All 48 drives in 6 hosts were slower from 2023-11-20 16:0")


def test_one_or_two_hosts_are_no_common_change() -> None:
    answer = judge_fleet(fleet(slower(HOSTS[:1], [""], 2.0, 10)).made(6))
    assert answer.changes == ()
    assert [one.host for one in answer.hosts] == ["h1"]
    assert common_changes(fleet(slower(HOSTS[:2], [""], 2.0, 10)).made(6)) == []


def with_day(hosts: list[HostSeries], ratio: float, *, is_sudden: bool, has_load: bool = True) -> list[HostSeries]:
    """Hosts whose drives have more to do by the time of day, and take longer."""
    found = []
    for host in hosts:
        of_day = host.time_s % DAY_S / DAY_S
        share = (of_day > 0.4) & (of_day < 0.7) if is_sudden else (1 - np.cos(of_day * 2 * np.pi)) / 2
        factor = np.exp(np.log(ratio) * share)[:, np.newaxis].astype(np.float32)
        throughput = host.throughput * factor if has_load else np.full_like(host.throughput, np.nan)
        found.append(replace(host, latency=host.latency * factor, throughput=throughput))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ratio", [2.0, 4.0])
def test_what_load_does_by_the_time_of_day_is_no_change(ratio: float, seed: int) -> None:
    hosts = fleet([]).made(20 + seed)
    assert common_changes(with_day(hosts, ratio, is_sudden=False)) == []
    assert common_changes(with_day(hosts, ratio, is_sudden=False, has_load=False)) == []
    assert common_changes(with_day(hosts, ratio, is_sudden=True)) == []


def test_what_comes_at_one_time_of_each_date_is_no_change() -> None:
    hosts = fleet([], dates=3).made(30)
    assert common_changes(with_day(hosts, 2.0, is_sudden=True, has_load=False)) == []


def test_without_throughput_they_may_have_more_to_do() -> None:
    answer = judge_fleet(with_day(fleet([]).made(31), 2.0, is_sudden=True, has_load=False))
    assert len(answer.changes) == 1
    assert "what they took before, or have more to do" in answer_sentence(answer)


@pytest.mark.parametrize(
    "healthy",
    [
        Fleet(hosts=3),
        Fleet(hosts=8, drives=4, hours=24.0, step_s=60),
        Fleet(hosts=4, drives=8, hours=24.0, step_s=300, dates=3, noise=0.4),
        Fleet(hosts=12, drives=1, hours=24.0, step_s=60, dates=1),
    ],
)
def test_fleets_that_are_as_they_should_be_have_no_change(healthy: Fleet) -> None:
    for seed in range(5):
        assert common_changes(healthy.made(200 + seed)) == []


def test_what_lasts_longer_is_never_said_to_need_more() -> None:
    spread = Fleet(hosts=6, drives=8, dates=2, wander=0.3).made(40)
    for least in judge_fleet(spread).least_ratios.values():
        assert list(least.values()) == sorted(least.values(), reverse=True)
