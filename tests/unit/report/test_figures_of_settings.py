"""Bars and maps: what is best and what is not told apart, where bars begin, gaps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawn_result_sets import bars, grid, made, one

from drivelab.model.estimate import Estimate
from drivelab.reference.load import load_reference
from drivelab.report.figures import theme
from drivelab.report.figures.bar_groups import bar_groups
from drivelab.report.figures.surface import surface


def test_the_best_of_a_drive_is_told_in_words() -> None:
    figure = bar_groups([bars(("ext4", "on", 9e6, 1e5), ("ext4", "off", 5e6, 1e5), ("xfs", "off", 4e6, 1e5))])
    assert figure is not None
    words = figure.plots[0].data[-1]["text"]
    assert [text for text in words if "best" in text] == ["  4.00  <b>best</b>"]


def test_a_level_that_was_not_taken_is_hollow_says_so_and_competes_with_none() -> None:
    """The refused one is as fast as the best one: it is the best one."""
    drawn = bars(("ext4", "on", 9e6, 1e5), ("ext4", "off", 5e6, 1e5), ("xfs", "off", 4.99e6, 1e5))
    refused = replace(drawn.observations[2], not_taken="filesystem xfs")
    figure = bar_groups([replace(drawn, observations=(*drawn.observations[:2], refused))])
    assert figure is not None
    *traces, words = figure.plots[0].data
    assert [text.split()[1:] for text in words["text"]] == [[], ["<b>best</b>"], ["not", "taken"]]
    fills = {trace["hovertext"][0].split("<br>")[1]: trace["marker"]["color"] for trace in traces}
    assert fills["xfs, write-cache off"] == theme.PAPER != fills["ext4, write-cache off"]
    assert "“not taken”" in figure.caption


def test_what_best_means_is_told_only_where_a_bar_is_best_and_of_one_repeat_with_what_was_not_tried() -> None:
    apart = bars(("ext4", "on", 9e6, 1e5), ("ext4", "off", 5e6, 1e5))
    alike = bars(("ext4", "on", 5.1e6, 2e5), ("ext4", "off", 5e6, 2e5))
    repeated = replace(apart, observations=tuple(replace(one, trial_count=5) for one in apart.observations))
    captions = [figure.caption for found in (repeated, alike, apart) if (figure := bar_groups([found])) is not None]
    assert ["“best”" in caption for caption in captions] == [True, False, True]
    assert ["as there was 1 repeat" in caption for caption in captions] == [False, False, True]


def test_nothing_is_best_within_the_noise() -> None:
    figure = bar_groups([bars(("ext4", "on", 4.1e6, 2e5), ("ext4", "off", 5e6, 1e5), ("xfs", "off", 4e6, 1e5))])
    assert figure is not None
    assert not any("best" in text for text in figure.plots[0].data[-1]["text"])


def test_a_published_number_is_never_the_best() -> None:
    """It has no whiskers: neither is it the best nor is another one the best beside it."""
    figure = bar_groups([load_reference("ssd-latency")])
    assert figure is not None
    texts = [text for plot in figure.plots for trace in plot.data for text in trace.get("text") or ()]
    assert texts
    assert not any("best" in text for text in texts)
    drawn = bars(("ext4", "on", 9e6, 1e5), ("ext4", "off", 5e6, 1e5), ("xfs", "off", 4e6, 1e5))
    bare = [replace(one, estimate=replace(one.estimate, low=None, high=None)) for one in drawn.observations[:1]]
    figure = bar_groups([replace(drawn, observations=(*bare, *drawn.observations[1:]))])
    assert figure is not None
    assert not any("best" in text for text in figure.plots[0].data[-1]["text"])


def test_bars_begin_at_zero_unless_the_axis_says_that_it_is_logarithmic() -> None:
    near = bar_groups([bars(("ext4", "on", 9e6, 0), ("xfs", "on", 1e6, 0))])
    far = bar_groups([bars(("ext4", "on", 9e6, 0), ("xfs", "on", 5e4, 0))])
    assert near is not None
    assert far is not None
    assert near.plots[0].layout["xaxis"]["rangemode"] == "tozero"
    assert "log scale" in far.plots[0].layout["xaxis"]["title"]["text"]
    assert "equal distances are equal ratios" in far.caption


def test_whiskers_end_where_the_intervals_end() -> None:
    figure = bar_groups([bars(("ext4", "on", 9e6, 2e5), ("xfs", "on", 5e6, 1e5))])
    assert figure is not None
    errors = [trace["error_x"] for trace in figure.plots[0].data if trace["type"] == "bar"]
    assert [error["array"] for error in errors] == [[0.2], [0.1]]


def test_a_map_has_a_cell_for_each_combination() -> None:
    figure = surface([grid()])
    assert figure is not None
    (heat,) = (plot.data[0] for plot in figure.plots)
    assert (heat["type"], len(heat["z"])) == ("heatmap", 3)
    # values far apart are drawn by their logarithm
    assert 10 ** heat["z"][1][2] == pytest.approx(1e5 + 100 * 65536 + 512, rel=1e-4)
    assert "64 KiB, 512 B" in heat["customdata"][1][2]
    assert "6.6541\u00a0ms" in heat["customdata"][1][2]


def test_a_combination_that_was_not_measured_is_a_gap() -> None:
    whole = grid()
    figure = surface([replace(whole, observations=whole.observations[1:])])
    assert figure is not None
    assert figure.plots[0].data[0]["z"][0][0] is None
    assert len(figure.table.rows) == 8


def test_two_levels_are_no_map() -> None:
    assert surface([grid(shifts=(0, 512))]) is None
    assert surface([grid(sizes=(512, 4096))]) is None


def test_columns_of_a_grid_carry_their_units() -> None:
    figure = surface([grid()])
    assert figure is not None
    assert {"block_size_bytes", "shift_bytes", "latency_ns"} <= set(figure.table.columns)


def test_what_spans_too_much_for_bars_is_dots_a_row_for_each_drive_and_levels() -> None:
    figure = bar_groups([load_reference("ssd-latency")])
    assert figure is not None
    plot = figure.plots[0]
    dots = [trace for trace in plot.data if trace.get("mode") == "markers"]
    assert not any(trace["type"] == "bar" for trace in plot.data)
    # 25 rows with the cache on and off, all of them on one sheet
    assert [len(trace["x"]) for trace in dots] == [25, 25]
    assert dots[0]["y"] == dots[1]["y"]
    assert dots[0]["marker"]["symbol"] != dots[1]["marker"]["symbol"]
    notes = plot.layout["annotations"]
    by_kind = {name: [one for one in notes if one["name"] == name] for name in ("row", "beside", "number")}
    assert {name: len(found) for name, found in by_kind.items()} == {"row": 5, "beside": 25, "number": 50}
    # each number stands in the line of its dot, in the order of the legend
    of_intel = [one for one in by_kind["number"] if one["y"] == sorted(dots[0]["y"])[10]]
    assert [trace["name"] for trace in dots] == ["write-cache on", "write-cache off"]
    assert [one["text"] for one in sorted(of_intel, key=lambda one: one["xshift"])] == ["440\u00a0µs", "48.0\u00a0µs"]


def test_a_drive_is_not_parted_between_two_sheets() -> None:
    drawn = bars(*((f"fs{number}", cache, 5e6 + number, 0) for number in range(12) for cache in ("on", "off")))
    two = [replace(one, drive=drive) for drive in ("first", "second") for one in drawn.observations]
    figure = bar_groups([replace(drawn, observations=tuple(two))])
    assert figure is not None
    told = [
        {text.split("<br>")[0] for trace in plot.data for text in trace.get("hovertext", ())} for plot in figure.plots
    ]
    assert told == [{"first"}, {"second"}]


def test_bytes_a_second_stand_on_one_axis_whether_they_are_durable_or_not() -> None:
    """An axis of its own makes what is durable look as fast as memory."""
    ways = {
        "1 MiB writes without a sync": 1.14e9,
        "1 MiB writes, each with a sync": 8.5e7,
        "1 MiB writes past it": 3.5e8,
    }
    found = [
        one(
            workload=title,
            title=title,
            metric="throughput_bytes_per_s",
            estimate=Estimate(rate, 0.9 * rate, 1.1 * rate, "B/s", 3, 3.0, "made up"),
            block_size_bytes=1 << 20,
            operation="durable_write" if "each" in title else "write",
            is_durable="each" in title,
        )
        for title, rate in ways.items()
    ]
    figure = bar_groups([made(*found)])
    assert figure is not None
    assert [plot.name for plot in figure.plots] == ["1 MiB writes: throughput"]
    assert len(figure.table.rows) == len(ways)
