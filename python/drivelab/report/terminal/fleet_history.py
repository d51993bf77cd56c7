"""The history of many drives in a terminal: sentences, and the drives that changed first."""

from __future__ import annotations

from drivelab.model.fleet_history import DriveHistory, FleetHistory
from drivelab.report.sentences.fleet_history import (
    firmware_words,
    fleet_history_sentences,
    newest_words,
    wear_words,
)
from drivelab.report.terminal.wrapped import WIDTH, one_line, table_lines, wrapped

_HEADS = ("drive", "newest run", "firmware", "wear", "runs")
_WIDTHS = (18, 22, 17, 11, 4)


def fleet_history_lines(history: FleetHistory, plain: bool, *, lines_max: int = 0) -> list[str]:
    """The answer, and a line for each drive, as many as fit into `lines_max`.

    Parameters
    ----------
    lines_max : int
        How many lines there may be; 0 is no limit.
    """
    told = [line for one in fleet_history_sentences(history) for line in wrapped(one, WIDTH, plain)]
    count = len(history.drives)
    # a blank line, the heads, and how many more there are
    room = max(1, lines_max - len(told) - 3)
    shown = history.drives if not lines_max or count <= room + 1 else history.drives[:room]
    footer = [f"{count - len(shown)} more: --all; as a page: --out history.html"] if len(shown) < count else []
    rows = [_HEADS, *(_row(one, plain) for one in shown)]
    return [*told, "", *table_lines(rows, plain, left=len(_HEADS) - 1), *footer]


def _row(one: DriveHistory, plain: bool) -> tuple[str, ...]:
    # what 'drivelab history' takes for one of them
    place = f"{one.drive.host}:{one.drive.name}"
    cells = (place, newest_words(one), firmware_words(one), wear_words(one), str(len(one.rows)))
    return tuple(one_line(cell, width, plain) for cell, width in zip(cells, _WIDTHS, strict=True))
