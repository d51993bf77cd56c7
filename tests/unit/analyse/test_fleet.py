"""Which drive of many is slow: made-up fleets, and slow exact versions of what is computed fast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_fleet import DAY_S, MONDAY_S, Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.analyse.fleet_excess import above_others, load_curve, logarithm
from drivelab.analyse.fleet_usual import dates_of, less_usual, median_of_columns
from drivelab.analyse.fleet_windows import Windows, dates_by_chance, odd_rows, thresholds
from drivelab.model.fleet import FleetAnswer, HostSeries, SlowOne

SEEDS = range(10)


def names(found: tuple[SlowOne, ...]) -> set[str]:
    """Which ones they are."""
    return {f"{one.host}/{one.drive}".rstrip("/") for one in found}


def blamed(answer: FleetAnswer) -> set[str]:
    """Drives that are slow, or stood out."""
    return names(answer.drives) | names(answer.odd_drives)


def false_max(dates: int) -> float:
    """Alarms of drives that are as their peers: one of a thousand dates, and three standard errors."""
    return dates / 1000 + 3 * (dates / 1000) ** 0.5


def test_the_median_of_the_others_is_that_of_numpy() -> None:
    random = np.random.default_rng(1)
    for columns in (4, 5, 12):
        values = random.normal(size=(50, columns)).astype(np.float32)
        values[random.random(values.shape) < 0.3] = np.nan
        values[3] = np.nan
        found = above_others(values)
        for row, column in np.ndindex(values.shape):
            others = np.delete(values[row], column)
            is_judged = np.isfinite(values[row, column]) and np.isfinite(others).sum() >= 3
            expected = values[row, column] - np.nanmedian(others) if is_judged else np.nan
            np.testing.assert_allclose(found[row, column], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:All-NaN slice encountered", "ignore:Mean of empty slice")
@pytest.mark.parametrize("rows", [0, 1, 2, 7, 700])
def test_medians_of_columns_are_those_of_numpy(rows: int) -> None:
    random = np.random.default_rng(rows)
    values = random.normal(size=(rows, 40)).astype(np.float32)
    values[random.random(values.shape) < np.linspace(0, 1, 40)] = np.nan
    values[random.random(values.shape) < 0.1] = np.inf
    np.testing.assert_array_equal(median_of_columns(values), np.nanmedian(values, axis=0))


def test_windows_are_odd_as_counting_by_hand_tells() -> None:
    random = np.random.default_rng(2)
    time_s = np.cumsum(random.choice([15, 15, 15, 30, 400], size=300)).astype(np.int64)
    excess = random.normal(size=(300, 3)).astype(np.float32)
    excess[random.random(excess.shape) < 0.2] = np.nan
    inside, ending = odd_rows(excess, Windows(time_s, 15), [(300, 0.2)])
    expected_inside, expected_ending = np.zeros_like(inside), np.zeros_like(ending)
    for end, column in np.ndindex(excess.shape):
        rows = [row for row in range(end + 1) if time_s[row] > time_s[end] - 300]
        known = [excess[row, column] for row in rows if np.isfinite(excess[row, column])]
        is_whole = time_s[end] - time_s[rows[0]] + 15 >= 0.95 * 300 and len(known) >= 10
        if is_whole and sum(one > 0.2 for one in known) > len(known) / 2:
            expected_ending[end, column] = True
            expected_inside[rows, column] = True
    assert ending.any()
    np.testing.assert_array_equal(ending, expected_ending)
    np.testing.assert_array_equal(inside, expected_inside)


def test_the_curve_of_load_is_the_one_that_was_put_in() -> None:
    random = np.random.default_rng(3)
    load = random.normal(0, 0.4, (4000, 12)).astype(np.float32)
    above = above_others(load)
    # steeper the more there is to do, as in queues
    latency = above_others((np.exp(load) + random.normal(0, 0.2, load.shape)).astype(np.float32))
    curve = load_curve([(load, above, latency)])
    at = np.array([-0.2, 0.0, 0.6], dtype=np.float32)
    np.testing.assert_allclose(curve.due(at, at), np.exp(at) - 1, atol=0.04)
    assert not load_curve([(np.full_like(load, np.nan), above * np.nan, latency)]).due(at, at).any()


def test_little_load_makes_no_drive_slow_whose_latency_is_that_of_its_peers() -> None:
    random = np.random.default_rng(13)
    load = random.normal(0, 0.4, (4000, 12)).astype(np.float32)
    curve = load_curve([(load, above := above_others(load), (2 * above).astype(np.float32))])
    idle = np.array([-6.0], dtype=np.float32)
    assert float(curve.due(idle, idle)[0]) == pytest.approx(-np.log(1.25))


def test_what_is_no_positive_number_is_no_sample() -> None:
    found = logarithm(np.array([1.0, 0.0, -3.0, np.nan, np.inf], dtype=np.float32))
    assert np.isfinite(found).tolist() == [True, False, False, False, False]


def test_what_is_usual_counts_as_far_as_peers_differ() -> None:
    excess = np.random.default_rng(4).normal(0, 0.02, (600, 12)).astype(np.float32)
    excess[:, 0] += 0.5
    dates = dates_of(np.arange(600, dtype=np.int64) * (DAY_S // 100))
    bounded = less_usual([(excess, dates)])[0]
    whole = less_usual([(excess, dates)], is_bounded=False)[0]
    assert float(np.median(bounded[:, 0])) > 0.45
    assert abs(float(np.median(whole[:, 0]))) < 0.01


def test_thresholds_lie_where_chance_hardly_comes() -> None:
    random = np.random.default_rng(5)
    time_s = (MONDAY_S + np.arange(5760) * 15).astype(np.int64)
    excess = random.normal(0, 1, (5760, 100)).astype(np.float32)
    limits = thresholds([(excess, Windows(time_s, 15))], 100, 100)
    # the median of 20 samples of the normal distribution scatters by 0.27, and of 720 by 0.047
    told = {limit.window_s: limit.odd for limit in limits}
    assert 0.27 * 4 < told[300] < 0.27 * 6
    assert 0.047 * 2.9 < told[10_800] < 0.047 * 5
    assert all(limit.sure >= limit.odd for limit in limits)


def test_a_fleet_that_is_as_it_should_be_has_no_slow_drive() -> None:
    alarms = dates = 0
    for seed in SEEDS:
        answer = judge_fleet(Fleet(spread=0.03).made(seed))
        assert (answer.drives, answer.hosts, answer.unjudged) == ((), (), ())
        alarms, dates = alarms + sum(len(one.days) for one in answer.odd_drives), dates + answer.drive_dates
    assert alarms <= false_max(dates)


@pytest.mark.parametrize(("ratio", "begin_share", "least"), [(1.2, 0.0, 0.95), (1.3, 0.4, 0.95), (2.0, 0.9, 0.95)])
def test_a_drive_that_slows_down_is_found(ratio: float, begin_share: float, least: float) -> None:
    slowdown = Slowdown("h3", "disk7", ratio, begin_share, date=1)
    found = [blamed(judge_fleet(Fleet(slowdowns=[slowdown]).made(seed))) for seed in SEEDS]
    assert sum("h3/disk7" in one for one in found) >= least * len(SEEDS)
    assert sum(len(one - {"h3/disk7"}) for one in found) <= false_max(len(SEEDS) * 192)


def test_a_drive_slow_from_the_first_sample_on_is_told_as_such() -> None:
    answer = judge_fleet(Fleet(slowdowns=[Slowdown("h2", "disk1", 2.0)]).made(1))
    (one,) = answer.drives
    assert (one.host, one.drive, one.is_from_the_start, one.peer_count) == ("h2", "disk1", True, 11)
    assert one.ratio == pytest.approx(2.0, rel=0.1)
    assert one.ratio_low < one.ratio < one.ratio_high
    assert one.spans[0].since_s - (MONDAY_S + 13 * 3600) <= 60
    assert one.spans[0].told_after_s <= 300
    assert one.severities["high"] + one.severities["moderate"] == 2
    assert one.risk in (20, 35, 50)


def test_its_begin_is_told() -> None:
    answer = judge_fleet(Fleet(slowdowns=[Slowdown("h2", "disk1", 1.6, 0.5, date=1)]).made(2))
    (one,) = answer.drives
    expected_s = MONDAY_S + DAY_S + 13 * 3600 + int(1.5 * 3600)
    assert abs(one.spans[0].since_s - expected_s) <= 900
    assert one.share == pytest.approx(0.25, abs=0.06)
    assert list(one.days) == ["2023-11-21"]


def test_a_host_that_is_slow_as_a_whole_is_no_matter_of_its_drives() -> None:
    slowdown = Slowdown("h5", "", 1.4, 0.3, date=1)
    answer = judge_fleet(Fleet(hosts=12, dates=5, slowdowns=[slowdown]).made(3))
    assert names(answer.hosts) == {"h5"}
    assert answer.drives == ()
    assert answer.hosts[0].ratio == pytest.approx(1.4, rel=0.1)


def test_a_host_that_is_slower_on_all_dates_may_be_another_kind() -> None:
    answer = judge_fleet(Fleet(hosts=12, dates=5, slowdowns=[Slowdown("h5", "", 1.4)]).made(4))
    assert names(answer.always_hosts) == {"h5"}
    assert (answer.hosts, answer.drives) == ((), ())


def test_a_drive_with_more_to_do_is_not_slow() -> None:
    busy = judge_fleet(Fleet(busy={"disk4": 1.8}, dates=3).made(5))
    assert blamed(busy) == set()
    # without its load nobody could tell
    blind = [
        replace(one, throughput=np.full_like(one.throughput, np.nan)) for one in Fleet(busy={"disk4": 1.8}).made(5)
    ]
    assert "h1/disk4" in blamed(judge_fleet(blind))


def test_models_are_compared_with_their_own() -> None:
    fleet = Fleet(models=("fast", "slow"), slowdowns=[Slowdown("h1", "disk1", 1.8, date=1)])
    answer = judge_fleet(fleet.made(6))
    assert names(answer.drives) == {"h1/disk1"}
    assert answer.drives[0].role == "fast"
    assert answer.drives[0].peer_count == 5


def test_two_models_that_nobody_tells_apart_cannot_be_judged() -> None:
    answer = judge_fleet(Fleet(models=("fast", "fast", "slow"), tells_models=False).made(7))
    assert answer.drives == ()
    assert {one.host for one in answer.unjudged} == {f"h{number}" for number in range(1, 9)}
    assert "tell their models in a column 'model'" in answer.unjudged[0].why


@pytest.mark.parametrize("drives", [1, 2, 3])
def test_too_few_peers_in_all_hosts_cannot_be_judged_and_are_not_fine(drives: int) -> None:
    answer = judge_fleet(Fleet(hosts=1, drives=drives, slowdowns=[Slowdown("h1", "disk1", 3.0, date=1)]).made(8))
    assert answer.judged_drive_count == 0
    assert len(answer.unjudged) == drives
    assert (
        f"{drives} drive{'s' if drives > 1 else ''} of one kind in the host, and it takes 4" in answer.unjudged[0].why
    )


def test_drives_without_samples_and_hosts_too_few_are_told() -> None:
    hosts = Fleet(hosts=3).made(9)
    hosts[0].latency[:, 2] = np.nan
    answer = judge_fleet(hosts)
    assert [(one.host, one.drive) for one in answer.unjudged] == [("h1", "disk3")]
    assert [one.host for one in answer.hosts_unjudged] == ["h1", "h2", "h3"]


def test_samples_an_hour_apart_are_judged_by_the_longest_window_alone() -> None:
    fleet = Fleet(hours=24, step_s=1800, dates=6, missing=0, slowdowns=[Slowdown("h2", "disk1", 2.0, date=3)])
    answer = judge_fleet(fleet.made(10))
    assert names(answer.drives) == {"h2/disk1"}
    assert set(answer.least_ratios["drives"]) == {"10800"}


def test_samples_a_day_apart_cannot_be_judged() -> None:
    answer = judge_fleet(Fleet(hours=24, step_s=DAY_S, dates=30).made(11))
    assert answer.judged_drive_count == 0


def test_one_short_host_is_judged_by_what_there_is() -> None:
    fleet = Fleet(hosts=1, drives=8, dates=1, hours=0.25, slowdowns=[Slowdown("h1", "disk2", 3.0)])
    answer = judge_fleet(fleet.made(12))
    assert names(answer.drives) == {"h1/disk2"}


def test_an_answer_is_plain_data() -> None:
    plain = judge_fleet(Fleet(slowdowns=[Slowdown("h2", "disk1", 2.0)]).made(1)).to_json()
    assert plain["drives"][0]["risk"] > 0
    assert plain["judged_drive_count"] == 96


@pytest.mark.parametrize(("drives", "dates", "expected"), [(1486, 14, 2), (12, 1, 1), (50, 14, 2), (10**6, 300, 6)])
def test_so_many_odd_dates_chance_makes(drives: int, dates: int, expected: int) -> None:
    assert dates_by_chance(drives, dates) == expected


def test_a_single_sample_is_no_answer() -> None:
    one = HostSeries(
        "", "h", ("a",), ("",), np.array([MONDAY_S]), *(np.ones((1, 1), dtype=np.float32) for _ in range(2))
    )
    assert judge_fleet([one]).judged_drive_count == 0


@pytest.mark.parametrize("slow_dates", [3, 6, 8])
def test_a_host_that_is_slow_on_most_dates_is_told(slow_dates: int) -> None:
    slowdowns = [Slowdown("h3", "", 3.0, date=9 - date) for date in range(slow_dates)]
    answer = judge_fleet(Fleet(dates=10, hours=1.0, slowdowns=slowdowns).made(21))
    assert names(answer.hosts) | names(answer.always_hosts) == {"h3"}
    assert names(answer.drives) == set()


@pytest.mark.parametrize("seed", range(31, 36))
def test_noise_of_samples_far_apart_makes_no_drive_slow(seed: int) -> None:
    answer = judge_fleet(Fleet(drives=8, hours=24.0, step_s=300, noise=0.5, wander=0.0).made(seed))
    assert answer.drives == ()
