"""Draws a card as SVG, or as the PNG of that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from drivelab.report.answer import limit_words
from drivelab.report.card.content import Card, card_of
from drivelab.report.card.letters import cut, one_line, width_px, wrapped
from drivelab.report.card.rows import Row, Rows
from drivelab.report.figures.limit_gauge import Gauge
from drivelab.report.joint import Joint
from drivelab.report.numerals import typeset
from drivelab.report.outcome_words import WORDS
from drivelab.report.parts_of_text import clauses_in_lines
from drivelab.report.report_file import report_file
from drivelab.report.static_figure import FONT, page_colours, png_maker

WIDTH_PX, HEIGHT_PX = 1200, 630
_LEFT, _RIGHT = 48, WIDTH_PX - 48
_ROOM = _RIGHT - _LEFT
_WARNINGS_END, _WARNING_PX, _WARNING_ALONE_PX, _WARNING_GAP_PX, _SOURCE_Y = 586, 26, 36, 12, 610
# the widest rates have room beside their intervals
_NAME_PX, _VALUE_PX = 400, 335
_ROW_PX_MAX = 64
_DOT_PX = 10
# heights of rows that hold two lines of a name, in letters of 16 and of 14
_TWO_LINES_PX, _TWO_SMALL_LINES_PX = 34, 30
_NAME_LINES_MAX, _NAME_LINE_PX = 3, 18
_SENTENCE_LINES_MAX = 3
# beyond this the shortest bar is not seen, and places on a logarithmic axis are drawn instead
_SPAN_LINEAR = 40
_TINTS = {"pass": "pass", "fail": "fail"}


def write_card(joint: Joint, path: Path) -> Path:
    """Path of the card of a report: SVG, or PNG where the file is called so.

    Raises
    ------
    DrivelabError
        O802: it cannot be written. O803: a PNG needs a library that is not installed.
    """
    rasterised = png_maker(scale=1) if path.suffix.lower() == ".png" else None
    svg = card_svg(card_of(joint))
    data = rasterised(svg) if rasterised else svg.encode()
    with report_file(path) as aside:
        aside.write_bytes(data)
    return path


def card_svg(card: Card) -> str:
    """The card as an SVG document."""
    return _Drawing(card).svg()


class _Drawing:
    """What has been drawn so far, from the top to the bottom."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._colours = page_colours()
        self._parts: list[str] = []
        count = len(card.warnings)
        self._warnings_px = _WARNING_ALONE_PX if count == 1 else _WARNING_PX * count
        self._body_end = _WARNINGS_END - _WARNING_GAP_PX - max(2 * _WARNING_PX, self._warnings_px)

    def svg(self) -> str:
        """The whole document."""
        card = self._card
        title, sentence = one_line(typeset(card.title)), one_line(typeset(card.sentence))
        at = self._head(title, sentence)
        if card.gauge is not None:
            at = self._gauge(card.gauge, at + 40)
        if card.numbers:
            self._numbers(card.numbers, at + 8)
        elif card.rows is not None:
            self._rows(card.rows, at + 22)
        else:
            self._others(card.others, at + 16)
        self._warnings([one_line(typeset(text)) for text in card.warnings])
        self._text(_LEFT, _SOURCE_Y, one_line(card.source), 16, "muted", room=_ROOM)
        size = f'width="{WIDTH_PX}" height="{HEIGHT_PX}" viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}"'
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={quoteattr(FONT)}>',
                f"<title>{escape(title)}</title>",
                f"<desc>{escape(sentence)}</desc>",
                f'<rect width="{WIDTH_PX}" height="{HEIGHT_PX}" fill="{self._colours["paper"]}"/>',
                *self._parts,
                "</svg>\n",
            )
        )

    def _head(self, title: str, sentence: str) -> int:
        """Title, where it was, the answer; the line on which they end."""
        at = 40
        for line in wrapped(title, _ROOM, 32, 2, bold=True):
            at += 36
            self._text(_LEFT, at, line, 32, "ink", bold=True)
        at += 32
        self._text(_LEFT, at, one_line(self._card.where), 18, "muted", room=_ROOM)
        badge = WORDS.get(self._card.outcome, "")
        inset = 0
        if badge:
            inset = math.ceil(width_px(badge, 24, bold=True)) + 40
            colour = _TINTS.get(self._card.outcome, "undecided")
            self._box(_LEFT, at + 20, inset - 16, 40, f"{colour}-tint", radius=8)
            self._text(_LEFT + (inset - 16) / 2, at + 49, badge, 24, colour, bold=True, anchor="middle")
        at += 18
        for line in _sentence_lines(sentence, _ROOM - inset):
            at += 30
            self._text(_LEFT + inset, at, line, 23, "ink")
        return at

    def _gauge(self, gauge: Gauge, at: int) -> int:
        """What was measured on a logarithmic axis, on the good or the bad side of the limit."""
        known = [end for end in (gauge.value, gauge.limit, gauge.low, gauge.high) if end]
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known) * 1.01))
        x = _LogPlaces(10.0**low, 10.0**high)
        interval = gauge.interval.replace(" a second", "")
        told = f"{gauge.told} ({interval})" if interval else gauge.told
        self._text(_LEFT, at, one_line(typeset(told)), 18, "series-1", bold=True, room=_ROOM)
        at += 32
        limit, middle = x(gauge.limit), at + 28
        below, above = ("pass", "fail") if gauge.is_at_most else ("fail", "pass")
        self._box(_LEFT, at + 8, limit - _LEFT, 40, f"{below}-tint")
        self._box(limit, at + 8, _RIGHT - limit, 40, f"{above}-tint")
        for decade in range(low, high + 1):
            anchor = "start" if decade == low else "end" if decade == high else "middle"
            self._text(x(10.0**decade), at + 68, limit_words(10.0**decade, gauge.unit), 15, "muted", anchor=anchor)
        self._line(limit, at, limit, at + 52, "fail", 3)
        is_left = limit > WIDTH_PX / 2
        words, beside = cut(one_line(gauge.limit_words), _ROOM / 2, 16, bold=True), -8 if is_left else 8
        self._text(limit + beside, at, words, 16, "fail", bold=True, anchor="end" if is_left else "start")
        if gauge.low and gauge.high:
            self._line(x(gauge.low), middle, x(gauge.high), middle, "series-1", 6)
        place = x(gauge.place)
        self._parts.append(f'<circle cx="{place:.1f}" cy="{middle}" r="9" fill="{self._colours["series-1"]}"/>')
        return at + 72

    def _numbers(self, rows: Sequence[Row], at: int) -> None:
        """Up to four numbers beside each other, large, each with its interval and its name."""
        room = _ROOM / len(rows)
        top = at + max(0, (self._body_end - at - 140) // 2)
        for place, row in enumerate(rows):
            left = _LEFT + place * room
            text = one_line(row.text)
            size = next((size for size in (42, 36, 30, 24) if width_px(text, size, bold=True) <= room - 24), 20)
            self._text(left, top + 44, text, size, "ink", bold=True, room=room - 24)
            self._text(left, top + 70, one_line(row.span), 17, "muted", room=room - 24)
            first = top + 94
            lines_max = max(1, min(_NAME_LINES_MAX, 1 + int((self._body_end - first) // _NAME_LINE_PX)))
            for number, line in enumerate(wrapped(one_line(typeset(row.name)), room - 24, 15, lines_max)):
                self._text(left, first + _NAME_LINE_PX * number, line, 15, "ink")

    def _others(self, sentences: Sequence[str], at: int) -> None:
        """As many further sentences as there is room for, each whole."""
        for sentence in sentences:
            lines = wrapped(one_line(typeset(sentence)), _ROOM, 23, _SENTENCE_LINES_MAX + 1)
            if len(lines) > _SENTENCE_LINES_MAX or at + 30 * len(lines) > self._body_end:
                return
            for line in lines:
                at += 30
                self._text(_LEFT, at, line, 23, "ink")
            at += 16

    def _rows(self, rows: Rows, at: int) -> None:
        """A bar for each number, or its place where bars would be too short to be seen."""
        step = min(_ROW_PX_MAX, (self._body_end - at - 28) / max(1, len(rows.rows)))
        values = [row.value for row in rows.rows if row.value]
        ends = [end for row in rows.rows for end in (row.value, row.low, row.high) if end]
        is_log = max(values, default=1.0) > _SPAN_LINEAR * min(values, default=1.0)
        left, right = _LEFT + _NAME_PX, _RIGHT - _VALUE_PX - 12
        places: _LogPlaces | _LinearPlaces
        scale = "[log scale]" if is_log else "[from 0]"
        self._text(_RIGHT, at + 16, scale, 15, "muted", anchor="end")
        self._text(_LEFT, at + 16, one_line(typeset(rows.title)), 17, "muted", room=_ROOM - width_px(scale, 15) - 20)
        if is_log:
            places = _LogPlaces(min(ends) / 1.3, max(ends), left, right - _DOT_PX)
        else:
            places = _LinearPlaces(max(ends, default=1.0), left, right)
        names = [one_line(typeset(row.name)) for row in rows.rows]
        is_wide = max((width_px(name, 16) for name in names), default=0.0) > _NAME_PX - 14
        size, distance = (14, 15) if is_wide and step <= _TWO_LINES_PX else (16, 17)
        lines_max = 2 if step > _TWO_SMALL_LINES_PX else 1
        for number, (row, name) in enumerate(zip(rows.rows, names, strict=True)):
            middle = at + 28 + step * (number + 0.5)
            lines = wrapped(name, _NAME_PX - 14, size, lines_max)
            for place, line in enumerate(lines):
                self._text(_LEFT, middle + 5 + distance * (place - (len(lines) - 1) / 2), line, size, "ink")
            if row.value:
                self._mark(row, places, middle, step * 0.56, is_log=is_log)
            self._value(row, middle + 7)

    def _value(self, row: Row, at: float) -> None:
        """A number with its interval, which is left out before anything overlaps."""
        text, span = one_line(row.text), one_line(row.span)
        begin = _RIGHT - _VALUE_PX
        taken = width_px(text, 20, bold=True) + 12
        self._text(begin, at, text, 20, "ink", bold=True, room=_VALUE_PX)
        if span and taken + width_px(span, 15) <= _VALUE_PX:
            self._text(_RIGHT, at, span, 15, "muted", anchor="end")

    def _mark(
        self, row: Row, places: _LogPlaces | _LinearPlaces, middle: float, height: float, *, is_log: bool
    ) -> None:
        value = row.value or 0.0
        colour = self._colours["series-1"]
        if is_log:
            fill = self._colours["paper"] if row.is_published else colour
            self._line(places.low, middle, places.high, middle, "grid", 1)
            self._parts.append(
                f'<circle cx="{places(value):.1f}" cy="{middle:.1f}" r="7" fill="{fill}" stroke="{colour}"/>'
            )
        else:
            fill = "none" if row.is_published else colour
            width = max(1.0, places(value) - places.low)
            self._parts.append(
                f'<rect x="{places.low}" y="{middle - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
                f'fill="{fill}" stroke="{colour}"/>'
            )
        if row.low and row.high:
            self._line(places(row.low), middle, places(row.high), middle, "ink", 2)

    def _warnings(self, texts: Sequence[str]) -> None:
        """One below the other in one box."""
        if not texts:
            return
        height = self._warnings_px
        begin = self._body_end + _WARNING_GAP_PX
        self._box(_LEFT, begin, _ROOM, height, "undecided-tint", radius=6)
        for place, text in enumerate(texts):
            middle = begin + height * (place + 0.5) / len(texts)
            self._text(_LEFT + 14, middle + 6, text, 17, "undecided", room=_ROOM - 28)

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: str,
        *,
        bold: bool = False,
        anchor: str = "start",
        room: float = math.inf,
    ) -> None:
        """One line of text, as much of it as fits."""
        words = cut(text, room, size, bold=bold)
        if words:
            style = f' font-weight="{700 if bold else 400}" text-anchor="{anchor}"'
            self._parts.append(
                f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{self._colours[colour]}"{style}>'
                f"{escape(words)}</text>"
            )

    def _box(self, x: float, y: float, width: float, height: float, colour: str, radius: int = 0) -> None:
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height}" rx="{radius}" '
            f'fill="{self._colours[colour]}"/>'
        )

    def _line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> None:
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{self._colours[colour]}" stroke-width="{width}"/>'
        )


def _sentence_lines(sentence: str, room: float) -> list[str]:
    """The sentence in lines, with as many of its clauses as there is room for."""
    whole = clauses_in_lines(
        sentence, lambda text: wrapped(text, room, 23, _SENTENCE_LINES_MAX + 1), _SENTENCE_LINES_MAX
    )
    return whole or wrapped(sentence, room, 23, _SENTENCE_LINES_MAX)


class _LinearPlaces:
    """Where values stand on an axis from 0."""

    def __init__(self, end: float, low: float, high: float) -> None:
        self.low, self.high = low, high
        self._scale = (high - low) / end

    def __call__(self, value: float) -> float:
        return self.low + value * self._scale


class _LogPlaces:
    """Where values stand on a logarithmic axis."""

    def __init__(self, begin: float, end: float, low: float = _LEFT, high: float = _RIGHT) -> None:
        self.low, self.high = low, high
        self._begin = math.log10(begin)
        self._scale = (high - low) / (math.log10(end) - self._begin or 1.0)

    def __call__(self, value: float) -> float:
        return self.low + (math.log10(value) - self._begin) * self._scale
