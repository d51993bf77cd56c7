"""Observations in rows as dots on a logarithmic axis: of a drive and its levels one row, its marks on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.report.card.letters import cut, width_px
from drivelab.report.figures import theme
from drivelab.report.figures.bars import Bar, Common, hover_text, number_of, rows_of
from drivelab.report.figures.figure import Plot
from drivelab.report.figures.quantity import Scale, invalid_marks, value_axis, whiskers

_ROW_PX, _HEAD_PX, _BOTTOM_PX = 22, 26, 56
_DOT_PX, _GAP_PX, _NAMES_PX_AT_MOST = 11, 10, 300
# of a column of numbers, and of its head
_NUMBER_PX, _HEAD_PX_AT_MOST = 64, 130
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "cross")


def dot_height(bars: Sequence[Bar]) -> int:
    """Height of the rows in px."""
    rows = rows_of(bars)
    return _ROW_PX * len(rows) + _HEAD_PX * len({drive for drive, row in rows if row})


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
    columns = _columns(shown)
    numbers = _numbers(bars, places, columns, common) + (_heads(columns, common) if is_named else [])
    layout = theme.layout(height, annotations=[*labels, *numbers], showlegend=is_named or wrong is not None)
    theme.legend_rows(layout, legend)
    layout["margin"] |= {"b": _BOTTOM_PX, "l": _names_px(bars), "r": max(end for _, end in columns.values())}
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
    """The room that the names of the rows take at the left."""
    names = [width_px(bar.row or bar.drive, theme.SMALL_TEXT_SIZE, bold=not bar.row) for bar in bars]
    return round(min(_NAMES_PX_AT_MOST, max(names) + 2 * _GAP_PX))


def _places(bars: Sequence[Bar]) -> tuple[dict[tuple[str, str], float], list[dict[str, Any]], float]:
    """Middle of each row in px from the top, the names of rows and drives, and the height of all."""
    places: dict[tuple[str, str], float] = {}
    labels: list[dict[str, Any]] = []
    at, last = 0.0, ""
    for drive, row in rows_of(bars):
        if drive != last and row:
            labels.append(theme.row_label(f"<b>{theme.escaped(drive)}</b>", at + _HEAD_PX / 2, color=theme.INK))
            at += _HEAD_PX
        last = drive
        text = theme.escaped(row) if row else f"<b>{theme.escaped(drive)}</b>"
        beside = {"name": "beside", "xanchor": "right", "xshift": -_GAP_PX}
        labels.append(theme.row_label(text, at + _ROW_PX / 2, color=theme.INK) | beside)
        places[drive, row] = at + _ROW_PX / 2
        at += _ROW_PX
    return places, labels, at


def _columns(series: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Where the numbers of each series begin and end, in px from the right end of the axis."""
    columns: dict[str, tuple[int, int]] = {}
    at = _GAP_PX
    for name in series:
        head = min(_HEAD_PX_AT_MOST, width_px(name, theme.SMALL_TEXT_SIZE))
        end = at + round(max(_NUMBER_PX, head) + _GAP_PX)
        columns[name] = (at, end)
        at = end
    return columns


def _heads(columns: Mapping[str, tuple[int, int]], common: Common) -> list[dict[str, Any]]:
    """What the columns of numbers are of."""
    return [
        theme.row_label(cut(name, end - begin, theme.SMALL_TEXT_SIZE), 1, color=_colour(name, common))
        | {"name": "head", "yref": "paper", "yanchor": "bottom", "x": 1, "xshift": begin}
        for name, (begin, end) in columns.items()
    ]


def _numbers(
    bars: Sequence[Bar],
    places: Mapping[tuple[str, str], float],
    columns: Mapping[str, tuple[int, int]],
    common: Common,
) -> list[dict[str, Any]]:
    """The numbers of the rows, a column for each series."""
    found = []
    for bar in bars:
        word = " not taken" if bar.not_taken else " <b>best</b>" if bar.is_best else ""
        text = f"{number_of(bar, common.scale)}{word}"
        at = {"name": "number", "x": 1, "xshift": columns[bar.series][0]}
        found.append(theme.row_label(text, places[bar.drive, bar.row], color=theme.INK) | at)
    return found


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
