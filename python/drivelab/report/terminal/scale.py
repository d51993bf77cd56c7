"""Axes of characters: where a value stands on a line of a terminal, its ticks, and the characters that draw it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from drivelab.model.units import format_quantity
from drivelab.report.figures.theme import latency_ticks
from drivelab.report.numerals import round_latency_text

# ticks stand no closer, so that their labels never touch
_TICK_CELLS_MIN = 12
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_RATIO_TICK_CELLS_MIN = 8
_RATIO_MAX, _RATIO_SCALE = 1e4, 1e6


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of all plots: what each means is told by a legend, never by colour.

    Attributes
    ----------
    full, middle, light : str
        A bar up to the low end of its interval, up to its value, up to the high end.
    parts : str
        The end of a bar, from nothing to a whole character.
    marks : str
        One point each of the first, second, third and fourth series; then several in one place.
    """

    full: str
    middle: str
    light: str
    parts: str
    marks: str
    several: str
    dot: str
    upright: str
    line: str
    begin: str
    end: str
    corner: str
    tick: str
    side: str

    def interval(self, cells: int) -> str:
        """An interval of so many characters, two at least."""
        return f"{self.begin}{self.line * (cells - 2)}{self.end}"


UNICODE = Glyphs("█", "▓", "░", " ▏▎▍▌▋▊▉█", "●○◆◇", "✱", "·", "│", "─", "├", "┤", "└", "┴", "┤")
ASCII = Glyphs("#", "=", "-", " #", "ox+@", "*", ".", "|", "-", "|", "|", "+", "+", "+")


def glyphs(*, plain: bool) -> Glyphs:
    """The characters to draw with."""
    return ASCII if plain else UNICODE


@dataclass(frozen=True, slots=True)
class TextPlot:
    """A plot: a title, which a console breaks where it must, and lines that are no wider than was asked."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis from 0, or a logarithmic one, of so many characters.

    Attributes
    ----------
    kind : str
        linear or log.
    """

    low: float
    high: float
    cells: int
    kind: Literal["linear", "log"] = "linear"

    def position(self, value: float) -> float:
        """Where a value stands, in characters from the left; values beyond an end stand at it."""
        if self.kind == "linear":
            share = (value - self.low) / (self.high - self.low)
        else:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.cells * min(1.0, max(0.0, share))

    def cell(self, value: float) -> int:
        """The character in which a value stands."""
        return min(self.cells - 1, int(self.position(value)))

    def ticks(self) -> list[float]:
        """Round values, no more than have room for their labels."""
        at_most = max(2, self.cells // _TICK_CELLS_MIN)
        if self.kind == "log":
            # the rule is for whole nanoseconds; ratios are smaller, and their labels shorter
            is_ratio = self.high < _RATIO_MAX
            scale = _RATIO_SCALE if is_ratio else 1.0
            at_most = max(3, self.cells // _RATIO_TICK_CELLS_MIN) if is_ratio else at_most
            return [tick / scale for tick in latency_ticks(self.low * scale, self.high * scale, at_most=at_most)]
        rough = (self.high - self.low) / at_most
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(one for one in _STEPS if one * power >= rough * (1 - 1e-9))
        return [step * number for number in range(int(self.high / step * (1 + 1e-9)) + 1)]


def tick_text(value: float, unit: str) -> str:
    """A round value of an axis: ``500 us``, ``100 MB/s``, ``0``."""
    if value == 0:
        return "0"
    if unit == "ns":
        return round_latency_text(value)
    if unit == "B/s":
        number, _, name = format_quantity(value, unit).rpartition(" ")
        return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {name}"
    return f"{value:g}" if value < 1e6 else f"{value:.3g}"


def axis_lines(scale: Scale, unit: str, indent: int, drawn: Glyphs) -> list[str]:
    """The axis below a plot: a line with its ticks, and their labels where there is room."""
    line = [drawn.line] * scale.cells
    labels = [" "] * (scale.cells + indent)
    free_from = 0
    for tick in scale.ticks():
        place = scale.cell(tick)
        line[place] = drawn.tick
        text = tick_text(tick, unit)
        begin = min(max(0, indent + place - len(text) // 2), indent + scale.cells - len(text))
        if begin >= free_from:
            labels[begin : begin + len(text)] = text
            free_from = begin + len(text) + 1
    return [" " * indent + "".join(line), "".join(labels).rstrip()]


def legend_lines(words: Sequence[str], width: int) -> list[str]:
    """What marks mean, as many beside each other as fit."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 3 + len(word) <= width:
            lines[-1] += f"   {word}"
        else:
            lines.append(word)
    return lines


def scale_for(values: Sequence[float], cells: int, *, log_from: float) -> Scale:
    """The axis for some values: from 0, or logarithmic where the largest is so many times the smallest."""
    low, high = min(values), max(values)
    if low > 0 and high / low >= log_from:
        room = (high / low) ** 0.03
        return Scale(low / room, high * room, cells, "log")
    return Scale(0.0, high * 1.02 if high > 0 else 1.0, cells)
