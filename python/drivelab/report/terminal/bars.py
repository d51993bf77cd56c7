"""Bars of characters: one row per combination or run, with its interval and its number beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from drivelab.model.units import format_quantity
from drivelab.report.combination_labels import NOT_APPLICABLE
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.scale import Glyphs, Scale, TextPlot, axis_lines, glyphs, legend_lines, scale_for

ROWS_MAX = 32
# from such a factor on bars would hide the small ones, and points on a logarithmic axis do not
LOG_FROM = 25.0
# beside names that need the room
_BAR_CELLS_MIN = 10
_LABEL_SHARE_MAX = 0.55
_GAP = 2
_IN_PARENTHESES = re.compile(r" \([^()]*\)")


@dataclass(frozen=True, slots=True)
class Bar:
    """One row.

    Attributes
    ----------
    labels : tuple of str
        What tells it apart, a column each.
    value, low, high : float or None
        The number and the ends of its interval or range; with no value the low end is a lower bound, and
        a high end above a low one of 0 an upper bound.
    mark : str
        Stands behind the number: ``!`` where trials do not describe the drive, ``~`` where it was only seen.
    """

    labels: tuple[str, ...]
    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""

    @property
    def shown(self) -> float | None:
        """Where its bar ends."""
        return self.low if self.value is None else self.value


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars on one axis.

    Attributes
    ----------
    title, unit : str
        What they show, and in which unit: ns, B/s, 1/s, 1.
    bars : tuple of Bar
        Those of a kind together: a label that is that of the row above is not repeated.
    heads : tuple of str
        Names of the columns of labels.
    span : str
        What the ends of an interval are: ``95 % interval``, ``range of 5 repeats``.
    """

    title: str
    unit: str
    bars: tuple[Bar, ...]
    heads: tuple[str, ...] = ()
    span: str = ""


def bar_plot(group: BarGroup, width: int, *, plain: bool = False) -> TextPlot | None:
    """The group in lines of at most `width` characters; None where fewer than two rows have a number."""
    bars = [bar for bar in group.bars if bar.shown is not None]
    if len(bars) < 2:
        return None
    shown = bars[:ROWS_MAX]
    numbers = [terminal_text(_number(bar, group.unit), plain) for bar in shown]
    number_width = max(map(_cells, numbers))
    # names that are told apart by their ends are worth more than long bars
    most = width - number_width - 2 * _GAP - _BAR_CELLS_MIN
    labels = _labels(group.heads, shown, int(width * _LABEL_SHARE_MAX), most, plain)
    cells = max(_BAR_CELLS_MIN, width - labels.width - number_width - 2 * _GAP)
    drawn = glyphs(plain=plain)
    values = [end for bar in shown for end in (bar.value, bar.low, bar.high) if end is not None and end >= 0]
    scale = scale_for(values, cells, log_from=LOG_FROM)
    draw = _bar if scale.kind == "linear" else _point
    rows = [draw(bar, scale, drawn) for bar in shown]
    is_log = ", log axis" if scale.kind == "log" else ""
    lines = [labels.head] if labels.head.strip() else []
    gap = " " * _GAP
    for above, label, row, number in zip(labels.above, labels.rows, rows, numbers, strict=True):
        lines += [above] if above else []
        lines.append(f"{label}{gap}{row}{gap}{' ' * (number_width - _cells(number))}{number}")
    lines += [terminal_text(line, plain) for line in axis_lines(scale, group.unit, labels.width + _GAP, drawn)]
    notes = [terminal_text(note, plain) for note in _notes(group, bars, rows, drawn, scale.kind)]
    lines += legend_lines(notes, width)
    title = terminal_text(f"{group.title}{is_log}", plain)
    return TextPlot(title, tuple(_fitted(line, width).rstrip() for line in lines))


def _number(bar: Bar, unit: str) -> str:
    sign, value = "", bar.shown or 0.0
    if bar.value is None:
        # nothing is known of the low end of what is only said to be below something
        sign, value = ("≤ ", bar.high) if not value and bar.high is not None else ("≥ ", value)
    return f"{sign}{format_quantity(value, unit)}{f' {bar.mark}' if bar.mark else ''}"


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels as text of one width: the heads of their columns, each row's own, and what stands above some rows."""

    head: str
    rows: tuple[str, ...]
    above: tuple[str, ...]
    width: int


def _labels(heads: Sequence[str], bars: Sequence[Bar], room: int, room_max: int, plain: bool) -> _Labels:
    """The labels in columns, or where these have no room, the last column below a line for each group of the others.

    A single column takes `room_max` where it needs that.
    """
    columns = max(len(bar.labels) for bar in bars)
    rows = [[terminal_text(text, plain) for text in bar.labels] for bar in bars]
    head = [terminal_text(text, plain) for text in (*heads, *([""] * columns))][:columns]
    if _needed(head, rows) > room:
        bare = [[_IN_PARENTHESES.sub("", text) for text in row] for row in rows]
        # the number of a model that its name stands beside
        rows = bare if len(set(map(tuple, bare))) == len(set(map(tuple, rows))) else rows
    if columns == 1 or _needed(head, rows) <= room:
        return _in_columns(head, rows, max(room, room_max) if columns == 1 else room)
    groups = [", ".join(_named(head, row[:-1])) for row in rows]
    below = _in_columns(head[-1:], [[f"  {row[-1]}"] for row in rows], max(room, room_max))
    return replace(below, head="", above=tuple(_unless_repeated(groups)))


def _named(heads: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """Each text behind its head; nothing for those that say that there is nothing."""
    return (f"{head} {text}".strip() for head, text in zip(heads, texts, strict=False) if text != NOT_APPLICABLE)


def _needed(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide columns are, with the gaps between them."""
    return sum(max(map(_cells, column)) + _GAP for column in zip(head, *rows, strict=True)) - _GAP


def _in_columns(head: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> _Labels:
    """The labels in columns; what repeats from above is left out."""
    widths = [max(map(_cells, column)) for column in zip(head, *rows, strict=True)]
    widths[-1] = min(widths[-1], max(4, room))
    texts: list[str] = []
    above: Sequence[str] = ()
    for row in rows:
        # a label is left out only where all before it are the same too, and the last never
        same = next((place for place, text in enumerate(row) if place >= len(above) or text != above[place]), len(row))
        cells = ["" if place < min(same, len(row) - 1) else text for place, text in enumerate(row)]
        texts.append((" " * _GAP).join(_with_its_end(text, size) for text, size in zip(cells, widths, strict=True)))
        above = row
    first = (" " * _GAP).join(_fixed(text, size) for text, size in zip(head, widths, strict=True))
    return _Labels(first, tuple(texts), ("",) * len(texts), _cells(first))


def _unless_repeated(texts: Sequence[str]) -> Iterator[str]:
    """Each text, empty where the one before is the same."""
    for before, text in zip(("", *texts), texts, strict=False):
        yield "" if text == before else text


def _bar(bar: Bar, scale: Scale, drawn: Glyphs) -> str:
    """A bar from 0: dark up to the low end, lighter up to the value, lightest up to the high end."""
    value = bar.shown or 0.0
    low = value if bar.low is None or bar.value is None else min(bar.low, value)
    high = value if bar.high is None else max(bar.high, value)
    places = [scale.position(end) for end in (low, value, high)]
    ends = [round(place) for place in places]
    text = drawn.full * ends[0] + drawn.middle * (ends[1] - ends[0]) + drawn.light * (ends[2] - ends[1])
    if places[2] - places[0] < 1:
        # no interval to be seen: the end stands where it is, to an eighth of a character
        place = places[1]
        part = drawn.parts[int((place - int(place)) * (len(drawn.parts) - 1))]
        text = (drawn.full * int(place) + part).rstrip() or drawn.parts[1]
    if bar.value is None:
        text = f"{text}>"
    return text[: scale.cells].ljust(scale.cells)


def _point(bar: Bar, scale: Scale, drawn: Glyphs) -> str:
    """A point on a logarithmic axis, with its interval as a line; an arrow where it is a lower bound."""
    value = bar.shown or 0.0
    row = [" "] * scale.cells
    if bar.value is not None and bar.low is not None and bar.high is not None:
        first, last = scale.cell(bar.low), scale.cell(bar.high)
        if last - first > 1:
            row[first : last + 1] = drawn.interval(last + 1 - first)
    row[scale.cell(value)] = ">" if bar.value is None else drawn.marks[0]
    return "".join(row)


def _notes(group: BarGroup, bars: Sequence[Bar], rows: Sequence[str], drawn: Glyphs, kind: str) -> list[str]:
    notes = []
    # what is drawn of a bound alone is no interval
    text = "".join(row for bar, row in zip(bars, rows, strict=False) if bar.value is not None)
    if group.span and kind == "linear" and (drawn.light in text or drawn.middle in text):
        full, middle, light = drawn.full, drawn.middle, drawn.light
        notes += [f"{full} to the low end", f"{middle} to the value", f"{light} to the high end of the {group.span}"]
    if group.span and kind == "log" and drawn.begin in text:
        notes.append(f"{drawn.interval(3)} {group.span}")
    if any("~" in bar.mark for bar in bars):
        notes.append("~ seen in the sample, too few independent I/Os for an interval")
    if any("!" in bar.mark for bar in bars):
        notes.append("! some of its trials do not describe the drive")
    if len(bars) > len(rows):
        notes.append(f"the first {len(rows)} of {len(bars)}")
    return notes


def _cells(text: str) -> int:
    """Width on a terminal, where some letters take two places."""
    from rich.cells import cell_len

    return cell_len(text)


def _fixed(text: str, width: int) -> str:
    """The text in just so many places; what is longer ends with a point of omission."""
    from rich.cells import set_cell_size

    return text + " " * (width - _cells(text)) if _cells(text) <= width else f"{set_cell_size(text, width - 1)}~"


def _with_its_end(text: str, width: int) -> str:
    """The same, cut before its end, which tells it from others."""
    end = text[-(width // 3) :]
    return _fixed(text, width) if _cells(text) <= width else _fixed(text, width - _cells(end)) + end


def _fitted(line: str, width: int) -> str:
    return line if _cells(line) <= width else _fixed(line, width)
