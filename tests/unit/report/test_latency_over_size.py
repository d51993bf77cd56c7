"""Latency over the size of an I/O: what is one line, what tells lines apart, and what stands beside them."""

from __future__ import annotations

from dataclasses import replace

from drawn_result_sets import grid, made, one

from drivelab.model.estimate import Estimate
from drivelab.reference.load import load_reference
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.latency_over_size import LINES_PER_PLOT, latency_over_size
from drivelab.report.terminal.size_series import panels_of_trials


def test_labels_tell_value_unit_and_count() -> None:
    figure = latency_over_size([made(one(), one(block_size_bytes=512, value=912_345.0))])
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
    figure = latency_over_size([made(*observations)])
    assert figure is not None
    lines = [(t["line"]["color"], t["marker"]["symbol"], t["line"]["dash"]) for t in figure.plots[0].data]
    assert len(set(lines)) == 8
    assert [len({line[place] for line in lines}) for place in range(3)] == [2, 2, 2]


def test_the_write_cache_is_on_where_a_line_is_solid_whichever_was_measured_first() -> None:
    for caches in (("on", "off"), ("off", "on")):
        figure = latency_over_size(
            [made(*(one(("write-cache", c), block_size_bytes=s) for c in caches for s in (512, 4096)))]
        )
        assert figure is not None
        dashes = {trace["name"]: trace["line"]["dash"] for trace in figure.plots[0].data}
        assert [dashes[f"write-cache {cache}"] for cache in ("on", "off")] == ["solid", "dash"]
    assert [theme.dash_of(f"ext4, write-cache {cache}", 3) for cache in ("on", "off")] == ["solid", "dash"]
    assert [theme.dash_of(label, 2) for label in ("write-cache as-found (off)", "ext4")] == ["dash", "dot"]


def test_each_place_of_a_file_where_writes_begin_is_a_line_or_a_drawing_of_its_own() -> None:
    places = [(("shift", str(shift)), shift) for shift in (0, 512, 1024)]
    observations = [
        one(level, value=1e6 + 1e3 * shift, block_size_bytes=size) for size in (512, 1024) for level, shift in places
    ]
    figure = latency_over_size([made(*observations)])
    assert figure is not None
    (plot,) = figure.plots
    assert [line["name"] for line in plot.data] == ["shift 0 B", "shift 512 B", "shift 1 KiB"]
    assert [line["y"] for line in plot.data] == [[1e6 + 1e3 * shift] * 2 for _, shift in places]
    both = [
        one(level, ("write-cache", cache), block_size_bytes=size)
        for size in (512, 1024)
        for level, _ in places
        for cache in ("on", "off")
    ]
    divided = latency_over_size([made(*both)])
    assert divided is not None
    assert [plot.name for plot in divided.plots] == ["shift 0 B", "shift 512 B", "shift 1 KiB"]


def test_reads_that_are_waited_for_are_drawn_over_their_size_too() -> None:
    reads = [one(operation="read", is_durable=False, is_judged=True, block_size_bytes=size) for size in (512, 4096)]
    figure = latency_over_size([made(*reads)])
    assert figure is not None
    assert (figure.key, figure.title) == ("latency-over-size", "Latency over the size of an I/O")
    assert figure.plots[0].layout["xaxis"]["title"]["text"].startswith("size of an I/O")
    assert latency_over_size([made(*(replace(read, is_judged=False) for read in reads))]) is None


def test_published_numbers_are_hollow_and_only_those_of_the_same_settings_are_drawn() -> None:
    own = made(*(one(("filesystem", "ext4"), block_size_bytes=size) for size in (512, 4096)))
    mean = {"metric": "total_latency_ns_mean", "printed": "~8", "block_size_bytes": 512}
    page = made(
        one(("filesystem", "ext4"), drive="old", value=8e6, **mean),
        one(("filesystem", "xfs"), drive="old", value=6e6, **mean),
        key="reference:page",
        is_reference=True,
    )
    figure = latency_over_size([own, page])
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
    alone, beside = latency_over_size([made(*both)]), latency_over_size([made(*both), page])
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
    figure = latency_over_size([made(*observations)])
    assert figure is not None
    assert len(figure.plots) > 1
    for plot in figure.plots:
        lines = [trace for trace in plot.data if trace["x"] != [None]]
        assert len(lines) <= LINES_PER_PLOT
        assert len({trace["line"]["color"] for trace in lines}) <= len(theme.SERIES)
    assert len(figure.table.rows) == len(observations)


def test_the_published_graph_of_larger_writes_is_one_drawing_whose_legend_tells_drives_machines_and_caches() -> None:
    figure = latency_over_size([load_reference("intel-530")])
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
    figure = latency_over_size([made(*sizes), load_reference("intel-530")])
    assert figure is not None
    numbers = [one for one in load_reference("intel-530").observations if one.estimate.value]
    assert len(figure.table.rows) == 2 + 376 + len(numbers)
    assert "read off the sample graph" in figure.caption


def test_a_line_joins_one_workload_on_one_drive_only() -> None:
    small = {"workload": "small-write", "title": "small appends", "block_size_bytes": 512}
    large = {"workload": "bandwidth", "title": "large appends", "block_size_bytes": 32 << 20}
    own = [one(drive=drive, **kind) for drive in ("fast", "slow") for kind in (small, large)]
    assert latency_over_size([made(*own)]) is None
    page = made(*own, key="reference:page", is_reference=True)
    assert latency_over_size([page]) is None
    assert latency_over_size([made(*own), page]) is None


def test_workloads_of_one_name_but_their_sizes_are_one_line() -> None:
    sizes = [one(workload=f"sync-write-{size}", title=f"{size} B", block_size_bytes=size) for size in (512, 2300, 4096)]
    other = one(workload="bandwidth", title="large appends", block_size_bytes=32 << 20)
    figure = latency_over_size([made(*sizes, other)])
    assert figure is not None
    assert [len(trace["x"]) for plot in figure.plots for trace in plot.data] == [3]


def test_published_points_of_two_workloads_are_not_joined() -> None:
    kinds = [("small-write", 512), ("bandwidth", 32 << 20)]
    published = [one(workload=name, title=name, block_size_bytes=size, drive="theirs") for name, size in kinds]
    figure = latency_over_size([grid(), made(*published, key="reference:page", is_reference=True)])
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
