"""A drawing of a figure as SVG: axes, what lies in them, names and labels.

Figures are data in the words of Plotly, of which this draws those that ours use. A picture of the same figure has the
same bytes on every machine, holds neither scripts nor addresses, and text from outside is nothing but text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from drivelab.report.card.letters import one_line
from drivelab.report.figures.figure import Plot
from drivelab.report.svg.axes import axis_elements, bottom_px, left_px
from drivelab.report.svg.axis import Axis, range_of
from drivelab.report.svg.ink import Ink, stroke
from drivelab.report.svg.legend import Entry, colour_bar, entries_of, legend_elements, legend_px
from drivelab.report.svg.traces import Panel, Trace, Traces
from drivelab.report.svg.words import fitted, text_element, wide

_AXIS = re.compile(r"([xy])axis(\d*)")
_EDGE_PX = 4.0
# beside a word that reaches beyond the axes
_PASSES = 3


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing.

    Attributes
    ----------
    told : list of plain data
        What the page tells of each point, by trace.
    """

    svg: str
    width_px: float
    height_px: float
    told: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the axes lie: px from the left and the top, and their room."""

    left: float
    top: float
    width: float
    height: float


def draw(
    plot: Plot, width_px: float, key: str = "part", colours: Mapping[str, str] | None = None, title: str = ""
) -> Drawing:
    """A drawing of a figure in a width.

    Parameters
    ----------
    key : str
        Begins the names of its parts: of all drawings of a page another.
    colours : mapping of str to str
        Values of the page's colours by name, and its ``font``; without, all of them are left to the page.
    title : str
        What a screen reader calls a picture.
    """
    right = float(plot.layout.get("margin", {}).get("r", 14))
    for _ in range(_PASSES):
        drawn = _Sheet(plot, width_px, right, Ink(key, colours))
        elements = list(drawn.elements())
        beyond = drawn.right_px - (width_px - _EDGE_PX)
        if beyond <= 0:
            break
        right += beyond
    size = f'viewBox="0 0 {width_px:g} {drawn.height_px:g}" width="{width_px:g}" height="{drawn.height_px:g}"'
    font = f' font-family="{escape(colours["font"])}"' if colours else ""
    paper = f'<rect width="100%" height="100%" fill="{colours["paper"]}"/>' if colours else ""
    named = f"<title>{escape(one_line(title), quote=False)}</title>" if title else ""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}{font}>{named}{drawn.ink.definitions}{paper}'
        f"{''.join(elements)}</svg>"
    )
    return Drawing(svg, width_px, drawn.height_px, [told.plain() for told in drawn.traces.told])


class _Sheet:
    """What is drawn, its axes placed in a width."""

    def __init__(self, plot: Plot, width_px: float, right_px: float, ink: Ink) -> None:
        self.plot, self.ink, self.width_px = plot, ink, width_px
        self.layout = plot.layout
        self.traces = Traces(ink, plot.layout)
        self.traces.bar_count = sum(trace.get("type") == "bar" for trace in plot.data)
        self.data: list[Trace] = [{"type": "scatter"} | dict(trace) for trace in plot.data]
        margin = {"l": 62, "t": 34, "b": 52} | dict(plot.layout.get("margin", {}))
        self._specs = _specs(plot.layout, self.data)
        self._ranges = {name: self._range(name) for name in self._specs}
        inner_px = plot.height_px - margin["t"] - margin["b"]
        left = max(margin["l"], left_px(self._specs, self._ranges, inner_px))
        bottom = max(margin["b"], bottom_px(self._specs, width_px - left - right_px))
        self.entries: list[Entry] = entries_of(self.data, plot.layout, width_px - left - _EDGE_PX)
        self.legend_left = left
        if any(entry.is_cut for entry in self.entries):
            self.entries = entries_of(self.data, plot.layout, width_px - 2 * _EDGE_PX)
            self.legend_left = _EDGE_PX
        top = max(margin["t"], legend_px(self.entries))
        self.frame = _Frame(left, top, width_px - left - right_px, inner_px)
        self.height_px = round(top + inner_px + bottom)
        self.right_px = 0.0
        self.axes = {name: self._axis(name) for name in self._specs}

    def elements(self) -> Iterator[str]:
        """All parts, the lowest first."""
        panels = {(trace.get("xaxis", "x"), trace.get("yaxis", "y")) for trace in self.data}
        yield from self._shapes(is_below=True)
        scales = []
        for name in sorted(self.axes):
            across = "y" if name[0] == "x" else "x"
            beside = {pair["xy".index(across)] for pair in panels if name in pair}
            beside |= {self.axes[name].spec.get("anchor", across)}
            lines, words, reach = axis_elements(self.axes[name], [self.axes[one] for one in sorted(beside)], self.ink)
            self.right_px = max(self.right_px, reach)
            yield lines
            scales.append(words)
        for trace in self.data:
            yield from self.traces.draw(trace, self._panel(trace))
        self.right_px = max(self.right_px, self.traces.right_px)
        yield from self._shapes(is_below=False)
        yield from scales
        for note in self.layout.get("annotations", ()):
            yield self._note(note)
        frame = self.frame
        yield from legend_elements(self.entries, self.legend_left, frame.top, self.ink)
        for trace in self.data:
            if trace["type"] == "heatmap" and trace.get("showscale", True) and "colorbar" in trace:
                yield from colour_bar(trace, frame.left, frame.width, frame.top, self.ink)

    def _panel(self, trace: Trace) -> Panel:
        return Panel(self.axes[trace.get("xaxis", "x")], self.axes[trace.get("yaxis", "y")])

    def _range(self, name: str) -> tuple[float, float]:
        """The ends of an axis, of all that is drawn on it."""
        letter = name[0]
        own = [trace for trace in self.data if trace.get(f"{letter}axis", letter) == name]
        values = [value for trace in own for value in _drawn_values(trace, letter)]
        if self.layout.get("barmode") == "stack":
            values += self._stacked(own, letter)
        is_map = any(trace["type"] == "heatmap" for trace in own)
        return range_of(self._specs[name], values, is_exact=is_map)

    def _stacked(self, own: Sequence[Trace], letter: str) -> list[float]:
        """How far bars reach that stand on each other."""
        sums: dict[Any, float] = {}
        other = "y" if letter == "x" else "x"
        for trace in own:
            if trace["type"] == "bar" and _is_along(trace, letter):
                for place, value in zip(trace[other], trace[letter], strict=True):
                    sums[place] = sums.get(place, 0.0) + value
        return list(sums.values())

    def _axis(self, name: str) -> Axis:
        low, high = self._specs[name].get("domain", (0, 1))
        frame = self.frame
        if name[0] == "x":
            ends = (frame.left + low * frame.width, frame.left + high * frame.width)
        else:
            ends = (frame.top + (1 - low) * frame.height, frame.top + (1 - high) * frame.height)
        return Axis(self._specs[name], *self._ranges[name], *ends)

    def _place(self, letter: str, reference: str, value: float, *, is_end: bool) -> float:
        """Where something stands that is drawn by hand: on an axis, or at a share of its domain or of all axes."""
        frame = self.frame
        if reference == "paper":
            return frame.left + value * frame.width if letter == "x" else frame.top + (1 - value) * frame.height
        name, _, is_share = reference.partition(" ")
        axis = self.axes[name]
        if is_share:
            return axis.begin + value * (axis.end - axis.begin)
        return axis.at_end(value) if is_end else axis.at(value) or axis.begin

    def _shapes(self, *, is_below: bool) -> Iterator[str]:
        for shape in self.layout.get("shapes", ()):
            if (shape.get("layer") == "below") != is_below:
                continue
            x0, x1, y0, y1 = (
                self._place(letter, shape.get(f"{letter}ref", letter), shape[f"{letter}{end}"], is_end=False)
                for letter in "xy"
                for end in "01"
            )
            if shape["type"] == "line":
                yield f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" fill="none" {stroke(self.ink, shape["line"])}/>'
            else:
                left, top, width, height = min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0)
                fill = self.ink.colour(shape["fillcolor"])
                yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'

    def _note(self, note: Mapping[str, Any]) -> str:
        """A label that is drawn by hand, cut where it has no room."""
        font = note.get("font", {})
        size = float(font.get("size", 12))
        x = self._place("x", note.get("xref", "paper"), note["x"], is_end=True) + note.get("xshift", 0)
        y = self._place("y", note.get("yref", "paper"), note["y"], is_end=True)
        y -= 0.65 * size + 3 if note.get("yanchor") == "bottom" else 0
        room = self.width_px - x - _EDGE_PX
        text = note["text"]
        if note.get("name") == "half-panel":
            room = min(room, self.frame.width / 2 - _EDGE_PX)
        anchor = {"left": "start", "right": "end"}.get(note.get("xanchor", "left"), "middle")
        if note.get("name"):
            text = fitted(text, room, size)
        else:
            taken = wide(text, size)
            # a number beside its mark stays in the picture, gap included
            x += _EDGE_PX if anchor == "start" else -_EDGE_PX
            x = min(x, self.width_px - taken) if anchor == "start" else max(x, taken)
        return text_element(text, x, y, size, self.ink.colour(font.get("color", "var(--ink)")), anchor)


def _specs(layout: Mapping[str, Any], data: Sequence[Trace]) -> dict[str, dict[str, Any]]:
    """The axes of a layout by their names in traces: ``y2``."""
    named = {f"{found[1]}{found[2]}": value for key, value in layout.items() if (found := _AXIS.fullmatch(key))}
    used = {trace.get(f"{letter}axis", letter) for trace in data for letter in "xy"}
    sides = {"x": "bottom", "y": "left"}
    return {name: {"side": sides[name[0]]} | dict(named.get(name, {})) for name in sorted({*named, *used})}


def _is_along(trace: Trace, letter: str) -> bool:
    """Whether the bars of a trace reach along an axis."""
    return (trace.get("orientation") == "h") == (letter == "x")


def _drawn_values(trace: Trace, letter: str) -> Iterator[Any]:
    """All that a trace has on an axis: its values, the ends of their whiskers, what bars stand on."""
    yield from trace[letter]
    error = trace.get(f"error_{letter}", {})
    if error.get("array") and error.get("visible") is not False:
        ends = zip(trace[letter], error["array"], error["arrayminus"], strict=True)
        yield from (end for value, more, less in ends if value is not None for end in (value + more, value - less))
    if trace["type"] == "bar" and _is_along(trace, letter):
        yield 0
    elif trace["type"] == "heatmap" and len(trace[letter]) == len(trace["z"] if letter == "y" else trace["z"][0]):
        yield from (trace[letter][0] - 0.5, trace[letter][-1] + 0.5)
