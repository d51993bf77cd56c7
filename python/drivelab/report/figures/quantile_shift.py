"""NEW over BASE at every quantile, and both distributions: what happens to the tail, and to a second mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from drivelab.model.comparison import Comparison, DistributionShift, QuantileShift
from drivelab.model.level_words import levels_phrase
from drivelab.model.units import format_percent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.latency_cdf import nines, share_axis
from drivelab.report.numerals import latency_text, number_text, typeset
from drivelab.report.sentences.comparison import distribution_words
from drivelab.report.sentences.comparison_answer import side_names

HEIGHT_PX = 280
DRAWN_AT_MOST = 6
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 5.0, 10.0, 20.0, 50.0)
_NARROWEST = 1.25


def quantile_shift_figure(comparison: Comparison) -> Figure | None:
    """The figure; None where no histograms are to be had. The combinations with the worst numbers come first."""
    found = comparison.distributions
    if not found:
        return None
    shown, sides = found[:DRAWN_AT_MOST], side_names(comparison)
    return Figure(
        key="quantile-shift",
        title="What became of the whole distribution",
        caption=(
            f"Above: the ratio of {sides[1]} to {sides[0]} at every height of the distribution, from p1 to the highest "
            "quantile of which every run has five I/Os beyond; the grey line is 1, the dotted ones "
            f"{typeset(format_percent(comparison.margin))}. The band is a 95\u00a0% interval for each height by "
            "itself, from three runs a side on; nothing is judged by it. Below: both distributions, in which a step is "
            "a mode of its own." + theme.shown_words(len(shown), len(found), "distributions")
        ),
        plots=tuple(plot for one in shown for plot in _plots(one, sides, comparison.margin)),
        table=_table(found),
    )


def _plots(one: DistributionShift, sides: tuple[str, str], margin: float) -> tuple[Plot, Plot]:
    return _ratio_plot(one, sides, margin), _both_plot(one, sides)


def _ratio_plot(one: DistributionShift, sides: tuple[str, str], margin: float) -> Plot:
    ratio = " over ".join(reversed(sides))
    heights = [round(nines(point.quantile), 4) for point in one.points]
    ends = [end for point in one.points for end in (point.ratio, point.low, point.high) if end]
    low, high = min(*ends, 1 / _NARROWEST), max(*ends, _NARROWEST)
    layout = theme.layout(HEIGHT_PX)
    layout["xaxis"] = share_axis(heights[-1])
    layout["xaxis"]["range"] = [0, heights[-1]]
    ticks = [tick for tick in _TICKS if low / 1.1 <= tick <= high * 1.1]
    layout["yaxis"] = theme.axis(
        ratio,
        type="log",
        range=[math.log10(low) - 0.02, math.log10(high) + 0.02],
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )
    layout["shapes"] = [
        _level(at, dash) for at, dash in ((1.0, "solid"), (1 + margin, "dot"), (1 / (1 + margin), "dot"))
    ]
    banded = [(height, point) for height, point in zip(heights, one.points, strict=True) if point.low and point.high]
    band = _band([height for height, _ in banded], [point for _, point in banded]) if banded else []
    line = theme.scatter(
        "lines",
        heights,
        [float(f"{point.ratio:.5g}") for point in one.points],
        [_hover(point, sides) for point in one.points],
        name=ratio,
        line={"color": theme.INK, "width": 2},
    )
    return Plot([*band, line], layout, HEIGHT_PX, f"{distribution_words(one)}: {ratio}")


def _level(at: float, dash: str) -> dict[str, Any]:
    line = {"color": theme.MUTED, "width": 1, "dash": dash}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": at, "y1": at, "line": line}


def _band(heights: Sequence[float], points: Sequence[QuantileShift]) -> list[dict[str, Any]]:
    edge = {"type": "scatter", "mode": "lines", "x": list(heights), "hoverinfo": "skip", "line": {"width": 0}}
    low = edge | {"y": [float(f"{point.low or 0:.5g}") for point in points], "showlegend": False}
    high = edge | {"y": [float(f"{point.high or 0:.5g}") for point in points], "name": "95\u00a0% interval"}
    return [low, high | {"fill": "tonexty", "fillcolor": theme.FILL}]


def _hover(point: QuantileShift, sides: tuple[str, str]) -> str:
    base, new = map(theme.escaped, sides)
    interval = f" ({number_text(point.low)} to {number_text(point.high)})" if point.low and point.high else ""
    return (
        f"p{number_text(100 * point.quantile, 5)}: <b>{number_text(point.ratio)}</b>{interval}"
        f"<br>{base} {latency_text(point.base_ns)}, {new} {latency_text(point.new_ns)}"
    )


def _both_plot(one: DistributionShift, sides: tuple[str, str]) -> Plot:
    layout = theme.layout(HEIGHT_PX)
    values = [value for point in one.points for value in (point.base_ns, point.new_ns)]
    layout["xaxis"] = theme.latency_axis(min(values), max(values))
    layout["yaxis"] = share_axis(nines(one.points[-1].quantile))
    latencies = ([point.base_ns for point in one.points], [point.new_ns for point in one.points])
    lines = [
        theme.scatter(
            "lines",
            [float(f"{value:.5g}") for value in side],
            [round(nines(point.quantile), 4) for point in one.points],
            [_hover(point, sides) for point in one.points],
            name=name,
            line={"color": theme.SERIES[place], "dash": theme.DASHES[place], "width": 2},
        )
        for place, (name, side) in enumerate(zip(sides, latencies, strict=True))
    ]
    return Plot(lines, layout, HEIGHT_PX, f"{distribution_words(one)}: both")


def _table(found: Sequence[DistributionShift]) -> DataTable:
    rows: list[list[Cell]] = [
        [
            *(
                one.workload,
                one.target,
                one.operation,
                levels_phrase(one.levels),
            ),
            *(point.quantile, round(point.base_ns), round(point.new_ns), point.ratio, point.low, point.high),
        ]
        for one in found
        for point in one.points
    ]
    columns = ("workload", "target", "operation", "levels", "quantile", "base_ns", "new_ns")
    return DataTable((*columns, "ratio", "ratio_low", "ratio_high"), rows)
