"""Words in a drawing: Plotly's small markup as SVG, how wide it is, and how it is cut."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from html import escape

from drivelab.model.printable import printable
from drivelab.report.card.letters import cut, one_line, width_px

_TAG = re.compile(r"<(/?)(b|span|i|sub|sup|br)(?:\s[^<>]*?)?>")
_SIZE = re.compile(r"font-size:\s*([0-9.]+)px")
LINE_EM = 1.3


# every figure is drawn for several widths with the same words
@functools.lru_cache(maxsize=16384)
def told(markup: str) -> str:
    """A text as HTML that holds nothing but text, line breaks and bold words."""
    return "<br>".join("".join(map(_told_run, runs_of(line))) for line in lines_of(markup))


def _told_run(run: tuple[str, bool, float]) -> str:
    words, is_bold, _ = run
    shown = escape(printable(words))
    return f"<b>{shown}</b>" if is_bold else shown


def _written_out(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def lines_of(markup: str) -> list[str]:
    """The lines of a text."""
    return re.split(r"<br\s*/?>", markup)


def runs_of(line: str) -> Iterator[tuple[str, bool, float]]:
    """The pieces of a line: words, whether they are bold, and their size in px, 0 for that of the text."""
    is_bold, size, at = False, 0.0, 0
    for tag in _TAG.finditer(line):
        if tag.start() > at:
            yield _written_out(line[at : tag.start()]), is_bold, size
        if tag[2] == "b":
            is_bold = not tag[1]
        elif tag[2] == "span":
            named = None if tag[1] else _SIZE.search(tag[0])
            size = float(named[1]) if named else 0.0
        at = tag.end()
    if line[at:]:
        yield _written_out(line[at:]), is_bold, size


@functools.lru_cache(maxsize=16384)
def wide(markup: str, size_px: float) -> float:
    """The room that a text takes at most."""
    return max(
        sum(width_px(words, size or size_px, bold=is_bold) for words, is_bold, size in runs_of(line))
        for line in lines_of(markup)
    )


def fitted(markup: str, room_px: float, size_px: float) -> str:
    """A text that fits its room: what follows its bold beginning goes first, then letters of that."""
    if wide(markup, size_px) <= room_px:
        return markup
    runs = list(runs_of(markup))
    words, is_bold, size = runs[0]
    kept = escape(cut(words.strip(), room_px, size or size_px, bold=is_bold), quote=False)
    return f"<b>{kept}</b>" if is_bold else kept


def text_element(
    markup: str, x: float, y: float, size_px: float, colour: str, anchor: str = "start", turn: str = ""
) -> str:
    """A text whose middle is at a height: each of its lines below the other.

    Parameters
    ----------
    markup : str
        In Plotly's markup; all else in it is text.
    x, y : float
        Where it is anchored, and the middle of its height.
    colour : str
        As the attribute of SVG takes it.
    anchor : str
        start, middle or end.
    turn : str
        What it is turned by, as the attribute of SVG says it.
    """
    lines = lines_of(markup)
    top = y + 0.35 * size_px - (len(lines) - 1) * LINE_EM * size_px / 2
    head = f'font-size="{size_px:g}" fill="{colour}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
    head += f' transform="{turn}"' if turn else ""
    drawn = []
    for number, line in enumerate(lines):
        words = "".join(_tspan(*run) for run in runs_of(line))
        if words:
            drawn.append(f'<text x="{x:.1f}" y="{top + number * LINE_EM * size_px:.1f}" {head}>{words}</text>')
    return "".join(drawn)


def _tspan(words: str, is_bold: bool, size: float) -> str:
    # blanks at the ends keep pieces apart, and SVG drops them
    blanks = [re.match(" *", part)[0].replace(" ", "\u00a0") for part in (words, words[::-1])]  # type: ignore[index]
    inner = escape(one_line(words), quote=False)
    shown = blanks[0] + inner + (blanks[1] if inner else "")
    style = (' font-weight="700"' if is_bold else "") + (f' font-size="{size:g}"' if size else "")
    return f"<tspan{style}>{shown}</tspan>" if style else shown
