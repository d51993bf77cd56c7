"""What marks are made of: colours, dashes, patterns, symbols."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_CHANNELS = re.compile(r"[0-9.]+")
# shades of a scale: more cannot be told apart
SHADES = 24
_DASHES = {
    "dash": (5, 4),
    "dot": (1.4, 2),
    "dashdot": (6, 2.4, 1.4, 2.4),
    "longdash": (10, 4),
    "longdashdot": (10, 2.4, 1.4, 2.4),
}
_PATTERNS = {
    "/": "M-2 2L2-2M0 8L8 0M6 10L10 6",
    "x": "M0 0L8 8M8 0L0 8",
    "-": "M0 4H8",
    "+": "M0 4H8M4 0V8",
    ".": "M4 4h.01",
}
_PATTERN_PX = 8


class Ink:
    """Colours and patterns of one drawing.

    Parameters
    ----------
    key : str
        Begins the names of its parts: of all drawings of a page another.
    colours : mapping of str to str
        Values of the page's colours by name; without, they are left to the page, which may be light or dark.
    """

    def __init__(self, key: str, colours: Mapping[str, str] | None = None) -> None:
        self._key, self._colours = key, colours
        self._parts: dict[str, str] = {}

    @property
    def definitions(self) -> str:
        """The parts that are named."""
        return f"<defs>{''.join(self._parts.values())}</defs>" if self._parts else ""

    def colour(self, value: str) -> str:
        """A colour as an attribute takes it."""
        if self._colours is None:
            return value
        known = self._colours
        return _VARIABLE.sub(lambda name: known[name[1]], value)

    def shade(self, scale: Sequence[Sequence[Any]], share: float) -> str:
        """The colour of a scale at a share of it."""
        share = round(min(max(share, 0.0), 1.0) * SHADES) / SHADES
        above = next(number for number, (end, _) in enumerate(scale) if share <= end)
        if above == 0:
            return self.colour(scale[0][1])
        (low, first), (high, second) = scale[above - 1], scale[above]
        part = (share - low) / (high - low)
        if self._colours is None:
            return f"color-mix(in srgb, {second} {100 * part:.0f}%, {first})"
        return _mixed(self.colour(first), self.colour(second), part)

    def gradient(self, scale: Sequence[Sequence[Any]]) -> str:
        """A scale from left to right."""
        stops = "".join(f'<stop offset="{at:g}" stop-color="{self.colour(colour)}"/>' for at, colour in scale)
        return self._named(f'<linearGradient id="%s">{stops}</linearGradient>')

    def pattern(self, pattern: Mapping[str, Any], colour: str) -> str:
        """How a bar is filled: with its colour, or with that and strokes over it."""
        path = _PATTERNS.get(pattern.get("shape", ""))
        if path is None:
            return self.colour(colour)
        width = 3.2 if pattern["shape"] == "." else 1.4
        back, front = (self.colour(pattern[name]) for name in ("bgcolor", "fgcolor"))
        size = f'width="{_PATTERN_PX}" height="{_PATTERN_PX}"'
        return self._named(
            f'<pattern id="%s" patternUnits="userSpaceOnUse" {size}><rect {size} fill="{back}"/>'
            f'<path d="{path}" stroke="{front}" stroke-width="{width}" stroke-linecap="round"/></pattern>'
        )

    def window(self, x: float, y: float, width: float, height: float) -> str:
        """What a drawing is cut off by."""
        return self._named(
            f'<clipPath id="%s"><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/></clipPath>'
        )

    def _named(self, part: str) -> str:
        if part not in self._parts:
            self._parts[part] = part % f"{self._key}{len(self._parts)}"
        return f"url(#{self._key}{list(self._parts).index(part)})"


def _mixed(first: str, second: str, part: float) -> str:
    ends = [_channels(colour) for colour in (first, second)]
    red, green, blue, opacity = (a + (b - a) * part for a, b in zip(*ends, strict=True))
    if opacity == 1:
        return f"#{round(red):02x}{round(green):02x}{round(blue):02x}"
    return f"rgba({round(red)}, {round(green)}, {round(blue)}, {opacity:.3g})"


def _channels(colour: str) -> list[float]:
    if colour.startswith("#"):
        return [*(int(colour[at : at + 2], 16) for at in (1, 3, 5)), 1.0]
    return [float(channel) for channel in _CHANNELS.findall(colour)]


def stroke(ink: Ink, line: Mapping[str, Any], colour: str = "") -> str:
    """Attributes of a line: colour, width and dashes."""
    width = float(line.get("width", 2))
    dashes = " ".join(f"{length * max(width, 1):g}" for length in _DASHES.get(line.get("dash", ""), ()))
    found = f'stroke="{ink.colour(line.get("color", colour))}" stroke-width="{width:g}"'
    return f'{found} stroke-dasharray="{dashes}"' if dashes else found


def _polygon(points: Sequence[tuple[float, float]]) -> Callable[[float], str]:
    def path(radius: float) -> str:
        steps = [points[0]]
        steps += [(x - a, y - b) for (a, b), (x, y) in itertools.pairwise(points)]
        (x, y), *rest = [(round(radius * x, 2), round(radius * y, 2)) for x, y in steps]
        return f"m{x:g} {y:g}" + "".join(f"l{dx:g} {dy:g}" for dx, dy in rest) + "z"

    return path


def _around(count: int, first: float = -math.pi / 2, inner: float = 0.0) -> list[tuple[float, float]]:
    radii = (1.25, inner) if inner else (1.15,)
    total = count * len(radii)
    return [
        (
            radii[number % len(radii)] * math.cos(first + 2 * math.pi * number / total),
            radii[number % len(radii)] * math.sin(first + 2 * math.pi * number / total),
        )
        for number in range(total)
    ]


def _circle(radius: float) -> str:
    return f"m{-radius:g} 0a{radius:g} {radius:g} 0 1 0 {2 * radius:g} 0a{radius:g} {radius:g} 0 1 0 {-2 * radius:g} 0z"


def _strokes(*ends: tuple[float, float, float, float]) -> Callable[[float], str]:
    def path(radius: float) -> str:
        at, found = (0.0, 0.0), ""
        for x, y, dx, dy in ends:
            found += f"m{radius * x - at[0]:.2f} {radius * y - at[1]:.2f}l{radius * dx:.2f} {radius * dy:.2f}"
            at = (radius * (x + dx), radius * (y + dy))
        return found

    return path


_ARM = 0.4
_CROSS = [
    (-_ARM, -1.0), (_ARM, -1.0), (_ARM, -_ARM), (1.0, -_ARM), (1.0, _ARM), (_ARM, _ARM),
    (_ARM, 1.0), (-_ARM, 1.0), (-_ARM, _ARM), (-1.0, _ARM), (-1.0, -_ARM), (-_ARM, -_ARM),
]  # fmt: skip
_SYMBOLS: dict[str, Callable[[float], str]] = {
    "circle": _circle,
    "square": _polygon([(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
    "diamond": _polygon([(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)]),
    "triangle-up": _polygon([(0, -1.15), (1.15, 0.75), (-1.15, 0.75)]),
    "triangle-down": _polygon([(0, 1.15), (1.15, -0.75), (-1.15, -0.75)]),
    "arrow-right": _polygon([(1.15, 0), (-0.75, 1.15), (-0.75, -1.15)]),
    "pentagon": _polygon(_around(5)),
    "star": _polygon(_around(5, inner=0.5)),
    "cross": _polygon(_CROSS),
    "x": _polygon([(x - y, x + y) for x, y in _CROSS]),
    "x-thin": _strokes((-1, -1, 2, 2), (1, -1, -2, 2)),
    "line-ns": _strokes((0, -1.4, 0, 2.8)),
}
_OF_STROKES = ("x-thin", "line-ns")


def symbol_path(symbol: str, size_px: float) -> str:
    """The outline of a mark about the place where a path stands."""
    return _SYMBOLS[symbol.removesuffix("-open")](size_px / 2)


def symbol_style(ink: Ink, symbol: str, colour: str, line_colour: str, line_px: float) -> str:
    """Attributes of a mark: filled, or open where its name says so."""
    base = symbol.removesuffix("-open")
    if base in _OF_STROKES:
        return f'fill="none" stroke="{ink.colour(line_colour)}" stroke-width="{line_px or 1.2:g}"'
    if base != symbol:
        return f'fill="none" stroke="{ink.colour(colour)}" stroke-width="{max(1.3, line_px):g}"'
    filled = f'fill="{ink.colour(colour)}"'
    return f'{filled} stroke="{ink.colour(line_colour)}" stroke-width="{line_px:g}"' if line_px else filled
