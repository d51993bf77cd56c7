"""The answer in a terminal: 80 columns, marks at the numbers, ASCII and no colour where that is asked."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.verdict import Fitness, Verdict
from drivelab.report.terminal.shapes import BLOCKS, TextAxis
from drivelab.report.terminal.text import render_check, render_content, text_console
from drivelab.store.read import StoredRun
from golden_reports import golden_content


def shown(renderable: object, *, color: bool = False) -> str:
    """What a console prints."""
    file = io.StringIO()
    console = text_console(file)
    if color:
        console = type(console)(file=file, force_terminal=True, width=80, color_system="standard")
    console.print(renderable)
    return file.getvalue()


@pytest.fixture
def summary(make_estimate: Callable[..., Estimate]) -> TrialSummary:
    """A durable write with a bound instead of a p99.9."""
    estimates = {
        "total_latency_ns_p50": make_estimate(333_000, 320_000, 345_000),
        "total_latency_ns_p99": make_estimate(812_000, 790_000, 850_000),
        "total_latency_ns_p999": make_estimate(None, 900_000, None),
        "device_writes_per_operation": make_estimate(3, 3, 3, "1"),
        "device_flushes_per_operation": make_estimate(2, 2, 2, "1"),
        "device_bytes_per_operation": make_estimate(16384, 16384, 16384, "B"),
    }
    return TrialSummary("sync-write-4096", "4 KiB appended + fdatasync", "durable_write", estimates)


def test_no_line_is_longer_than_the_terminal(stored_run: StoredRun) -> None:
    text = shown(render_content(golden_content(stored_run.name)))
    assert max(map(len, text.splitlines())) <= 80


def test_numbers_stand_with_their_intervals_and_the_commands_behind_them(summary: TrialSummary) -> None:
    lines = shown(render_check("Why?", [summary], [], None)).splitlines()
    numbers = next(line for line in lines if "3.00" in line)
    assert numbers.split()[-7:] == ["333", "812", "≥", "900", "3.00", "2.00", "16.0"]
    assert any("320–345" in line and "790–850" in line for line in lines)


def test_without_any_value_the_unit_comes_from_what_was_seen() -> None:
    seen = Estimate(None, None, None, "ns", 5, 1.0, "made up", 2_770_000.0)
    summary = TrialSummary("read", "8 MiB reads", "read", {"total_latency_ns_p50": seen})
    text = shown(render_check("Why?", [summary], [], None))
    assert "[ms]" in text
    assert "seen 2.77" in text


def test_a_finding_is_listed_and_marks_its_number(summary: TrialSummary) -> None:
    finding = Finding("too-little-data", "note", "p99.9 of 500 is not a number", summary.name, {"quantile": 0.999})
    text = shown(render_check("Why?", [summary], [finding], None))
    assert "≥ 900 i1" in text
    assert "i1 Note: p99.9 of 500 is not a number." in text


def test_a_finding_about_the_whole_trial_marks_its_name(summary: TrialSummary) -> None:
    finding = Finding("page-cache-answered", "invalid", "the page cache answered", summary.name)
    text = shown(render_check("Why?", [summary], [finding], None))
    assert "4 KiB appended + fdatasync, n 2 000" in text
    assert any(line.startswith("x1 ") and "320–345" in line for line in text.splitlines())


def test_findings_that_say_much_the_same_are_one_with_the_numbers_of_each(summary: TrialSummary) -> None:
    findings = [Finding("drift", "warning", f"it got {n} times slower", f"t{n}") for n in (2, 3)]
    text = " ".join(shown(render_check("Why?", [summary], findings, None)).split())
    assert text.count("Warning") == 1
    assert "Warning of 2 trials, marked !1: t2: it got 2 times slower. t3: it got 3 times slower." in text


def test_the_verdict_comes_first(summary: TrialSummary) -> None:
    verdict = Verdict("etcd", "etcd", "undecided", "Nobody knows.", "too little data", ())
    lines = shown(render_check("Is it fit?", [summary], [], verdict)).splitlines()
    assert [line.strip() for line in lines[:3]] == ["Is it fit?", "Undecided  Nobody knows.", "too little data"]


def test_the_verdict_comes_last_too_where_the_first_has_left_the_screen(summary: TrialSummary) -> None:
    verdict = Verdict("etcd", "etcd", "pass", "Yes, this carries etcd.", "", ())
    for count, times in ((1, 1), (6, 2)):
        summaries = [replace(summary, name=f"trial-{number}") for number in range(count)]
        text = shown(render_check("Is it fit?", summaries, [], verdict)).rstrip()
        assert text.count("Yes, this carries etcd.") == times
        assert text.endswith("Yes, this carries etcd.") == (times == 2)


def test_several_needs_have_a_line_each(summary: TrialSummary) -> None:
    one = Verdict("etcd", "etcd", "pass", "Yes, this carries etcd.", "", ())
    other = Verdict("kafka", "Kafka", "fail", "No, this is too slow for Kafka.", "", ())
    text = shown(render_check("Fit?", [summary], [], Fitness("Fit for some.", "fail", (one, other))))
    assert "  Yes  Yes, this carries etcd." in text
    assert "  No  No, this is too slow for Kafka." in text


def test_plain_text_is_ascii(stored_run: StoredRun) -> None:
    assert shown(render_content(golden_content(stored_run.name), plain=True)).isascii()


def test_what_comes_from_outside_cannot_steer_the_terminal(make_estimate: Callable[..., Estimate]) -> None:
    estimates = {"iops": make_estimate(1, 1, 1, "1/s")}
    hostile = TrialSummary("t", "evil \x1b]0;owned\x07 [bold red]name", "read", estimates)
    text = shown(render_check("Why\x1b[2J?", [hostile], [Finding("a", "note", "\x1b[31mred\r")], None), color=True)
    assert "\x1b]0" not in text
    assert "\x1b[2J" not in text
    assert "\r" not in text
    assert "[bold" in text


def test_piped_output_has_no_colour(stored_run: StoredRun) -> None:
    assert "\x1b" not in shown(render_content(golden_content(stored_run.name)))


def test_no_color_is_obeyed(summary: TrialSummary, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("a", "invalid", "wrong")
    assert "\x1b[1;31m" in shown(render_check("?", [summary], [finding], None), color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in shown(render_check("?", [summary], [finding], None), color=True)


def test_a_wide_terminal_is_not_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert text_console(io.StringIO()).width == 100


def test_pictures_show_every_value_and_line_up(histogram: Callable[..., Histogram]) -> None:
    histograms = {"a": histogram(*[1000] * 999, 900_000), "b": histogram(30_000)}
    axis = TextAxis(histograms, 12)
    assert (axis.low_ns, axis.high_ns) == (1e3, 1e6)
    drawn = axis.draw(histograms["a"])
    assert (drawn[0], drawn[-1], set(drawn[1:-1])) == (BLOCKS[-1], BLOCKS[1], {" "})
    assert axis.draw(histograms["b"]).index(BLOCKS[-1]) == 5
    assert axis.draw(histogram()) == " " * 12


def test_a_picture_stands_under_the_name_of_its_trial(
    summary: TrialSummary, histogram: Callable[..., Histogram]
) -> None:
    text = shown(render_check("?", [summary], [], None, {summary.name: histogram(333_000, 340_000, 812_000)}))
    assert "█" in text
    assert "Pictures: share of I/Os by latency, 100 us to 1 ms, log scale." in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_columns_that_do_not_fit_follow_below_and_no_digit_is_cut(summary: TrialSummary, width: int) -> None:
    console = text_console(file := io.StringIO())
    console.width = width
    console.print(render_check("?", [summary], [], None))
    text = file.getvalue()
    for number in ("333", "812", "≥ 900", "3.00", "2.00", "16.0", "320–345", "790–850"):
        assert number in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
