"""What only an experiment's report has: effects, the reference, throughput over time, latency over size."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.run_results import print_results
from drivelab.joint_report import joint_report
from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.model.throughput_course import SteadyState
from drivelab.model.token_bucket import TokenBucket
from drivelab.report.effects_table import effects_tables
from drivelab.report.figures.effects_overview import effects_overview
from drivelab.report.figures.throughput_over_time import (
    LineStyle,
    course_marks,
    throughput_over_time,
    throughput_series,
)
from drivelab.report.gather import gather
from drivelab.report.html import write_html_report
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.sentences.effect_words import (
    commands_words,
    effects_notes,
    effects_title,
    interval_words,
    verdict_words,
)
from drivelab.report.sentences.run import run_sentences
from drivelab.report.terminal.size_series import SERIES_PER_PANEL, panels_of_answer
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


@pytest.fixture
def scan() -> StoredRun:
    """A scan of settings with a reference."""
    return open_run(RUNS / "settings-scan-drive")


@pytest.fixture
def scanned(scan: StoredRun) -> RunAnswer:
    """What that scan came to."""
    return answer_of_run(scan, SHOWN_METRICS)


@pytest.fixture
def filled() -> StoredRun:
    """Writes to more and more of a drive."""
    return open_run(RUNS / "fill-level-drive")


def effect(**changes: object) -> LevelEffect:
    given: dict[str, object] = {
        "target": "sdb",
        "workload": "small",
        "factor": "write-cache",
        "level": "off",
        "baseline": "on",
        "metric": "total_latency_ns_p50",
        "ratio": Estimate(0.5, 0.45, 0.55, "1", 5, 5.0, ""),
        "block_ratios": (0.5,) * 5,
        "verdict": "matters",
        "bound": 0.05,
        "p_value": 0.001,
        "adjusted_p_value": 0.002,
        "combination_count": 1,
    }
    return LevelEffect(**(given | changes))  # type: ignore[arg-type]


def page_text(run: StoredRun, answer: RunAnswer, directory: Path) -> str:
    page = write_html_report(joint_report([run], answers=[answer]), directory / "report.html")
    return re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_a_ratio_over_several_combinations_is_said_to_be_averaged(scanned: RunAnswer) -> None:
    effects = list(scanned.effects)
    assert "averaged" not in effects_title(effects, scanned)
    crossed = [*effects, replace(effects[0], combination_count=6)]
    assert effects_title(crossed, scanned).endswith(
        "over baseline, averaged over all combinations of the other factors"
    )


def test_the_table_of_effects_tells_level_baseline_and_commands(scanned: RunAnswer) -> None:
    (table,) = effects_tables(scanned.effects, scanned)
    rows = {row.level: row for row in table.rows}
    assert list(rows) == ["write-cache off", "scheduler bfq", "scheduler none -> mq-deadline", "read-ahead 128 KiB"]
    cache = rows["write-cache off"]
    assert (cache.baseline, cache.ratio, cache.commands) == ("as-found (on)", "0.300", "flushes 2 -> 0")
    assert cache.verdict_text == "matters: faster"
    assert rows["scheduler bfq"].verdict_text == "matters: slower"
    assert rows["read-ahead 128 KiB"].verdict_text == "no effect of 5 % or more"
    assert rows["scheduler none -> mq-deadline"].verdict_text == "not taken: mq-deadline was read back"
    assert table.notes[0] == "scheduler none was not taken: mq-deadline was read back."
    assert "corrected for 3 levels tried (Holm)" in table.notes[1]
    assert not any("too few blocks" in note for note in table.notes)


def test_nothing_measured_says_nothing() -> None:
    assert run_sentences(RunAnswer()) == ()


def test_ratios_are_told_without_a_block_whose_baseline_lies_far_off() -> None:
    baselines = (4.2e6, 2.4e5, 2.5e5, 2.6e5)
    one = effect(block_ratios=(0.02, 0.5, 0.5, 0.5), blocks=(1, 2, 3, 4), block_baselines=baselines)
    size = baselines[0] / float(np.median(baselines))
    (note, *_) = effects_notes([one, replace(one, level="auto", block_ratios=(0.02, 0.9, 1.0, 1.0 / 0.9))])
    assert note.startswith(f"The baseline of block 1 is {size:.0f} times its median: ratios without that block: ")
    assert note.endswith("write-cache off 0.500, write-cache auto 1.00.")
    assert effects_notes([replace(one, block_baselines=(2.3e5, *baselines[1:]))])[0].startswith("Geometric mean")


def test_effects_of_trials_that_do_not_describe_the_drive_are_marked_everywhere() -> None:
    bad = effect(verdict="not judged", trial_count=10, invalid_trials=3, p_value=None, adjusted_p_value=None)
    answer = RunAnswer(effects=(bad, effect(level="auto", verdict="differs", note="it was found otherwise")))
    text = "3 of 10 trials do not describe the drive"
    assert bad.verdict_text == f"not judged: {text}"
    assert verdict_words(bad) == "3 of 10 invalid"
    (table,) = effects_tables(answer.effects, answer)
    assert [row.verdict for row in table.rows] == ["not-judged", "differs"]
    assert "write-cache off: 3 of 10 trials do not describe the drive, those of the baseline" in table.notes[0]
    assert table.notes[1] == "it was found otherwise."
    assert "corrected for 1 level tried" in table.notes[2]
    assert len(effects_notes([bad])) == 1
    changed, unjudged = run_sentences(answer)
    assert changed == "Small: write-cache auto is 1.8 to 2.2 times as fast as on (95\u00a0%)."
    assert unjudged == "Not judged, as trials do not describe the drive: write-cache off."
    assert answer.to_json()["effects"][0]["invalid_trials"] == 3
    figure = effects_overview(answer)
    assert figure is not None
    assert [trace["name"] for trace in figure.plots[0].data] == ["differs", "not judged"]
    assert figure.table.rows[0][-2:] == [10, 3]


def test_the_correction_is_told_for_all_that_were_tried_on_the_target() -> None:
    one = effect(p_value=0.2)
    others = [replace(one, workload=name) for name in ("b", "c", "d")]
    elsewhere = replace(one, target="another")
    (note, *_) = effects_notes([one], [one, *others, elsewhere])
    assert "corrected for 4 levels tried" in note


def test_few_blocks_are_told_honestly() -> None:
    one = effect(ratio=Estimate(0.5, None, None, "1", 1, 1.0, ""), block_ratios=(0.5,), p_value=None)
    (note,) = effects_notes([one])
    assert note.startswith("1 block: too few for an interval, so nothing is settled.")
    assert interval_words(one) == "one block"
    two = replace(one, block_ratios=(0.5, 0.61))
    assert interval_words(two) == "seen 0.500, 0.610"
    wide = effect(ratio=Estimate(0.5, 0.1, 2.0, "1", 3, 3.0, ""), verdict="not settled")
    notes = effects_notes([two, wide])
    assert "So few blocks settle little: repeat it at full size." in notes
    assert "1 of 2 levels was measured in too few blocks to be judged." in notes


def test_commands_that_nobody_counted_are_not_said_to_be_the_same() -> None:
    assert commands_words(effect()) == "not counted"


def test_the_figure_of_effects_draws_every_level_with_its_interval(scanned: RunAnswer) -> None:
    figure = effects_overview(scanned)
    assert figure is not None
    (plot,) = figure.plots
    marks = {trace["name"]: trace for trace in plot.data}
    assert list(marks) == ["matters", "no effect of 5 % or more", "not judged"]
    assert marks["matters"]["x"] == [pytest.approx(0.3, rel=0.02), pytest.approx(1.22, rel=0.02)]
    assert all(width > 0 for width in marks["matters"]["error_x"]["array"])
    assert len({trace["marker"]["symbol"] for trace in plot.data}) == 3
    assert len(figure.table.rows) == 4
    json.dumps([plot.data, plot.layout], allow_nan=False)
    assert effects_overview(RunAnswer()) is None


def test_the_page_of_a_scan_has_effects_and_reference_but_no_trial_of_it(
    scan: StoredRun, scanned: RunAnswer, tmp_path: Path
) -> None:
    text = page_text(scan, scanned, tmp_path)
    assert "What changes 1 byte appended + fdatasync on sdb" in text
    assert "the reference drifted: median latency +28\u00a0% over 6 repeats (more than chance)" in text
    assert 'id="trial-0002-one-byte"' in text
    # the first step is one of the reference
    assert 'id="trial-0001-one-byte"' not in text
    assert "31 trials in all" in text
    assert '<summary class="small">31 trials</summary>' in text


def test_reference_trials_are_not_among_the_results(scan: StoredRun, scanned: RunAnswer) -> None:
    content = gather(scan, scanned)
    assert (len(content.trials), content.trial_count, scanned.trial_count) == (25, 25, 25)
    assert [one.trial_count for one in scanned.combinations] == [5] * 5
    assert "0001-one-byte" not in {name for one in scanned.combinations for name in one.trials}
    (drift,) = scanned.drifts
    assert len(drift.values) == 6
    assert content.trials[0].label == "1 byte appended + fdatasync, baseline, repeat 1"


def test_throughput_over_time_has_a_line_per_trial_and_tells_how_far_it_fell(filled: StoredRun) -> None:
    answer = answer_of_run(filled, SHOWN_METRICS)
    figure = throughput_over_time(gather(filled, answer).trials, answer)
    assert figure is not None
    plot, over_bytes = figure.plots
    lines = [trace for trace in plot.data if trace["mode"] == "lines"]
    assert [trace["mode"] for trace in plot.data] == ["lines"] * 6 + ["markers"] * 2
    shown = [trace["name"] for trace in plot.data if trace["showlegend"]]
    assert shown[2].startswith("fill level 100 %: 20.8\u00a0% (503 MB/s → 105 MB/s)")
    assert len({trace["line"]["color"] for trace in lines}) == 3
    assert [trace["line"]["width"] for trace in plot.data[:2]] == [1.8, 0.8]
    first, last = plot.data[4]["y"][0], plot.data[4]["y"][-1]
    assert last / first == pytest.approx(0.21, abs=0.03)
    json.dumps([plot.data, plot.layout, over_bytes.data], allow_nan=False)
    # as many bytes as the trial moved, in GB
    moved = sum(trace["x"][-1] > 3.7 for trace in over_bytes.data if trace["mode"] == "lines")
    assert moved == 2
    assert over_bytes.name.endswith(", over the bytes moved")
    assert all("level 51" in text for text in lines[4]["text"])
    assert throughput_over_time((), RunAnswer()) is None
    watching = replace(answer, buckets=(("sdb", TokenBucket("no end", "bytes", 20.0, 1e9)),))
    plain = throughput_over_time(gather(filled, answer).trials, watching)
    assert plain is not None
    assert "tenth" not in plain.caption
    assert [trace["name"] for trace in plain.plots[0].data if trace["showlegend"]][2] == "fill level 100 %"


def test_changes_of_level_and_the_steady_window_are_marked(filled: StoredRun) -> None:
    answer = answer_of_run(filled, SHOWN_METRICS)
    figure = throughput_over_time(gather(filled, answer).trials, answer)
    assert figure is not None
    marks = [trace for trace in figure.plots[1].data if trace["mode"] == "markers"]
    course = answer.courses["0003-random-write"]
    assert marks[1]["x"] == [pytest.approx(course.changes[0].at_bytes / 1e9)]
    assert marks[1]["marker"]["symbol"] == ["diamond"]
    assert "<b>level 511 MB/s until 612 MB, then 116 MB/s</b>" in marks[1]["text"][0]
    at_s = next(trace for trace in figure.plots[0].data if trace["mode"] == "markers")["x"]
    assert at_s == [pytest.approx(answer.courses["0002-random-write"].changes[0].at_ns / 1e9)]
    rate = Estimate(2.6e8, 2.5e8, 2.7e8, "B/s", 9, 9.0, "")
    steady = SteadyState("steady", "", 1, 20, 10**9, 2 * 10**9, 10**9, 5 * 10**9, rate)
    course = replace(course, changes=(), levels=course.levels[:1], steady=steady)
    style = LineStyle("60 <b>", "var(--series-1)", 1e6)
    (band,) = course_marks(course, "bytes", style)
    assert (band["x"], band["y"], band["line"]["width"]) == ([1.0, 2.0], [260.0, 260.0], 9)
    assert band["text"][0].startswith("60 &lt;b&gt;<br><b>steady at 260 MB/s</b>")
    assert course_marks(course, "time", style)[0]["x"] == [1.0, 5.0]
    assert course_marks(None, "time", style) == []


def test_the_combinations_come_first_and_the_single_trials_are_folded_below(
    filled: StoredRun, scan: StoredRun, scanned: RunAnswer, tmp_path: Path
) -> None:
    for run, answer, count in ((filled, answer_of_run(filled, SHOWN_METRICS), 6), (scan, scanned, 25)):
        text = page_text(run, answer, tmp_path)
        combined, folded = text.index('class="results combinations'), text.index('<details class="single-trials">')
        assert combined < folded < text.index('id="trial-') < text.index("</details>", folded)
        assert f"The {count} trials, one by one" in text
        assert text.count('class="results"') == 1


def test_trials_that_share_a_sentence_are_not_said_to_be_others(
    filled: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = [row["trial"] for row in filled.trials.to_pylist()]
    says = (("slow for 7 s", tuple(trials[:2])), ("slow for 9 s", tuple(trials[2:3])))
    for trial_count, is_cut in ((3, False), (6, True)):
        finding = ReportedFinding(1, "note", "slow", "", says, dict.fromkeys(trials[:3], frozenset()), trial_count)
        monkeypatch.setattr("drivelab.report.gather.reported", lambda *_, finding=finding: (finding,))
        assert ("<li>and others</li>" in page_text(filled, RunAnswer(), tmp_path)) is is_cut


def test_the_last_tenth_stands_in_the_page_and_in_the_terminal(
    filled: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = answer_of_run(filled, SHOWN_METRICS)
    page = page_text(filled, answer, tmp_path)
    assert 'data-label="throughput last tenth [MB/s]">105<' in page
    assert 'data-label="throughput last over first [%]">20.8<' in page
    monkeypatch.setenv("COLUMNS", "80")
    print_results(filled, answer)
    text = capsys.readouterr().out
    # the head of a column has two lines
    assert re.search(r"first +last +last over.*\n.*tenth +tenth +first", text)
    assert re.search(r"100 % .* 503 MB/s +105 MB/s +21 %", text)


def intervals(moved: list[int], duration_ns: int = 10**8) -> pa.Table:
    count = len(moved)
    return pa.table(
        {
            "operation": ["write"] * count,
            "latency": ["total"] * count,
            "interval": pa.array(range(count), pa.int32()),
            "duration_ns": pa.array([duration_ns] * count, pa.int64()),
            "bytes": pa.array(moved, pa.int64()),
        }
    )


def test_the_throughput_of_a_trial_is_that_of_its_bytes() -> None:
    series = throughput_series(intervals([10**7] * 1000), 100e9)
    assert series is not None
    assert series.bytes_per_s.size <= 300
    assert np.allclose(series.bytes_per_s, 1e8)
    assert (series.bytes_per_s.size, series.middle_s[-1]) == (250, pytest.approx(99.8))


def test_a_short_end_is_no_cliff() -> None:
    series = throughput_series(intervals([10**7, 10**7, 10**5]), 201e6)
    assert series is not None
    assert series.bytes_per_s.size == 2
    assert series.bytes_per_s[-1] == pytest.approx(1.01e7 / 0.101)


def test_a_stretch_in_which_nothing_was_completed_is_there() -> None:
    rows = intervals([10**7] * 4).filter(pa.array([True, False, False, True]))
    series = throughput_series(rows, 4e8)
    assert series is not None
    assert series.bytes_per_s.tolist() == [1e8, 0, 0, 1e8]
    assert throughput_series(intervals([10**7]), 1e8) is None
    assert throughput_series(None, 1e8) is None


def sized(size: int, shift: int, cache: str, filesystem: str, median: float) -> CombinationResult:
    levels = {"block_size": str(size), "shift": str(shift), "write-cache": cache, "filesystem": filesystem}
    levels["direct"] = "true" if median > 2e5 else "false"
    repeated = RepeatedMetric(median, 0.8 * median, 1.5 * median, "ns", 5)
    metrics = {"total_latency_ns_p50": repeated}
    names = tuple(f"t{n}" for n in range(5))
    return CombinationResult(
        "sdb", "reserved", "reserved", levels, {}, metrics, "total_latency_ns_p50", names, size, is_durable=True
    )


def test_many_series_are_divided_into_drawings() -> None:
    combinations = tuple(
        sized(size, 0, cache, filesystem, median)
        for size in (512, 4096)
        for cache in ("on", "off")
        for filesystem in ("raw", "ext4", "xfs")
        for median in (1e5, 3e5)
    )
    panels = panels_of_answer(RunAnswer(combinations))
    assert [panel.name for panel in panels] == [
        f"reserved · sdb · filesystem {name}" for name in ("raw", "ext4", "xfs")
    ]
    assert {len(panel.series) for panel in panels} == {SERIES_PER_PANEL}
