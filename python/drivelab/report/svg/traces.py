"""What is drawn inside the axes: lines and marks with their whiskers, bars, maps, words; and what is told of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drivelab.report.svg.axis import Axis, number_of
from drivelab.report.svg.ink import SHADES, Ink, stroke, symbol_path, symbol_style
from drivelab.report.svg.words import text_element, told, wide

Trace = Mapping[str, Any]
Place = tuple[float, float]
# beside a mark
_TEXT_GAP_PX = 3


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes."""

    x: Axis
    y: Axis

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Its left, top, width and height."""
        return self.x.first, self.y.first, self.x.last - self.x.first, self.y.last - self.y.first

    def at(self, x: Any, y: Any) -> Place | None:
        """Where a point lies; None where it has no place."""
        across, up = self.x.at(x), self.y.at(y)
        return None if across is None or up is None else (across, up)

    def has(self, place: Place) -> bool:
        """Whether a place lies within the axes."""
        return self.x.has(place[0]) and self.y.has(place[1])


@dataclass(slots=True)
class Told:
    """The words of the points of a trace, and where they lie; of a bar or a cell, how far it reaches too.

    Attributes
    ----------
    x, y : list of float
        Places in px.
    text : list of str
        As HTML.
    half : list of (float, float)
        Half the width and height of each; empty for points.
    span : (float, float) or None
        Top and bottom between which only the place across counts.
    """

    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    half: list[tuple[float, float]] = field(default_factory=list)
    span: tuple[float, float] | None = None

    def add(self, place: Place, text: str, half: tuple[float, float] | None = None) -> None:
        """One more point."""
        self.x.append(round(place[0], 1))
        self.y.append(round(place[1], 1))
        self.text.append(told(text))
        if half:
            self.half.append((round(half[0], 1), round(half[1], 1)))

    def plain(self) -> dict[str, Any]:
        """As the page's script takes it."""
        found: dict[str, Any] = {"x": self.x, "y": self.y, "text": self.text}
        return found | ({"half": self.half} if self.half else {}) | ({"span": self.span} if self.span else {})


class Traces:
    """Draws traces one after the other.

    Parameters
    ----------
    ink : Ink
        Colours and patterns of the drawing.
    layout : plain data
        Of the figure: how bars stand, and whether only the place across counts for what is told.
    """

    def __init__(self, ink: Ink, layout: Mapping[str, Any]) -> None:
        self._ink, self._layout = ink, layout
        self.told: list[Told] = []
        # how far words reach to the right
        self.right_px = 0.0
        self._line: list[Place] = []
        self._stacked: dict[tuple[int, float, bool], float] = {}
        self.bar_count = 1
        self._bar_number = 0

    def draw(self, trace: Trace, panel: Panel) -> Iterator[str]:
        """The elements of a trace."""
        if trace["type"] == "heatmap":
            yield from self._cells(trace, panel)
        elif trace["type"] == "bar":
            yield from self._bars(trace, panel)
        else:
            yield from self._points(trace, panel)

    def _points(self, trace: Trace, panel: Panel) -> Iterator[str]:
        places = [panel.at(x, y) for x, y in zip(trace["x"], trace["y"], strict=True)]
        mode = trace.get("mode", "lines")
        opacity = f' opacity="{trace["opacity"]:g}"' if "opacity" in trace else ""
        if "lines" in mode:
            line = trace.get("line", {})
            pieces = list(_pieces(places, is_stepped=line.get("shape") == "hvh"))
            area = self._area(trace, panel, pieces)
            drawn = "".join(_path(piece) for piece in pieces)
            if drawn and line.get("width", 2):
                area += f'<path d="{drawn}" fill="none" {stroke(self._ink, line)} stroke-linejoin="round"{opacity}/>'
            if area:
                yield f'<g clip-path="{self._ink.window(*panel.box)}">{area}</g>'
            self._line = pieces[0] if pieces else []
        for name, axis in (("error_x", panel.x), ("error_y", panel.y)):
            yield from _whiskers(trace.get(name, {}), trace["x" if axis is panel.x else "y"], places, axis, self._ink)
        inside = [place if place and panel.has(place) else None for place in places]
        if "markers" in mode:
            yield from self._marks(trace, inside)
        if mode == "text":
            yield from self._words(trace, inside)
        elif trace.get("hoverinfo") == "text":
            self._tell(trace.get("text") or [], inside, panel)

    def _tell(self, texts: Sequence[str], places: Sequence[Place | None], panel: Panel) -> None:
        _, top, _, height = panel.box
        is_across = self._layout.get("hovermode") == "x"
        points = Told(span=(round(top, 1), round(top + height, 1)) if is_across else None)
        for text, place in zip(texts, places, strict=False):
            if place and text:
                points.add(place, text)
        if points.text:
            self.told.append(points)

    def _area(self, trace: Trace, panel: Panel, pieces: Sequence[Sequence[Place]]) -> str:
        """What lies between a line and zero, or the line before it."""
        if not trace.get("fill") or not pieces:
            return ""
        fill = f'fill="{self._ink.colour(trace["fillcolor"])}"'
        if trace["fill"] == "tonexty":
            return f'<path d="{_path([*self._line, *reversed(pieces[0])])}Z" {fill}/>'
        base = panel.y.base
        ends = "".join(_path([(piece[0][0], base), *piece, (piece[-1][0], base)]) + "Z" for piece in pieces)
        return f'<path d="{ends}" {fill}/>'

    def _marks(self, trace: Trace, places: Sequence[Place | None]) -> Iterator[str]:
        """Marks of the same look are one path."""
        marker = trace.get("marker", {})
        line = marker.get("line", {})
        colour = marker.get("color", "var(--ink)")
        asked = (marker.get("symbol", "circle"), marker.get("size", 6), colour, line.get("color", colour))
        of_points = zip(*(_each(one, len(places)) for one in (*asked, line.get("width", 0))), strict=True)
        looks: dict[tuple[Any, ...], list[Place]] = {}
        for place, look in zip(places, of_points, strict=True):
            if place:
                looks.setdefault(look, []).append(place)
        opacity = f' opacity="{marker["opacity"]:g}"' if "opacity" in marker else ""
        for (symbol, size, *style), found in looks.items():
            path = symbol_path(symbol, size)
            drawn = "".join(f"M{x:.1f} {y:.1f}{path}" for x, y in found)
            yield f'<path d="{drawn}" {symbol_style(self._ink, symbol, *style)}{opacity}/>'

    def _words(self, trace: Trace, places: Sequence[Place | None]) -> Iterator[str]:
        font = trace.get("textfont", {})
        for number, (text, place) in enumerate(zip(trace["text"], places, strict=True)):
            if place is None:
                continue
            side = str(_of(trace.get("textposition", "middle center"), number)).split()[1]
            yield self._text(text, place, side, font, number)

    def _text(self, text: str, place: Place, side: str, font: Mapping[str, Any], number: int) -> str:
        """A text right or left of a place, or on it."""
        size, colour = float(font.get("size", 12)), self._ink.colour(_of(font.get("color", "var(--ink)"), number))
        x, y = place
        gap = {"right": _TEXT_GAP_PX, "left": -_TEXT_GAP_PX, "center": 0}[side]
        if side == "right":
            self.right_px = max(self.right_px, x + gap + wide(text, size))
        anchor = {"right": "start", "left": "end", "center": "middle"}[side]
        return text_element(text, x + gap, y, size, colour, anchor)

    def _bars(self, trace: Trace, panel: Panel) -> Iterator[str]:
        is_lying = trace.get("orientation") == "h"
        along, across = (panel.x, panel.y) if is_lying else (panel.y, panel.x)
        values, stands = (trace["x"], trace["y"]) if is_lying else (trace["y"], trace["x"])
        marker = trace.get("marker", {})
        line = marker.get("line", {})
        points = Told()
        ends: list[Place | None] = []
        for number, (value, stand) in enumerate(zip(values, stands, strict=True)):
            sides = self._sides(trace, number, float(stand), across)
            begin, end = self._reach(trace, number, value, float(stand), along)
            box = (begin, sides[0], end, sides[1]) if is_lying else (sides[0], begin, sides[1], end)
            left, top = min(box[0], box[2]), min(box[1], box[3])
            width, height = abs(box[2] - box[0]), abs(box[3] - box[1])
            fill = self._ink.pattern(marker.get("pattern", {}), _of(marker["color"], number))
            edge = f" {stroke(self._ink, line)}" if line.get("width") else ""
            if self._layout.get("barmode") == "stack":
                # neighbours touch: no paper is seen between them
                edge += ' shape-rendering="crispEdges"'
            yield (
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{edge}/>'
            )
            middle = sum(sides) / 2
            ends.append((end, middle) if is_lying else (middle, end))
            if trace.get("hoverinfo") == "text":
                points.add((left + width / 2, top + height / 2), trace["hovertext"][number], (width / 2, height / 2))
            if trace.get("textposition") == "outside":
                yield self._text(trace["text"][number], (end, middle), "right", trace.get("textfont", {}), number)
        yield from _whiskers(trace.get("error_x", {}), values, ends, along, self._ink)
        self._bar_number += 1
        if points.text:
            self.told.append(points)

    def _sides(self, trace: Trace, number: int, stand: float, across: Axis) -> tuple[float, float]:
        """Where a bar begins and ends across."""
        width = _of(trace.get("width", 1 - self._layout.get("bargap", 0.2)), number)
        if self._layout.get("barmode") == "group":
            width /= self.bar_count
            stand += (self._bar_number - (self.bar_count - 1) / 2) * width
            width *= 1 - self._layout.get("bargroupgap", 0)
        first, second = (across.at_end(stand + side * width / 2) for side in (-1, 1))
        return first, second

    def _reach(self, trace: Trace, number: int, value: float, stand: float, along: Axis) -> tuple[float, float]:
        """From where to where a bar reaches."""
        if "base" in trace:
            base = trace["base"][number]
            return along.at_end(base), along.at_end(base + value)
        if self._layout.get("barmode") == "stack":
            key = (id(along), stand, value < 0)
            base = self._stacked.get(key, 0.0)
            self._stacked[key] = base + value
            return along.at_end(base), along.at_end(base + value)
        end = along.at(value)
        return along.base, along.base if end is None else end

    def _cells(self, trace: Trace, panel: Panel) -> Iterator[str]:
        """A map: cells of the same shade are one path, and neighbours of a row one cell."""
        columns, rows = (
            _edges(trace[name], count, axis)
            for name, count, axis in (("x", len(trace["z"][0]), panel.x), ("y", len(trace["z"]), panel.y))
        )
        values = [value for row in trace["z"] for value in row if value is not None]
        low, high = trace.get("zmin", min(values, default=0)), trace.get("zmax", max(values, default=1))
        span, gap = (high - low) or 1.0, float(trace.get("xgap", 0))
        paths: dict[int, list[str]] = {}
        points = Told()
        for row, (bottom, top) in zip(trace["z"], itertools.pairwise(rows), strict=True):
            shades = [None if value is None else _shade((value - low) / span) for value in row]
            for begin, end in _runs(shades, is_joined=not gap):
                shade = shades[begin]
                if shade is not None:
                    paths.setdefault(shade, []).append(_cell(columns[begin], columns[end], bottom, top, gap))
        for number, texts in enumerate(trace.get("customdata", [])):
            bottom, top = rows[number], rows[number + 1]
            for place, text in enumerate(texts):
                if text:
                    left, right = columns[place], columns[place + 1]
                    half = (abs(right - left) / 2, abs(top - bottom) / 2)
                    points.add(((left + right) / 2, (bottom + top) / 2), text, half)
        drawn = "".join(
            f'<path d="{"".join(paths[shade])}" fill="{self._ink.shade(trace["colorscale"], shade / SHADES)}"/>'
            for shade in sorted(paths)
        )
        yield f'<g shape-rendering="crispEdges" clip-path="{self._ink.window(*panel.box)}">{drawn}</g>'
        if points.text:
            self.told.append(points)


def _of(value: Any, number: int) -> Any:
    """What a trace says of one of its points, or of all."""
    return value[number] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _each(value: Any, count: int) -> Iterable[Any]:
    """What a trace says of each of its points."""
    return (
        value[:count] if isinstance(value, Sequence) and not isinstance(value, str) else itertools.repeat(value, count)
    )


def _pieces(places: Sequence[Place | None], *, is_stepped: bool) -> Iterator[list[Place]]:
    """Lines between gaps; what lies on the point before it is left out."""
    piece: list[Place] = []
    for place in [*places, None]:
        if place is None:
            if piece:
                yield piece
            piece = []
            continue
        here = (round(place[0], 1), round(place[1], 1))
        if piece and is_stepped:
            middle = round((piece[-1][0] + here[0]) / 2, 1)
            piece += [(middle, piece[-1][1]), (middle, here[1])]
        if not piece or piece[-1] != here:
            piece.append(here)


def _path(piece: Sequence[Place]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in piece)


def _whiskers(
    error: Mapping[str, Any], values: Sequence[Any], places: Sequence[Place | None], axis: Axis, ink: Ink
) -> Iterator[str]:
    if not error.get("array") or error.get("visible") is False:
        return
    is_lying = axis.spec.get("side") == "bottom"
    cap = float(error.get("width", 4))
    path = ""
    for value, more, less, place in zip(values, error["array"], error["arrayminus"], places, strict=True):
        number = number_of(value)
        if place is None or number is None or not (more or less):
            continue
        ends = [axis.at(number - (less or 0)), axis.at(number + (more or 0))]
        low, high = (axis.within(axis.begin if end is None else end) for end in ends)
        at = place[is_lying]
        if is_lying:
            path += f"M{low:.1f} {at:.1f}H{high:.1f}"
            path += "".join(f"M{end:.1f} {at - cap:.1f}v{2 * cap:g}" for end in (low, high) if cap)
        else:
            path += f"M{at:.1f} {low:.1f}V{high:.1f}"
            path += "".join(f"M{at - cap:.1f} {end:.1f}h{2 * cap:g}" for end in (low, high) if cap)
    if path:
        colour, width = ink.colour(error["color"]), float(error.get("thickness", 2))
        yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def _shade(share: float) -> int:
    return round(min(max(share, 0.0), 1.0) * SHADES)


def _edges(values: Sequence[Any], count: int, axis: Axis) -> list[float]:
    """Where the cells of a map begin and end: given, or half-way between their middles."""
    if len(values) == count:
        values = [values[0] - 0.5, *(value + 0.5 for value in values)]
    return [axis.begin if (place := axis.at(value)) is None else place for value in values]


def _runs(shades: Sequence[int | None], *, is_joined: bool) -> Iterator[tuple[int, int]]:
    begin = 0
    for place in range(1, len(shades) + 1):
        if place == len(shades) or not is_joined or shades[place] != shades[begin]:
            yield begin, place
            begin = place


def _cell(left: float, right: float, bottom: float, top: float, gap: float) -> str:
    x, y = min(left, right) + gap / 2, min(bottom, top) + gap / 2
    width, height = abs(right - left) - gap, abs(top - bottom) - gap
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z"
