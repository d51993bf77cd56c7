"""NEW over BASE: each ratio with its 95 % interval, one row each, on one axis with the band of the margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from drivelab.model.comparison import Comparison, ComparisonVerdict, MetricComparison
from drivelab.model.units import format_percent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.numerals import number_text, typeset
from drivelab.report.sentences.comparison import constant_levels, interval_words, metric_words, row_words, value_words
from drivelab.report.tables.comparison import comparison_data

ROW_PX, TOP_PX, BOTTOM_PX = 34, 40, 56
ROWS_PER_PLOT, PLOTS_AT_MOST = 25, 8
_LABEL_ABOVE = 0.42
# symbol and colour of each verdict: no meaning hangs on colour alone
_MARKS: dict[ComparisonVerdict, tuple[str, str]] = {
    "slower": ("circle", theme.VERMILLION),
    "faster": ("circle", theme.GREEN),
    "equivalent": ("square-open", theme.BLUE),
    "no difference shown": ("diamond-open", theme.MUTED),
    "not comparable": ("x-thin-open", theme.MUTED),
}
# where all ratios are close to 1
_NEAR_1 = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0)
# the narrowest axis: two sides that are alike are not drawn as if they were not
_LEAST_FACTOR = 1.5


def comparison_ratios(comparison: Comparison) -> Figure | None:
    """The figure; None when there is no row. Latencies and rates are drawn apart: worse lies on opposite sides."""
    names = {True: "latencies and costs: right of 1 is worse", False: "throughput and rates: left of 1 is worse"}
    # the one with the worst row comes first
    kinds = dict.fromkeys(row.is_more_worse for row in comparison.rows)
    groups = [(names[kind], [row for row in comparison.rows if row.is_more_worse is kind]) for kind in kinds]
    pieces = [
        (name, rows[begin : begin + ROWS_PER_PLOT])
        for name, rows in groups
        for begin in range(0, len(rows), ROWS_PER_PLOT)
    ]
    if not pieces:
        return None
    ends = _ends(comparison.rows, 1 + comparison.margin)
    constant = constant_levels(comparison.rows)
    cut = f" Drawn are {PLOTS_AT_MOST} parts of {len(pieces)}; the data below hold all."
    return Figure(
        key="comparison-ratios",
        title="NEW over BASE",
        caption=(
            f"Whiskers are 95\u00a0% intervals; the grey band is {typeset(format_percent(comparison.margin))}. "
            "A ratio without whiskers rests on too few repeats; one that is not comparable says nothing."
            + (cut if len(pieces) > PLOTS_AT_MOST else "")
        ),
        plots=tuple(_plot(rows, name, ends, constant) for name, rows in pieces[:PLOTS_AT_MOST]),
        table=comparison_data(comparison.rows),
    )


def _ends(rows: Sequence[MetricComparison], bound: float) -> tuple[float, float]:
    """Smallest and largest ratio of all drawings, so that they can be compared."""
    known = [end for row in rows for end in (row.ratio.value, row.ratio.low, row.ratio.high) if end]
    return min([1 / bound, *known]), max([bound, *known])


def _plot(rows: Sequence[MetricComparison], name: str, ends: tuple[float, float], constant: dict[str, str]) -> Plot:
    height = TOP_PX + BOTTOM_PX + ROW_PX * len(rows)
    bound = 1 + rows[0].margin
    low, high = theme.padded_range(ends[0] * 1e6, ends[1] * 1e6, _LEAST_FACTOR)
    layout = theme.layout(height, annotations=[], shapes=_band(bound))
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": 14}
    ticks = [tick for tick in _NEAR_1 if low <= tick * 1e6 <= high]
    if high / low > _NEAR_1[-1] / _NEAR_1[0]:
        ticks = [tick / 1e6 for tick in theme.latency_ticks(low, high, at_most=12)]
    layout["xaxis"] = theme.axis(
        "NEW over BASE [1, log scale]",
        type="log",
        range=[math.log10(low / 1e6), math.log10(high / 1e6)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )
    layout["yaxis"] = theme.axis(
        "number",
        range=[len(rows) - 0.6, -0.75],
        tickvals=list(range(len(rows))),
        ticktext=[""] * len(rows),
        showgrid=False,
        showline=False,
        ticks="",
        fixedrange=True,
    )
    layout["annotations"] = [_label(row, place, constant) for place, row in enumerate(rows)]
    data = [_marks(rows, verdict) for verdict in _MARKS if any(row.verdict == verdict for row in rows)]
    return Plot(data, layout, height, name)


def _band(bound: float) -> list[dict[str, Any]]:
    """The margin, and the line at 1."""
    band = {"type": "rect", "xref": "x", "x0": 1 / bound, "x1": bound, "yref": "paper", "y0": 0, "y1": 1}
    line = {"type": "line", "xref": "x", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1}
    return [
        band | {"fillcolor": "var(--heat-1)", "line": {"width": 0}, "layer": "below"},
        line | {"line": {"width": 1, "color": theme.AXIS}, "layer": "below"},
    ]


def _label(row: MetricComparison, place: int, constant: dict[str, str]) -> dict[str, Any]:
    return {
        "name": "row",
        "text": theme.escaped(typeset(f"{row_words(row, constant)} · {metric_words(row.metric)}")),
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yref": "y",
        "y": place - _LABEL_ABOVE,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": theme.SMALL_TEXT_SIZE, "color": theme.MUTED},
    }


def _marks(rows: Sequence[MetricComparison], verdict: ComparisonVerdict) -> dict[str, Any]:
    symbol, color = _MARKS[verdict]
    found = [(place, row, row.ratio.value or 1.0) for place, row in enumerate(rows) if row.verdict == verdict]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": found[0][1].verdict_text,
        "x": [float(f"{value:.5g}") for _, _, value in found],
        "y": [place for place, _, _ in found],
        "text": [_hover(row) for _, row, _ in found],
        "hoverinfo": "text",
        "marker": {"symbol": symbol, "size": 9, "color": color, "line": {"width": 1.5, "color": color}},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [(row.ratio.high or value) - value for _, row, value in found],
            "arrayminus": [value - (row.ratio.low or value) for _, row, value in found],
            "color": color,
            "thickness": 1.5,
            "width": 3,
        },
    }


def _hover(row: MetricComparison) -> str:
    base, new = value_words(row)
    why = "".join(f"<br>{theme.escaped(reason)}" for reason in row.why)
    return (
        f"{theme.escaped(f'{row_words(row, {})}, {metric_words(row.metric)}')}<br>"
        f"<b>{number_text(row.ratio.value or 0)}</b>: {row.verdict_text}<br>"
        f"{interval_words(row) or 'no interval'}<br>BASE {base}, NEW {new}{why}"
    )
