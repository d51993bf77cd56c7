"""A small curve of characters: latency over the size of an I/O, both logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from drivelab.model.units import format_bytes
from drivelab.report.figures.theme import latency_ticks, padded_range
from drivelab.report.numerals import round_latency_text
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.scale import Glyphs, Scale, TextPlot, glyphs, legend_lines
from drivelab.report.terminal.size_series import Panel, SizePoint

ROWS = 9
_TICKS_MAX = 5
_CELLS_MAX = 90
# a steady latency is not drawn as a restless one
_LEAST_FACTOR = 3.0
_LABEL_ROOM = 2
Canvas = list[list[str]]


def curve_plot(panel: Panel, width: int, *, span: str = "", plain: bool = False) -> TextPlot | None:
    """Every series of the panel in lines of at most `width` characters; None where none has two sizes.

    Parameters
    ----------
    span : str
        What the ends of a point are: ``95 % interval``.
    """
    series = [(one.label, one.points) for one in panel.series if len(one.points) > 1]
    if not series:
        return None
    drawn = glyphs(plain=plain)
    points = [point for _, line in series for point in line]
    low, high = padded_range(*_ends(points), _LEAST_FACTOR)
    ticks = latency_ticks(low, high, at_most=_TICKS_MAX)
    labels = {tick: terminal_text(round_latency_text(tick), plain) for tick in ticks}
    margin = max(map(len, labels.values())) + 1
    sizes = sorted({point.size_bytes for point in points})
    # the labels of the first and the last size stand around their points
    room = max(len(format_bytes(size)) for size in (sizes[0], sizes[-1])) // 2 + _LABEL_ROOM
    across = Scale(float(sizes[0]), float(sizes[-1]), min(_CELLS_MAX, width - margin - 1) - 2 * room, "log")
    upward = Scale(low, high, ROWS, "log")
    canvas: Canvas = [[" "] * (across.cells + 2 * room) for _ in range(ROWS)]
    for number, (_, line) in enumerate(series):
        _draw(canvas, line, drawn.marks[number % len(drawn.marks)], across, upward, room, drawn)
    title = panel.name or panel.common or "latency"
    lines = []
    beside = {ROWS - 1 - upward.cell(tick): label for tick, label in labels.items()}
    for number, row in enumerate(canvas):
        side = drawn.side if number in beside else drawn.upright
        lines.append(f"{beside.get(number, ''):>{margin - 1}} {side}{''.join(row)}".rstrip())
    lines += _size_axis(sizes, across, margin, room, drawn)
    words = [f"{drawn.marks[n % len(drawn.marks)]} {label}" for n, (label, _) in enumerate(series)]
    words = words if len(words) > 1 else []
    if span and any(drawn.upright in row for row in canvas):
        words.append(f"{drawn.upright} {span}")
    lines += legend_lines([terminal_text(word, plain) for word in words], width)
    title = terminal_text(f"{title}: median latency over the size of an I/O, both axes log", plain)
    return TextPlot(title, tuple(line[:width] for line in lines))


def _ends(points: Sequence[SizePoint]) -> tuple[float, float]:
    ends = [end for point in points for end in (point.value_ns, point.low_ns, point.high_ns) if end]
    return min(ends), max(ends)


def _draw(
    canvas: Canvas, line: Sequence[SizePoint], mark: str, across: Scale, upward: Scale, room: int, drawn: Glyphs
) -> None:
    places = [(room + across.cell(point.size_bytes), ROWS - 1 - upward.cell(point.value_ns)) for point in line]
    for (column, row), (next_column, next_row) in pairwise(places):
        for place in range(column + 1, next_column):
            share = (place - column) / (next_column - column)
            _put(canvas, round(row + share * (next_row - row)), place, drawn.dot)
    for point, (column, _) in zip(line, places, strict=True):
        if point.low_ns and point.high_ns:
            highest, lowest = (ROWS - 1 - upward.cell(end) for end in (point.high_ns, point.low_ns))
            for row in range(highest, lowest + 1):
                _put(canvas, row, column, drawn.upright)
    for column, row in places:
        taken = canvas[row][column]
        canvas[row][column] = drawn.several if taken in (*drawn.marks, drawn.several) else mark


def _put(canvas: Canvas, row: int, column: int, character: str) -> None:
    """Draw where nothing weightier stands."""
    if canvas[row][column] == " " or (canvas[row][column] != character and character not in ".·"):
        marks = canvas[row][column]
        canvas[row][column] = character if marks in " .·" else marks


def _size_axis(sizes: Sequence[int], across: Scale, margin: int, room: int, drawn: Glyphs) -> list[str]:
    line = [drawn.line] * (across.cells + 2 * room)
    labels = [" "] * (len(line) + 1)
    free_from = 0
    for size in sizes:
        place = room + across.cell(size)
        line[place] = drawn.tick
        text = format_bytes(size)
        begin = max(0, min(place - len(text) // 2, len(labels) - len(text)))
        if begin >= free_from:
            labels[begin : begin + len(text)] = text
            free_from = begin + len(text) + 1
    return [f"{' ' * margin}{drawn.corner}{''.join(line)}", f"{' ' * (margin + 1)}{''.join(labels)}".rstrip()]
