"""Draws observations in rows: as bars from zero, or where these would be too short to be seen as dots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from drivelab.report.figures import theme
from drivelab.report.figures.bars import Bar, Common, drawn_alike, hover_text, number_of, rows_layout, rows_of
from drivelab.report.figures.dot_plot import dot_height, dot_plot
from drivelab.report.figures.figure import Plot
from drivelab.report.figures.quantity import Scale, value_axis, whiskers

BAR_PX, ROW_GAP_PX, HEAD_PX = 19, 24, 26
PLOT_PX_AT_MOST = 820
_PATTERNS = ("", "/", "x", ".", "-", "+")


class DrawnBars(NamedTuple):
    """One drawing of some bars: what it shows, and of what it was made."""

    name: str
    bars: list[Bar]
    plot: Plot


def drawn_bars(name: str, bars: Sequence[Bar], value_name: str = "") -> list[DrawnBars]:
    """Drawings of bars, no taller than a sheet each, all on the same scale and in the same colours.

    Parameters
    ----------
    bars : sequence of Bar
        Bars, those of a drive and row behind each other.
    value_name : str
        What the axis of the values is called; default: what has such a unit.
    """
    if not bars:
        return []
    common = Common.of(bars)
    draw, height = (dot_plot, dot_height) if common.scale.is_log else (_bar_plot, _bar_height)
    return [DrawnBars(name, piece, draw(name, piece, common, value_name)) for piece in _sheets(bars, height)]


def _sheets(bars: Sequence[Bar], height: Callable[[Sequence[Bar]], float]) -> list[list[Bar]]:
    """Bars by sheet: a drive is parted only where it does not fit one, and a row never."""
    drives: dict[str, list[Bar]] = {}
    for bar in bars:
        drives.setdefault(bar.drive, []).append(bar)
    pieces: list[list[Bar]] = []
    for members in drives.values():
        is_whole = height(members) <= PLOT_PX_AT_MOST
        for part in [members] if is_whole else rows_of(members).values():
            if not pieces or height([*pieces[-1], *part]) > PLOT_PX_AT_MOST:
                pieces.append([])
            pieces[-1] += part
    return pieces


def _bar_height(bars: Sequence[Bar]) -> float:
    return _places(bars)[2]


def _bar_plot(name: str, bars: Sequence[Bar], common: Common, value_name: str) -> Plot:
    """Bars from zero, with the number at the end of each."""
    places, labels, inner = _places(bars)
    layout, wrong = rows_layout(bars, places, inner, common)
    layout |= {"barmode": "overlay", "annotations": labels}
    layout["xaxis"] = value_axis(common.scale, 0, common.ends[1] * 1.12, value_name)
    traces = [_trace(found, places, common, is_first=is_first) for found, is_first in drawn_alike(bars, common)]
    return Plot([*traces, _best_words(bars, places, common.scale), *wrong], layout, layout["height"], name)


def _places(bars: Sequence[Bar]) -> tuple[dict[int, float], list[dict[str, Any]], float]:
    """Middle of each bar in px from the top, the labels of rows and drives, and the height of all."""
    places: dict[int, float] = {}
    labels: list[dict[str, Any]] = []
    at, last = 0.0, ""
    for (drive, row), members in rows_of(bars).items():
        if drive != last and row:
            labels.append(theme.row_label(f"<b>{theme.escaped(drive)}</b>", at + HEAD_PX / 2, color=theme.INK))
            at += HEAD_PX
        last = drive
        text = theme.escaped(row) if row else f"<b>{theme.escaped(drive)}</b>"
        labels.append(theme.row_label(text, at + 11, color=theme.MUTED if row else theme.INK))
        at += ROW_GAP_PX - 5
        for bar in members:
            places[id(bar)] = at + BAR_PX / 2
            at += BAR_PX
        at += 5
    return places, labels, at


def _trace(bars: Sequence[Bar], places: Mapping[int, float], common: Common, *, is_first: bool) -> dict[str, Any]:
    place, scale = common.series.index(bars[0].series), common.scale
    color = theme.SERIES[place % len(theme.SERIES)]
    pattern = _PATTERNS[place % len(_PATTERNS)]
    found = [bar.point for bar in bars]
    marker: dict[str, Any] = {"color": color, "line": {"width": 1.4, "color": color}}
    if bars[0].is_hollow:
        marker |= {"color": theme.PAPER, "pattern": {"shape": pattern, "fgcolor": color, "bgcolor": theme.PAPER}}
        marker["pattern"] |= {"size": 6, "solidity": 0.12}
    else:
        marker["pattern"] = {"shape": pattern, "bgcolor": color, "fgcolor": theme.PAPER, "size": 6, "solidity": 0.2}
    return {
        "type": "bar",
        "orientation": "h",
        "name": theme.escaped(bars[0].series),
        "legendgroup": theme.escaped(bars[0].series),
        "showlegend": is_first,
        "x": [scale.drawn(point.value) for point in found],
        "y": [places[id(bar)] for bar in bars],
        "width": [BAR_PX - 5] * len(found),
        "hovertext": [hover_text(bar, scale) for bar in bars],
        "hoverinfo": "text",
        "marker": marker,
        "error_x": whiskers(found, scale, theme.INK),
    }


def _best_words(bars: Sequence[Bar], places: Mapping[int, float], scale: Scale) -> dict[str, Any]:
    """The number at the end of every bar, and the word at the best ones and at those that are not what they say."""
    texts = [f"  {number_of(bar, scale)}{bar.word and f' {bar.word}'}" for bar in bars]
    return theme.scatter(
        "text",
        [scale.drawn(max(bar.high, bar.point.value)) for bar in bars],
        [places[id(bar)] for bar in bars],
        texts,
        textposition="middle right",
        textfont={"size": theme.SMALL_TEXT_SIZE, "color": theme.INK},
        showlegend=False,
        cliponaxis=False,
    )
