"""How much room text needs in a picture that is drawn with whatever font its reader has."""

from __future__ import annotations

import functools
import re
import unicodedata

from drivelab.model.printable import printable

# widths in em of DejaVu Sans, the widest of the fonts that stand in for Arial
_NARROW, _CAPITAL, _WIDE, _OTHER, _FULL = 0.42, 0.80, 1.0, 0.66, 1.1
_BOLD = 1.12
_BLANKS = re.compile(r"[ \t\r\n]+")
# no part of any XML document
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


def one_line(text: str) -> str:
    """The text on one line, in characters that XML allows and that command nothing."""
    return _NOT_IN_XML.sub("\ufffd", printable(_BLANKS.sub(" ", text))).strip(" ")


def width_px(text: str, size_px: float, *, bold: bool = False) -> float:
    """The room that a text takes at most."""
    return sum(map(_width_em, text)) * size_px * (_BOLD if bold else 1.0)


@functools.lru_cache(maxsize=4096)
def _width_em(letter: str) -> float:
    if letter in "ijlI.,:;'|!()[]{}/\\ `\u00a0\u202ftfr-":
        return _NARROW
    if letter in "mwMW%@…—":
        return _WIDE
    if unicodedata.east_asian_width(letter) in "WF":
        return _FULL
    if ord(letter) > 0x24F and not unicodedata.category(letter).startswith("P"):
        return _WIDE
    return _CAPITAL if letter.isupper() or letter in "+=<>#~≥≤×→" else _OTHER


def cut(text: str, room_px: float, size_px: float, *, bold: bool = False) -> str:
    """The text, or as many of its words as there is room for with an ellipsis; of one long word a part."""
    if width_px(text, size_px, bold=bold) <= room_px:
        return text
    kept = text
    while kept and width_px(f"{kept}…", size_px, bold=bold) > room_px:
        kept = kept[:-1]
    words = kept if text[len(kept) :].startswith(" ") else kept.rpartition(" ")[0]
    if 2 * len(words) < len(kept):
        words = kept
    return f"{words.rstrip(' ,;:')}…"


def wrapped(text: str, room_px: float, size_px: float, lines_max: int, *, bold: bool = False) -> list[str]:
    """The text in lines that fit; what does not fit into all of them is cut.

    Parameters
    ----------
    text : str
        On one line.
    room_px, size_px : float
        Width of a line, and size of the letters.
    """
    lines: list[str] = []
    words = text.split(" ")
    while words:
        if len(lines) == lines_max - 1:
            return [*lines, cut(" ".join(words), room_px, size_px, bold=bold)]
        count = 1
        while count < len(words) and width_px(" ".join(words[: count + 1]), size_px, bold=bold) <= room_px:
            count += 1
        line = " ".join(words[:count])
        fitting = _fitting_letters(line, room_px, size_px, bold=bold)
        lines.append(line[:fitting])
        # a word that is longer than a line goes on in the next
        words = [line[fitting:], *words[count:]] if fitting < len(line) else words[count:]
    return lines


def _fitting_letters(text: str, room_px: float, size_px: float, *, bold: bool) -> int:
    count = len(text)
    while count > 1 and width_px(text[:count], size_px, bold=bold) > room_px:
        count -= 1
    return count
