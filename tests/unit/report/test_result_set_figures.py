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
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.bar_groups import bar_groups
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.figures.measured import drive_labels, level_number, measured, number_words
from drivelab.report.figures.of_result_sets import figures_of
from drivelab.report.figures.quantity import INVALID_NAME
from drivelab.report.figures.queue_depth import queue_depth
from drivelab.report.figures.size_series import panels_of_trials
from drivelab.report.figures.surface import surface
from drivelab.report.figures.write_size import LINES_PER_PLOT, write_size
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
    assert keys["write-size-two-drives",] == ["write-size", "surface"]
    assert keys["ssd-latency-scratch",] == ["bar-groups"]
    assert keys["reference:ssd-latency",] == ["bar-groups"]
    assert keys["check-directory",][0] == "write-size"
    assert figures_of([]) == ()


def test_labels_tell_value_unit_and_count() -> None:
    figure = write_size([made(one(), one(block_size_bytes=512, value=912_345.0))])
    assert figure is not None
    text = figure.plots[0].data[0]["text"][0]
    assert "512 B: <b>912.35\u00a0µs</b>" in text
    assert "1 trial, 900 operations" in text
    assert "95 % interval 894.10\u00a0µs to 930.59\u00a0µs" in text


def test_drives_machines_and_caches_differ_in_colour_mark_and_dash() -> None:
    observations = [
        one(("write-cache", cache), drive=drive, machine=machine, block_size_bytes=size)
        for drive in ("a", "b")
        for machine in ("m", "n")
        for cache in ("on", "off")
        for size in (512, 4096)
    ]
    figure = write_size([made(*observations)])
    assert figure is not None
    lines = [(t["line"]["color"], t["marker"]["symbol"], t["line"]["dash"]) for t in figure.plots[0].data]
    assert len(set(lines)) == 8
    assert [len({line[place] for line in lines}) for place in range(3)] == [2, 2, 2]


def test_the_write_cache_is_on_where_a_line_is_solid_whichever_was_measured_first() -> None:
    for caches in (("on", "off"), ("off", "on")):
        figure = write_size([made(*(one(("write-cache", c), block_size_bytes=s) for c in caches for s in (512, 4096)))])
        assert figure is not None
        dashes = {trace["name"]: trace["line"]["dash"] for trace in figure.plots[0].data}
        assert [dashes[f"write-cache {cache}"] for cache in ("on", "off")] == ["solid", "dash"]
    assert [theme.dash_of(f"ext4, write-cache {cache}", 3) for cache in ("on", "off")] == ["solid", "dash"]
    assert [theme.dash_of(label, 2) for label in ("write-cache as-found (off)", "ext4")] == ["dash", "dot"]


def test_only_what_begins_at_the_lowest_place_of_a_file_is_drawn_and_the_rest_is_named() -> None:
    observations = [
        one(("shift", str(shift)), value=value, block_size_bytes=size)
        for size in (512, 1024)
        for shift, value in ((512, 3e6), (0, 1e6), (1024, 2e6))
    ]
    figure = write_size([made(*observations)])
    assert figure is not None
    (line,) = figure.plots[0].data
    assert line["y"] == [1e6, 1e6]
    assert "Beginning at 512 B, 1 KiB of the file: see the tables." in figure.caption


def test_published_numbers_are_hollow_and_only_those_of_the_same_settings_are_drawn() -> None:
    own = made(*(one(("filesystem", "ext4"), block_size_bytes=size) for size in (512, 4096)))
    mean = {"metric": "total_latency_ns_mean", "printed": "~8", "block_size_bytes": 512}
    page = made(
        one(("filesystem", "ext4"), drive="old", value=8e6, **mean),
        one(("filesystem", "xfs"), drive="old", value=6e6, **mean),
        key="reference:page",
        is_reference=True,
    )
    figure = write_size([own, page])
    assert figure is not None
    hollow = [trace for trace in figure.plots[0].data if trace["marker"]["symbol"].endswith("-open")]
    assert [trace["y"] for trace in hollow] == [[8e6]]
    assert "printed as ~8" in hollow[0]["text"][0]
    assert "Hollow marks are published numbers." in figure.caption
    assert "are not drawn here" in figure.caption


def test_means_are_compared_with_means() -> None:
    both = [
        replace(one(block_size_bytes=size), metric=f"total_latency_ns_{name}")
        for size in (512, 4096)
        for name in ("p50", "mean")
    ]
    page = made(one(metric="total_latency_ns_mean"), key="reference:page", is_reference=True)
    alone, beside = write_size([made(*both)]), write_size([made(*both), page])
    assert alone is not None
    assert beside is not None
    assert "median" in alone.caption
    assert "the mean time" in beside.caption
    assert len(alone.table.rows) == 2


def test_more_lines_than_can_be_told_apart_are_several_drawings() -> None:
    observations = [
        one(("write-cache", cache), drive=f"drive {number}", block_size_bytes=size)
        for number in range(11)
        for cache in ("on", "off")
        for size in (512, 4096)
    ]
    figure = write_size([made(*observations)])
    assert figure is not None
    assert len(figure.plots) > 1
    for plot in figure.plots:
        lines = [trace for trace in plot.data if trace["x"] != [None]]
        assert len(lines) <= LINES_PER_PLOT
        assert len({trace["line"]["color"] for trace in lines}) <= len(theme.SERIES)
    assert len(figure.table.rows) == len(observations)


def test_the_published_graph_of_larger_writes_is_one_drawing_whose_legend_tells_drives_machines_and_caches() -> None:
    figure = write_size([load_reference("intel-530")])
    assert figure is not None
    (plot,) = figure.plots
    lines = [trace for trace in plot.data if trace["x"] != [None]]
    assert len(lines) == 18
    assert not any(trace["showlegend"] for trace in lines)
    assert [trace["name"] for trace in plot.data if trace not in lines] == [
        "Intel 320 (SSDSC2CW120A3)",
        "Intel 520 (SSDSC2CW120A3)",
        "Intel 530 (SSDSC2BW120A4)",
        "Crucial M4",
        "SanDisk X100 (SD5SG2128G1052E)",
        "Intel X25-M (SSDSA2M120G2GC)",
        "rcmonster",
        "rc66",
        "flygecko",
        "x1",
        "write-cache on",
        "write-cache off",
    ]
    assert "read off the sample graph" in figure.caption


def test_the_published_graph_stands_beside_a_run_of_the_same_file_system() -> None:
    sizes = [
        one(("write-cache", "on"), ("filesystem", "ext4"), workload="reserved", block_size_bytes=size)
        for size in (1, 4096)
    ]
    figure = write_size([made(*sizes), load_reference("intel-530")])
    assert figure is not None
    numbers = [one for one in load_reference("intel-530").observations if one.estimate.value]
    assert len(figure.table.rows) == 2 + 376 + len(numbers)
    assert "read off the sample graph" in figure.caption


def test_the_knee_is_ringed_and_told_in_a_sentence() -> None:
    figure = queue_depth([depth_set()])
    assert figure is not None
    rings = [trace for trace in figure.plots[0].data if trace["name"] == "knee"]
    assert [ring["x"] for ring in rings] == [[4], [4]]
    assert figure.caption.startswith(
        "More than 4 outstanding (up to 16) adds 5\u00a0% IOPS and 3.8\u202f× the latency."
    )
    column = figure.table.columns.index("is_knee")
    assert [row[column] for row in figure.table.rows] == [0, 0, 1, 0, 0]


def test_rate_and_latency_stand_above_each_other_over_the_same_depths() -> None:
    figure = queue_depth([depth_set()])
    assert figure is not None
    layout = figure.plots[0].layout
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]
    assert "IOPS [1/s, log scale]" in layout["yaxis"]["title"]["text"]
    assert "latency" in layout["yaxis2"]["title"]["text"]


@pytest.mark.parametrize("make", [write_size, queue_depth, bar_groups, surface])
def test_trials_that_do_not_describe_the_drive_are_crossed_out(make: Callable[..., Figure | None]) -> None:
    sets = {
        write_size: made(*(one(block_size_bytes=size, invalid_trials=1) for size in (512, 4096))),
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
    assert {figure.key for figure in figures} == {"write-size", "queue-depth", "bar-groups", "surface"}
    for figure in figures:
        for plot in figure.plots:
            assert not any("<a" in text or "<b>x" in text for _, text in strings([plot.data, plot.layout]))


def test_observations_without_a_number_are_left_out() -> None:
    nothing = Estimate(None, 5.0, None, "ns", 3, 3.0, "a bound")
    seen = replace(nothing, observed=7.0)
    assert [each.value for each in measured([made(one(estimate=nothing), one(estimate=seen))])] == [7.0]


def test_a_line_joins_one_workload_on_one_drive_only() -> None:
    small = {"workload": "small-write", "title": "small appends", "block_size_bytes": 512}
    large = {"workload": "bandwidth", "title": "large appends", "block_size_bytes": 32 << 20}
    own = [one(drive=drive, **kind) for drive in ("fast", "slow") for kind in (small, large)]
    assert write_size([made(*own)]) is None
    page = made(*own, key="reference:page", is_reference=True)
    assert write_size([page]) is None
    assert write_size([made(*own), page]) is None


def test_workloads_of_one_name_but_their_sizes_are_one_line() -> None:
    sizes = [one(workload=f"sync-write-{size}", title=f"{size} B", block_size_bytes=size) for size in (512, 2300, 4096)]
    other = one(workload="bandwidth", title="large appends", block_size_bytes=32 << 20)
    figure = write_size([made(*sizes, other)])
    assert figure is not None
    assert [len(trace["x"]) for plot in figure.plots for trace in plot.data] == [3]


def test_published_points_of_two_workloads_are_not_joined() -> None:
    kinds = [("small-write", 512), ("bandwidth", 32 << 20)]
    published = [one(workload=name, title=name, block_size_bytes=size, drive="theirs") for name, size in kinds]
    figure = write_size([grid(), made(*published, key="reference:page", is_reference=True)])
    assert figure is not None
    theirs = [trace for plot in figure.plots for trace in plot.data if "published" in trace["name"]]
    assert [len(trace["x"]) for trace in theirs] == [1, 1]


def test_trials_of_two_workloads_are_not_joined() -> None:
    asked = {"durability": {"method": "o_sync"}, "file_state": "append", "direct": True}
    p50 = {"total_latency_ns_p50": Estimate(1e6, 9e5, 1.1e6, "ns", 900, 900.0, "made up")}

    def trial(workload: str, size: int) -> TrialContent:
        sized = asked | {"block_sizes": [{"bytes": size}]}
        row = {"workload": workload, "target": "fast"}
        return TrialContent(f"{workload}-{size}", workload, "write", estimates=p50, row=row, workload=sized)

    assert panels_of_trials([trial("small-write", 512), trial("bandwidth", 32 << 20)]) == []
    several = [trial(name, size) for name in ("small-write", "bandwidth") for size in (512, 4096)]
    (panel,) = panels_of_trials(several)
    assert [series.label.split(" · ")[0] for series in panel.series] == ["small-write", "bandwidth"]
