"""The answer of a check on one screen: at most 25 lines of 80 columns, the verdict first, failures all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.finding import Finding
from drivelab.report.content import ReportContent
from drivelab.report.finding_lines import finding_lines
from drivelab.report.joint_of import own_sentences
from drivelab.report.reported_findings import reported
from drivelab.store.read import StoredRun
from golden_reports import golden_content
from unit.report.terminal.check_screens import LINES_MAX, MakeEstimate, check_of, need, shown, whole_check


@pytest.fixture
def whole(make_estimate: MakeEstimate) -> ReportContent:
    """A check of a directory with every trial."""
    return whole_check(make_estimate)


def test_it_fits_a_screen_with_eight_needs_and_many_warnings(whole: ReportContent) -> None:
    needs = [need(f"need {number}", "undecided") for number in range(8)]
    verdict = {"outcome": "mixed", "sentence": "Fit for A. " * 11, "verdicts": needs}
    findings = [
        Finding(f"code-{number}", "warning", f"finding {number} " * 20, trials_name)
        for number, trials_name in enumerate(["", "sync-write-512", "random-read-qd1", "", ""])
    ]
    lines = shown(replace(whole, verdict=verdict, findings=reported(findings)))
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "! (code-3, code-4): --details"


def test_only_a_warning_of_trials_is_said_to_be_of_all_of_them(whole: ReportContent) -> None:
    of_run = Finding("interrupted", "warning", "it was interrupted", "")
    of_each = [Finding("foreign-work", "warning", "not alone", trial.name) for trial in whole.trials]
    text = "\n".join(shown(replace(whole, findings=reported([of_run, *of_each]))))
    assert "! it was interrupted\n" in text
    assert "! not alone (all trials)" in text


def test_a_check_that_was_cut_off_says_so_before_its_verdict(whole: ReportContent) -> None:
    of_run = Finding("interrupted", "warning", "the check was interrupted", "")
    cut_off = replace(
        whole,
        facts={"status": "interrupted"},
        verdict=need("etcd", "pass"),
        findings=reported([of_run]),
        trial_count=3,
    )
    lines = shown(cut_off)
    assert lines[1] == "!    not complete: 3 trials so far; it was interrupted"
    assert lines[2].startswith("Yes  etcd")
    assert "the check was interrupted" not in "\n".join(lines)
    (sentence,) = own_sentences(cut_off)
    assert sentence == "Not complete (3 trials so far; it was interrupted): etcd: 5 a second"


def test_a_verdict_is_shown_as_it_was_made(whole: ReportContent) -> None:
    asked = need("etcd", "fail") | {"sentence": "Undecided for No published limit: 5 a second (95 %: 4 to 6)"}
    lines = shown(replace(whole, verdict={"outcome": "fail", "sentence": "Not fit.", "verdicts": [asked, asked]}))
    assert lines[1] == "No   Undecided for No published limit: 5 a second (95 %: 4 to 6)"


def test_a_long_reason_is_cut_between_its_clauses(whole: ReportContent) -> None:
    why = "etcd: too slow; " + "; ".join(["because this and that happened meanwhile to it"] * 9)
    verdict = need("etcd", "undecided") | {"sentence": why}
    lines = shown(replace(whole, verdict=verdict))
    assert lines[1].startswith("?    etcd: too slow; because")
    assert lines[lines.index("") - 1].endswith("meanwhile to it")
    assert lines.index("") <= 5
    inside = need("etcd", "pass") | {"sentence": f"etcd: fast (2 ms; limit 10 ms); {'and so on ' * 40}"}
    assert shown(replace(whole, verdict=inside))[1] == "Yes  etcd: fast (2 ms; limit 10 ms)"


def test_what_is_undecided_says_what_would_decide_it(whole: ReportContent) -> None:
    def screen(command_line: str, outcome: str, others: float) -> list[str]:
        used = {"count": 2, "busy": others, "own": 0.0, "kernel_threads": 0.0, "duration_ns": 10**9}
        trials = tuple(replace(one, context={"processors": used}) for one in whole.trials)
        verdict = {"outcome": outcome, "sentence": "x", "verdicts": [need("etcd", outcome), need("redis", "pass")]}
        return shown(replace(whole, trials=trials, facts={"command_line": command_line}, verdict=verdict))

    again = "?    to be sure: check again"
    assert f"{again} without --quick" in screen("drivelab check . --quick", "undecided", 0.0)
    assert f"{again} when the machine is quiet" in screen("drivelab check .", "undecided", 1.5)
    assert f"{again} when the machine is quiet and without --quick" in screen(
        "drivelab check --quick .", "undecided", 1.5
    )
    # processors were idle, and the drive was not
    neighbour = reported([Finding("foreign-work", "warning", "this trial was not alone", whole.trials[0].name)])
    disturbed = replace(whole, verdict=need("etcd", "undecided"), findings=neighbour, facts={"command_line": "check ."})
    assert f"{again} when the machine is quiet" in shown(disturbed)
    assert not [line for line in screen("drivelab check .", "undecided", 0.0) if line.startswith(again)]
    assert not [line for line in screen("drivelab check . --quick", "pass", 0.0) if line.startswith(again)]
    # nothing was measured for it, and never will be
    unmeasured = need("redis-always", "undecided") | {"why": "not measured"}
    of_failed = replace(whole, verdict=unmeasured, facts={"command_line": "check . --quick"})
    assert not [line for line in shown(of_failed) if line.startswith(again)]


def test_a_need_without_a_limit_says_how_to_have_one(whole: ReportContent) -> None:
    lines = shown(replace(whole, verdict=need("PostgreSQL", "no_limit") | {"need": "postgres"}))
    advice = "     No limit is published for it; --at-least RATE makes this a yes or a no."
    assert lines[1:3] == ["-    PostgreSQL: 5 a second", advice]


def test_every_stored_check_fits(stored_run: StoredRun) -> None:
    content = golden_content(stored_run.name)
    if (content.facts.get("experiment") or {}).get("name") != "check":
        content = replace(content, trials=content.trials[:4])
    assert max(map(len, shown(content))) <= 80


def test_each_need_is_told_with_what_it_asks_for(whole: ReportContent) -> None:
    etcd = check_of("sync-write-2300", "total_latency_ns_p99", (1.2e6, 0.9e6, 1.5e6), 1e7)
    consul = check_of("random-write-qd8", "iops", (59_400.0, 0.0, 135_000.0), 7500.0)
    needs = [need("etcd", "pass") | {"checks": [etcd]}, need("consul", "undecided") | {"checks": [consul]}]
    needs += [need(f"need {n}", "pass") | {"checks": [consul | {"outcome": "fail"}] * (n == 4)} for n in range(5)]
    lines = shown(replace(whole, verdict={"outcome": "mixed", "sentence": "Fit for etcd.", "verdicts": needs}))
    assert lines[1].startswith("?    consul: random 4 KiB write, QD8 59 400/s (≤135 000/s), asks")
    assert "Yes  etcd: p99 of 2300 B appended 1.20 ms (900 us–1.50 ms), asks at most 10 ms" in lines
    assert "Yes  also need 3, need 4 (below what is recommended)" in lines


def test_the_first_need_is_told_with_its_number_however_little_room_there_is(whole: ReportContent) -> None:
    consul = check_of("random-write-qd8", "iops", (59_400.0, 0.0, 135_000.0), 7500.0)
    needs = [need(name, "undecided") | {"checks": [consul]} for name in ("consul", "b", "c")] + [need("d", "no_limit")]
    burst = Finding("burst-possible", "warning", "this may be a burst " * 40, "")
    verdict = {"outcome": "undecided", "sentence": "", "verdicts": needs}
    lines = shown(replace(whole, verdict=verdict, findings=reported([burst])))
    assert lines[1].startswith("?    consul: random 4 KiB write, QD8 59 400/s (≤135 000/s), asks")


def test_a_miss_of_what_is_harder_than_asked_says_so(whole: ReportContent) -> None:
    required = check_of("sync-write-4096", "total_latency_ns_p99", (1e6, 1e6, 2e6), 1e7) | {"outcome": "pass"}
    why = "119 a second (95 %: 117 to 120), and writes of 8000 bytes are asked for, which are easier"
    harder = check_of("sync-write-4096", "iops", (119.0, 117.0, 120.0), 500.0)
    harder |= {"outcome": "undecided", "why": why}
    harder["threshold"] |= {"direction": "at_least", "unit": "1/s", "force": "recommended"}
    harder["threshold"]["asked_less"] = "writes of 8000 bytes"
    verdict = need("etcd", "pass") | {"checks": [required, harder]}
    text = " ".join(line.strip() for line in shown(replace(whole, verdict=verdict))[:5])
    assert "recommended, undecided: " in text
    assert "at least 500/s; writes of 8000 bytes are asked for, which are easier" in text


def test_no_line_of_the_answer_is_cut(whole: ReportContent) -> None:
    text = "PostgreSQL would commit about 6 480 times a second here with one client (range: 5 280 to 8 380), more"
    lines = shown(replace(whole, verdict=need("postgres", "no_limit") | {"sentence": text}))
    assert lines[1:3] == [
        "-    PostgreSQL would commit about 6 480 times a second here with one client",
        "     (range: 5 280 to 8 380), more",
    ]
    assert not any("…" in line for line in lines)


def test_all_failures_are_told_and_before_all_else(whole: ReportContent) -> None:
    needs = [need(f"need {number}", "fail" if number > 2 else "undecided") for number in range(9)]
    lines = shown(replace(whole, verdict={"outcome": "mixed", "sentence": "Not fit.", "verdicts": needs}))
    assert [line.split()[0] for line in lines[1:7]] == ["No"] * 6
    assert lines[7:10] == ["?    need 0: 5 a second", "?    also need 1, need 2", ""]


def test_a_line_ends_where_a_part_of_the_sentence_does(whole: ReportContent) -> None:
    text = (
        "PostgreSQL would commit about 5 950 times a second here with one client (range: 4 600 to 7 100), more with 8"
    )
    without = need("PostgreSQL", "no_limit") | {"checks": [], "sentence": text}
    other = need("Kafka", "no_limit") | {"checks": [], "sentence": "Kafka: here a log takes 2 GB/s, with replicas"}
    lines = shown(replace(whole, verdict={"outcome": "mixed", "sentence": "", "verdicts": [without, other]}))
    assert "-    PostgreSQL would commit 5 950 a second (4 600 to 7 100) with one client" in lines
    # of what has no limit one is told
    assert not any("Kafka" in line for line in lines)


def test_a_target_is_told_by_where_it_is(whole: ReportContent) -> None:
    before = {"text": "volume", "kind": "directory", "path": "/srv/volume"}
    facts = {"targets": [{"label": "volume", "facts_before": before}]}
    assert shown(replace(whole, facts=facts))[0].startswith("/srv/volume")
    drive = {"vendor": "Maker", "model": "Drive of a very long name " * 3, "serial": "1"}
    facts["targets"][0]["facts_before"] = before | {"filesystem": {"type": "xfs"}, "drives": [drive]}
    assert shown(replace(whole, facts=facts))[0] == "/srv/volume   xfs"


@pytest.mark.parametrize(("share", "is_told"), [(0, False), (0.5, False), (0.75, True), (1, True)])
def test_a_machine_that_was_busy_is_told_below_the_verdict(whole: ReportContent, share: float, is_told: bool) -> None:
    count = round(share * len(whole.trials))
    used = {"count": 2, "busy": 1.9, "own": 0.1, "kernel_threads": 0.1, "duration_ns": 10**9}
    trials = tuple(
        replace(one, context={**one.context, "processors": used if number < count else used | {"busy": 0.4}})
        for number, one in enumerate(whole.trials)
    )
    found = reported([Finding("foreign-work", "warning", "this trial was not alone", one.name) for one in trials])
    lines = shown(replace(whole, trials=trials, verdict=need("etcd", "undecided"), findings=found))
    told = "!    the machine was busy: other programs used 1.7 of its 2 processors"
    assert (told in lines) == is_told
    if is_told:
        assert lines[lines.index(told) - 1].startswith("?    etcd")
    # once, and not twice
    assert ("not alone" in "\n".join(lines)) != is_told


def test_trials_that_failed_are_counted_above_the_verdict_with_why(whole: ReportContent) -> None:
    why = "error[R452] the file system of /srv is full: 0 B are free\n  where: /srv\n  do:    free space"
    failures = {"random-read-qd1": why, "random-write-qd1": "error[R454] no data"}
    lines = shown(replace(whole, facts={**whole.facts, "failures": failures}))
    (place,) = (number for number, line in enumerate(lines) if "failed, the first because" in line)
    count = whole.trial_count + 2
    assert lines[place] == f"!    2 of {count} trials failed, the first because the file system of /srv is full:"
    assert lines[place + 1] == "     0 B are free"
    assert place <= 1
    assert len(lines) <= LINES_MAX + 2


def test_a_limit_out_of_reach_is_told_with_what_shows_it_and_not_with_the_interval_that_crosses_it(
    whole: ReportContent,
) -> None:
    etcd = check_of("sync-write-2300", "total_latency_ns_p99", (1.04e6, 0.27e6, 54.6e6), 5e7)
    etcd |= {"outcome": "pass", "reach": "99.9 % of 2698 took at most 2.13 ms"}
    needs = [need("cockroachdb", "pass") | {"checks": [etcd]}, need("etcd", "pass")]
    lines = shown(replace(whole, verdict={"outcome": "pass", "sentence": "Fit.", "verdicts": needs}))
    assert "Yes  cockroachdb: 2300 B appended, 99.9 % of 2698 ≤ 2.13 ms, asks p99 ≤ 50 ms" in lines


def test_work_of_others_that_every_trial_had_another_share_of_is_one_line_with_one_mark(whole: ReportContent) -> None:
    some = whole.trials[:6]
    findings = [
        Finding("foreign-work", "warning", f"not alone: {n} %", one.name, {"excess_write_share": n / 100})
        for n, one in zip((3, 20, 150, 700, 5000, 23000), some, strict=True)
    ]
    content = replace(whole, findings=reported(findings), finding_lines=finding_lines(findings, len(whole.trials)))
    lines = shown(content)
    told = "! 6 of 12 trials were not alone: others wrote 3 to 23000 % of what they moved"
    assert told.replace("! ", "!1 ") in lines
    assert sum(line.count(" !1") for line in lines) == 6
    assert "!2" not in "".join(lines)


def test_numbers_that_are_not_the_drives_say_so_however_little_room_there_is(whole: ReportContent) -> None:
    needs = [need(f"need {number}", "fail") for number in range(9)]
    verdict = {"outcome": "mixed", "sentence": "Fit for A. " * 11, "verdicts": needs}
    findings = [Finding("host-cache-answered", "invalid", f"void {one.name}", one.name) for one in whole.trials[4:7]]
    lines = shown(replace(whole, verdict=verdict, findings=reported(findings)))
    assert len(lines) <= LINES_MAX
    assert any(line.startswith("x1 ") and "not to be trusted" in line for line in lines)


def test_a_burst_and_a_need_without_a_limit_leave_room_for_the_table(whole: ReportContent) -> None:
    sentence = "PostgreSQL would commit about 5 020 times a second here with one client (range: 3 220 to 7 810). " * 2
    verdict = {"need": "postgres", "title": "PostgreSQL", "outcome": "no_limit", "sentence": sentence.strip()}
    text = (
        "this looks like a burst: 48 800 IOPS for 1.07 s, then 23 200 IOPS, each so steady that a limit seems to set "
    )
    text += "it; the numbers of the whole trial are a mixture"
    advice = "count on the lower rate, and see what an idle time gives back: drivelab run burst /srv/a"
    burst = Finding("burst-ended", "warning", text, "random-read-qd8", {}, advice)
    lines = shown(replace(whole, verdict=verdict, findings=reported([burst])))
    assert len(lines) <= LINES_MAX
    assert any("this looks like a burst: 48 800 IOPS" in line for line in lines)
    assert "drivelab run burst /srv/a" in " ".join(lines)
