"""Observations in rows as dots on a logarithmic axis: of a drive and its levels one row, its marks on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.report.card.letters import width_px
from drivelab.report.figures import theme
from drivelab.report.figures.bars import Bar, Common, drawn_alike, hover_text, number_of, rows_layout, rows_of
from drivelab.report.figures.figure import Plot
from drivelab.report.figures.quantity import Scale, value_axis, whiskers
from drivelab.report.svg.words import wide

_ROW_PX, _HEAD_PX = 22, 26
_DOT_PX, _GAP_PX = 11, 10
# wider names of rows stand above their dots: beside them they would leave a telephone no room
_NAMES_PX_AT_MOST = 130
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "cross")


def dot_height(bars: Sequence[Bar]) -> int:
    """Height of the rows in px."""
    return round(_places(bars)[2])


def dot_plot(name: str, bars: Sequence[Bar], common: Common, value_name: str) -> Plot:
    """Dots of some bars, with the numbers of each row at its end.

    Parameters
    ----------
    bars : sequence of Bar
        Bars, those of a drive and row behind each other.
    value_name : str
        What the axis of the values is called; default: what has such a unit.
    """
    scale, (low, high) = common.scale, common.ends
    places, labels, inner = _places(bars)
    layout, wrong = rows_layout(bars, places, inner, common)
    numbers, numbers_px = _numbers(bars, places, common)
    layout["annotations"] = [*labels, *numbers]
    layout["margin"]["l"] += _names_px(bars) if _are_beside(bars) else 0
    layout["margin"]["r"] = numbers_px
    layout["xaxis"] = value_axis(scale, low / 1.2, high * 1.2, value_name)
    dots = [_dots(found, places, common, is_first=is_first) for found, is_first in drawn_alike(bars, common)]
    return Plot([_line_between(bars, places, scale), *dots, *wrong], layout, layout["height"], name)


def _names_px(bars: Sequence[Bar]) -> int:
    """The room that the names of the rows take."""
    return round(max(width_px(bar.row, theme.SMALL_TEXT_SIZE) for bar in bars)) + _GAP_PX


def _are_beside(bars: Sequence[Bar]) -> bool:
    """Whether the names of the rows stand at the left of their dots; a drive has its name above them."""
    return any(bar.row for bar in bars) and _names_px(bars) <= _NAMES_PX_AT_MOST


def _places(bars: Sequence[Bar]) -> tuple[dict[int, float], list[dict[str, Any]], float]:
    """Middle of each bar in px from the top, the names of rows and drives, and the height of all."""
    places: dict[int, float] = {}
    labels: list[dict[str, Any]] = []
    are_beside = _are_beside(bars)
    at, last = 0.0, ""
    for (drive, row), members in rows_of(bars).items():
        if drive != last:
            labels.append(theme.row_label(f"<b>{theme.escaped(drive)}</b>", at + _HEAD_PX / 2, color=theme.INK))
            at += _HEAD_PX
        last = drive
        if row and not are_beside:
            labels.append(theme.row_label(theme.escaped(row), at + _ROW_PX / 2))
            at += _ROW_PX
        elif row:
            beside = {"name": "beside", "xanchor": "right", "xshift": -_GAP_PX}
            labels.append(theme.row_label(theme.escaped(row), at + _ROW_PX / 2, color=theme.INK) | beside)
        places |= dict.fromkeys(map(id, members), at + _ROW_PX / 2)
        at += _ROW_PX
    return places, labels, at


def _numbers(bars: Sequence[Bar], places: Mapping[int, float], common: Common) -> tuple[list[dict[str, Any]], int]:
    """The numbers of the rows at their ends, a column for each series in their order, and the width of all."""
    found: list[dict[str, Any]] = []
    begin = _GAP_PX
    for members in filter(None, ([bar for bar in bars if bar.series == one] for one in common.series)):
        texts = [f"{number_of(bar, common.scale)}{bar.word}" for bar in members]
        for bar, text in zip(members, texts, strict=True):
            at = {"name": "number", "x": 1, "xshift": begin}
            found.append(theme.row_label(text, places[id(bar)], color=theme.INK) | at)
        begin += round(max(wide(f"<b>{text}</b>", theme.SMALL_TEXT_SIZE) for text in texts)) + _GAP_PX
    return found, begin


def _line_between(bars: Sequence[Bar], places: Mapping[int, float], scale: Scale) -> dict[str, Any]:
    """A thin line from the first to the last mark of each row."""
    x: list[float | None] = []
    y: list[float | None] = []
    for members in rows_of(bars).values():
        values = [scale.drawn(bar.point.value) for bar in members]
        x += [min(values), max(values), None]
        y += [places[id(members[0])], places[id(members[0])], None]
    line = {"color": theme.AXIS, "width": 1}
    return theme.scatter("lines", x, y, showlegend=False, line=line) | {"hoverinfo": "skip"}


def _dots(bars: Sequence[Bar], places: Mapping[int, float], common: Common, *, is_first: bool) -> dict[str, Any]:
    number, scale = common.series.index(bars[0].series), common.scale
    color = theme.SERIES[number % len(theme.SERIES)]
    fill = theme.PAPER if bars[0].is_hollow else color
    return theme.scatter(
        "markers",
        [scale.drawn(bar.point.value) for bar in bars],
        [places[id(bar)] for bar in bars],
        [hover_text(bar, scale) for bar in bars],
        name=theme.escaped(bars[0].series),
        legendgroup=theme.escaped(bars[0].series),
        showlegend=is_first,
        marker={
            "symbol": _SYMBOLS[number % len(_SYMBOLS)],
            "size": _DOT_PX,
            "color": fill,
            "line": {"width": 1.6, "color": color},
        },
        error_x=whiskers([bar.point for bar in bars], scale, theme.INK),
    )
