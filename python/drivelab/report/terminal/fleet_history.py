"""The history of many drives in a terminal: sentences, and the drives that changed first."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.fleet_history import DriveHistory, FleetHistory
from drivelab.model.names import names_apart
from drivelab.report.sentences.fleet_history import (
    firmware_words,
    fleet_history_sentences,
    newest_words,
    wear_words,
)
from drivelab.report.terminal.wrapped import GAP, WIDTH, both_ends, one_line, table_lines, wrapped

_HEADS = ("drive", "newest run", "firmware", "wear", "runs")
_WIDTHS = (22, 17, 11, 4)
# characters of a serial tell two drives at one place apart, nearly always
_SERIAL_END = 6


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
    cells = [_HEADS[1:], *(_cells(one, plain) for one in shown)]
    room = WIDTH - sum(len(GAP) + max(map(len, column)) for column in zip(*cells, strict=True))
    names = [_HEADS[0], *(both_ends(name, room, plain) for name in _names(history.drives)[: len(shown)])]
    rows = [(name, *own) for name, own in zip(names, cells, strict=True)]
    return [*told, "", *table_lines(rows, plain, left=len(_HEADS) - 1), *footer]


def _names(drives: Sequence[DriveHistory]) -> list[str]:
    """What 'drivelab history' takes for each; of several at one place also what tells them apart."""
    serials = [f" ({one.drive.serial[-_SERIAL_END:]})" if one.drive.serial else "" for one in drives]
    times = [f" (until {one.rows[-1].started_utc[:19]})" for one in drives]
    models = [f" ({one.drive.model})" for one in drives]
    return names_apart([f"{one.drive.host}:{one.drive.name}" for one in drives], serials, models, times)


def _cells(one: DriveHistory, plain: bool) -> tuple[str, ...]:
    cells = (newest_words(one), firmware_words(one), wear_words(one), str(len(one.rows)))
    return tuple(one_line(cell, width, plain) for cell, width in zip(cells, _WIDTHS, strict=True))
