"""Figures of file-system suites: what they draw of runs, of several targets, and beside a published page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from drawn_result_sets import made, one

from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Observation, ResultSet
from drivelab.reference.load import load_reference
from drivelab.report.card.result_rows import rows_of_sets
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.suite_bars import KEYS, block_throughput, metadata_rates, seeks, total_time
from drivelab.report.figures.surface import surface
from drivelab.report.figures.surface_maps import surface_maps

KIB = 1024


def rate(workload: str, value: float, *levels: tuple[str, str], metric: str = "iops", **more: Any) -> Observation:
    """A number of a phase with a range of 2 % about it."""
    unit = {"iops": "1/s", "throughput_bytes_per_s": "B/s", "duration_ns": "ns"}[metric]
    given = {"title": workload, "is_durable": False, "operation": "read", "block_size_bytes": None} | more
    estimate = Estimate(value, 0.98 * value, 1.02 * value, unit, 3, 3.0, "made up")  # type: ignore[arg-type]
    return one(*levels, workload=workload, metric=metric, estimate=estimate, **given)


def suite(key: str = "run", drive: str = "ssd", factor: float = 1.0) -> ResultSet:
    found = []
    for name, share in (("ext3", 1.0), ("xfs", 0.8)):
        level = ("filesystem", name)
        for phase, value in (("block-write", 2e8), ("rewrite", 9e7), ("block-read", 3e8)):
            metric = "throughput_bytes_per_s"
            found.append(rate(phase, factor * share * value, level, metric=metric, drive=drive, block_size_bytes=8192))
        for phase, value in (("create-sequential", 4e4), ("stat-sequential", 5e5), ("delete-random", 3e4)):
            found.append(rate(phase, factor * share * value, level, drive=drive, operation="create"))
        found.append(rate("seeks", factor * share * 6e3, level, drive=drive, block_size_bytes=8192, queue_depth=5))
    return made(*found, key=key)


def names(figure: Figure | None) -> list[str]:
    assert figure is not None
    return [plot.name for plot in figure.plots]


def test_each_phase_has_a_drawing_with_a_bar_for_each_file_system() -> None:
    figure = block_throughput([suite()])
    assert names(figure) == ["block-write", "rewrite", "block-read"]
    assert figure is not None
    bars = [trace for trace in figure.plots[0].data if trace["type"] == "bar"]
    assert [trace["x"] for trace in bars] == [[200], [160]]
    assert names(metadata_rates([suite()])) == ["create-sequential", "stat-sequential", "delete-random"]
    assert names(seeks([suite()])) == ["seeks"]


def test_drives_stand_below_each_other() -> None:
    figure = seeks([suite(), suite("other", "disk", 0.02)])
    assert figure is not None
    assert {row[2] for row in figure.table.rows} == {"ssd", "disk"}
    assert "rate_per_s" in figure.table.columns
    values = figure.table.columns.index("rate_per_s")
    assert sorted(row[values] for row in figure.table.rows) == [96, 120, 4800, 6000]


def test_the_seeks_of_a_published_page_stand_beside_ours_and_are_hollow() -> None:
    figure = seeks([suite(), load_reference("ssd-vs-raid")])
    assert figure is not None
    assert "Hollow marks are published numbers." in figure.caption
    values = figure.table.columns.index("rate_per_s")
    assert {6200, 3800} <= {row[values] for row in figure.table.rows}
    paper = [trace for trace in figure.plots[0].data if trace["type"] == "bar" and "paper" in trace["marker"]["color"]]
    assert sum(len(trace["x"]) for trace in paper) == 2


def test_a_rewrite_of_another_experiment_is_not_that_of_blocks() -> None:
    of_surface = made(rate("rewrite", 1e8, metric="throughput_bytes_per_s"), rate("read", 1e8), key="surface")
    assert block_throughput([of_surface]) is None
    figure = block_throughput([suite(), of_surface])
    assert figure is not None
    assert {row[0] for row in figure.table.rows} == {"run"}


def test_the_whole_time_is_drawn_in_seconds() -> None:
    sets = [made(rate("boot", 23e9, metric="duration_ns"), rate("boot-in-order", 2e9, metric="duration_ns"))]
    figure = total_time(sets)
    assert names(figure) == [""]
    assert figure is not None
    assert figure.plots[0].layout["xaxis"]["title"]["text"] == "time [s]"
    bars = [trace for trace in figure.plots[0].data if trace["type"] == "bar"]
    assert [(trace["name"], trace["x"]) for trace in bars] == [("boot", [23]), ("boot-in-order", [2])]
    assert total_time([suite()]) is None


def test_the_figures_go_by_the_names_that_experiments_use() -> None:
    sets = [suite(), made(rate("boot", 1e9, metric="duration_ns"), key="boot")]
    drawn = [make(sets) for make in (block_throughput, metadata_rates, seeks, total_time)]
    assert tuple(figure.key for figure in drawn if figure) == KEYS


def over_sizes(workload: str = "read", **more: Any) -> list[Observation]:
    """Files of 64, 128, 256 KiB in records that fit into them, 1 MB/s for each KiB of a record."""
    return [
        rate(
            workload,
            1e6 * record,
            ("file_size", f"{file}KiB"),
            metric="throughput_bytes_per_s",
            block_size_bytes=record * KIB,
            **more,
        )
        for file in (64, 128, 256)
        for record in (32, 64, 128)
        if record <= file
    ]


def test_the_shortest_whole_time_is_the_best() -> None:
    figure = total_time(
        [made(*(rate("start", ns, ("n", n), metric="duration_ns") for n, ns in (("1", 2e9), ("2", 9e9))))]
    )
    assert figure is not None
    value, best = (figure.table.columns.index(name) for name in ("duration_ns", "is_best"))
    assert [row[value] for row in figure.table.rows if row[best]] == [2_000_000_000]


def test_a_map_has_gaps_where_a_record_is_larger_than_its_file() -> None:
    figure = surface_maps([made(*over_sizes(), *over_sizes("write", is_durable=True))])
    assert figure is not None
    (plot,) = figure.plots
    maps = [trace for trace in plot.data if trace["type"] == "heatmap"]
    assert [trace["z"] for trace in maps] == [[[25, 50, None], [25, 50, 100], [25, 50, 100]]] * 2
    assert "larger than the file" in maps[0]["customdata"][0][2]
    labels = [note["text"] for note in plot.layout["annotations"]]
    assert re.fullmatch(r"<b>read</b> best 128\sMB/s", labels[0])
    assert [trace["showscale"] for trace in maps] == [True, False]


def test_maps_mark_what_does_not_describe_the_drive() -> None:
    figure = surface_maps([made(*over_sizes(invalid_trials=1))])
    assert figure is not None
    crosses = [trace for trace in figure.plots[0].data if trace["type"] == "scatter"]
    assert len(crosses[0]["x"]) == 8


def test_sizes_of_files_are_drawn_once() -> None:
    assert surface([made(*over_sizes(is_durable=True))]) is None


@pytest.mark.parametrize("make", [block_throughput, metadata_rates, seeks, total_time, surface_maps])
def test_nothing_is_drawn_of_nothing(make: Any) -> None:
    assert make([]) is None
    assert make([made(one())]) is None


def test_a_card_shows_the_first_drawing_of_the_figure_of_phases_that_is_asked_for_first() -> None:
    per_call = {"metric": "throughput_bytes_per_s", "operation": "write", "block_size_bytes": 1}
    bytewise = [rate("per-character-write", 2e5, ("filesystem", name), **per_call) for name in ("ext3", "xfs")]
    sets = [made(*bytewise, *suite().observations)]
    found = {key: rows_of_sets(sets, key) for key in ("block-throughput", "seeks")}
    told = {key: (rows.title, [row.text for row in rows.rows]) for key, rows in found.items() if rows}
    assert told == {
        "block-throughput": ("block-write: throughput", ["200 MB/s", "160 MB/s"]),
        "seeks": ("seeks: I/Os per second", ["6 000/s", "4 800/s"]),
    }
