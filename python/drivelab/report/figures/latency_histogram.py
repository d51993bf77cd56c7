"""Latency histogram: one panel per trial on a common logarithmic axis, so that shapes can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.model.histogram import Histogram
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.latency_bins import bar_counts, bar_edges_ns, bars_per_decade, carried_quantile, centres
from drivelab.report.numerals import count_text, latency_text, percent_text

PANEL_PX, TOP_PX, BOTTOM_PX = 74, 40, 56
PANELS_AT_MOST, PANELS_PER_PLOT = 40, 8
# room under the bars for the marks of the quantiles, as a share of the highest bar
_MARKS_ROOM = 0.22
CAPTION = (
    "Height is the share of a trial's I/Os that fall into a bar. All bars are equally wide on the logarithmic axis "
    "({width}\u00a0%), so areas can be compared within and between trials. Marks below each histogram: "
    "median, p99, p99.9 and maximum of just these I/Os; the table says how far they hold."
)


def latency_histogram(trials: Sequence[TrialContent]) -> Figure | None:
    """The latency histograms of all trials; None when nothing was completed."""
    filled = [trial for trial in trials if trial.histogram.total_count]
    if not filled:
        return None
    shown = filled[:PANELS_AT_MOST]
    edges = bar_edges_ns([trial.histogram for trial in shown])
    return Figure(
        key="latency-histogram",
        title="How long single I/Os took",
        caption=_caption(len(filled), len(shown), bars_per_decade([trial.histogram for trial in shown]))
        + theme.invalid_words(shown),
        plots=tuple(_plot(group, members, edges) for group, members in theme.sheets(shown, PANELS_PER_PLOT)),
        table=_table(filled),
    )


def _plot(group: str, trials: Sequence[TrialContent], edges: NDArray[np.float64]) -> Plot:
    height, domains = theme.panels(len(trials), PANEL_PX, top_px=TOP_PX, bottom_px=BOTTOM_PX)
    layout = theme.layout(height, hovermode="x", annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX}
    data: list[dict[str, Any]] = []
    for number, (trial, domain) in enumerate(zip(trials, domains, strict=True), start=1):
        shares = bar_counts(trial.histogram, edges) / trial.histogram.total_count
        highest = 100 * float(shares.max())
        data += [_bars(trial, edges, shares, number), _marks(trial.histogram, highest, number)]
        layout[theme.layout_key("y", number)] = _share_axis(highest, domain)
        layout["annotations"].append(theme.panel_label(_panel_text(trial), number))
    data += _legend(len(trials))
    layout["xaxis"] = theme.latency_axis(edges[0], edges[-1], anchor=theme.axis_name("y", len(trials)))
    return Plot(data, layout, height, group)


def mark_positions_ns(histogram: Histogram) -> dict[str, float]:
    """The quantiles that the data carry, and the maximum, by the name of their mark."""
    carried = carried_quantile(histogram.total_count)
    positions = {name: histogram.quantile_ns(at) for name, at in theme.QUANTILES.items() if at <= carried}
    return positions | {"max": float(histogram.maximum_ns)}


def _bars(trial: TrialContent, edges: NDArray[np.float64], shares: NDArray[np.float64], number: int) -> dict[str, Any]:
    """The outline of the bars: points at their middles, joined by steps."""
    first, last = np.flatnonzero(shares)[[0, -1]]
    # an empty bar at both ends closes the outline
    chosen = np.arange(max(first - 1, 0), min(last + 2, shares.size))
    total = trial.histogram.total_count
    return theme.scatter(
        "lines",
        [float(f"{value:.6g}") for value in centres(edges)[chosen]],
        [float(f"{100 * value:.4g}") for value in shares[chosen]],
        [_bar_text(edges, index, float(shares[index]), total) for index in chosen],
        line={"shape": "hvh", "width": 1.2, "color": theme.BLUE},
        fill="tozeroy",
        fillcolor=theme.FILL,
        name=theme.named(trial),
        showlegend=False,
        on=(1, number),
    )


def _bar_text(edges: NDArray[np.float64], index: int, share: float, total: int) -> str:
    between = f"{latency_text(edges[index])} to {latency_text(edges[index + 1])}"
    return f"{between}<br><b>{percent_text(share)}</b>: {count_text(share * total)} of {count_text(total)} I/Os"


def _marks(histogram: Histogram, highest: float, number: int) -> dict[str, Any]:
    positions = mark_positions_ns(histogram)
    kinds = [theme.QUANTILE_MARKS[name] for name in positions]
    return theme.scatter(
        "markers",
        list(positions.values()),
        [-_MARKS_ROOM * highest / 2] * len(positions),
        [f"{theme.QUANTILE_LABELS[name]}: <b>{latency_text(value)}</b>" for name, value in positions.items()],
        marker={
            "symbol": [symbol for symbol, _ in kinds],
            "color": [color for _, color in kinds],
            "size": 8,
            "line": {"width": [1.5 if symbol == "x-thin" else 0 for symbol, _ in kinds], "color": theme.MUTED},
        },
        showlegend=False,
        cliponaxis=False,
        on=(1, number),
    )


def _legend(panel_count: int) -> list[dict[str, Any]]:
    """Entries of the legend, which stand for no data."""
    return [
        theme.scatter(
            "markers",
            [None],
            [None],
            name=theme.QUANTILE_LABELS[name],
            marker={"symbol": symbol, "color": color, "size": 8, "line": {"width": 1.5, "color": color}},
            on=(1, panel_count),
        )
        for name, (symbol, color) in theme.QUANTILE_MARKS.items()
    ]


def _share_axis(highest: float, domain: list[float]) -> dict[str, Any]:
    return theme.axis(
        "share [%]",
        domain=domain,
        range=[-_MARKS_ROOM * highest, 1.05 * highest],
        nticks=4,
        tickmode="auto",
        tick0=0,
        zeroline=True,
        zerolinecolor=theme.AXIS,
        zerolinewidth=1,
        showline=False,
        showgrid=False,
        rangemode="nonnegative",
    )


def _panel_text(trial: TrialContent) -> str:
    return (
        f"<b>{theme.named(trial)}</b>  "
        f"<span style='font-size:11px'>{count_text(trial.histogram.total_count)} I/Os</span>"
    )


def _caption(found: int, shown: int, per_decade: int) -> str:
    return CAPTION.format(width=round(100 * (10 ** (1 / per_decade) - 1))) + theme.shown_words(shown, found, "trials")


def _table(trials: Sequence[TrialContent]) -> DataTable:
    edges = bar_edges_ns([trial.histogram for trial in trials])
    rows: list[list[str | int | float | None]] = []
    for trial in trials:
        counts = bar_counts(trial.histogram, edges)
        for index in np.flatnonzero(counts):
            share = round(float(counts[index]) / trial.histogram.total_count, 6)
            low, high = round(float(edges[index])), round(float(edges[index + 1]))
            rows.append([trial.name, trial.operation, low, high, int(counts[index]), share])
    columns = ("trial", "operation", "latency_ns_from", "latency_ns_below", "io_count", "io_share")
    return DataTable(columns, rows)
