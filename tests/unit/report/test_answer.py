"""The answer: a verdict with its checks where a need was judged, plain sentences where none was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.finding import Finding
from drivelab.model.verdict import COMMITS, ONLY_READ, Check, Direction, Fitness, Threshold, Verdict
from drivelab.report.answer import answer_of, surer_words, thresholds_of
from drivelab.report.content import TrialContent
from drivelab.report.reported_findings import reported


def verdict(estimate: Estimate | None, *caveats: str, unit: Unit = "ns") -> Verdict:
    """A need with one threshold."""
    limit, text = (10e6, "writes were durable within {value}") if unit == "ns" else (500.0, "{value} writes a second")
    direction: Direction = "at_most" if unit == "ns" else "at_least"
    threshold = Threshold("sync", "total_latency_ns_p99", direction, limit, unit, text, "required", "somebody")
    check = Check(threshold, estimate, "pass", 10.7, "")
    return Verdict("etcd", "etcd", "pass", "Yes, this carries etcd.", "", (check,), caveats)


def test_a_check_shows_limit_measured_interval_and_margin(make_estimate: Callable[..., Estimate]) -> None:
    answer = answer_of(verdict(make_estimate(933_000, 911_000, 973_000)).to_json(), (), ())
    (check,) = answer.verdicts[0].checks
    assert check.text == "writes were durable within 10\u00a0ms"
    assert (check.limit, check.measured) == ("≤\u00a010\u00a0ms", "933\u00a0µs")
    assert (check.interval, check.margin) == ("911\u00a0µs to 973\u00a0µs", "11×")


def test_where_nothing_is_decided_no_margin_stands(make_estimate: Callable[..., Estimate]) -> None:
    # earlier versions stored how far the worse end misses the limit
    stored = verdict(make_estimate(933_000, 911_000, 13_000_000)).to_json()
    stored["checks"][0] |= {"outcome": "undecided", "margin_ratio": 0.0}
    assert answer_of(stored, (), ()).verdicts[0].checks[0].margin == "–"


def test_a_rate_is_told_per_second(make_estimate: Callable[..., Estimate]) -> None:
    answer = answer_of(verdict(make_estimate(1000, 900, 1100, "1/s"), unit="1/s").to_json(), (), ())
    (check,) = answer.verdicts[0].checks
    assert check.text == "500 writes a second"
    assert check.measured == "1\u202f000 a second"


def test_what_was_not_measured_is_told_as_such(make_estimate: Callable[..., Estimate]) -> None:
    def measured(estimate: Estimate | None) -> str:
        return answer_of(verdict(estimate).to_json(), (), ()).verdicts[0].checks[0].measured

    assert measured(None) == "not measured"
    assert measured(make_estimate(None, None, None)) == "no data"
    assert measured(make_estimate(None, 5_000_000, None)) == "at least 5.00\u00a0ms"


def test_several_needs_are_told_one_by_one() -> None:
    one = verdict(None)
    answer = answer_of(Fitness("fit for some", "undecided", (one, one)).to_json(), (), ())
    assert (answer.outcome, answer.sentence, len(answer.verdicts)) == ("undecided", "fit for some", 2)


def test_a_caveat_that_is_a_finding_is_not_told_twice() -> None:
    findings = reported([Finding("virtual-drive", "warning", "the drive is virtual")])
    answer = answer_of(verdict(None, "the drive is virtual", "and old").to_json(), (), findings)
    assert answer.verdicts[0].caveats == ("and old",)


def test_without_a_need_the_medians_are_told(trial: Callable[..., TrialContent]) -> None:
    answer = answer_of(None, [trial()], ())
    assert answer.sentences == ("Reads: a median of 100\u00a0µs (random read, 4 KiB).",)
    assert answer.outcome == ""


def test_trust_is_summed_up() -> None:
    findings = reported([Finding("a", "invalid", "x"), Finding("b", "warning", "y"), Finding("c", "warning", "z")])
    trust = answer_of(None, (), findings).trust
    assert trust == "1 result does not describe the drive and 2 findings limit what the numbers mean"
    assert answer_of(None, (), reported([Finding("d", "note", "n")])).trust == ""


def test_of_trials_that_do_not_describe_the_drive_all_are_counted(trial: Callable[..., TrialContent]) -> None:
    found = [Finding("a", "invalid", "x", f"t{number}") for number in range(3)]
    trials = [replace(trial(), name=one.trial, findings=(one,)) for one in found] + [trial()]
    assert answer_of(None, trials, reported(found)).trust == "3 of 4 trials do not describe the drive"


def test_limits_of_latency_go_into_the_picture() -> None:
    assert thresholds_of(verdict(None).to_json()) == {"sync": [(10e6, "etcd: writes were durable within this")]}
    assert thresholds_of(verdict(None, unit="1/s").to_json()) == {}
    assert thresholds_of(None) == {}


_QUIET = "to be sure: check again when the machine is quiet"


@pytest.mark.parametrize(
    ("limit", "is_busy", "is_simulated", "told"),
    [
        (5000.0, False, True, "no check can tell: PostgreSQL's own time is too uncertain"),
        (
            5000.0,
            False,
            False,
            "no check can tell: PostgreSQL's own time is too uncertain; measure PostgreSQL itself here",
        ),
        # a busy machine made the writes slower, too
        (
            5000.0,
            True,
            False,
            f"{_QUIET} and without --quick; PostgreSQL's own time may leave it open",
        ),
        # the mean of the writes is not known so well that it is beyond this
        (4805.0, False, False, "to be sure: check again without --quick"),
    ],
)
def test_no_longer_check_is_advised_where_the_own_time_of_the_program_leaves_it_open(
    make_estimate: Callable[..., Estimate], limit: float, is_busy: bool, is_simulated: bool, told: str
) -> None:
    rate = make_estimate(14_500, 4_800, 21_800, "1/s")
    threshold = Threshold("sync-write-postgres", COMMITS, "at_least", limit, "1/s", "{value} a second", "required", "")
    check = Check(threshold, rate, "undecided", None, "")
    stored = Verdict("postgres", "PostgreSQL", "undecided", "?", "", (check,)).to_json()
    stored["forecast"] = {"commits_per_s": {"value": 14_500.0}, "log_latency": {"value": 22_966.0}, "own_time_ns": 46e3}
    verdicts = answer_of(stored, (), ()).verdicts
    assert surer_words(verdicts, "check . --quick", is_busy=is_busy, is_simulated=is_simulated) == told


def test_what_was_only_read_is_not_settled_by_reading_again() -> None:
    text = f"{ONLY_READ}: writes need a directory"
    stored = Verdict("consul", "Consul", "undecided", f"Consul: {text}", text, ()).to_json()
    verdicts = answer_of(stored, (), ()).verdicts
    assert surer_words(verdicts, "check file --quick", is_busy=True, is_simulated=False) == ""
