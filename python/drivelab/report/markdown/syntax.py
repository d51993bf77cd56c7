"""Text and tables in the Markdown that GitHub reads, without any HTML; no character from outside is markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from drivelab.report.numerals import THIN_SPACE
from drivelab.report.tables.table import Table, TableCell

# a dollar begins a formula on GitHub, two tildes strike out, and an ampersand may begin a character's name
_MARKUP = re.compile(r"[\\`*\[\]<>|~$&]")
# between letters an underscore is one, and names of metrics stay readable
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
# what would make a line a heading, an item, a quotation or a rule
_LINE_START = re.compile(r"^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|[-=]+$|\d+(?=[.)](?:\s|$)))")
_BLANKS = ("\n", "\r", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")
_KEPT = (THIN_SPACE, "\u00a0")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain_line(text: str) -> str:
    """The text on one line: blanks for line ends, a question mark for what no reader could see."""
    for blank in _BLANKS:
        text = text.replace(blank, " ")
    return "".join(character if _is_visible(character) else "?" for character in text).strip()


def _is_visible(character: str) -> bool:
    return character.isprintable() or character in _KEPT or unicodedata.category(character) == "Zs"


def escaped(text: str) -> str:
    """The text as Markdown that shows it as it is, on one line."""
    marked = _MARKUP.sub(lambda found: f"\\{found[0]}", plain_line(text))
    marked = _UNDERSCORE.sub(r"\\_", marked)
    return _LINE_START.sub(_escaped_start, marked)


def _escaped_start(found: re.Match[str]) -> str:
    # of a numbered item it is the point that is escaped, of anything else the first character
    return f"{found[0]}\\" if found[0].isdecimal() else f"\\{found[0]}"


def table_lines(table: Table) -> Iterator[str]:
    """The table with its caption above and its notes below; intervals stand in parentheses, the best number is bold."""
    if table.caption:
        yield from (escaped(table.caption), "")
    yield from grid_lines(
        [escaped(column.full) for column in table.columns],
        [[cell_text(cell) for cell in row] for row in table.rows],
        [column.is_number for column in table.columns],
    )
    if table.notes:
        yield ""
        yield from (f"- {_superscript(number)} {escaped(note)}" for number, note in enumerate(table.notes, start=1))


def grid_lines(heads: Sequence[str], rows: Sequence[Sequence[str]], is_number: Sequence[bool]) -> Iterator[str]:
    """The lines of a table of cells that are Markdown already; numbers stand at the right."""
    yield _row(heads)
    yield _row(["---:" if at_right else "---" for at_right in is_number])
    yield from map(_row, rows)


def cell_text(cell: TableCell) -> str:
    """A cell as Markdown."""
    text = escaped(cell.text)
    if cell.is_best and text:
        text = f"**{text}**"
    marks = " ".join(_superscript(number) for number in cell.notes)
    interval = f" ({escaped(cell.interval)})" if cell.interval else ""
    return f"{text}{interval}{f' {marks}' if marks else ''}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _superscript(number: int) -> str:
    return str(number).translate(_SUPERSCRIPTS)
