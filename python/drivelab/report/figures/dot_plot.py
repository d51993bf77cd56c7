"""Observations in rows as dots on a logarithmic axis: of a drive and its levels one row, its marks on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.report.card.letters import width_px
from drivelab.report.figures import theme
from drivelab.report.figures.bars import Bar, Common, hover_text, number_of, rows_of
from drivelab.report.figures.figure import Plot
from drivelab.report.figures.quantity import Scale, invalid_marks, value_axis, whiskers
from drivelab.report.svg.words import wide

_ROW_PX, _HEAD_PX, _BOTTOM_PX = 22, 26, 56
_DOT_PX, _GAP_PX, _MARGIN_PX = 11, 10, 14
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
    name : str
        What it shows.
    bars : sequence of Bar
        Bars, those of a drive and row behind each other.
    common : Common
        What they share with other drawings.
    value_name : str
        What the axis of the values is called; default: what has such a unit.
    """
    scale, (low, high) = common.scale, common.ends
    places, labels, inner = _places(bars)
    shown = [series for series in common.series if any(bar.series == series for bar in bars)]
    is_named = shown != [""]
    dots = [(scale.drawn(bar.point.value), places[bar.drive, bar.row]) for bar in bars if bar.point.invalid_trials]
    wrong = invalid_marks(dots)
    legend = is_named * len(shown) + (wrong is not None)
    height = round(inner) + 14 + theme.LEGEND_ROW_PX * legend + _BOTTOM_PX
    numbers, numbers_px = _numbers(bars, places, shown, common)
    layout = theme.layout(height, annotations=[*labels, *numbers], showlegend=is_named or wrong is not None)
    theme.legend_rows(layout, legend)
    layout["margin"] |= {
        "b": _BOTTOM_PX,
        "l": _MARGIN_PX + (_names_px(bars) if _are_beside(bars) else 0),
        "r": numbers_px,
    }
    layout["xaxis"] = value_axis(scale, low / 1.2, high * 1.2, value_name)
    layout["yaxis"] = theme.axis("", range=[inner, 0], tickvals=[], ticktext=[], showgrid=False, ticks="")
    data: list[Mapping[str, Any]] = [_line_between(bars, places, scale)]
    seen: set[str] = set()
    for is_hollow in (False, True):
        for series in shown:
            found = [bar for bar in bars if bar.series == series and bar.is_hollow == is_hollow]
            if found:
                data.append(_dots(found, places, common, is_first=is_named and series not in seen))
                seen.add(series)
    return Plot([*data, *([wrong] if wrong else [])], layout, height, name)


def _names_px(bars: Sequence[Bar]) -> int:
    """The room that the names of the rows take."""
    return round(max(width_px(bar.row, theme.SMALL_TEXT_SIZE) for bar in bars)) + _GAP_PX


def _are_beside(bars: Sequence[Bar]) -> bool:
    """Whether the names of the rows stand at the left of their dots; a drive has its name above them."""
    return any(bar.row for bar in bars) and _names_px(bars) <= _NAMES_PX_AT_MOST


def _places(bars: Sequence[Bar]) -> tuple[dict[tuple[str, str], float], list[dict[str, Any]], float]:
    """Middle of each row in px from the top, the names of rows and drives, and the height of all."""
    places: dict[tuple[str, str], float] = {}
    labels: list[dict[str, Any]] = []
    are_beside = _are_beside(bars)
    at, last = 0.0, ""
    for drive, row in rows_of(bars):
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
        places[drive, row] = at + _ROW_PX / 2
        at += _ROW_PX
    return places, labels, at


def _numbers(
    bars: Sequence[Bar], places: Mapping[tuple[str, str], float], series: Sequence[str], common: Common
) -> tuple[list[dict[str, Any]], int]:
    """The numbers of the rows at their ends, a column for each series in their order, and the width of all."""
    found: list[dict[str, Any]] = []
    begin = _GAP_PX
    for name in series:
        members = [bar for bar in bars if bar.series == name]
        texts = [f"{number_of(bar, common.scale)}{bar.word}" for bar in members]
        for bar, text in zip(members, texts, strict=True):
            at = {"name": "number", "x": 1, "xshift": begin}
            found.append(theme.row_label(text, places[bar.drive, bar.row], color=theme.INK) | at)
        begin += round(max(wide(f"<b>{text}</b>", theme.SMALL_TEXT_SIZE) for text in texts)) + _GAP_PX
    return found, begin


def _colour(series: str, common: Common) -> str:
    return theme.SERIES[common.series.index(series) % len(theme.SERIES)]


def _line_between(bars: Sequence[Bar], places: Mapping[tuple[str, str], float], scale: Scale) -> dict[str, Any]:
    """A thin line from the first to the last mark of each row."""
    x: list[float | None] = []
    y: list[float | None] = []
    for row, members in rows_of(bars).items():
        values = [scale.drawn(bar.point.value) for bar in members]
        x += [min(values), max(values), None]
        y += [places[row], places[row], None]
    line = {"color": theme.AXIS, "width": 1}
    return theme.scatter("lines", x, y, showlegend=False, line=line) | {"hoverinfo": "skip"}


def _dots(
    bars: Sequence[Bar], places: Mapping[tuple[str, str], float], common: Common, *, is_first: bool
) -> dict[str, Any]:
    number, scale = common.series.index(bars[0].series), common.scale
    color = _colour(bars[0].series, common)
    fill = theme.PAPER if bars[0].is_hollow else color
    return theme.scatter(
        "markers",
        [scale.drawn(bar.point.value) for bar in bars],
        [places[bar.drive, bar.row] for bar in bars],
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
