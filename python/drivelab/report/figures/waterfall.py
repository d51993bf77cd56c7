"""The parts of an operation's latency one after the other: of the typical operation, and of the slowest 1 %."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.trace import PART_MEANINGS, Explanation, PartSummary
from drivelab.report.content import TracedCombination
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.part_style import (
    NAMES_PX,
    PART_COLOURS,
    answered,
    label_beside_names,
    rows_axis,
)
from drivelab.report.numerals import column_unit, count_text, latency_text, number_text
from drivelab.report.sentences.explanation import operation_words

ROW_PX, TOP_PX, BOTTOM_PX, GAP_PX = 25, 14, 52, 52
DRAWN_AT_MOST = 12
# a label is as wide as this share of the drawing, about, on a narrow page
_LABEL_SHARE = 0.38
# so many letters of a row's name have room beside the drawing
_NAME_LETTERS = 20
CAPTION = (
    "Every bar is one part of the latency and begins where the one above it ends, so that together they are the whole "
    "operation, from the call until it returned. At every instant one part is charged: a flush at the device before "
    "anything else, then a read or write at the device, then waiting for it, then a layer above the drive, otherwise "
    "software. A part that came several times is drawn once, as its sum. Typical is the mean of the middle fifth of "
    "all operations by latency."
)


@dataclass(frozen=True, slots=True)
class _Group:
    """Some operations of a trial: their parts sum to their latency."""

    name: str
    words: str
    total_ns: float
    count: int
    parts_ns: tuple[tuple[PartSummary, float], ...]


def waterfall(traced: Sequence[TracedCombination]) -> Figure | None:
    """One drawing for each traced combination; None when nothing has an explanation."""
    found = answered(traced)
    if not found:
        return None
    shown = found[:DRAWN_AT_MOST]
    return Figure(
        key="waterfall",
        title="Where the time of an operation goes",
        caption=CAPTION + theme.shown_words(len(shown), len(found), "traced combinations"),
        plots=tuple(_plot(one, has_name=len(found) > 1) for one in shown),
        table=_table(found),
    )


def _groups(explanation: Explanation) -> list[_Group]:
    one = operation_words(explanation)
    typical = tuple((part, part.typical_ns) for part in explanation.parts)
    slowest = tuple((part, part.slowest_ns) for part in explanation.parts)
    words = "slowest 1\u00a0%"
    found = [
        _Group("typical", f"typical {one}", explanation.typical_ns, explanation.typical_count, typical),
        _Group("slowest 1 %", words, explanation.slowest_ns, explanation.slowest_count, slowest),
    ]
    return [group for group in found if group.count and group.total_ns > 0]


def _plot(traced: TracedCombination, *, has_name: bool) -> Plot:
    groups = _groups(traced.explanation)
    row_px = ROW_PX * len(traced.explanation.parts)
    height, domains = theme.panels(len(groups), row_px, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=GAP_PX)
    layout = theme.layout(height, annotations=[], showlegend=False, bargap=0.28)
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": NAMES_PX, "r": 14}
    data: list[dict[str, Any]] = []
    for number, (group, domain) in enumerate(zip(groups, domains, strict=True), start=1):
        unit = column_unit([group.total_ns], "ns")
        data += [make(group, unit.scale, number) for make in (_steps, _bars, _labels)]
        layout[theme.layout_key("x", number)] = theme.axis(
            f"time since the call [{unit.name}]",
            anchor=theme.axis_name("y", number),
            range=[0, 1.02 * group.total_ns / unit.scale],
        )
        titles = [_row_name(part.title) for part, _ in group.parts_ns]
        layout[theme.layout_key("y", number)] = rows_axis(titles, domain, number)
        text = f"<b>{group.words}: {latency_text(group.total_ns)}</b>  mean of {count_text(group.count)}"
        layout["annotations"].append(label_beside_names(text, number))
    return Plot(data, layout, height, traced.label if has_name else "")


def _begins(group: _Group) -> list[float]:
    """Where each part begins, in ns."""
    found, at = [], 0.0
    for _, length in group.parts_ns:
        found.append(at)
        at += length
    return found


def _bars(group: _Group, scale: float, number: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "base": [_rounded(begin / scale) for begin in _begins(group)],
        "x": [_rounded(length / scale) for _, length in group.parts_ns],
        "y": list(range(len(group.parts_ns))),
        # its row tells what a bar is, so colours need no pattern beside them
        "marker": {"color": [PART_COLOURS[part.part] for part, _ in group.parts_ns]},
        "hovertext": [_hover(group, part, length) for part, length in group.parts_ns],
        "hoverinfo": "text",
        "xaxis": theme.axis_name("x", number),
        "yaxis": theme.axis_name("y", number),
    }


def _steps(group: _Group, scale: float, number: int) -> dict[str, Any]:
    """Thin lines from the end of each bar to the start of the next."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for row, begin in enumerate(_begins(group)[1:]):
        xs += [_rounded(begin / scale)] * 2 + [None]
        ys += [row, row + 1, None]
    return theme.scatter("lines", xs, ys, line={"color": theme.AXIS, "width": 1}, on=(number, number))


def _labels(group: _Group, scale: float, number: int) -> dict[str, Any]:
    """Time and share of each part beside its bar, on the side that has room, otherwise on it."""
    xs, positions, colors = [], [], []
    for begin, (_, length) in zip(_begins(group), group.parts_ns, strict=True):
        low, high = begin / group.total_ns, (begin + length) / group.total_ns
        side = _side(low, high)
        xs.append({"right": high, "left": low, "on": (low + high) / 2}[side] * group.total_ns / scale)
        positions.append("middle center" if side == "on" else f"middle {side}")
        colors.append(theme.PAPER if side == "on" else theme.INK)
    return theme.scatter(
        "text",
        [_rounded(x) for x in xs],
        list(range(len(group.parts_ns))),
        [f" {_label(length, group.total_ns)} " for _, length in group.parts_ns],
        textposition=positions,
        textfont={"size": theme.SMALL_TEXT_SIZE, "color": colors},
        cliponaxis=False,
        on=(number, number),
    )


def _side(low: float, high: float) -> str:
    """Where the label of a bar goes that lies between two shares of the drawing."""
    if high <= 1 - _LABEL_SHARE:
        return "right"
    if low >= _LABEL_SHARE:
        return "left"
    if high - low >= _LABEL_SHARE:
        return "on"
    return "right" if 1 - high >= low else "left"


def _label(length_ns: float, total_ns: float) -> str:
    return f"{latency_text(length_ns)} · {number_text(100 * length_ns / total_ns, 2)}\u00a0%" if length_ns else "none"


def _row_name(title: str) -> str:
    """The name of a row, cut to the room beside the drawing."""
    return title if len(title) <= _NAME_LETTERS else f"{title[: _NAME_LETTERS - 1]}…"


def _hover(group: _Group, part: PartSummary, length: float) -> str:
    return (
        f"<b>{part.title}: {_label(length, group.total_ns)}</b><br>{PART_MEANINGS[part.part]}"
        f"<br>{group.words}, mean of {count_text(group.count)}"
    )


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _table(traced: Sequence[TracedCombination]) -> DataTable:
    columns = ("trial", "operation", "group", "group_operations", "part", "begins_ns", "duration_ns", "share")
    rows: list[list[Cell]] = []
    for one in traced:
        explanation = one.explanation
        for group in _groups(explanation):
            about: list[Cell] = [explanation.trial, explanation.operation, group.name, group.count]
            for begin, (part, length) in zip(_begins(group), group.parts_ns, strict=True):
                share = round(length / group.total_ns, 6)
                rows.append([*about, part.layer or part.part, round(begin, 1), round(length, 1), share])
    return DataTable(columns, rows)
