"""The names of lines, marks and bars, and the colours of a map: above the axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.report.svg.axis import Axis, ticks_of
from drivelab.report.svg.ink import Ink, stroke, symbol_path, symbol_style
from drivelab.report.svg.words import fitted, text_element, wide

ROW_PX, TOP_PX = 20, 14
# a dash, a mark in the next gap, and another dash
_SAMPLE_PX, _GAP_PX = 42, 16
_SIZE_PX = 12.0
_SWATCH_PX = (16, 11)
_MARK_PX_AT_MOST = 11
_TICKS_PX, _SCALE_TITLE_PX = 15, 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A name with what is drawn beside it, and its place: px from the left of the axes, and its row."""

    trace: Mapping[str, Any]
    name: str
    x: float
    row: int

    @property
    def is_cut(self) -> bool:
        """Whether its name had no room."""
        return bool(self.name != self.trace["name"])


def entries_of(data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], room_px: float) -> list[Entry]:
    """The names of a drawing in rows that fit; each below the other where the figure wants it so."""
    legend = layout.get("legend", {})
    named = [
        trace
        for trace in data
        if layout.get("showlegend", True) and trace.get("showlegend", True) and trace.get("name")
    ]
    if legend.get("traceorder") == "reversed":
        named.reverse()
    names = [fitted(trace["name"], room_px - _SAMPLE_PX, _SIZE_PX) for trace in named]
    widths = [_SAMPLE_PX + wide(name, _SIZE_PX) + _GAP_PX for name in names]
    if legend.get("orientation") == "v":
        starts = [(0.0, row) for row in range(len(names))]
    elif sum(widths) - _GAP_PX <= room_px:
        starts = [(sum(widths[:place]), 0) for place in range(len(names))]
    else:
        # in columns, so that rows can be read one below the other
        column_px = max(widths)
        count = max(1, int((room_px + _GAP_PX) / column_px))
        starts = [(place % count * column_px, place // count) for place in range(len(names))]
    return [Entry(trace, name, *start) for trace, name, start in zip(named, names, starts, strict=True)]


def legend_px(entries: Sequence[Entry]) -> float:
    """The room above the axes that names take."""
    return TOP_PX + ROW_PX * (entries[-1].row + 1) if entries else 0.0


def legend_elements(entries: Sequence[Entry], left: float, bottom: float, ink: Ink) -> Iterator[str]:
    """The names, the last row right above the axes."""
    rows = entries[-1].row + 1 if entries else 0
    for entry in entries:
        x, y = left + entry.x, bottom - ROW_PX * (rows - entry.row - 0.5) - 3
        yield from _sample(entry.trace, x, y, ink)
        yield text_element(entry.name, x + _SAMPLE_PX, y, _SIZE_PX, ink.colour("var(--ink)"))


def _sample(trace: Mapping[str, Any], x: float, y: float, ink: Ink) -> Iterator[str]:
    width = _SAMPLE_PX - 6
    if trace["type"] == "bar":
        marker = trace["marker"]
        across, up = _SWATCH_PX
        fill = ink.pattern(marker.get("pattern", {}), _first(marker["color"], "var(--ink)"))
        edge = f" {stroke(ink, marker['line'])}" if marker.get("line", {}).get("width") else ""
        yield f'<rect x="{x + 4:.1f}" y="{y - up / 2:.1f}" width="{across}" height="{up}" fill="{fill}"{edge}/>'
        return
    if trace.get("fill"):
        yield f'<rect x="{x:.1f}" y="{y - 4:.1f}" width="{width}" height="8" fill="{ink.colour(trace["fillcolor"])}"/>'
    mode, line = trace.get("mode", "lines"), trace.get("line", {})
    if "lines" in mode and line.get("width", 2):
        yield f'<path d="M{x:.1f} {y:.1f}h{width}" fill="none" {stroke(ink, line)}/>'
    if "markers" in mode:
        marker = trace.get("marker", {})
        edge = marker.get("line", {})
        color, symbol = _first(marker.get("color"), "var(--ink)"), _first(marker.get("symbol"), "circle")
        size = min(_MARK_PX_AT_MOST, float(_first(marker.get("size"), 6)))
        style = symbol_style(ink, symbol, color, _first(edge.get("color"), color), _first(edge.get("width"), 0))
        yield f'<path d="M{x + width / 2:.1f} {y:.1f}{symbol_path(symbol, size)}" {style}/>'


def _first(value: Any, usual: Any) -> Any:
    """What the first point has; the usual where nothing is said, or there is no point."""
    if isinstance(value, list | tuple):
        return value[0] if value else usual
    return usual if value is None else value


def colour_bar(trace: Mapping[str, Any], left: float, room_px: float, bottom: float, ink: Ink) -> Iterator[str]:
    """The colours of a map with their numbers, right above the axes."""
    bar = trace["colorbar"]
    values = [value for row in trace["z"] for value in row if value is not None]
    low, high = trace.get("zmin", min(values)), trace.get("zmax", max(values))
    width, height = room_px * bar["len"], float(bar["thickness"])
    below = bottom - bar["ypad"] - _TICKS_PX
    size, colour = float(bar["tickfont"]["size"]), ink.colour(bar["tickfont"]["color"])
    yield text_element(bar["title"]["text"], left, below - height - _SCALE_TITLE_PX, size, colour)
    fill = ink.gradient(trace["colorscale"])
    yield f'<rect x="{left:.1f}" y="{below - height:.1f}" width="{width:.1f}" height="{height:g}" fill="{fill}"/>'
    axis = Axis(bar, float(low), float(high) if high > low else low + 1.0, left, left + width)
    for tick in ticks_of(axis, size):
        at = axis.at(tick.value) or left
        half = wide(tick.text, size) / 2
        yield text_element(tick.text, max(at, left + half), below + _TICKS_PX / 2, size, colour, "middle")
