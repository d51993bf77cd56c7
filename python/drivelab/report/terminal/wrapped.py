"""Lines for a terminal: texts broken to its width, and tables of plain columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from drivelab.report.terminal.clean_text import terminal_text

_GAP = "  "


def wrapped(text: str, width: int, plain: bool, indent: str = "") -> list[str]:
    """A text broken into lines; numbers stay with their units where they can."""
    # in ASCII some characters become several: they are replaced before lines are measured
    ready = terminal_text(text, plain) if plain else text
    broken = textwrap.wrap(ready, width, subsequent_indent=indent, break_on_hyphens=False)
    return [terminal_text(line, plain) for line in broken]


def fitted(line: str, width: int) -> str:
    """A line no wider than a terminal, where some letters take two places."""
    from rich.cells import cell_len, set_cell_size

    return (line if cell_len(line) <= width else set_cell_size(line, width)).rstrip()


def table_lines(rows: Sequence[Sequence[str]], plain: bool) -> Iterator[str]:
    """Rows as columns: the first at the left, all others at the right."""
    ready = [[terminal_text(cell, plain) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*ready, strict=True)]
    for first, *others in ready:
        cells = [first.ljust(widths[0]), *(cell.rjust(size) for cell, size in zip(others, widths[1:], strict=True))]
        yield _GAP.join(cells).rstrip()
