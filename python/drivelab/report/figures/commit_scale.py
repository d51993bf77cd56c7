"""How often a program would commit, on the scale of published drives: what a need without a limit is held against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drivelab.model.commit_scale import MARKS, rate_on
from drivelab.model.estimate import Estimate
from drivelab.model.program import Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.verdict import verdicts_in
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import number_text
from drivelab.report.parts_of_text import capitalised

KEY = "commit-scale"
TITLE = "Commits a second by one client, beside published drives under ext4"
_ROW_PX, _TOP_PX, _BOTTOM_PX = 42, 14, 56
_LABEL_ABOVE, _DOT_PX, _GAP_PX, _NUMBER_PX = 0.4, 12, 8, 60
OWN_TIME_CAPTION = "The program's own time, that of the measured computer, is in all of them."
_CAPTION = (
    "The filled point is what the measured log writes would allow, the bar through it the 95\u00a0% "
    "interval. Hollow points are made of the mean latency of small durable writes that was published of each drive. "
    f"{OWN_TIME_CAPTION}"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A drive on the scale: its name, commits a second, and their ends where they were measured here."""

    name: str
    rate: float
    low: float | None = None
    high: float | None = None
    is_published: bool = True


@dataclass(frozen=True, slots=True)
class CommitScale:
    """The scale of a program, the slowest drive first."""

    program: Program
    places: tuple[Place, ...]


def commit_scales(verdict: Mapping[str, Any] | None, measured: str) -> Iterator[CommitScale]:
    """Of each need that names no limit and whose program was traced; `measured` names what was measured."""
    for one in verdicts_in(verdict):
        program, told = PROGRAMS.get(str(one.get("need", ""))), one.get("forecast")
        if program is None or not told or one.get("checks"):
            continue
        rate = Estimate(**told["commits_per_s"])
        if left := told.get("lasting_commits_per_s"):
            rate = replace(rate, value=left, low=None, high=None)
        if not rate.value:
            continue
        here = program.with_own_time(told["own_time_ns"])
        places = [Place(_name(mark.title), rate_on(mark, here)) for mark in MARKS]
        places.append(Place(measured, rate.value, rate.low, rate.high, is_published=False))
        yield CommitScale(program, tuple(sorted(places, key=lambda place: place.rate)))


def commit_scale(verdict: Mapping[str, Any] | None, measured: str) -> Figure | None:
    """A drawing for each program; None where none is without a limit."""
    scales = list(commit_scales(verdict, measured))
    if not scales:
        return None
    ends = [end for scale in scales for one in scale.places for end in (one.rate, one.low, one.high) if end]
    return Figure(
        key=KEY,
        title=f"{scales[0].program.title}: commits a second by one client" if len(scales) == 1 else TITLE,
        caption=_CAPTION,
        plots=tuple(_plot(one, min(ends), max(ends), is_named=len(scales) > 1) for one in scales),
        table=commit_data(scales),
    )


def _name(title: str) -> str:
    """A published drive as the name of a row, without its article."""
    return capitalised(title.removeprefix("a ").removeprefix("an "))


def _plot(scale: CommitScale, low: float, high: float, *, is_named: bool) -> Plot:
    places = scale.places
    height = _TOP_PX + _BOTTOM_PX + _ROW_PX * len(places)
    low, high = theme.padded_range(low, high)
    layout = theme.layout(height, showlegend=False)
    layout["margin"] |= {"t": _TOP_PX, "b": _BOTTOM_PX, "l": 14, "r": _NUMBER_PX}
    ticks = theme.latency_ticks(low, high, at_most=8)
    layout["xaxis"] = theme.axis(
        "commits a second [1/s, log scale]",
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[number_text(tick, 1) for tick in ticks],
    )
    layout["yaxis"] = theme.blank_rows("", len(places))
    layout["annotations"] = [note for row, place in enumerate(places) for note in _words(row, place)]
    return Plot([_marks(places)], layout, height, scale.program.title if is_named else "")


def _words(row: int, place: Place) -> list[dict[str, Any]]:
    """The name above the mark, and the number at the end of the row."""
    name, number = theme.escaped(place.name), number_text(place.rate)
    if not place.is_published:
        name, number = f"<b>{name}</b>", f"<b>{number}</b>"
    color = theme.MUTED if place.is_published else theme.INK
    at_end = {"name": "number", "x": 1, "xshift": _GAP_PX}
    return [
        theme.row_label(name, row, _LABEL_ABOVE, color),
        theme.row_label(number, row, color=theme.INK) | at_end,
    ]


def _marks(places: Sequence[Place]) -> dict[str, Any]:
    return theme.scatter(
        "markers",
        [place.rate for place in places],
        list(range(len(places))),
        [_hover(place) for place in places],
        marker={
            "symbol": "circle",
            "size": _DOT_PX,
            "color": [theme.PAPER if place.is_published else theme.BLUE for place in places],
            "line": {"width": 1.6, "color": theme.BLUE},
        },
        error_x=theme.whiskers(
            [(place.rate, place.low, place.high) for place in places], theme.BLUE, thickness=4, width=0
        ),
    )


def _hover(place: Place) -> str:
    span = ""
    if place.low and place.high:
        span = f"<br>95\u00a0% interval {number_text(place.low)} to {number_text(place.high)}"
    return f"{theme.escaped(place.name)}: {number_text(place.rate)} commits a second{span}"


def commit_data(scales: Sequence[CommitScale]) -> DataTable:
    """The numbers behind drawings and tables."""
    columns = ("program", "drive", "commits_per_s", "commits_per_s_low", "commits_per_s_high", "is_published")
    rows = [
        [one.program.need, place.name, place.rate, place.low, place.high, int(place.is_published)]
        for one in scales
        for place in one.places
    ]
    return DataTable(columns, rows)
