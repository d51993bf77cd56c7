"""Findings as listed: the gravest first, each kind once, with every trial and number that it touches."""

from __future__ import annotations

from drivelab.analyse.findings import CODES
from drivelab.model.finding import Finding
from drivelab.report.reported_findings import _TOUCHED, reported, touched_metrics


def test_the_gravest_come_first_and_are_numbered() -> None:
    findings = [Finding("a", "note", "x"), Finding("b", "invalid", "y"), Finding("c", "warning", "z")]
    assert [(one.mark, one.code) for one in reported(findings)] == [("x1", "b"), ("!2", "c"), ("i3", "a")]


def test_what_is_said_of_several_trials_is_said_once() -> None:
    findings = [Finding("a", "note", "same", trial) for trial in ("one", "two", "one")]
    (said,) = reported(findings)
    assert said.says == (("same.", ("one", "two")),)


def test_a_kind_that_differs_in_its_numbers_is_one_entry_with_all_texts() -> None:
    findings = [Finding("a", "note", f"{n} of 10", f"trial-{n}", advice="measure longer") for n in (3, 4)]
    (said,) = reported(findings)
    assert [text for text, _ in said.says] == ["3 of 10.", "4 of 10."]
    assert said.trials == ("trial-3", "trial-4")
    assert said.advice == "Measure longer."


def test_limits_of_bytes_and_of_ios_are_entries_of_their_own() -> None:
    findings = [Finding("a", "warning", f"so many {unit}", unit, {"token": unit}) for unit in ("I/Os", "bytes")]
    assert [(one.text, one.trials) for one in reported(findings)] == [
        ("so many I/Os.", ("I/Os",)),
        ("so many bytes.", ("bytes",)),
    ]


def test_a_warning_of_some_trials_and_a_note_of_others_are_one_warning() -> None:
    findings = [Finding("a", "note", "0.4 s", "t1"), Finding("a", "warning", "0.1 s", "t2"), Finding("b", "note", "x")]
    first, second = reported(findings)
    assert (first.mark, first.trials, first.trial_count) == ("!1", ("t1", "t2"), 2)
    assert (second.mark, second.code) == ("i2", "b")


def test_a_quantile_touches_itself_and_all_above_it() -> None:
    assert touched_metrics(Finding("too-little-data", "note", "", "t", {"quantile": 0.99})) == {"p99", "p999"}


def test_a_kind_of_finding_knows_its_numbers() -> None:
    assert touched_metrics(Finding("no-flush-sent", "note", "", "t")) == {"device_flushes_per_operation"}
    assert touched_metrics(Finding("page-cache-answered", "invalid", "", "t")) == frozenset()


def test_only_kinds_of_findings_that_exist_are_known() -> None:
    assert set(_TOUCHED) <= set(CODES)


def test_what_stands_for_many_trials_is_marked_at_those_that_are_shown() -> None:
    many = Finding("drift", "warning", "it got slower", "t1", {}, "wait", trials=("t1", "t2"), trial_count=830)
    shown = [Finding("drift", "warning", "it got faster", "t500", {}, "wait"), Finding("other", "note", "x", "t500")]
    (told,) = reported([many], shown)
    assert (told.trial_count, told.trials) == (830, ("t1", "t500"))
    assert told.metrics["t500"] == {"p50"}


def test_an_unknown_weight_is_a_note() -> None:
    assert reported([Finding("a", "curious", "x")])[0].word == "Note"
