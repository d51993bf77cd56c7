"""Verdicts: yes, no, or undecided and why; never from a number that cannot be trusted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from simulated_estimates import CEPH, CONSUL, ETCD, KAFKA, MS, POSTGRES, estimate, etcd_trials, near
from simulated_latencies import LAWS, Law, autoregressive

from drivelab.analyse.fitness import judge_fitness
from drivelab.analyse.verdict import judge_need
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.programs import PROGRAMS
from drivelab.model.trial_summary import TrialSummary
from drivelab.needs.load import NEED_NAMES, built_in_needs


def test_a_fast_log_carries_etcd() -> None:
    verdict = judge_need(ETCD, etcd_trials(near(1.2 * MS)), [])
    assert verdict.outcome == "pass"
    assert verdict.sentence == (
        "etcd: 99 % of 2300-byte log writes were durable within 1.2 ms (limit 10 ms; 95 % interval 1.08 ms to 1.32 ms)"
    )
    assert verdict.checks[0].margin_ratio == pytest.approx(10 / 1.32)
    assert "95 % interval 1.08 ms to 1.32 ms" in verdict.checks[0].text
    assert "margin 7.6x" in verdict.checks[0].text
    assert verdict.caveats == ()


def test_a_slow_log_does_not() -> None:
    verdict = judge_need(ETCD, etcd_trials(near(23 * MS)), [])
    assert (verdict.outcome, verdict.why) == ("fail", "")
    assert verdict.sentence.startswith("etcd: 99 % of 2300-byte log writes were durable within")


def test_an_interval_across_the_limit_decides_nothing() -> None:
    verdict = judge_need(ETCD, etcd_trials(estimate(9.5 * MS, 8 * MS, 12 * MS)), [])
    assert verdict.outcome == "undecided"
    assert "and the limit of 10 ms lies in between" in verdict.sentence


def test_a_bound_below_the_limit_decides_nothing() -> None:
    verdict = judge_need(ETCD, etcd_trials(estimate(None, 3 * MS, None)), [])
    assert verdict.outcome == "undecided"
    assert "no less than 3 ms: too few operations" in verdict.why
    assert verdict.checks[0].margin_ratio is None
    told = judge_need(ETCD, unsteady(2.1 * MS), []).why
    assert "400 us (95 % interval 300 us to 12 ms), and the limit of 10 ms lies in between" in told
    few = estimate(0.4 * MS, 0.3 * MS, None)
    assert (
        "(at least 300 us with 95 % confidence): 5000 operations are too few"
        in judge_need(ETCD, etcd_trials(few), []).why
    )


def unsteady(p999_ns: float, count: int = 5000) -> list[TrialSummary]:
    """A trial whose level moves so much that the interval of its p99 reaches across the limit."""
    p99 = Estimate(0.4 * MS, 0.3 * MS, 12 * MS, "ns", count, 3.0, "")
    p999 = Estimate(p999_ns, 0.4 * MS, 12 * MS, "ns", count, 3.0, "")
    estimates = {"total_latency_ns_p99": p99, "total_latency_ns_p999": p999}
    return [TrialSummary("sync-write-2300", "", "durable_write", estimates), *etcd_trials(p99)[1:]]


def test_a_limit_out_of_all_reach_is_met_although_the_interval_reaches_it() -> None:
    verdict = judge_need(ETCD, unsteady(1.9 * MS), [])
    assert verdict.outcome == "pass"
    assert verdict.sentence == (
        "etcd: 99 % of 2300-byte log writes were durable within about 400 us, and 99.9 % of 5000 took at most 1.9 ms "
        "(limit 10 ms)"
    )
    assert "99.9 % of 5000 took at most 1.9 ms" in verdict.checks[0].text
    assert verdict.checks[0].margin_ratio == pytest.approx(10 / 1.9)


def test_a_limit_within_reach_is_not() -> None:
    assert judge_need(ETCD, unsteady(2.1 * MS), []).outcome == "undecided"
    assert judge_need(ETCD, unsteady(0.4 * MS, count=900), []).outcome == "undecided"
    cached = Finding("page-cache-answered", "invalid", "memory answered", "sync-write-2300")
    assert judge_need(ETCD, unsteady(1.9 * MS), [cached]).outcome == "undecided"


@pytest.mark.parametrize("law", [*LAWS, autoregressive(0.99)], ids=lambda law: law.name)
def test_a_limit_within_the_truth_is_rarely_thought_out_of_reach(law: Law) -> None:
    drawn = np.sort(law.draw(np.random.default_rng(1), 1000, 1500), axis=1)
    seen = drawn[:, int(np.ceil(0.999 * 1500)) - 1]
    assert np.mean(law.quantile(0.99) >= 5 * seen) < 0.05


def few(slowest_ns: float, count: int = 300) -> list[TrialSummary]:
    """A short trial: its p99 has no upper end, and the slowest of all took so long."""
    p99 = Estimate(0.3 * MS, 0.2 * MS, None, "ns", count, 40.0, "")
    slowest = Estimate(slowest_ns, None, None, "ns", count, 40.0, "")
    estimates = {"total_latency_ns_p99": p99, "total_latency_ns_max": slowest}
    return [TrialSummary("sync-write-2300", "", "durable_write", estimates), *etcd_trials(p99)[1:]]


def test_the_slowest_of_a_few_hundred_tells_that_a_limit_is_out_of_reach() -> None:
    verdict = judge_need(ETCD, few(0.5 * MS), [])
    assert verdict.outcome == "pass"
    assert "all 300 took at most 500 us" in verdict.checks[0].text
    assert judge_need(ETCD, few(0.51 * MS), []).outcome == "undecided"
    assert judge_need(ETCD, few(0.5 * MS, count=299), []).outcome == "undecided"
    # of fewer than a few hundred all have to be a hundred times as fast
    assert judge_need(ETCD, few(0.1 * MS, count=100), []).outcome == "pass"
    assert judge_need(ETCD, few(0.11 * MS, count=100), []).outcome == "undecided"
    assert judge_need(ETCD, few(0.1 * MS, count=99), []).outcome == "undecided"


@pytest.mark.parametrize("law", [*LAWS, autoregressive(0.99)], ids=lambda law: law.name)
@pytest.mark.parametrize(("count", "reach"), [(300, 20), (100, 100)])
def test_a_limit_within_the_truth_is_rarely_so_many_times_the_slowest(law: Law, count: int, reach: int) -> None:
    slowest = law.draw(np.random.default_rng(2), 1000, count).max(axis=1)
    assert np.mean(law.quantile(0.99) >= reach * slowest) < 0.05


def test_a_bound_is_told_beside_what_was_seen() -> None:
    bound = Estimate(None, 3 * MS, None, "ns", 300, 300.0, "", observed=3.4 * MS)
    assert "3.4 ms as seen, at least 3 ms with 95 % confidence" in judge_need(ETCD, etcd_trials(bound), []).sentence


def test_a_bound_above_the_limit_decides() -> None:
    assert judge_need(ETCD, etcd_trials(estimate(None, 13 * MS, None)), []).outcome == "fail"


def test_a_value_without_an_interval_decides_nothing() -> None:
    verdict = judge_need(ETCD, etcd_trials(estimate(3 * MS, None, None)), [])
    assert verdict.outcome == "undecided"
    assert "operations are too few to bound it from above" in verdict.why


def test_a_trial_that_did_not_run_decides_nothing() -> None:
    verdict = judge_need(ETCD, [], [])
    assert verdict.outcome == "undecided"
    assert verdict.why == "what it is judged by was not measured"


def test_an_invalid_number_decides_nothing() -> None:
    cached = Finding("page-cache-answered", "invalid", "memory answered", "sync-write-2300")
    verdict = judge_need(ETCD, etcd_trials(near(1.2 * MS)), [cached])
    assert (verdict.outcome, verdict.why) == ("undecided", "memory answered")
    elsewhere = Finding("page-cache-answered", "invalid", "memory answered", "random-read-qd1")
    assert judge_need(ETCD, etcd_trials(near(1.2 * MS)), [elsewhere]).outcome == "pass"


def test_a_lossy_cache_makes_durable_writes_undecided_and_leaves_reads_alone() -> None:
    lossy = Finding("write-cache-views-disagree", "invalid", "acknowledged writes are lost")
    assert judge_need(ETCD, etcd_trials(near(1.2 * MS)), [lossy]).outcome == "undecided"
    consul = [
        TrialSummary("random-write-qd32", "", "write", {"iops": near(20_000, "1/s")}),
        TrialSummary("sequential-write-qd8", "", "write", {"throughput_bytes_per_s": near(500e6, "B/s")}),
    ]
    assert judge_need(CONSUL, consul, [lossy]).outcome == "pass"


def test_memory_makes_everything_undecided() -> None:
    memory = Finding("network-or-memory-file-system", "invalid", "this is memory")
    assert judge_need(ETCD, etcd_trials(near(0.001 * MS)), [memory]).outcome == "undecided"


def test_a_recommended_value_that_is_missed_is_a_caveat() -> None:
    verdict = judge_need(ETCD, etcd_trials(near(1.2 * MS), iops=300), [])
    assert verdict.outcome == "pass"
    assert "recommended and undecided" in verdict.caveats[0]
    # more than 8000 bytes were written each time, so that 8000 might be fast enough
    assert "writes of 8000 bytes are asked for, which are easier" in verdict.caveats[0]
    assert "at least 500 a second wanted" in verdict.caveats[0]


def test_warnings_about_the_trials_that_count_are_caveats() -> None:
    warnings = [
        Finding("foreign-work", "warning", "not alone", "sync-write-2300"),
        Finding("foreign-work", "warning", "not alone either", "random-read-qd1"),
        Finding("virtual-drive", "warning", "virtual"),
        Finding("too-little-data", "note", "few", "sync-write-2300"),
    ]
    assert judge_need(ETCD, etcd_trials(near(1.2 * MS)), warnings).caveats == ("not alone", "virtual")


NEIGHBOUR = Finding(
    "foreign-work",
    "warning",
    "this trial was not alone: 83 % of all requests were others' (fio)",
    "sync-write-2300",
    advice="repeat it when the computer is quiet",
)


def test_a_limit_missed_beside_foreign_work_is_undecided_and_says_whose() -> None:
    missed = judge_need(ETCD, etcd_trials(near(40 * MS)), [NEIGHBOUR])
    assert missed.outcome == "undecided"
    assert missed.sentence.startswith("etcd: ")
    assert "which misses the limit of 10 ms, but this trial was not alone: 83 % of all requests were others' (fio)" in (
        missed.why
    )
    assert missed.why.endswith("repeat it when the computer is quiet")
    # whoever is alone has nobody else to blame
    assert judge_need(ETCD, etcd_trials(near(40 * MS)), []).outcome == "fail"


def test_a_limit_met_beside_foreign_work_is_met() -> None:
    met = judge_need(ETCD, etcd_trials(near(MS)), [NEIGHBOUR])
    assert met.outcome == "pass"
    assert met.caveats == (NEIGHBOUR.text,)


@pytest.mark.parametrize(
    "other", [replace(NEIGHBOUR, trial="random-read-qd1"), replace(NEIGHBOUR, severity="note")], ids=["trial", "note"]
)
def test_foreign_work_elsewhere_or_of_no_weight_excuses_nothing(other: Finding) -> None:
    assert judge_need(ETCD, etcd_trials(near(40 * MS)), [other]).outcome == "fail"


def test_all_needs_together_do_not_fail_for_what_others_may_have_done() -> None:
    quiet = judge_fitness(built_in_needs(), etcd_trials(near(40 * MS)), [])
    beside = judge_fitness(built_in_needs(), etcd_trials(near(40 * MS)), [replace(NEIGHBOUR, trial="")])
    assert quiet.sentence.startswith("Not fit for etcd;")
    assert "ot fit" not in beside.sentence


def test_what_must_be_at_least_fails_when_the_good_end_is_below() -> None:
    summaries = [
        TrialSummary("random-write-qd32", "", "write", {"iops": near(5000, "1/s")}),
        TrialSummary("sequential-write-qd8", "", "write", {"throughput_bytes_per_s": near(500e6, "B/s")}),
    ]
    verdict = judge_need(CONSUL, summaries, [])
    assert verdict.outcome == "fail"
    assert verdict.sentence == (
        "Consul: 5 000 random 4 KiB writes a second with 32 outstanding "
        "(at least 7 500 a second wanted; 95 % interval 4 500 to 5 500)"
    )
    assert verdict.checks[0].margin_ratio == pytest.approx(0.6)


def test_without_a_published_limit_the_number_is_translated() -> None:
    syncs = [TrialSummary("sync-write-4096", "", "durable_write", {"iops": near(850, "1/s")})]
    verdict = judge_need(CEPH, syncs, [])
    assert (verdict.outcome, verdict.why, verdict.checks) == ("no_limit", "", ())
    assert verdict.sentence == (
        "Ceph OSD: here its log takes 850 transactions a second, one after another (95 % interval 765 to 935)"
    )
    # an interval has two ends
    least = Estimate(850.0, 765.0, None, "1/s", 20, 4.0, "")
    few = judge_need(CEPH, [TrialSummary("sync-write-4096", "", "durable_write", {"iops": least})], [])
    assert few.sentence.endswith("one after another (at least 765 with 95 % confidence)")
    assert judge_need(KAFKA, syncs, []).outcome == "undecided"
    assert "not measured" in judge_need(KAFKA, syncs, []).sentence
    cached = Finding("page-cache-answered", "invalid", "memory answered", "sync-write-4096")
    assert "cannot be trusted" in judge_need(CEPH, syncs, [cached]).sentence


def commits(latency_ns: Estimate) -> list[TrialSummary]:
    return [TrialSummary("sync-write-postgres", "", "durable_write", {"total_latency_ns_mean": latency_ns})]


def test_a_program_that_was_traced_is_told_in_commits() -> None:
    verdict = judge_need(POSTGRES, commits(near(2 * MS)), [])
    assert (verdict.outcome, verdict.checks) == ("no_limit", ())
    assert verdict.sentence.startswith("PostgreSQL would commit about 4")
    assert verdict.forecast is not None
    assert verdict.forecast.text in verdict.sentence
    assert judge_need(POSTGRES, [], []).outcome == "undecided"
    busy = replace(NEIGHBOUR, trial="sync-write-postgres")
    assert judge_need(POSTGRES, commits(near(2 * MS)), [busy]).caveats == (busy.text,)
    cached = Finding("page-cache-answered", "invalid", "memory answered", "sync-write-postgres")
    assert "cannot be trusted" in judge_need(POSTGRES, commits(near(2 * MS)), [cached]).sentence


@pytest.mark.parametrize(("rate", "outcome"), [(300, "pass"), (490, "undecided"), (700, "fail")])
def test_a_rate_that_is_asked_for_makes_the_forecast_a_verdict(rate: float, outcome: str) -> None:
    verdict = judge_need(POSTGRES, commits(near(2 * MS)), [], at_least_per_s=rate)
    assert verdict.outcome == outcome
    assert f"at least {rate} a second wanted" in verdict.checks[0].text
    assert verdict.checks[0].threshold.metric == "commits_per_s"
    foreign = replace(NEIGHBOUR, trial="sync-write-postgres")
    assert judge_need(POSTGRES, commits(near(2 * MS)), [foreign], at_least_per_s=700).outcome == "undecided"


def test_a_rate_that_is_asked_for_is_undecided_where_nothing_was_measured() -> None:
    verdict = judge_need(POSTGRES, [], [], at_least_per_s=300)
    assert (verdict.outcome, verdict.why) == ("undecided", "what it is judged by was not measured")


def test_a_rate_is_asked_for_beside_published_limits() -> None:
    log = TrialSummary("sync-write-etcd", "", "durable_write", {"total_latency_ns_mean": near(2 * MS)})
    told = judge_need(ETCD, [*etcd_trials(near(1.2 * MS)), log], [])
    assert told.outcome == "pass"
    # 2 ms and what etcd takes itself, while two syncs of its database every 0.1 s hold it up
    rate = (1 - 2 * 2 / 100) * 1e9 / (2 * MS + PROGRAMS["etcd"].own.one_ns)
    rounded = re.search(r"etcd would commit about (\d+) times", told.sentence)
    assert rounded is not None
    assert float(rounded[1]) == pytest.approx(rate, rel=0.01)
    asked = judge_need(ETCD, [*etcd_trials(near(1.2 * MS)), log], [], at_least_per_s=5000)
    assert asked.outcome == "fail"
    assert [check.outcome for check in asked.checks] == ["fail", "pass", "pass"]
    # what was asked for by name is what is answered; and others have no part in what etcd itself can't do
    assert re.match(
        r"etcd: \d+ commits a second by one client \(at least 5.000 a second wanted; range: ", asked.sentence
    )
    foreign = replace(NEIGHBOUR, trial=PROGRAMS["etcd"].write.trial)
    alone = judge_need(ETCD, [*etcd_trials(near(1.2 * MS)), log], [foreign], at_least_per_s=5000)
    assert alone.outcome == "fail"
    assert re.search(r"allow at most 2.?350", alone.checks[0].why)
    # so that nobody buys another drive for it
    assert re.search(
        r"wanted; range: 252 to 434\); no drive gives that: its own .* allow at most 2.?350$", alone.sentence
    )


def test_fitness_tells_every_need_in_one_sentence() -> None:
    p99 = {"total_latency_ns_p99": near(20 * MS), "total_latency_ns_mean": near(15 * MS)}
    trials = [TrialSummary(f"sync-write-{size}", "", "durable_write", dict(p99)) for size in (512, 2300, 4096, 16384)]
    fitness = judge_fitness(built_in_needs(), trials, [])
    assert fitness.sentence == (
        "Fit for ZooKeeper, CockroachDB and Redis with an append-only file; not fit for etcd; undecided for Consul."
    )
    assert fitness.outcome == "mixed"
    # what other programs issue is measured only when they are named
    asked_only = {"redis-always", "sqlite-wal", "sqlite", "mariadb", "logcabin"}
    assert [verdict.need for verdict in fitness.verdicts] == [name for name in NEED_NAMES if name not in asked_only]
    assert fitness.to_json()["verdicts"][0]["checks"][0]["threshold"]["source"]


def test_what_is_fit_for_none_is_not_undecided_as_a_whole() -> None:
    p99 = {"total_latency_ns_p99": near(20 * MS), "total_latency_ns_mean": near(15 * MS)}
    fitness = judge_fitness(built_in_needs(), [TrialSummary("sync-write-2300", "", "durable_write", p99)], [])
    assert {one.outcome for one in fitness.verdicts} == {"fail", "undecided"}
    assert fitness.outcome == "mixed"


def test_nothing_measured_is_fit_for_nothing_and_unfit_for_nothing() -> None:
    assert judge_fitness(built_in_needs(), [], []).outcome == "undecided"


def test_what_holds_the_limit_has_no_margin() -> None:
    (check, *_) = judge_need(ETCD, etcd_trials(estimate(9.5 * MS, 8 * MS, 12 * MS)), []).checks
    assert (check.outcome, check.margin_ratio) == ("undecided", None)
    assert "margin" not in check.text
