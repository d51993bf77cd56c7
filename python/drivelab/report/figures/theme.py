"""What all figures have in common: axes, type, colours and the marks of the quantiles.

Colours are those of Okabe and Ito (2008), which people with any of the common
kinds of colour blindness tell apart; the style sheet holds their values for
light and dark. No meaning hangs on colour alone: quantiles differ in shape,
series in dash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from drivelab.report.content import TrialContent
from drivelab.report.numerals import round_latency_text

INK, MUTED, PAPER, GRID, AXIS = "var(--ink)", "var(--muted)", "var(--paper)", "var(--grid)", "var(--axis)"
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY = (f"var(--series-{number})" for number in range(1, 8))
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
DASHES = ("solid", "dash", "dot", "dashdot")
_CACHE = re.compile(r"write-cache (?:as.found \()?(on|off)\b")
# the same colours, so thin that lines show through
FILL = "var(--fill)"
# roots of the shares of cells, lightest first
HEAT = [[0.0, "var(--heat-1)"], [0.2, "var(--heat-2)"], [0.5, "var(--heat-3)"], [1.0, "var(--heat-4)"]]

# low to high, of steady lightness and told apart with any kind of colour vision (the scale is "cividis")
SCALE = [[number / 4, f"var(--scale-{number + 1})"] for number in range(5)]
# text on its dark and on its light part, in every scheme
ON_SCALE = ("var(--on-scale-low)", "var(--on-scale-high)")

# one shape and one colour per quantile, the same in every figure
QUANTILE_MARKS: dict[str, tuple[str, str]] = {
    "p50": ("circle", BLUE),
    "p99": ("diamond", VERMILLION),
    "p999": ("triangle-up", PURPLE),
    "max": ("x-thin", MUTED),
}
QUANTILES: dict[str, float] = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
QUANTILE_LABELS = {"p50": "median", "p99": "p99", "p999": "p99.9", "max": "max"}

INVALID_SIGN = "✗ "
TEXT_SIZE = 12
SMALL_TEXT_SIZE = 11
# of a legend whose entries stand below each other
LEGEND_ROW_PX = 20
# room for the label above a panel
LABEL_PX = 20


def layout(height_px: int, **more: Any) -> dict[str, Any]:
    """Layout of a figure: transparent, quiet, legend on top."""
    return {
        "height": height_px,
        "margin": {"l": 62, "r": 14, "t": 34, "b": 52},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "var(--font)", "size": TEXT_SIZE, "color": INK},
        "hovermode": "closest",
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"size": TEXT_SIZE, "color": INK},
        },
    } | more


def dash_of(label: str, place: int) -> str:
    """How a line is drawn: solid with the write cache on and dashed with it off, otherwise by its place."""
    cache = _CACHE.search(label)
    return DASHES[("on", "off").index(cache[1]) if cache else place % len(DASHES)]


def legend_rows(drawn: dict[str, Any], row_count: int) -> None:
    """Give a layout one row of its legend for each entry, above the drawing, with room for them."""
    drawn["margin"] |= {"t": 14 + LEGEND_ROW_PX * row_count}
    drawn["legend"] |= {"orientation": "v", "tracegroupgap": 0}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its name and unit."""
    return {
        "title": {"text": title, "font": {"size": TEXT_SIZE, "color": MUTED}, "standoff": 8},
        "tickfont": {"size": SMALL_TEXT_SIZE, "color": MUTED},
        "gridcolor": GRID,
        "linecolor": AXIS,
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": AXIS,
        "automargin": "width+height",
    } | more


def latency_axis(low_ns: float, high_ns: float, **more: Any) -> dict[str, Any]:
    """A logarithmic axis of nanoseconds, its ticks labelled with units.

    Parameters
    ----------
    low_ns, high_ns : float
        Smallest and largest value to be seen; a little room is added.
    **more
        Plotly's attributes of an axis; ``ticks_at_most``; ``is_short`` where there
        is room for few words; ``least_factor`` between the ends, so that a steady
        latency is not drawn as a restless one.
    """
    low, high = padded_range(low_ns, high_ns, more.pop("least_factor", 2))
    ticks = latency_ticks(low, high, at_most=more.pop("ticks_at_most", 14))
    words = "log" if more.pop("is_short", False) else "log scale"
    return axis(
        f"latency [{unit_span(low, high)}, {words}]",
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[round_latency_text(tick) for tick in ticks],
        **more,
    )


def padded_range(low_ns: float, high_ns: float, least_factor: float = 2) -> tuple[float, float]:
    """A range a little wider than its values, and its ends never closer than a factor."""
    low, high = max(low_ns, 1.0), max(high_ns, 1.0)
    room = 10 ** (0.03 * math.log10(max(high / low, 2)))
    low, high = low / room, high * room
    middle, half = math.sqrt(low * high), math.sqrt(least_factor)
    return min(low, middle / half), max(high, middle * half)


def unit_span(low_ns: float, high_ns: float) -> str:
    """The units that stand at the ticks of a range: ``µs``, or ``µs to ms``."""
    low, high = (round_latency_text(value).rsplit("\u00a0", maxsplit=1)[-1] for value in (low_ns, high_ns))
    return low if low == high else f"{low} to {high}"


# where only two or three of the usual ticks would be seen
_WITHIN_ONE_DECADE = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)
_FEW_TICKS = 7


def latency_ticks(low_ns: float, high_ns: float, at_most: int = 14) -> list[float]:
    """Round values within a range: 1, 2 and 5 of each decade; fewer where there are many decades, more within one."""
    first, last = math.floor(math.log10(low_ns)), math.ceil(math.log10(high_ns))
    candidates: list[float] = []
    for steps in (_WITHIN_ONE_DECADE, (1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        candidates = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        candidates = [value for value in candidates if low_ns <= value <= high_ns]
        if len(candidates) <= (_FEW_TICKS if steps is _WITHIN_ONE_DECADE else at_most):
            return candidates
    thinned = math.ceil(len(candidates) / at_most)
    return candidates[::thinned]


def panels(
    count: int, panel_px: int, *, top_px: int, bottom_px: int, gap_px: int = 10
) -> tuple[int, list[list[float]]]:
    """Heights of panels that stand below each other, each with room for a label above it.

    Returns
    -------
    height_px : int
        Height of the whole figure.
    domains : list of [low, high]
        Plotly domain of each panel, the first one on top.
    """
    step = panel_px + LABEL_PX + gap_px
    inner = count * step - gap_px
    domains = []
    for number in range(count):
        top = number * step + LABEL_PX
        domains.append([max(0.0, 1 - (top + panel_px) / inner), 1 - top / inner])
    return inner + top_px + bottom_px, domains


def sheets(trials: Sequence[TrialContent], at_most: int) -> list[tuple[str, list[TrialContent]]]:
    """Trials in drawings of at most so many panels, each of one kind of trial, with the kind's name.

    Repeats of one combination stay together where there is room for them.
    """
    groups: dict[str, list[TrialContent]] = {}
    for trial in trials:
        groups.setdefault(trial.group, []).append(trial)
    return [(group, sheet) for group, members in groups.items() for sheet in _sheets(members, at_most)]


def _sheets(members: Sequence[TrialContent], at_most: int) -> list[list[TrialContent]]:
    combinations: list[list[TrialContent]] = []
    for trial in members:
        repeat = trial.row.get("repeat", 1)
        if combinations and repeat >= combinations[-1][-1].row.get("repeat", 1):
            combinations[-1].append(trial)
        else:
            combinations.append([trial])
    found: list[list[TrialContent]] = []
    for one in combinations:
        if found and len(found[-1]) + len(one) <= at_most:
            found[-1] += one
            continue
        size = -(-len(one) // -(-len(one) // at_most))
        found += [one[begin : begin + size] for begin in range(0, len(one), size)]
    return found


def panel_label(text: str, axis_number: int) -> dict[str, Any]:
    """The name of a panel, above it at the left; begins with its label in ``<b>``, which a narrow page shortens."""
    return {
        "name": "panel",
        "text": text,
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yref": f"{axis_name('y', axis_number)} domain",
        "y": 1,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": TEXT_SIZE, "color": INK},
    }


def blank_rows(title: str, count: int) -> dict[str, Any]:
    """A vertical axis of rows without words: their labels stand above their marks."""
    return axis(title, range=[count - 0.6, -0.75], tickvals=[], ticktext=[], showgrid=False, showline=False, ticks="")


def row_label(text: str, row: float, above: float = 0, color: str = MUTED) -> dict[str, Any]:
    """The name of a row (in Plotly's markup), a little above its marks, at the left."""
    return {
        "name": "row",
        "text": text,
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yref": "y",
        "y": row - above,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": SMALL_TEXT_SIZE, "color": color},
    }


def scatter(
    mode: str,
    x: Sequence[Any],
    y: Sequence[Any],
    text: Sequence[str] | None = None,
    *,
    on: tuple[int, int] = (1, 1),
    **more: Any,
) -> dict[str, Any]:
    """A trace of points: marks and lines tell their text, and texts are drawn.

    Parameters
    ----------
    mode : str
        lines, markers, lines+markers or text.
    x, y, text : sequence
        Of each point.
    on : (int, int)
        Numbers of its axes.
    **more
        Plotly's attributes of a trace.
    """
    found: dict[str, Any] = {"type": "scatter", "mode": mode, "x": x, "y": y}
    found |= {"hoverinfo": "skip" if text is None or mode == "text" else "text"}
    found |= {"xaxis": axis_name("x", on[0]), "yaxis": axis_name("y", on[1])}
    return found | ({} if text is None else {"text": text}) | more


def whiskers(
    ends: Iterable[tuple[float, float | None, float | None]], color: str, *, thickness: float = 1.2, width: int = 3
) -> dict[str, Any]:
    """Plotly's error bars of values with their ends; where one is not known there is no bar."""
    known = [(value, value if low is None else low, value if high is None else high) for value, low, high in ends]
    return {
        "type": "data",
        "symmetric": False,
        "array": [float(f"{max(0.0, high - value):.6g}") for value, _, high in known],
        "arrayminus": [float(f"{max(0.0, value - low):.6g}") for value, low, _ in known],
        "color": color,
        "thickness": thickness,
        "width": width,
    }


def axis_name(letter: str, number: int) -> str:
    """Plotly's name of an axis in a trace: ``y``, ``y2``, ``y3``; numbers from 1."""
    return letter if number == 1 else f"{letter}{number}"


def layout_key(letter: str, number: int) -> str:
    """Plotly's name of an axis in a layout: ``yaxis``, ``yaxis2``."""
    return f"{letter}axis" if number == 1 else f"{letter}axis{number}"


def named(trial: TrialContent) -> str:
    """The name of a trial, marked when it does not describe the drive."""
    return f"{INVALID_SIGN}{escaped(trial.label)}" if trial.is_invalid else escaped(trial.label)


def invalid_words(trials: Sequence[TrialContent]) -> str:
    """What the mark means, to stand behind a caption; empty when no trial has it."""
    return " ✗ marks trials that do not describe the drive." if any(trial.is_invalid for trial in trials) else ""


def shown_words(shown: int, found: int, what: str = "drawings") -> str:
    """That not all are drawn, to stand behind a caption; empty when all are."""
    return f" The first {shown} of {found} {what} are drawn; the data below hold all." if shown < found else ""


def escaped(text: str) -> str:
    """Text from outside, harmless in Plotly's small markup (which knows ``<b>``, ``<a>`` and the like)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
