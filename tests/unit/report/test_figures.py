"""Every figure of every stored run: plain data, named axes with units, colours of the theme, a table behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from plotly import graph_objects

from drivelab.answers.explanations import explanation_differences, explanations_of
from drivelab.answers.run_answer import answer_of_run
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.model.run_answer import RunAnswer
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.effects_overview import effects_overview
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.io_scatter import SLOWEST, io_scatter
from drivelab.report.figures.latency_cdf import latency_cdf
from drivelab.report.figures.latency_histogram import latency_histogram
from drivelab.report.figures.latency_over_time import latency_over_time
from drivelab.report.figures.latency_overview import latency_overview
from drivelab.report.figures.of_run import traced_figures_of_run
from drivelab.report.figures.part_differences import part_differences
from drivelab.report.figures.throughput_over_time import throughput_over_time
from drivelab.report.gather import gather
from drivelab.store.read import StoredRun
from held_records import HeldRecords

MAKERS = (
    latency_overview,
    latency_histogram,
    latency_cdf,
    latency_over_time,
    io_scatter,
)
AXIS = re.compile(r"[xy]axis\d*")
COLOUR = re.compile(r"var\(--[a-z0-9-]+\)|rgba\(0,0,0,0\)")


_drawn: dict[Path, list[Figure]] = {}


def figures_of(run: StoredRun) -> list[Figure]:
    """Each run's are made once for all tests here, which only look at them."""
    if run.directory not in _drawn:
        _drawn[run.directory] = _figures_of(run)
    return _drawn[run.directory]


def _figures_of(run: StoredRun) -> list[Figure]:
    answer = answer_of_run(run) if "plan" in run.run_json else RunAnswer()
    trials = gather(run, answer).trials
    made = [make(trials) for make in MAKERS]
    made += [throughput_over_time(trials, answer), effects_overview(answer)]
    made += traced_figures_of_run(gather(run, answer, explanations_of(run)))
    made.append(part_differences(explanation_differences(run, run)))
    return list({figure.key: figure for figure in made if figure is not None}.values())


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string in plain data, with the key it stands under."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner, key)
    elif isinstance(value, str):
        yield key, value


def test_figures_are_plain_data_without_holes_that_json_cannot_hold(stored_run: StoredRun) -> None:
    for figure in figures_of(stored_run):
        for plot in figure.plots:
            json.dumps({"data": plot.data, "layout": plot.layout}, allow_nan=False)


def test_figures_are_valid_plotly(stored_run: StoredRun) -> None:
    def resolved(value: Any) -> Any:
        if isinstance(value, str):
            return "#123456" if value.startswith("var(") else value
        if isinstance(value, list | tuple):
            return [resolved(item) for item in value]
        return {key: resolved(item) for key, item in value.items()} if isinstance(value, dict) else value

    for figure in figures_of(stored_run):
        for plot in figure.plots:
            graph_objects.Figure(resolved(list(plot.data)), resolved(plot.layout))


def test_a_trial_that_does_not_describe_the_drive_is_marked_in_every_figure(check_content: ReportContent) -> None:
    invalid = Finding("page-cache-answered", "invalid", "memory answered")
    wrong = [replace(trial, findings=(invalid,)) for trial in check_content.trials]
    for make in (
        latency_overview,
        latency_histogram,
        latency_cdf,
        latency_over_time,
        io_scatter,
    ):
        figure, before = make(wrong), make(check_content.trials)
        assert figure is not None
        assert before is not None
        assert "✗" in json.dumps([(plot.data, plot.layout) for plot in figure.plots], ensure_ascii=False)
        assert "✗ marks trials that do not describe the drive." in figure.caption
        assert "✗" not in before.caption


def test_every_axis_has_a_name_with_a_unit(stored_run: StoredRun) -> None:
    for figure in figures_of(stored_run):
        for plot in figure.plots:
            axes = {key: axis for key, axis in plot.layout.items() if AXIS.fullmatch(key)}
            titles = [axis["title"]["text"] for axis in axes.values()]
            with_unit = [title for title in titles if re.search(r"\[.+\]", title)]
            # the last of several panels names the time axis of all; rows of trials are no quantity
            assert with_unit, figure.key
            assert all(re.search(r"\[.+\]", title) or title in ("", "trial", "level") for title in titles), titles


def test_colours_are_left_to_the_page(stored_run: StoredRun) -> None:
    for figure in figures_of(stored_run):
        for plot in figure.plots:
            for key, text in strings([plot.data, plot.layout]):
                if "color" in key and key != "colorscale":
                    assert COLOUR.fullmatch(text), (figure.key, key, text)


def test_every_figure_has_its_numbers_behind_it(stored_run: StoredRun) -> None:
    for figure in figures_of(stored_run):
        assert figure.table.rows
        assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
        assert figure.title
        assert figure.caption.endswith(".")


def test_no_drawing_is_taller_than_a_sheet_of_paper(stored_run: StoredRun) -> None:
    for figure in figures_of(stored_run):
        assert max(plot.height_px for plot in figure.plots) <= 1000


@pytest.mark.parametrize("stored_run", ["explained-appends"], indirect=True)
def test_a_traced_run_has_the_figures_of_traces(stored_run: StoredRun) -> None:
    keys = {figure.key for figure in figures_of(stored_run)}
    assert {"waterfall", "parts-over-time", "part-cdf", "offset-map", "part-differences"} <= keys


def test_a_check_has_all_figures(check_run: StoredRun) -> None:
    assert len(figures_of(check_run)) == len(MAKERS)


def test_text_from_outside_is_harmless_in_the_markup_of_charts(check_content: ReportContent) -> None:
    hostile = [_labelled(trial, "<b>x</b><a href='javascript:1'>y</a>") for trial in check_content.trials]
    for make in MAKERS:
        figure = make(hostile)
        assert figure is not None
        for plot in figure.plots:
            assert not any("<a" in text or "<b>x" in text for _, text in strings([plot.data, plot.layout]))


def _labelled(trial: TrialContent, label: str) -> TrialContent:
    return replace(trial, label=label)


def test_without_a_completed_operation_there_is_nothing_to_draw(trial: Callable[..., TrialContent]) -> None:
    empty = trial(histograms={}, estimates={})
    assert [make([empty]) for make in MAKERS] == [None] * len(MAKERS)
    assert [make([]) for make in MAKERS] == [None] * len(MAKERS)


def test_one_operation_can_be_drawn(trial: Callable[..., TrialContent], histogram: Callable[..., Histogram]) -> None:
    single = trial(histograms={("read", "total"): histogram(123_456)}, estimates={})
    assert latency_histogram([single]) is not None
    assert latency_overview([single]) is not None
    # one value carries no quantile
    assert latency_cdf([single]) is None


def test_the_bars_of_a_histogram_are_all_of_its_operations(trial: Callable[..., TrialContent]) -> None:
    figure = latency_histogram([trial()])
    assert figure is not None
    assert sum(figure.plots[0].data[0]["y"]) == pytest.approx(100, abs=0.01)
    assert sum(row[4] for row in figure.table.rows) == 2000  # type: ignore[misc]


def test_a_line_of_the_tail_ends_where_the_data_end(trial: Callable[..., TrialContent]) -> None:
    figure = latency_cdf([trial()])
    assert figure is not None
    highest = max(row[2] for row in figure.table.rows)  # type: ignore[type-var]
    assert 0.995 < highest < 0.9983  # type: ignore[operator]
    line = figure.plots[0].data[0]
    assert max(line["y"]) == pytest.approx(-np.log10(3.69 / 2000), abs=0.001)


def test_dependent_latencies_carry_less_of_the_tail(
    trial: Callable[..., TrialContent], make_estimate: Callable[..., Estimate]
) -> None:
    dependent = trial(estimates={"total_latency_ns_p99": Estimate(1.0, None, None, "ns", 2000, 100.0, "")})
    figure = latency_cdf([dependent])
    assert figure is not None
    assert max(figure.plots[0].data[0]["y"]) == pytest.approx(-np.log10(3.69 / 100), abs=0.001)


def test_a_quantile_that_is_not_carried_is_an_open_arrow(
    trial: Callable[..., TrialContent], make_estimate: Callable[..., Estimate]
) -> None:
    figure = latency_overview([trial(estimates={"total_latency_ns_p99": make_estimate(None, 90_000, None)})])
    assert figure is not None
    arrows = [trace for trace in figure.plots[0].data if trace.get("marker", {}).get("symbol") == "arrow-right-open"]
    assert [trace["x"] for trace in arrows] == [[90_000]]
    assert "at least 90.0" in arrows[0]["text"][0]


def test_what_a_need_asks_is_marked_in_its_row(trial: Callable[..., TrialContent]) -> None:
    figure = latency_overview([trial("a"), trial("b")], {"b": [(10_000_000.0, "etcd: durable within this")]})
    assert figure is not None
    mark = figure.plots[0].data[-1]
    assert (mark["x"], mark["y"]) == ([10_000_000.0], [1])
    low, high = figure.plots[0].layout["xaxis"]["range"]
    assert low < 7 < high


def test_every_recorded_operation_is_in_a_cell(check_content: ReportContent) -> None:
    figure = io_scatter(check_content.trials)
    assert figure is not None
    recorded = [trial for trial in check_content.trials if trial.records is not None]
    for trial in recorded:
        counted = sum(row[5] for row in figure.table.rows if row[0] == trial.name)  # type: ignore[misc]
        assert counted == trial.histogram.total_count


def test_a_recorded_durable_write_lasts_until_its_sync_call_returned(trial: Callable[..., TrialContent]) -> None:
    records = pa.table(
        {
            "job": pa.array([0, 0, 0, 0], pa.uint16()),
            "operation": pa.array([1, 3, 1, 3], pa.uint8()),
            "issue_ns": pa.array([1000, 1200, 5000, 5100], pa.int64()),
            "offset_bytes": pa.array([0, 0, 512, 0], pa.int64()),
            "size_bytes": pa.array([512, 0, 512, 0], pa.int32()),
            "total_latency_ns": pa.array([150, 900, 80, 2000], pa.int64()),
        }
    )
    figure = io_scatter([trial(operation="durable_write", records=HeldRecords(records))])
    assert figure is not None
    slowest = figure.plots[0].data[1]
    assert slowest["y"] == [2100, 1100]
    assert "write + sync of 512 B at byte 512" in slowest["text"][0]


def test_the_slowest_operations_are_drawn_one_by_one(check_content: ReportContent) -> None:
    figure = io_scatter(check_content.trials)
    assert figure is not None
    trial = next(trial for trial in check_content.trials if trial.records is not None)
    slowest = figure.plots[0].data[1]["y"]
    assert len(slowest) == SLOWEST
    assert max(slowest) == pytest.approx(trial.histogram.maximum_ns, abs=1)


def test_too_many_trials_are_cut_and_the_caption_says_so(trial: Callable[..., TrialContent]) -> None:
    figure = latency_histogram([trial(f"t{number}") for number in range(45)])
    assert figure is not None
    assert "The first 40 of 45 trials are drawn" in figure.caption
    assert len({row[0] for row in figure.table.rows}) == 45


def test_ticks_are_round_and_not_too_many() -> None:
    assert theme.latency_ticks(900, 2.2e7) == [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7]
    assert len(theme.latency_ticks(1, 1e12)) <= 14
    # within one decade more of them, so that a value can be read off
    assert theme.latency_ticks(100_000, 160_000) == [1e5, 1.2e5, 1.4e5, 1.6e5]


def test_axes_name_the_units_that_stand_at_their_ticks() -> None:
    assert theme.unit_span(20_000, 900_000) == "µs"
    assert theme.unit_span(20_000, 2e9) == "µs to s"


def test_panels_fill_the_figure_from_the_top_without_touching() -> None:
    height, domains = theme.panels(3, 100, top_px=40, bottom_px=50)
    assert height == 3 * 130 - 10 + 90
    assert domains[0][1] > domains[0][0] > domains[1][1] > domains[1][0] > domains[2][1] > domains[2][0] >= 0


def test_intervals_are_joined_where_they_do_not_fit(check_content: ReportContent) -> None:
    figure = latency_over_time(check_content.trials)
    assert figure is not None
    first = [row for row in figure.table.rows if row[0] == "sync-write-512"]
    assert len(first) == 30
    assert sum(row[4] for row in first) == check_content.trials[0].histogram.total_count  # type: ignore[misc]


def test_a_trial_without_even_a_bound_has_a_mark_in_the_overview(
    trial: Callable[..., TrialContent], histogram: Callable[..., Histogram]
) -> None:
    one = trial("once", estimates={}, histograms={("read", "total"): histogram(250_000)})
    figure = latency_overview([trial(), one])
    assert figure is not None
    (mark,) = [trace for trace in figure.plots[0].data if trace.get("name") == "median as seen"]
    assert (mark["x"], mark["y"]) == ([pytest.approx(250_000, rel=0.002)], [1])
    whole = latency_overview([trial()])
    assert whole is not None
    assert "median as seen" not in [trace.get("name") for trace in whole.plots[0].data]


@pytest.mark.parametrize(
    ("repeats", "sheets"),
    [
        # repeats of a combination stay together
        ([1, 2, 3] * 4, [6, 6]),
        ([1, 2, 3, 1, 2, 3, 1], [7]),
        # parts of a mix have one repeat
        ([1, 1, 2, 2] * 2, [4, 4]),
        # what has no room is cut evenly, and so is what was measured once
        ([*range(1, 11), 1, 2], [5, 7]),
        ([1] * 9, [5, 4]),
    ],
)
def test_repeats_of_one_combination_are_drawn_together(repeats: list[int], sheets: list[int]) -> None:
    trials = [TrialContent(str(place), "", "read", row={"repeat": repeat}) for place, repeat in enumerate(repeats)]
    found = theme.sheets(trials, 7)
    assert [len(sheet) for _, sheet in found] == sheets
    assert [trial.name for _, sheet in found for trial in sheet] == [trial.name for trial in trials]
