"""Lines for a terminal: texts broken to its width, and tables of plain columns."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from drivelab.model.units import glued
from drivelab.report.parts_of_text import parts_within
from drivelab.report.terminal.clean_text import terminal_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# of a screen that is not asked for its own
WIDTH = 80
# between columns
GAP = "  "
_TRAILING = re.compile(r"(?:[ ]|\x1b\[[0-9;]*m)+$", re.MULTILINE)


def wrapped(text: str, width: int, plain: bool, indent: str = "") -> list[str]:
    """A text broken into lines; numbers stay with their units where they can."""
    # in ASCII some characters become several: they are replaced before lines are measured
    ready = glued(terminal_text(text, plain) if plain else text)
    broken = textwrap.wrap(ready, width, subsequent_indent=indent, break_on_hyphens=False)
    return [terminal_text(line, plain) for line in broken]


def one_line(text: str, width: int, plain: bool) -> str:
    """The parts of a text that fit one line; where not even the first does, the words that do, and an ellipsis."""
    whole = terminal_text(text, plain)
    return textwrap.shorten(parts_within(whole, width), width, placeholder=ellipsis(plain))


def both_ends(name: str, width: int, plain: bool) -> str:
    """A name on one line; of one that is too long its beginning, and more of its end, which tells it apart."""
    whole, dots = terminal_text(name, plain), ellipsis(plain)
    if len(whole) <= width:
        return whole
    begin = (width - len(dots)) // 4
    return f"{whole[:begin]}{dots}{whole[len(whole) - (width - len(dots) - begin) :]}"


def ellipsis(plain: bool) -> str:
    """What stands for what was cut off."""
    return "..." if plain else "…"


def line_count(shown: RenderableType) -> int:
    """How many lines something takes on a screen of `WIDTH` columns."""
    from rich.console import Console

    console = Console(width=WIDTH, file=io.StringIO(), color_system=None)
    return sum(1 for _ in console.render_lines(shown))


@contextmanager
def trimmed(console: Console) -> Iterator[None]:
    """What is printed meanwhile is written at the end, without the blanks at the end of its lines."""
    with console.capture() as capture:
        yield
    console.file.write(without_trailing_blanks(capture.get()))


def without_trailing_blanks(text: str) -> str:
    """Text as a console drew it, without the blanks at the end of its lines; colours still end where they did."""
    return _TRAILING.sub(lambda blanks: blanks[0].replace(" ", ""), text)


def fitted(line: str, width: int) -> str:
    """A line no wider than a terminal, where some letters take two places."""
    from rich.cells import cell_len, set_cell_size

    return (line if cell_len(line) <= width else set_cell_size(line, width)).rstrip()


def table_lines(rows: Sequence[Sequence[str]], plain: bool, left: int = 1) -> Iterator[str]:
    """Rows as columns: the first `left` of them begin at the left, all others end at the right."""
    ready = [[terminal_text(cell, plain) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*ready, strict=True)]
    for row in ready:
        padded = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield GAP.join(padded).rstrip()
