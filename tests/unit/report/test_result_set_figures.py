"""Figures of several runs and published pages: plain, legible without colour, and true to the numbers behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from drawn_result_sets import depth_set, grid, made, one
from make_runs import NAMES
from plotly import graph_objects

from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.model.estimate import Estimate
from drivelab.model.result_set import ResultSet
from drivelab.model.run_answer import RunAnswer
from drivelab.reference.load import load_reference, reference_names
from drivelab.report.figures.bar_groups import bar_groups
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.figures.latency_over_size import latency_over_size
from drivelab.report.figures.measured import drive_labels, level_number, measured, number_words
from drivelab.report.figures.quantity import INVALID_NAME
from drivelab.report.figures.queue_depth import queue_depth
from drivelab.report.figures.surface import surface
from drivelab.report.joint_of import figures_of
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
UNIT = re.compile(r"\[.+\]")
COLOUR = re.compile(r"var\(--[a-z0-9-]+\)|rgba\(0,0,0,0\)")
COMBINATIONS = [
    *((name,) for name in NAMES),
    *((f"reference:{name}",) for name in reference_names()),
    ("write-size-two-drives", "ssd-latency-scratch", "reference:intel-530", "reference:ssd-latency"),
]


@cache
def result_set(name: str) -> ResultSet:
    """Of a stored run, or of a published page."""
    if name.startswith("reference:"):
        return load_reference(name.removeprefix("reference:"))
    run = open_run(RUNS / name)
    answer = answer_of_run(run, SHOWN_METRICS) if "plan" in run.run_json else RunAnswer()
    return result_set_of(run, answer)


@cache
def all_figures(names: tuple[str, ...]) -> tuple[Figure, ...]:
    return figures_of([result_set(name) for name in names])


def plots_of(names: tuple[str, ...]) -> list[Plot]:
    return [plot for figure in all_figures(names) for plot in figure.plots]


def resolved(value: Any) -> Any:
    """Plain data with every CSS variable replaced, as the page does."""
    if isinstance(value, str):
        return "#123456" if value.startswith("var(") else value
    if isinstance(value, list | tuple):
        return [resolved(item) for item in value]
    return {key: resolved(item) for key, item in value.items()} if isinstance(value, dict) else value


def strings(value: Any, key: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [found for name, inner in value.items() for found in strings(inner, name)]
    if isinstance(value, list | tuple):
        return [found for inner in value for found in strings(inner, key)]
    return [(key, value)] if isinstance(value, str) else []


def axis_titles(plot: Plot) -> list[str]:
    axes = [axis for key, axis in plot.layout.items() if re.fullmatch(r"[xy]axis\d*", key)]
    titles = [axis["title"]["text"] for axis in axes]
    return titles + [trace["colorbar"]["title"]["text"] for trace in plot.data if "colorbar" in trace]


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_drawings_are_plain_and_valid_plotly(names: tuple[str, ...]) -> None:
    for plot in plots_of(names):
        json.dumps({"data": plot.data, "layout": plot.layout}, allow_nan=False)
        graph_objects.Figure(resolved(list(plot.data)), resolved(plot.layout))


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_axes_have_units_and_say_when_they_are_logarithmic(names: tuple[str, ...]) -> None:
    for plot in plots_of(names):
        titles = axis_titles(plot)
        assert titles
        # rows of bars are no quantity
        assert all(UNIT.search(title) or title == "" for title in titles), titles
        for key, axis in plot.layout.items():
            if re.fullmatch(r"[xy]axis\d*", key) and axis.get("type") == "log":
                assert "log scale" in axis["title"]["text"]


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_colours_are_the_page_s_and_nothing_is_told_by_colour_alone(names: tuple[str, ...]) -> None:
    for plot in plots_of(names):
        for key, text in strings([plot.data, plot.layout]):
            if "color" in key:
                assert COLOUR.fullmatch(text), (key, text)
        marks = []
        for trace in plot.data:
            is_key_of_many_lines = trace.get("x") == [None]
            if is_key_of_many_lines or not trace.get("showlegend", True):
                continue
            if trace["type"] == "scatter" and "lines" in trace["mode"]:
                marks.append((trace["line"]["dash"], trace["marker"]["symbol"]))
                marks[-1] += (trace["line"]["color"],) if trace["name"].count(",") else ()
        assert len(set(marks)) == len(marks)
        patterns = [t["marker"]["pattern"]["shape"] for t in plot.data if t["type"] == "bar" and t["showlegend"]]
        assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_every_figure_has_its_words_and_its_numbers(names: tuple[str, ...]) -> None:
    for figure in all_figures(names):
        assert figure.caption.endswith(".")
        assert figure.table.rows
        assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
        assert {type(cell) for row in figure.table.rows for cell in row} <= {str, int, float, type(None)}
        assert max(plot.height_px for plot in figure.plots) <= 1000
        assert sum(len(json.dumps([plot.data, plot.layout])) for plot in figure.plots) < 300_000


def test_what_stored_runs_and_pages_carry() -> None:
    keys = {names: [figure.key for figure in all_figures(names)] for names in COMBINATIONS}
    assert keys["queue-depth-grid",] == ["queue-depth", "surface"]
    assert keys["write-size-two-drives",] == ["latency-over-size", "surface"]
    assert keys["ssd-latency-scratch",] == ["bar-groups"]
    assert keys["reference:ssd-latency",] == ["bar-groups"]
    assert keys["check-directory",][0] == "latency-over-size"
    assert figures_of([]) == ()


def test_the_knee_is_ringed_and_told_in_a_sentence() -> None:
    figure = queue_depth([depth_set()])
    assert figure is not None
    rings = [trace for trace in figure.plots[0].data if trace["name"] == "knee"]
    assert [ring["x"] for ring in rings] == [[4], [4]]
    assert figure.caption.startswith(
        "More than 4 outstanding (up to 16) adds 5\u00a0% IOPS and 3.8\u202f× the latency."
    )
    # what lies at the last depth does not hold at each behind the knee
    line = figure.plots[0].data[0]
    assert line["name"].endswith(": beyond 4, 16 adds 5 % IOPS and 3.8\u202f× latency")
    column = figure.table.columns.index("is_knee")
    assert [row[column] for row in figure.table.rows] == [0, 0, 1, 0, 0]


def test_no_knee_is_ringed_where_the_repeats_do_not_tell_it() -> None:
    figure = queue_depth([depth_set(scatter=0.6, trial_count=3)])
    assert figure is not None
    assert not [trace for trace in figure.plots[0].data if trace["name"] == "knee"]
    assert figure.caption.startswith("The repeats scatter too far to tell where more stop to pay.")
    assert "ring" not in figure.caption
    assert "beyond" not in figure.plots[0].data[0]["name"]
    calm = queue_depth([depth_set(scatter=0.05, trial_count=3)])
    assert calm is not None
    assert calm.caption.startswith("More than 4 outstanding")


def test_the_name_of_a_drive_keeps_its_case_in_a_caption() -> None:
    figure = queue_depth([depth_set(drive=name) for name in ("fast", "slow")])
    assert figure is not None
    assert figure.caption.startswith("fast: more than 4 outstanding")
    assert " slow: more than 4 outstanding" in figure.caption


def test_rate_and_latency_stand_above_each_other_over_the_same_depths() -> None:
    figure = queue_depth([depth_set()])
    assert figure is not None
    layout = figure.plots[0].layout
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]
    assert "IOPS [1/s, log scale]" in layout["yaxis"]["title"]["text"]
    assert "latency" in layout["yaxis2"]["title"]["text"]


@pytest.mark.parametrize("make", [latency_over_size, queue_depth, bar_groups, surface])
def test_trials_that_do_not_describe_the_drive_are_crossed_out(make: Callable[..., Figure | None]) -> None:
    sets = {
        latency_over_size: made(*(one(block_size_bytes=size, invalid_trials=1) for size in (512, 4096))),
        queue_depth: depth_set(invalid_trials=1),
        bar_groups: made(*(one(("filesystem", name), invalid_trials=1) for name in ("ext4", "xfs"))),
        surface: grid(invalid_trials=1),
    }
    figure = make([sets[make]])
    assert figure is not None
    crosses = [trace for plot in figure.plots for trace in plot.data if trace.get("name") == INVALID_NAME]
    assert crosses
    assert "A cross marks results with trials that do not describe the drive." in figure.caption
    column = figure.table.columns.index("invalid_trials")
    assert all(row[column] for row in figure.table.rows)


def test_two_drives_of_one_name_are_told_apart() -> None:
    labels = drive_labels([made(one(), key="monday"), made(one(), key="friday")])
    assert list(labels.values()) == ["fast (monday)", "fast (friday)"]


@pytest.mark.parametrize(
    ("level", "number"),
    [("4KiB", 4096), ("512", 512), ("20%", 20), ("64 KiB", 65536), ("250ms", 250e6), ("on", None), ("ext4", None)],
)
def test_levels_are_numbers_where_they_are_some(level: str, number: float | None) -> None:
    assert level_number(level) == number


def test_numbers_have_their_unit_again() -> None:
    assert number_words("block_size", 4096) == "4 KiB"
    assert number_words("fill_level", 20) == "20 %"
    assert number_words("queue_depth", 16) == "16"


def test_names_from_outside_are_harmless_in_the_markup_of_charts() -> None:
    hostile = "<b>x</b><a href='javascript:1'>y</a>"
    named = {"drive": hostile, "title": hostile, "machine": hostile, "note": hostile, "printed": hostile}
    sets = [depth_set(**named), made(*(one(block_size_bytes=size, **named) for size in (512, 4096)), key="b")]
    sets += [made(one(("filesystem", hostile), **named), one(("filesystem", "xfs"), **named), key="c")]
    figures = [figure for chosen in sets for figure in figures_of([chosen])] + [*figures_of([grid(**named)])]
    assert {figure.key for figure in figures} == {"latency-over-size", "queue-depth", "bar-groups", "surface"}
    for figure in figures:
        for plot in figure.plots:
            assert not any("<a" in text or "<b>x" in text for _, text in strings([plot.data, plot.layout]))


def test_observations_without_a_number_are_left_out() -> None:
    nothing = Estimate(None, 5.0, None, "ns", 3, 3.0, "a bound")
    seen = replace(nothing, observed=7.0)
    assert [each.value for each in measured([made(one(estimate=nothing), one(estimate=seen))])] == [7.0]
