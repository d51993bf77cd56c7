"""How the parts of a latency look in every figure: colour, pattern and dash; a flush has a colour of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.trace import PART_TITLES, Part
from drivelab.report.content import TracedCombination
from drivelab.report.figures import theme

# room for the longest name of a part
NAMES_PX = 128
PART_COLOURS: Mapping[Part, str] = {
    "fs_in": theme.GREEN,
    "layers": theme.ORANGE,
    "queue": theme.SKY,
    "device": theme.BLUE,
    "flush": theme.VERMILLION,
    "between": theme.PURPLE,
    "return": theme.GREY,
}
PART_DASHES: Mapping[Part, str] = {
    "fs_in": "dot",
    "layers": "dash",
    "queue": "dashdot",
    "device": "solid",
    "flush": "dash",
    "between": "longdash",
    "return": "longdashdot",
}


def part_marker(part: Part) -> dict[str, Any]:
    """Colour of the bars of a part; a flush is hatched, so that nobody needs colours to find it in a stack."""
    color = PART_COLOURS[part]
    hatched = {"shape": "/", "bgcolor": color, "fgcolor": theme.PAPER, "size": 6, "solidity": 0.16}
    return {"color": color, "line": {"width": 0}} | ({"pattern": hatched} if part == "flush" else {})


def rows_axis(titles: Sequence[str], domain: Sequence[float], number: int) -> dict[str, Any]:
    """A vertical axis with a row for each part, its names in a margin of `NAMES_PX`."""
    axis = theme.axis(
        "",
        anchor=theme.axis_name("x", number),
        domain=list(domain),
        range=[len(titles) - 0.45, -0.55],
        tickvals=list(range(len(titles))),
        ticktext=list(titles),
        ticks="",
        showgrid=False,
        automargin=False,
    )
    axis["tickfont"] |= {"color": theme.INK}
    return axis


def label_beside_names(text: str, number: int) -> dict[str, Any]:
    """The label of a panel, above the names of its rows and not right of them: a narrow page has no room there."""
    return theme.panel_label(text, number) | {"xshift": 4 - NAMES_PX}


def part_title(part: str) -> str:
    """The name of a part for people."""
    return PART_TITLES.get(part, part)  # type: ignore[call-overload, no-any-return]


def answered(traced: Sequence[TracedCombination]) -> list[TracedCombination]:
    """Those that have an explanation."""
    return [one for one in traced if one.is_answered]
