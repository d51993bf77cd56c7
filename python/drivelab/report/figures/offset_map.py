"""Where on the device the commands of a trace went, over time: data, journal and metadata, FUA, and the flushes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.report.command_cells import CLASSES, FLUSH, Area, CommandMap, Marks, command_map
from drivelab.report.content import TracedCombination
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.numerals import DisplayUnit, column_unit, count_text, latency_text, number_text

TOP_PX, BOTTOM_PX = 44, 52
DRAWN_AT_MOST = 6
_AREAS_PX = {1: 230, 2: 140, 3: 110, 4: 90}
_AREA_GAP_PX, _FLUSHES_PX = 12, 24
# words, symbol and colour of each class
_STYLES: dict[str, tuple[str, str, str]] = {
    "read": ("read", "circle", theme.GREEN),
    "write": ("data write", "square", theme.BLUE),
    "fua_write": ("write with FUA", "diamond", theme.ORANGE),
    "metadata_write": ("metadata or journal", "triangle-up", theme.PURPLE),
    "discard": ("discard", "x", theme.GREY),
    "other": ("other", "cross", theme.MUTED),
}
_FLUSH_WORDS = "flush"
CAPTION = (
    "Every command that the device was given, by when and where; the ticks at the bottom are cache flushes. A rising "
    "line is a sequential write, a cloud is random access, and a line that stays at its place is a journal or a "
    "superblock, written again and again."
)
_OF_AREAS = " Wide gaps that nothing touched are left out: each strip is one stretch of the device with its own scale."
_OF_CELLS = " Of many commands a mark is a cell of time and offset, larger for more of them; none is left out."


def offset_map(traced: Sequence[TracedCombination]) -> Figure | None:
    """One drawing for each traced combination; None when no command was stored."""
    stored = [one for one in traced if one.events]
    found = [(one, drawn) for one in stored[:DRAWN_AT_MOST] if (drawn := command_map(one.events[0]))]
    if not found:
        return None
    words = CAPTION
    words += _OF_AREAS if any(len(drawn.areas) > 1 for _, drawn in found) else ""
    words += _OF_CELLS if any(drawn.is_counted for _, drawn in found) else ""
    if len(stored) > DRAWN_AT_MOST:
        words += f" The first {len(found)} of {len(stored)} traced ones are drawn; the run's directory events has all."
    return Figure(
        key="offset-map",
        title="Where the commands went",
        caption=words,
        plots=tuple(_plot(one, drawn, has_name=len(stored) > 1) for one, drawn in found),
        table=_table(found),
    )


def _plot(traced: TracedCombination, drawn: CommandMap, *, has_name: bool) -> Plot:
    strips = len(drawn.areas)
    area_px = _AREAS_PX.get(strips, 0)
    flushes_px = _FLUSHES_PX if FLUSH in drawn.marks or not strips else 0
    inner = strips * (area_px + _AREA_GAP_PX) + flushes_px
    height = inner + TOP_PX + BOTTOM_PX
    layout = theme.layout(height)
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX}
    layout["legend"]["traceorder"] = "normal"
    layout["xaxis"] = theme.axis(
        "time since the first command [s]",
        # of one command alone there is no span
        range=[-0.01 * drawn.span_s, 1.01 * drawn.span_s],
        anchor="y" if flushes_px else "y2",
        showgrid=False,
    )
    layout["yaxis"] = theme.axis(
        "",
        visible=bool(flushes_px),
        domain=[0, flushes_px / inner],
        range=[0, 1],
        tickvals=[0.5],
        ticktext=[_FLUSH_WORDS],
        ticks="",
        showgrid=False,
    )
    data = [_flush_ticks(drawn.marks.get(FLUSH))]
    units = [column_unit([float(area.high)], "B") for area in drawn.areas]
    for number, (area, unit) in enumerate(zip(drawn.areas, units, strict=True), start=2):
        low = flushes_px + _AREA_GAP_PX + (number - 2) * (area_px + _AREA_GAP_PX)
        layout[theme.layout_key("y", number)] = _offset_axis(area, unit, low / inner, (low + area_px) / inner)
        data += [_points(name, drawn, area, unit, number) for name in CLASSES if name in drawn.marks]
    return Plot(list(_named_once(data)), layout, height, traced.label if has_name else "")


def _named_once(data: Sequence[dict[str, Any] | None]) -> Iterator[dict[str, Any]]:
    """The traces that draw something; each class stands in the legend once."""
    seen = set()
    for trace in data:
        if trace is None or not trace["x"]:
            continue
        yield trace | {"showlegend": trace["name"] not in seen}
        seen.add(trace["name"])


def _offset_axis(area: Area, unit: DisplayUnit, bottom: float, top: float) -> dict[str, Any]:
    room = 0.04 * max(area.high - area.low, 4096)
    return theme.axis(
        f"offset [{unit.name}]",
        domain=[bottom, min(1.0, top)],
        range=[(area.low - room) / unit.scale, (area.high + room) / unit.scale],
        nticks=4,
        anchor="x",
        separatethousands=True,
    )


def _points(name: str, drawn: CommandMap, area: Area, unit: DisplayUnit, number: int) -> dict[str, Any]:
    marks = drawn.marks[name]
    inside = np.flatnonzero((marks.offset_bytes >= area.low) & (marks.offset_bytes < area.high))
    words, symbol, color = _STYLES[name]
    middle_s = marks.issued_s[inside] + marks.stretch_s[inside] / 2
    middle = marks.offset_bytes[inside] + (marks.extent_bytes[inside] / 2 if drawn.is_counted else 0)
    most = float(np.log(max(2, int(marks.count.max()))))
    sizes = 4 + 5 * np.log(marks.count[inside]) / most if drawn.is_counted else 5
    return theme.scatter(
        "markers",
        _numbers(middle_s, 7),
        _numbers(middle / unit.scale, 12),
        [_point_text(words, marks, at, is_cell=drawn.is_counted) for at in inside.tolist()],
        name=words,
        legendgroup=name,
        marker={
            "symbol": symbol,
            "size": _numbers(sizes, 2) if isinstance(sizes, np.ndarray) else sizes,
            "color": color,
            "opacity": 0.75,
            "line": {"width": 0},
        },
        on=(1, number),
    )


def _point_text(words: str, marks: Marks, at: int, *, is_cell: bool) -> str:
    place = _bytes_text(int(marks.offset_bytes[at]))
    when = number_text(float(marks.issued_s[at]), 5)
    if is_cell:
        return f"<b>{count_text(marks.count[at])}</b> × {words}<br>from {place} on, from {when} s on"
    return f"{words} of {_bytes_text(int(marks.extent_bytes[at]))}<br>at {place}, {when} s"


def _flush_ticks(marks: Marks | None) -> dict[str, Any] | None:
    if marks is None:
        return None
    texts = [
        _flush_text(float(at), float(stretch), int(count))
        for at, stretch, count in zip(marks.issued_s, marks.stretch_s, marks.count, strict=True)
    ]
    return theme.scatter(
        "markers",
        _numbers(marks.issued_s + marks.stretch_s / 2, 7),
        [0.5] * marks.count.size,
        texts,
        name=_FLUSH_WORDS,
        legendgroup=FLUSH,
        marker={
            "symbol": "line-ns",
            "size": 14,
            "color": theme.VERMILLION,
            "line": {"width": 1.2, "color": theme.VERMILLION},
        },
    )


def _flush_text(at_s: float, stretch_s: float, count: int) -> str:
    if not stretch_s:
        return f"flush at {number_text(at_s, 5)} s"
    return f"<b>{count_text(count)}</b> flushes in {latency_text(stretch_s * 1e9)} from {number_text(at_s, 5)} s on"


def _bytes_text(count: int) -> str:
    unit = column_unit([float(count)], "B")
    return f"{number_text(count / unit.scale, 5) if unit.scale > 1 else count_text(count)}\u00a0{unit.name}"


def _numbers(values: NDArray[np.floating[Any]], digits: int) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values]


def _table(found: Sequence[tuple[TracedCombination, CommandMap]]) -> DataTable:
    columns = ("trial", "class", "issued_s", "stretch_s", "offset_bytes", "extent_bytes", "command_count")
    rows: list[list[Cell]] = []
    for one, drawn in found:
        for name in (*CLASSES, FLUSH):
            if name not in drawn.marks:
                continue
            marks = drawn.marks[name]
            times, stretches = np.round(marks.issued_s, 9).tolist(), np.round(marks.stretch_s, 9).tolist()
            places, extents = marks.offset_bytes.tolist(), marks.extent_bytes.tolist()
            about = (one.explanation.trial, name)
            rows += [
                [*about, at, stretch, *((None, None) if name == FLUSH else (place, extent)), n]
                for at, stretch, place, extent, n in zip(
                    times, stretches, places, extents, marks.count.tolist(), strict=True
                )
            ]
    return DataTable(columns, rows)
