"""Verdicts on rates that do not last: a burst, a write cache, the room of a fast one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_estimates import CONSUL, ETCD, KAFKA, MS, estimate, etcd_trials, near

from drivelab.analyse.verdict import judge_need
from drivelab.model.finding import Finding
from drivelab.model.trial_summary import TrialSummary
from drivelab.needs.load import load_need


def test_what_a_full_cache_leaves_is_what_a_program_is_told() -> None:
    rates = {"throughput_bytes_per_s": near(303e6, "B/s")}
    log = [TrialSummary("sequential-write-qd8", "", "write", rates)]
    left = Finding(
        "writes-left-in-cache", "warning", "it was", log[0].name, {"token": "bytes", "base_per_s": 209e6}, "longer"
    )
    told = judge_need(KAFKA, log, [left]).sentence
    assert told.startswith("Kafka: here a broker's log on it takes about 209 MB/s (at first 303 MB/s), ")
    elsewhere = replace(left, trial="sequential-write-qd1")
    assert "about 303 MB/s, " in judge_need(KAFKA, log, [elsewhere]).sentence


def test_what_may_be_a_burst_has_no_margin() -> None:
    burst = Finding("burst-possible", "warning", "it may be a burst; so it is", "", {}, "measure the base rate")
    summaries = [TrialSummary("random-write-qd32", "", "write", {"iops": near(15_000, "1/s")})]
    (check,) = (one for one in judge_need(CONSUL, summaries, [burst]).checks if one.threshold.metric == "iops")
    assert (check.outcome, check.margin_ratio) == ("undecided", None)
    assert "margin" not in check.text
    assert check.why.startswith("it may be a burst; as measured, 15 000 random 4 KiB writes a second")
    assert check.may_not_last == "it may be a burst; so it is"


@pytest.mark.parametrize(("left_per_s", "outcome"), [(134e6, "fail"), (248e6, "undecided"), (469e6, "pass")])
def test_a_throughput_rests_on_what_is_left_behind_a_cliff(left_per_s: float, outcome: str) -> None:
    rates = {"token": "bytes", "burst_per_s": 3e9, "base_per_s": left_per_s}
    cliff = Finding("throughput-cliff", "warning", "it fell: a cache was full", "sequential-write-qd8", rates, "longer")
    log = [TrialSummary("sequential-write-qd8", "", "write", {"throughput_bytes_per_s": near(826e6, "B/s")})]
    checks = judge_need(CONSUL, log, [cliff]).checks
    assert next(one.outcome for one in checks if one.threshold.trial == log[0].name) == outcome


@pytest.mark.parametrize(("left_per_s", "outcome"), [(134e6, "fail"), (251e6, "undecided"), (469e6, "pass")])
def test_a_mixture_whose_interval_says_nothing_is_judged_by_what_lasts(left_per_s: float, outcome: str) -> None:
    rates = {"token": "bytes", "burst_per_s": 3e9, "base_per_s": left_per_s}
    cliff = Finding("throughput-cliff", "warning", "it fell: a cache was full", "sequential-write-qd8", rates, "longer")
    mixture = {"throughput_bytes_per_s": estimate(826e6, 0.0, 1.83e9, "B/s")}
    checks = judge_need(CONSUL, [TrialSummary("sequential-write-qd8", "", "write", mixture)], [cliff]).checks
    check = next(one for one in checks if one.threshold.trial == cliff.trial)
    assert check.outcome == outcome
    if outcome == "pass":
        assert check.margin_ratio == pytest.approx(469 / 250)
        assert check.text.startswith(
            "469 MB/s of sequential writes in the long run, 826 MB/s over the whole trial (at least 250 MB/s"
        )


@pytest.mark.parametrize(("smaller_per_s", "outcome"), [(440.0, "fail"), (480.0, "undecided"), (900.0, "undecided")])
def test_a_rate_of_larger_writes_is_missed_where_smaller_ones_miss_it_too(smaller_per_s: float, outcome: str) -> None:
    rates = {"sync-write-2300": smaller_per_s, "sync-write-16384": 400.0}
    log = [TrialSummary(name, "", "durable_write", {"iops": near(rate, "1/s")}) for name, rate in rates.items()]
    (check,) = (one for one in judge_need(ETCD, log, []).checks if one.threshold.metric == "iops")
    assert check.outcome == outcome


@pytest.mark.parametrize(("base_per_s", "outcome"), [(90.0, "undecided"), (400.0, "pass")])
def test_a_latency_is_no_yes_where_the_base_rate_alone_would_miss_it(base_per_s: float, outcome: str) -> None:
    rates = {"token": "I/Os", "base_per_s": base_per_s}
    ended = Finding("burst-ended", "warning", "this looks like a burst: so it is", "random-read-qd32", rates, "count")
    checks = judge_need(ETCD, etcd_trials(near(1.6 * MS)), [ended]).checks
    assert next(one.outcome for one in checks if one.threshold.force == "required") == outcome
    of_bytes = replace(ended, evidence={"token": "bytes", "base_per_s": 90.0})
    assert judge_need(ETCD, etcd_trials(near(1.6 * MS)), [of_bytes]).outcome == "pass"


def test_a_latency_on_what_may_be_a_burst_is_no_yes_where_a_published_base_rate_would_miss_it() -> None:
    burst = Finding("burst-possible", "warning", "it may be a burst; so it is", "random-read-qd32", {}, "measure")
    verdict = judge_need(ETCD, etcd_trials(near(1.6 * MS)), [burst])
    assert verdict.outcome == "undecided"
    assert verdict.why.startswith("it may be a burst; as measured, 99 % of 2300-byte log writes")
    assert judge_need(ETCD, etcd_trials(near(1.6 * MS)), []).outcome == "pass"


@pytest.mark.parametrize(("left_per_s", "outcome"), [(204.0, "fail"), (7000.0, "undecided"), (7600.0, "pass")])
def test_a_rate_rests_on_what_is_left_when_a_cache_is_full(left_per_s: float, outcome: str) -> None:
    facts = {"token": "I/Os", "base_per_s": left_per_s}
    text = "it was so many a second with the cache"
    full = Finding("writes-left-in-cache", "warning", text, "random-write-qd32", facts, "measure longer")
    summaries = [TrialSummary("random-write-qd32", "", "write", {"iops": near(15_000, "1/s")})]
    (check,) = (one for one in judge_need(CONSUL, summaries, [full]).checks if one.threshold.metric == "iops")
    assert check.outcome == outcome
    assert check.why.endswith("7 500 a second wanted), too near to tell") == (outcome == "undecided")
    told = "204 random 4 KiB writes a second with 32 outstanding in the long run, 15 000 over the whole trial"
    assert check.why.startswith(told) == (outcome == "fail")
    assert bool(check.may_not_last) == (outcome != "pass")
    assert (check.margin_ratio is None) == (outcome != "pass")


def test_a_limit_that_reads_have_shown_says_nothing_of_writes_that_are_slower() -> None:
    rates = {"token": "I/Os", "burst_per_s": 15_300.0, "base_per_s": 9_860.0}
    ended = Finding("burst-ended", "warning", "this looks like a burst: so it is", "random-read-qd1", rates, "count")

    def told(need: str, trial: str, rate: float) -> str:
        summaries = [TrialSummary(trial, "", "durable_write", {"iops": near(rate, "1/s")})]
        return judge_need(load_need(need), summaries, [ended]).sentence

    slow = told("ceph", "sync-write-4096", 492.0)
    assert "492" in slow
    assert "9 860" not in slow
    # what is above the limit is told with it, and with its own rate, not that of the reads
    assert "9 860 (at first 12 000)" in told("ceph", "sync-write-4096", 12_000.0)


@pytest.mark.parametrize(("base_per_s", "outcome"), [(300.0, "undecided"), (500.0, "pass"), (120.0, "undecided")])
def test_a_latency_on_credit_is_no_yes_where_what_is_left_may_miss_it(base_per_s: float, outcome: str) -> None:
    """Of 300 a second, one after another, 99 % are no faster than 1.6 ms: the base rate leaves 3.33 ms for each."""
    rates = {"token": "I/Os", "base_per_s": base_per_s}
    known = Finding("burst-credit", "warning", "on burst credit, and so many without it; so it is", "", rates)
    assert judge_need(ETCD, etcd_trials(near(1.6 * MS)), [known]).outcome == outcome
    # what takes longer than the base rate leaves for each is none of its burst
    slow = judge_need(ETCD, etcd_trials(near(8.5 * MS)), [known])
    assert slow.outcome == ("undecided" if base_per_s < 118 else "pass")


@pytest.mark.parametrize(("wanted", "outcome"), [(250, "pass"), (290, "undecided"), (310, "fail")])
def test_a_rate_of_commits_is_held_against_what_syncs_in_the_background_leave_of_the_base_rate(
    wanted: float, outcome: str
) -> None:
    """Its database is synced every 100 ms: of 300 I/Os a second 281 are commits of etcd, and 290 are no yes."""
    rates = {"token": "I/Os", "base_per_s": 300.0}
    known = Finding("burst-credit", "warning", "on burst credit, and so many without it; so it is", "", rates)
    log = TrialSummary("sync-write-etcd", "", "durable_write", {"total_latency_ns_mean": near(1.3 * MS)})
    verdict = judge_need(ETCD, [*etcd_trials(near(8.5 * MS)), log], [known], at_least_per_s=wanted)
    assert verdict.checks[0].outcome == outcome
    assert verdict.forecast is not None
    assert verdict.checks[0].lasting_per_s == verdict.forecast.lasting_commits_per_s == pytest.approx(281, rel=0.01)
