"""How a check ends: its exit status, its findings about itself, and where its run is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from drivelab.cli.check import (
    Asked,
    _only_read,
    _with_fitting_advice,
    check_findings,
    exit_status,
    judge_check,
    require_rate,
)
from drivelab.cli.check_results import CheckJudgement, condensed
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.finding import MEASURE_LONGER, Finding, Severity
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.verdict import Check, Fitness, Threshold, Verdict
from drivelab.needs.load import load_need
from drivelab.plan.check import CheckPlan
from drivelab.run.check import CheckResults
from drivelab.run.execute import Outcome
from drivelab.store.layout import why_not_kept_in


@pytest.fixture
def directory() -> TargetFacts:
    """A directory of which little is known."""
    return TargetFacts("/x", "directory", "/x", True, None, (), (), 0, 512, False)


NO_TRIALS = Plan("check", "?", False, 1, (), ())
PLAN = CheckPlan(NO_TRIALS, 2**30, True)


def finding(text: str, trial: str = "", severity: Severity = "note", code: str = "kind") -> Finding:
    return Finding(code, severity, text, trial)


LIMIT = Threshold("sync-write-2300", "total_latency_ns_p99", "at_most", 1e7, "ns", "within {value}", "required", "x")


def verdict(outcome: Literal["pass", "fail", "undecided"]) -> Verdict:
    return Verdict("etcd", "etcd", outcome, "sentence", "", (Check(LIMIT, None, outcome, None, "text"),))


@pytest.mark.parametrize(("outcome", "status"), [("pass", 0), ("fail", 1), ("undecided", 4)])
def test_with_a_need_the_exit_status_is_the_answer(outcome: Literal["pass", "fail", "undecided"], status: int) -> None:
    judgement = CheckJudgement([finding("x", severity="invalid")], verdict(outcome))
    assert exit_status(judgement) == status


@pytest.mark.parametrize(("severity", "status"), [("note", 0), ("warning", 0), ("invalid", 4)])
def test_without_a_need_only_distrust_is_told(severity: Severity, status: int) -> None:
    judgement = CheckJudgement([finding("x", severity=severity)], Fitness("sentence", "fail", ()))
    assert exit_status(judgement) == status


def test_a_need_without_any_published_limit_is_no_reason_for_distrust() -> None:
    unlimited = Verdict("kafka", "Kafka", "no_limit", "sentence", "", ())
    assert exit_status(CheckJudgement([], unlimited)) == 0
    assert exit_status(CheckJudgement([finding("x", severity="invalid")], unlimited)) == 4


@pytest.mark.provokes("U045")
@pytest.mark.parametrize(("need", "rate"), [(None, 500), ("kafka", 500), ("postgres", 0), ("postgres", float("nan"))])
def test_a_rate_is_asked_of_a_program_that_commits(need: str | None, rate: float) -> None:
    with pytest.raises(DrivelabError) as refused:
        require_rate(load_need(need) if need else None, rate)
    assert refused.value.code == "U045"
    require_rate(load_need("postgresql"), 500)


def test_advice_to_measure_longer_fits_the_command() -> None:
    short = Finding("short-measurement", "note", "x", "t", advice=MEASURE_LONGER)
    assert _with_fitting_advice(short, is_quick=True).advice == "leave out --quick"
    assert "drivelab io" in _with_fitting_advice(short, is_quick=False).advice


def test_what_is_only_read_says_so_and_nothing_about_each_need(directory: TargetFacts) -> None:
    plan = CheckPlan(NO_TRIALS, 0, False, "a device is only read without --erase")
    device = replace(directory, kind="block_device")
    host = None
    fitness = judge_check(plan, CheckResults(), device, host, Asked()).verdict  # type: ignore[arg-type]
    assert fitness == Fitness("Only read: writes need --erase SERIAL (or a directory).", "undecided", ())
    verdict = judge_check(plan, CheckResults(), device, host, Asked(load_need("etcd"))).verdict  # type: ignore[arg-type]
    assert verdict.sentence == "etcd: only read: writes need --erase SERIAL (or a directory)"


def test_where_no_read_came_from_the_drive_the_verdict_says_why(directory: TargetFacts) -> None:
    summary = SimpleNamespace(name="random-read-qd1", estimates={})
    advice = "write the whole range before reading it"
    hole = Finding(
        "unwritten-range", "invalid", "100 % of it is holes: such reads cost nothing", summary.name, {}, advice
    )
    verdict = _only_read(directory, load_need("etcd"), [summary], [hole])  # type: ignore[list-item]
    assert verdict.sentence == f"etcd: no number is the drive's, since 100 % of it is holes; {advice}"
    assert _only_read(directory, None, [summary], []).sentence == "Only read: writes need a directory."  # type: ignore[list-item]


def test_what_is_only_read_says_what_the_reads_came_to(directory: TargetFacts) -> None:
    latency = Estimate(98_000, 97_000, 99_000, "ns", 1000, 1000.0, "made up")
    rate = Estimate(2.1e9, 2e9, 2.2e9, "B/s", 1000, 1000.0, "made up")
    summaries = [
        TrialSummary("random-read-qd1", "", "read", {"total_latency_ns_p50": latency}),
        TrialSummary("sequential-read-qd8", "", "read", {"throughput_bytes_per_s": rate}),
    ]
    device = replace(directory, kind="block_device")
    reads = "half of random reads take 98 us at most, reads in order reach 2.1 GB/s"
    told = _only_read(device, None, summaries, []).sentence
    assert told == f"Only read: {reads}; writes need --erase SERIAL (or a directory)."
    # of a trial whose number is not the drive's nothing is said
    hole = finding("holes", "random-read-qd1", "invalid")
    assert "half of" not in _only_read(device, None, summaries, [hole]).sentence


def test_failed_io_is_told_by_the_exit_status() -> None:
    failed = finding("3 writes failed", severity="warning", code="operations-failed")
    assert exit_status(CheckJudgement([failed], Fitness("sentence", "pass", ()))) == 4


def test_whatever_went_another_way_is_a_finding() -> None:
    outcome = Outcome(failures={"random-read-qd1": DrivelabError("R454", "nothing to read")}, is_interrupted=True)
    results = CheckResults(outcome, "the file system refuses O_DIRECT", (".drivelab-check-1-1-aaaa",))
    found = {one.code: one for one in check_findings(PLAN, results)}
    assert set(found) == {"trial-failed", "leftovers-removed", "direct-refused", "interrupted"}
    assert (found["trial-failed"].severity, found["trial-failed"].trial) == ("invalid", "random-read-qd1")
    assert "1 working file of killed" in found["leftovers-removed"].text


def test_a_check_that_went_well_has_nothing_to_say_about_itself() -> None:
    assert check_findings(PLAN, CheckResults()) == []


def test_a_target_that_was_only_read_is_told() -> None:
    (only,) = check_findings(CheckPlan(NO_TRIALS, 0, False, "an existing file is only read"), CheckResults())
    assert only.text.startswith("an existing file is only read")


def test_many_sentences_of_one_kind_become_one_and_every_trial_keeps_its_mark() -> None:
    several = [finding(f"busy {number} %", f"trial-{number}") for number in range(3)]
    shorter = condensed([*several, finding("other", code="other")])
    assert len({one.text for one in shorter if one.code == "kind"}) == 1
    assert [one.trial for one in shorter if one.code == "kind"] == ["trial-0", "trial-1", "trial-2"]
    assert [one.text for one in shorter if one.code == "other"] == ["other"]


def test_two_sentences_of_one_kind_stay_as_they_are() -> None:
    two = [finding("busy 1 %", "a"), finding("busy 2 %", "b")]
    assert condensed(two) == two


def test_a_run_can_be_kept_in_a_directory_that_is_made_for_it(tmp_path: Path) -> None:
    assert why_not_kept_in(tmp_path / "share" / "runs") == ""
    assert list((tmp_path / "share" / "runs").iterdir()) == []


def test_a_user_without_a_home_is_told_why_no_run_can_be_kept_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in why_not_kept_in(tmp_path / "file" / "runs")
