"""Whole checks of drives that change their speed slowly, and of those that do not."""

from __future__ import annotations

from collections import Counter

import pytest
from simulated_estimates import ETCD
from simulated_speeds import ChangingDrive, check, drifting, steady, two_speeds

from drivelab.analyse.verdict import judge_need
from drivelab.model.metric import WINDOW_SPAN
from simulated_drives import hits_at_least

CHECKS = 6
LIMIT = ETCD.thresholds[0].threshold
P99 = "total_latency_ns_p99"


def verdicts_of(drive: ChangingDrive, *, is_quick: bool = False) -> Counter[str]:
    """How many checks are right, undecided or wrong, held against the long run."""
    truth = "pass" if drive.quantile_ns(0.99) <= LIMIT.limit else "fail"
    outcomes = [judge_need(ETCD, check(drive, seed, is_quick=is_quick), []).checks[0].outcome for seed in range(CHECKS)]
    return Counter("undecided" if one == "undecided" else "right" if one == truth else "wrong" for one in outcomes)


@pytest.mark.parametrize("is_quick", [False, True])
@pytest.mark.parametrize("drive", [steady(), steady(15e6), steady(noise=0.5)], ids=["fast", "slow", "noisy"])
def test_a_steady_drive_is_judged_as_surely_as_in_one_window(drive: ChangingDrive, is_quick: bool) -> None:
    assert verdicts_of(drive, is_quick=is_quick) == {"right": CHECKS}


@pytest.mark.parametrize("stays_s", [(5, 5), (15, 15), (10, 30)])
def test_a_speed_that_changes_within_a_check_is_not_judged_by_one_of_them(stays_s: tuple[float, float]) -> None:
    slow_s, fast_s = stays_s
    # of those that would be wrong nearly all stay undecided: one may have met a single speed at all of its moments
    found = verdicts_of(two_speeds(slow_s, fast_s, factor=30.0 if slow_s == fast_s else 12.0))
    assert found["wrong"] <= 1
    assert found["undecided"] >= CHECKS // 2


def test_an_answer_says_for_what_time_it_holds() -> None:
    # slow for minutes: in half a minute nothing shows it
    drive = two_speeds(3000, 3000)
    verdict, words = judge_need(ETCD, check(drive, 1), []), "in 5 windows within "
    assert verdict.outcome in ("pass", "fail")
    assert words in verdict.sentence
    assert words in verdict.checks[0].text
    assert verdict.checks[0].windows.startswith(words)
    # a quick check has one
    assert "windows" not in judge_need(ETCD, check(drive, 1, is_quick=True), []).sentence


def test_windows_span_most_of_a_check() -> None:
    span = check(steady(), 1)[0].estimates[WINDOW_SPAN]
    assert span.value is not None
    assert 25e9 < span.value < 45e9
    assert span.sample_count == 5


def test_intervals_of_a_steady_drive_cover_what_it_does() -> None:
    drive = steady(noise=0.5)
    truth = {P99: drive.quantile_ns(0.99), "total_latency_ns_p50": drive.quantile_ns(0.5)}
    found = [
        (one.estimates[metric], value)
        for seed in range(15)
        for one in check(drive, seed)
        for metric, value in truth.items()
    ]
    hits = sum((one.low or 0) <= value <= (one.high or float("inf")) for one, value in found)
    assert hits >= hits_at_least(0.95, len(found))


def test_a_drift_within_a_check_makes_its_interval_wide() -> None:
    widths = []
    for drive in (steady(3e6), drifting(4, 120, median_ns=3e6)):
        p50 = check(drive, 3)[1].estimates["total_latency_ns_p50"]
        assert p50.low is not None
        assert p50.high is not None
        widths.append(p50.high / p50.low)
    assert widths[1] > 1.3 > widths[0]
