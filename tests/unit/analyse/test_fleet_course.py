"""What a drive takes now that becomes worse, step by step or gradually, and what only swings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from simulated_fleet import MONDAY_S, Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.analyse.fleet_course import course_of
from drivelab.model.fleet import FleetAnswer, HostSeries, SlowOne
from drivelab.report.sentences.fleet_odd import answer_sentence
from drivelab.report.terminal.fleet import fleet_lines

BEGIN_S = MONDAY_S + 13 * 3600
# hour of the samples to what it takes over what it should
Ratio = Callable[[np.ndarray], np.ndarray]


def worsened(ratio: Ratio, seed: int, *, drive: str = "disk3", step_s: int = 60, dates: int = 1) -> FleetAnswer:
    """What is said of a fleet of which a drive, or without a name a host, takes longer as hours go by."""
    hosts = Fleet(hosts=6, drives=8, dates=dates, hours=24.0, step_s=step_s, spread=0.01, wander=0.01).made(seed)
    return judge_fleet([slowed(host, ratio, drive) if host.host == "h4" else host for host in hosts])


def slowed(host: HostSeries, ratio: Ratio, drive: str) -> HostSeries:
    columns = [place for place, name in enumerate(host.drives) if drive in ("", name)]
    latency = host.latency.copy()
    latency[:, columns] *= ratio((host.time_s - BEGIN_S) / 3600)[:, np.newaxis].astype(np.float32)
    return replace(host, latency=latency)


def lines_of(answer: FleetAnswer) -> list[str]:
    return fleet_lines(answer, {}, plain=True)


def places(found: tuple[SlowOne, ...]) -> list[tuple[str, str]]:
    return [(one.host, one.drive) for one in found]


def steps(*levels: tuple[float, float]) -> Ratio:
    """A ratio from each of these hours on."""
    begins, ratios = (np.array(part) for part in zip((-1.0, 1.0), *levels, strict=True))
    return lambda hours: ratios[np.searchsorted(begins, hours, side="right") - 1]


def ramp(begin_h: float, end_h: float, ratio: float) -> Ratio:
    """From 1 up to a ratio, in a straight line."""
    return lambda hours: 1 + np.clip((hours - begin_h) / (end_h - begin_h), 0, 1) * (ratio - 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("drive", ["disk3", ""])
@pytest.mark.parametrize(
    ("ratio", "now"),
    [
        (steps((6, 1.3), (9, 1.6), (12, 2.0)), 2.0),
        (ramp(6, 24, 2.0), 1.97),
        (ramp(0, 24, 2.0), 1.98),
        (ramp(21, 24, 3.0), 2.67),
    ],
)
def test_what_gets_worse_is_slow_by_what_it_takes_now(ratio: Ratio, now: float, drive: str, seed: int) -> None:
    answer = worsened(ratio, seed, drive=drive)
    (one,) = answer.hosts if not drive else answer.drives
    assert (places(answer.drives), places(answer.hosts))[not drive] == [("h4", drive)]
    assert one.is_still_slow
    assert one.ratio == pytest.approx(now, rel=0.12)
    assert 1.1 < one.ratio_low < one.ratio < one.ratio_high < 1.3 * now
    assert one.worsening is not None
    assert not one.worsening.is_at_once
    assert 1 < one.worsening.before_ratio < one.ratio / 1.2
    assert "; it has become worse, from 1." in answer_sentence(answer)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step_s", [15, 120, 300])
def test_one_step_more_is_told_with_its_moment(step_s: int, seed: int) -> None:
    answer = worsened(steps((12, 1.5), (18, 2.2)), seed, step_s=step_s)
    (one,) = answer.drives
    assert one.worsening is not None
    assert one.worsening.is_at_once
    assert abs(one.worsening.since_s - (BEGIN_S + 18 * 3600)) <= 3 * step_s
    assert one.worsening.before_ratio == pytest.approx(1.5, rel=0.1)
    assert one.ratio == pytest.approx(2.2, rel=0.1)
    sentence = answer_sentence(answer)
    assert "; it got worse at 2023-11-21 0" in sentence or "; it got worse at 0" in sentence
    assert ", from 1." in sentence


def test_a_step_within_the_last_hours_parts_before_from_now() -> None:
    (one,) = worsened(steps((12, 1.5), (23, 3.0)), 1).drives
    assert one.ratio == pytest.approx(3.0, rel=0.1)
    assert one.ratio_low > 2.5
    assert one.worsening is not None
    assert one.worsening.before_ratio == pytest.approx(1.5, rel=0.1)


def test_a_drive_that_gets_worse_over_dates_is_slow() -> None:
    answer = worsened(ramp(24, 168, 2.5), 1, step_s=300, dates=7)
    assert places(answer.drives) == [("h4", "disk3")]
    assert answer.drives[0].ratio == pytest.approx(2.45, rel=0.1)
    assert answer.drives[0].worsening is not None


@pytest.mark.parametrize("until_h", [42, 48])
def test_what_swings_between_day_and_night_takes_what_it_takes_now_and_gets_no_worse(until_h: int) -> None:
    def day_and_night(hours: np.ndarray) -> np.ndarray:
        return np.where(hours < 4, 1.0, np.where((hours % 24 >= 6) & (hours % 24 < 18), 2.0, 1.4))

    hosts = Fleet(hosts=6, drives=8, dates=2, hours=24.0, step_s=60, spread=0.01, wander=0.01).made(3)
    made = [slowed(host, day_and_night, "disk3") if host.host == "h4" else host for host in hosts]
    kept = made[0].time_s < BEGIN_S + until_h * 3600
    cut = [
        replace(one, time_s=one.time_s[kept], latency=one.latency[kept], throughput=one.throughput[kept])
        for one in made
    ]
    (one,) = judge_fleet(cut).drives
    assert one.ratio == pytest.approx(2.0 if until_h == 42 else 1.4, rel=0.1)
    assert one.worsening is None


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_a_constant_ratio_gets_worse_hardly_ever(noise: float) -> None:
    alarms = 0
    for seed in range(200):
        random = np.random.default_rng([seed, int(10 * noise)])
        wander = np.repeat(random.normal(0, 0.05, 25), 60)[: 60 * 24]
        excess = np.log(1.6) + wander + random.normal(0, noise, 60 * 24)
        course = course_of(BEGIN_S + 60 * np.arange(60 * 24), excess, 60)
        alarms += course.worsening is not None
        assert course.low < 1.75
        assert course.high > 1.45
    assert alarms <= 2


@pytest.mark.parametrize("count", [1, 5, 20, 47])
def test_few_samples_tell_a_ratio_and_no_course(count: int) -> None:
    course = course_of(BEGIN_S + 15 * np.arange(count), np.linspace(0.5, 0.7, count), 15)
    assert 1.6 < course.low <= course.ratio <= course.high < 2.1
    assert course.worsening is None


def test_what_stands_out_to_the_end_and_is_made_by_no_chance_is_no_all_clear() -> None:
    answer = worsened(steps((12, 2.0)), 1)
    (one,) = answer.drives
    odd = replace(answer, drives=(), odd_drives=(one,))
    assert odd.unexplained == (one,)
    assert [told["drive"] for told in odd.to_json()["unexplained"]] == ["disk3"]
    sentence = answer_sentence(odd)
    assert sentence.startswith(
        "No drive is slow for sure, but disk3 of h4 takes 2.0x what its peers take since 2023-11-21"
    )
    assert "stays slower" not in sentence
    assert "- 1 drive stood out for a while; chance alone makes one in about " in "\n".join(lines_of(odd))
    host = replace(odd, odd_drives=(), odd_hosts=(replace(one, drive=""),))
    assert answer_sentence(host).startswith("No drive is slow for sure, but host h4 as a whole takes 2.0x ")
    assert "- 1 host stood out as a whole for a while: --details" in lines_of(host)
    # of a thousand dates one is odd by chance, and what has ended is none that lasts
    assert replace(odd, odd_by_chance=1.0).unexplained == ()
    ended = replace(odd, odd_drives=(replace(one, is_still_slow=False),))
    assert answer_sentence(ended).startswith("No drive stays slower than its peers: ")


def test_a_model_that_is_slower_everywhere_is_named() -> None:
    drives = [f"disk{place}" for place in (2, 4, 6, 8)]
    slow = [Slowdown(f"h{host}", drive, 1.8, 0.5) for host in range(1, 7) for drive in drives]
    fleet = Fleet(hosts=6, drives=8, dates=1, hours=24.0, step_s=60, models=("fast", "slow"), slowdowns=slow)
    answer = judge_fleet(fleet.made(1))
    assert answer_sentence(answer).startswith("All 24 drives of model slow in 6 hosts are slower since 2023-11-21 01:0")
    lines = fleet_lines(answer, {}, plain=True, has_details=True)
    place = next(place for place, line in enumerate(lines) if line.startswith("slower together: model slow, 1."))
    assert "disk2, disk4, disk6, disk8 of h1; " in lines[place + 2]


@pytest.mark.parametrize(("step_s", "wander"), [(15, 0.06), (60, 0.03), (300, 0.0)])
def test_a_healthy_fleet_stays_so_in_the_first_sentence(step_s: int, wander: float) -> None:
    for seed in range(5):
        fleet = Fleet(hosts=6, drives=8, dates=1, hours=12.0, step_s=step_s, spread=0.01, wander=wander)
        answer = judge_fleet(fleet.made(300 + seed))
        assert answer_sentence(answer) == "No drive stays slower than its peers: all 48 drives were compared."


@pytest.mark.parametrize("seed", [1, 4, 5, 8, 9])
def test_a_drive_whose_last_samples_scatter_widely_is_slow_by_those_before(seed: int) -> None:
    random = np.random.default_rng(seed)
    swing = 0.6 * np.sin(np.arange(30) / 30 * 3 * np.pi)
    excess = np.concatenate([0.3 + random.normal(0, 0.1, 200), 0.9 + swing + random.normal(0, 0.5, 30)])
    course = course_of(BEGIN_S + 300 * np.arange(230), excess, 300)
    assert 1.3 < course.low < course.ratio < 1.5
    assert course.worsening is None


def test_last_samples_that_do_not_tell_a_slow_drive_from_its_peers_are_no_recovery() -> None:
    """48 wandering samples may tell nothing where all of them together do."""
    random = np.random.default_rng(5)
    excess = np.concatenate([random.normal(0.25, 0.05, 200), np.repeat(random.normal(0.06, 0.1, 12), 4)])
    now = course_of(60 * np.arange(len(excess)), excess, 60 * 60)
    assert now.low > 1
