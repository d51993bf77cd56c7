"""Ratios with their intervals, one row each, on one logarithmic axis with the band that counts as no difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Plot
from drivelab.report.numerals import typeset

ROW_PX, TOP_PX, BOTTOM_PX = 34, 40, 56
ROWS_PER_PLOT, PLOTS_AT_MOST = 25, 8
# the narrowest axis: two sides that are alike are not drawn as if they were not
LEAST_FACTOR = 1.5
_LABEL_ABOVE = 0.42
# a ratio has no unit, and the shared axis counts ns: far enough from its least value of 1
_SCALE = 1e6

# symbol and colour of each verdict: no meaning hangs on colour alone
Marks = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RatioRow:
    """A row of a drawing.

    Attributes
    ----------
    label, hover : str
        What it is, and what is told when it is pointed at (in Plotly's markup).
    ratio : Estimate
        With its ends, where it has them.
    verdict, verdict_text : str
        Which mark it has, and the words for that in the legend.
    bound : float
        What counts as no difference: 0.05.
    """

    label: str
    hover: str
    ratio: Estimate
    verdict: str
    verdict_text: str
    bound: float


def pieces_of(groups: Iterable[tuple[str, Sequence[RatioRow]]]) -> list[tuple[str, Sequence[RatioRow]]]:
    """Groups of rows with their titles in pieces that one drawing holds."""
    return [
        (title, rows[begin : begin + ROWS_PER_PLOT])
        for title, rows in groups
        for begin in range(0, len(rows), ROWS_PER_PLOT)
    ]


def ends_of_rows(rows: Iterable[RatioRow]) -> tuple[float, float]:
    """Smallest and largest ratio of all drawings, so that they can be compared."""
    ends = [1.0]
    for row in rows:
        ends += [end for end in (row.ratio.value, row.ratio.low, row.ratio.high) if end]
        ends += [1 / (1 + row.bound), 1 + row.bound]
    return min(ends), max(ends)


def ratio_plot(
    rows: Sequence[RatioRow],
    title: str,
    ends: tuple[float, float],
    marks: Marks,
    *,
    axes: tuple[str, str],
    ticks_near_1: Sequence[float] = (),
) -> Plot:
    """One drawing.

    Parameters
    ----------
    ends : (float, float)
        Of `ends_of_rows`.
    marks : mapping of str to (symbol, colour)
        By verdict, in the order of the legend.
    axes : (str, str)
        What the ratio is, and what a row is.
    ticks_near_1 : sequence of float
        Ticks of an axis that reaches no further than these.
    """
    height = TOP_PX + BOTTOM_PX + ROW_PX * len(rows)
    low, high = theme.padded_range(ends[0] * _SCALE, ends[1] * _SCALE, LEAST_FACTOR)
    layout = theme.layout(height, annotations=[], shapes=_band(1 + rows[0].bound))
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": 14}
    ticks = [tick for tick in ticks_near_1 if low <= tick * _SCALE <= high]
    if not ticks_near_1 or high / low > ticks_near_1[-1] / ticks_near_1[0]:
        ticks = [tick / _SCALE for tick in theme.latency_ticks(low, high, at_most=12)]
    layout["xaxis"] = theme.axis(
        f"{axes[0]} [log scale]",
        type="log",
        range=[math.log10(low / _SCALE), math.log10(high / _SCALE)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )
    layout["yaxis"] = theme.blank_rows(axes[1], len(rows))
    layout["annotations"] = [
        theme.row_label(theme.escaped(typeset(row.label)), place, _LABEL_ABOVE) for place, row in enumerate(rows)
    ]
    data = [_marks(rows, verdict, mark) for verdict, mark in marks.items() if any(r.verdict == verdict for r in rows)]
    return Plot(data, layout, height, title)


def _band(bound: float) -> list[dict[str, Any]]:
    """What counts as no difference, and the line at 1."""
    band = {"type": "rect", "xref": "x", "x0": 1 / bound, "x1": bound, "yref": "paper", "y0": 0, "y1": 1}
    line = {"type": "line", "xref": "x", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1}
    return [
        band | {"fillcolor": "var(--heat-1)", "line": {"width": 0}, "layer": "below"},
        line | {"line": {"width": 1, "color": theme.AXIS}, "layer": "below"},
    ]


def _marks(rows: Sequence[RatioRow], verdict: str, mark: tuple[str, str]) -> dict[str, Any]:
    symbol, color = mark
    found = [(place, row, row.ratio.value or 1.0) for place, row in enumerate(rows) if row.verdict == verdict]
    return theme.scatter(
        "markers",
        [float(f"{value:.5g}") for _, _, value in found],
        [place for place, _, _ in found],
        [row.hover for _, row, _ in found],
        name=found[0][1].verdict_text,
        marker={"symbol": symbol, "size": 9, "color": color, "line": {"width": 1.5, "color": color}},
        error_x=theme.whiskers(
            ((value, row.ratio.low, row.ratio.high) for _, row, value in found), color, thickness=1.5
        ),
    )
