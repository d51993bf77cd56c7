"""Figures of traces: parts that add up, every command on the map, areas of the device, hostile labels."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from drivelab.analyse.explanation import TracedPass, explanation_of
from drivelab.analyse.explanation_difference import explanation_difference
from drivelab.analyse.operation_parts import operation_parts
from drivelab.model.trace import PARTS, TraceConduct
from drivelab.report.command_cells import CELLS_AT_MOST, CLASSES, FLUSH, SINGLE_AT_MOST, command_map
from drivelab.report.content import TracedCombination
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.offset_map import offset_map
from drivelab.report.figures.part_cdf import part_cdf
from drivelab.report.figures.part_differences import part_differences
from drivelab.report.figures.parts_over_time import parts_over_time
from drivelab.report.figures.waterfall import DRAWN_AT_MOST, waterfall
from drivelab.report.part_series import PART_COLUMNS, part_histograms, part_series
from drivelab.store.columns import EVENT_COLUMNS, arrow_schema
from held_records import HeldRecords
from made_up_operations import OVERWRITE_NS, READ_NS, READ_WORK, operations

MAKERS: tuple[Callable[..., Figure | None], ...] = (waterfall, parts_over_time, part_cdf, offset_map)
TRACES = Path(__file__).resolve().parents[2] / "golden" / "traces"
CONDUCT = TraceConduct("tracefs", "a private instance")
HOSTILE = "<b>x</b><a href='javascript:1'>y</a>"


def traced(
    rows: pa.Table, label: str = "1 B + fdatasync", operation: str = "durable_write", events: pa.Table | None = None
) -> TracedCombination:
    """A combination with one traced pass of these operations."""
    one = TracedPass("0001", operation_parts(rows, operation), CONDUCT)
    held = () if events is None else (HeldRecords(events),)
    return TracedCombination(explanation_of([one], operation, label=label), label, (HeldRecords(rows),), held)


def events_of(*commands: Mapping[str, Any]) -> pa.Table:
    """Commands as the store has them; what is not said is a write of 4 KiB."""
    common = {"kind": "command", "operation_index": 0, "device": "8:16", "bytes": 4096, "class": "write", "sector": 0}
    return pa.Table.from_pylist([common | dict(one) for one in commands], schema=arrow_schema(EVENT_COLUMNS))


def test_a_real_trace_is_drawn_whole() -> None:
    """200 appends of 4 KiB with fdatasync on ext4 on a loop device, Linux 6.18, traced by tracefs."""
    rows, events = (pq.read_table(TRACES / f"ext4-append-{name}.parquet") for name in ("operations", "events"))
    one = traced(rows, "4 KiB append + fdatasync", events=events)
    assert one.explanation.residual_ns == 0
    found = {figure.key: figure for make in MAKERS if (figure := make([one])) is not None}
    assert list(found) == ["waterfall", "parts-over-time", "part-cdf", "offset-map"]
    commands = events.filter(pc.equal(events["kind"], "command"))
    assert sum(row[6] for row in found["offset-map"].table.rows) == commands.num_rows  # type: ignore[misc]
    # data, the journal, and what ext4 allots while a file grows
    drawn = command_map(HeldRecords(events))
    assert drawn is not None
    assert 2 <= len(drawn.areas) <= 4
    assert int(drawn.marks[FLUSH].count.sum()) == 2 * rows.num_rows


def test_the_bars_of_a_waterfall_follow_each_other_and_end_where_the_operation_ends() -> None:
    one = traced(operations(500))
    figure = waterfall([one])
    assert figure is not None
    for group, total in (("typical", one.explanation.typical_ns), ("slowest 1 %", one.explanation.slowest_ns)):
        rows = [row for row in figure.table.rows if row[2] == group]
        assert [row[4] for row in rows] == list(PARTS)
        ends = [row[5] + row[6] for row in rows]  # type: ignore[operator]
        assert [row[5] for row in rows] == pytest.approx([0, *ends[:-1]], abs=0.2)
        assert ends[-1] == pytest.approx(total, abs=1)
        assert sum(row[7] for row in rows) == pytest.approx(1, abs=1e-5)  # type: ignore[misc]
    bars = [trace for trace in figure.plots[0].data if trace["type"] == "bar"]
    assert [trace["base"][0] for trace in bars] == [0, 0]


def test_a_part_that_is_not_there_is_called_none() -> None:
    figure = waterfall([traced(operations(300, READ_NS, READ_WORK, operation="read"), operation="read")])
    assert figure is not None
    texts = next(trace["text"] for trace in figure.plots[0].data if trace.get("mode") == "text")
    assert texts[PARTS.index("flush")].strip() == "none"
    assert "none" not in texts[PARTS.index("device")]


def test_labels_stand_where_they_have_room() -> None:
    parts = {"fs_in": 10_000, "device": 900_000, "return": 40_000, "flush": 30_000}
    figure = waterfall([traced(operations(300, parts, spread=0.01))])
    assert figure is not None
    labels = next(trace for trace in figure.plots[0].data if trace.get("mode") == "text")
    sides = dict(zip(PARTS, labels["textposition"], strict=True))
    assert (sides["fs_in"], sides["device"], sides["return"]) == ("middle right", "middle center", "middle left")
    colors = dict(zip(PARTS, labels["textfont"]["color"], strict=True))
    assert colors["device"] != colors["return"]


def test_many_combinations_are_cut_and_the_caption_says_so() -> None:
    figure = waterfall([traced(operations(50), f"combination {number}") for number in range(DRAWN_AT_MOST + 3)])
    assert figure is not None
    assert len(figure.plots) == DRAWN_AT_MOST
    assert f"The first {DRAWN_AT_MOST} of {DRAWN_AT_MOST + 3}" in figure.caption
    assert len({plot.name for plot in figure.plots}) == DRAWN_AT_MOST


def test_the_stretches_of_the_course_hold_every_operation_and_their_parts_sum_to_the_latency() -> None:
    rows = operations(5000, spread=0.4)
    series = part_series(traced(rows), 120)
    assert series is not None
    assert series.counts.size <= 120
    assert series.counts.sum() == 5000
    assert series.sums_ns.sum(axis=1).tolist() == [sum(rows[name].to_pylist()) for name in PART_COLUMNS]
    assert series.sums_ns.sum() == sum(rows["latency_ns"].to_pylist())
    assert series.slowest_ns.max() == max(rows["latency_ns"].to_pylist())


def test_other_operations_of_the_pass_are_not_in_its_figures() -> None:
    rows = pa.concat_tables([operations(200), operations(300, READ_NS, READ_WORK, operation="read")])
    series = part_series(traced(rows), 120)
    assert series is not None
    assert series.counts.sum() == 200
    assert part_histograms(traced(rows))["latency"].total_count == 200


def test_distributions_of_parts_are_those_of_all_rows() -> None:
    rows = operations(2000, spread=0.5)
    found = part_histograms(traced(rows))
    for name in ("latency", *PARTS):
        values = np.sort(np.asarray(rows[f"{name}_ns"]))
        assert found[name].total_count == 2000
        assert (found[name].minimum_ns, found[name].maximum_ns) == (values[0], values[-1])
        assert found[name].sum_ns == values.sum()
        for at in (0.5, 0.9, 0.99):
            assert found[name].quantile_ns(at) == pytest.approx(values[int(np.ceil(at * 2000)) - 1], rel=2**-9)


def test_a_part_that_few_operations_have_begins_at_their_share() -> None:
    rows = operations(1000)
    flushes = np.asarray(rows["flush_ns"]).copy()
    flushes[: 3 * flushes.size // 4] = 0
    latency = np.asarray(rows["latency_ns"]) - np.asarray(rows["flush_ns"]) + flushes
    for name, values in (("flush_ns", flushes), ("latency_ns", latency)):
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.int64()))
    figure = part_cdf([traced(rows)])
    assert figure is not None
    line = next(trace for trace in figure.plots[0].data if trace["name"].startswith("flush"))
    assert "none in 75.0" in line["name"]
    # a quarter of the operations lies above 0.602 nines
    assert min(line["y"]) == pytest.approx(-np.log10(0.25), abs=0.06)


def test_the_whole_latency_is_drawn_with_its_parts() -> None:
    figure = part_cdf([traced(operations(1000))])
    assert figure is not None
    names = [trace["name"] for trace in figure.plots[0].data]
    assert names[0] == "whole latency"
    assert len(names) == 1 + len(OVERWRITE_NS)


def test_every_command_is_on_the_map_one_by_one_where_they_are_few() -> None:
    kinds = ["read", "write", "fua_write", "metadata_write", "discard", "other", "flush", "of-tomorrow"]
    commands = [
        {"class": kind, "sector": 2**64 - 1 if kind == "flush" else 8 * at, "issued_ns": 1_000_000 * at}
        for at, kind in enumerate(kinds)
    ]
    bio = {"kind": "bio", "class": "write", "issued_ns": 5, "sector": 10**9}
    open_one = {"class": "write", "sector": 10**9}
    drawn = command_map(HeldRecords(events_of(*commands, bio, open_one)))
    assert drawn is not None
    assert drawn.command_count == len(kinds)
    assert {name: int(marks.count.sum()) for name, marks in drawn.marks.items()} == {
        **dict.fromkeys(kinds[:-1], 1),
        "other": 2,
    }
    assert drawn.marks["write"].offset_bytes.tolist() == [4096]
    assert not drawn.is_counted


def test_many_commands_are_counted_into_cells_and_none_is_left_out() -> None:
    random = np.random.default_rng(1)
    count = 8 * SINGLE_AT_MOST
    classes = random.choice(["read", "write", "metadata_write", "flush"], count)
    events = pa.table(
        {
            "kind": pa.array(["command"] * count),
            "class": pa.array(classes),
            "sector": pa.array(8 * random.integers(0, 2**18, count), pa.uint64()),
            "bytes": pa.array(np.where(classes == "flush", 0, 4096), pa.uint32()),
            "issued_ns": pa.array(np.sort(random.integers(0, 10**10, count)), pa.int64()),
        }
    )
    drawn = command_map(HeldRecords(events))
    assert drawn is not None
    assert drawn.is_counted
    for name in ("read", "write", "metadata_write", "flush"):
        assert int(drawn.marks[name].count.sum()) == int((classes == name).sum())
    assert sum(drawn.marks[name].count.size for name in CLASSES if name in drawn.marks) <= CELLS_AT_MOST
    assert drawn.marks[FLUSH].count.size <= 400
    figure = offset_map([traced(operations(50), events=events)])
    assert figure is not None
    assert "larger for more of them" in figure.caption
    drawn_marks = sum(len(trace["x"]) for trace in figure.plots[0].data)
    assert drawn_marks == sum(marks.count.size for marks in drawn.marks.values())
    assert sum(row[6] for row in figure.table.rows) == count  # type: ignore[misc]


def test_a_journal_far_away_is_an_area_of_its_own() -> None:
    data = [{"sector": 8 * at, "issued_ns": at} for at in range(100)]
    journal = [{"sector": 900_000_000 + 8 * at, "class": "metadata_write", "issued_ns": 1000 + at} for at in range(50)]
    drawn = command_map(HeldRecords(events_of(*data, *journal)))
    assert drawn is not None
    low, high = drawn.areas
    assert (low.low, high.low) == (0, 512 * 900_000_000)
    assert (low.high, high.high) == (100 * 4096, 512 * 900_000_000 + 50 * 4096)
    figure = offset_map([traced(operations(50), events=events_of(*data, *journal))])
    assert figure is not None
    assert "each strip is one stretch" in figure.caption
    assert sum(len(trace["x"]) for trace in figure.plots[0].data) == 150
    assert {trace["yaxis"] for trace in figure.plots[0].data} == {"y2", "y3"}


def test_random_offsets_are_one_area() -> None:
    random = np.random.default_rng(2)
    for count in (30, 300, 3000):
        sectors = 8 * random.integers(0, 2**21, count)
        drawn = command_map(
            HeldRecords(events_of(*({"sector": int(s), "issued_ns": n} for n, s in enumerate(sectors))))
        )
        assert drawn is not None
        assert len(drawn.areas) == 1


@pytest.mark.parametrize("count", [1, 2, SINGLE_AT_MOST + 1])
def test_commands_at_one_place_and_time_can_be_drawn(count: int) -> None:
    figure = offset_map([traced(operations(20), events=events_of(*[{"issued_ns": 7, "sector": 64}] * count))])
    assert figure is not None
    assert sum(row[6] for row in figure.table.rows) == count  # type: ignore[misc]
    json.dumps([figure.plots[0].data, figure.plots[0].layout], allow_nan=False)


def test_nothing_but_flushes_can_be_drawn() -> None:
    flushes = [{"class": "flush", "bytes": 0, "sector": 2**64 - 1, "issued_ns": 1000 * at} for at in range(3)]
    figure = offset_map([traced(operations(20), events=events_of(*flushes))])
    assert figure is not None
    assert [trace["name"] for trace in figure.plots[0].data] == ["flush"]


def test_without_events_or_operations_there_is_nothing_to_draw() -> None:
    one = traced(operations(100))
    bare = replace(one, operations=(), events=())
    assert [make([bare]) for make in MAKERS[1:]] == [None] * 3
    assert [make([]) for make in MAKERS] == [None] * 4
    assert offset_map([replace(one, events=(HeldRecords(events_of()),))]) is None


def test_a_trace_without_an_answer_has_no_parts_and_keeps_its_map() -> None:
    lost = replace(CONDUCT, lost_events=3)
    rows = operations(100)
    explanation = explanation_of([TracedPass("0001", operation_parts(rows, "durable_write"), lost)], "durable_write")
    one = TracedCombination(explanation, "x", (HeldRecords(rows),), (HeldRecords(events_of({"issued_ns": 1})),))
    assert [make([one]) for make in MAKERS[:3]] == [None] * 3
    assert offset_map([one]) is not None


def test_one_operation_can_be_drawn() -> None:
    one = traced(operations(1))
    assert waterfall([one]) is not None
    assert parts_over_time([one]) is not None
    # one value carries no quantile
    assert part_cdf([one]) is None


def test_labels_from_outside_are_harmless_in_the_markup_of_charts() -> None:
    many = [traced(operations(400), HOSTILE, events=events_of({"issued_ns": 1}))] * 2
    sides = [operation_parts(operations(400, seed=seed), "durable_write") for seed in (1, 2)]
    difference = explanation_difference([sides[0]], [sides[1]], names=(HOSTILE, HOSTILE))
    for figure in [*(make(many) for make in MAKERS), part_differences([difference])]:
        assert figure is not None
        for plot in figure.plots:
            text = json.dumps([plot.data, plot.layout])
            assert "<a" not in text
            assert "<b>x" not in text


def test_the_marks_of_differences_say_which_are_more_than_chance() -> None:
    base = operation_parts(operations(2000), "durable_write")
    new = operation_parts(operations(2000, {**OVERWRITE_NS, "flush": 0}, seed=2), "durable_write")
    difference = explanation_difference([base], [new], names=("on", "off"))
    figure = part_differences([difference])
    assert figure is not None
    marks = next(trace for trace in figure.plots[0].data if trace["type"] == "scatter")
    symbols = dict(zip(("total", *PARTS), marks["marker"]["symbol"], strict=True))
    assert (symbols["flush"], symbols["queue"]) == ("circle", "diamond-open")
    row = next(row for row in figure.table.rows if row[4] == "flush")
    assert row[7] == pytest.approx(-153_000, rel=0.02)
    total = next(row for row in figure.table.rows if row[4] == "total")
    assert sum(row[7] for row in figure.table.rows[1:]) == pytest.approx(total[7], abs=1)  # type: ignore[misc]
