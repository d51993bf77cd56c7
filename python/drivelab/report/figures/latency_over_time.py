"""Latency over time: every interval's distribution as a column of shades, its median, p99 and maximum on top."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.model.metric import WINDOW_SPAN
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.latency_bins import IntervalSeries, bar_edges_ns, interval_series
from drivelab.report.numerals import count_text, latency_text, number_text, round_latency_text

PANEL_PX, TOP_PX, BOTTOM_PX = 112, 40, 56
PANELS_AT_MOST, PANELS_PER_PLOT = 40, 5
COLUMNS_AT_MOST = 120
# fewer values have their p99 at the maximum, and a line between maxima would say nothing new
_COUNT_FOR_P99 = 100
CAPTION = (
    "Each column is one stretch of time; the stronger a cell, the more of that stretch's I/Os took so long (shades "
    "follow the square root, so a single slow I/O shows). A level that moves, a second band, or maxima that come at "
    "equal distances are what an average hides."
)


def latency_over_time(trials: Sequence[TrialContent]) -> Figure | None:
    """The latencies of all trials over time; None when no interval was stored."""
    found = [trial for trial in trials if _has_intervals(trial)]
    if not found:
        return None
    drawn = {(trial.name, trial.operation): _Drawn.of(trial) for trial in found}
    shown = found[:PANELS_AT_MOST]
    series = [one.series for one in drawn.values()]
    return Figure(
        key="latency-over-time",
        title="Latency over time",
        caption=_caption(len(found), len(shown), series) + theme.invalid_words(shown),
        plots=tuple(_plot(group, members, drawn) for group, members in theme.sheets(shown, PANELS_PER_PLOT)),
        table=_table(found, series),
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A trial's latencies over time, and the edges of the cells they were counted into."""

    edges: NDArray[np.float64]
    series: IntervalSeries

    @classmethod
    def of(cls, trial: TrialContent) -> _Drawn:
        edges = bar_edges_ns([trial.histogram])
        return cls(edges, interval_series(trial.intervals, trial.operation, trial.latency, edges, COLUMNS_AT_MOST))


def _plot(group: str, trials: Sequence[TrialContent], drawn: Mapping[tuple[str, str], _Drawn]) -> Plot:
    height, domains = theme.panels(len(trials), PANEL_PX, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=26)
    layout = theme.layout(height, hovermode="x", annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX}
    layout["legend"]["traceorder"] = "reversed"
    data: list[dict[str, Any]] = []
    for number, (trial, domain) in enumerate(zip(trials, domains, strict=True), start=1):
        drawing = drawn[trial.name, trial.operation]
        one, edges = drawing.series, drawing.edges
        data += [_cells(one, edges, number), *_lines(one, number, is_first=number == 1)]
        layout[theme.layout_key("y", number)] = theme.latency_axis(
            edges[0],
            edges[-1],
            domain=domain,
            ticks_at_most=4,
            least_factor=10,
            is_short=True,
            anchor=theme.axis_name("x", number),
        )
        layout[theme.layout_key("x", number)] = _time_axis(one, number, is_last=number == len(trials))
        layout["annotations"].append(theme.panel_label(_panel_text(trial, one), number))
    return Plot(data, layout, height, group)


def _has_intervals(trial: TrialContent) -> bool:
    return trial.intervals is not None and trial.intervals.num_rows > 0 and trial.histogram.total_count > 0


def _cells(series: IntervalSeries, edges: NDArray[np.float64], number: int) -> dict[str, Any]:
    """The distribution of each column: the share of its I/Os in each cell; nothing where there are none."""
    totals = np.maximum(series.count, 1)
    shares = series.counts / totals
    used = np.flatnonzero(series.counts.any(axis=1))
    rows = slice(int(used[0]), int(used[-1]) + 1)
    return {
        "type": "heatmap",
        "x": [round(float(value), 6) for value in _edges_s(series)],
        "y": [float(f"{value:.6g}") for value in edges[rows.start : rows.stop + 1]],
        # a square root lets single I/Os show beside thousands
        "z": [[round(math.sqrt(value), 3) if value else None for value in row] for row in shares[rows] / shares.max()],
        "zmin": 0,
        "zmax": 1,
        "colorscale": theme.HEAT,
        "showscale": False,
        # what a column has is told by the label of its median
        "hoverinfo": "skip",
        "xaxis": theme.axis_name("x", number),
        "yaxis": theme.axis_name("y", number),
    }


def _edges_s(series: IntervalSeries) -> NDArray[np.float64]:
    return np.append(series.start_ns, series.start_ns[-1] + series.duration_ns[-1]) / 1e9


def _lines(series: IntervalSeries, number: int, *, is_first: bool) -> list[dict[str, Any]]:
    middle = (series.start_ns + series.duration_ns / 2) / 1e9
    carried = np.where(series.count >= _COUNT_FOR_P99, series.p99_ns, np.nan)
    texts = [_column_text(series, index) for index in range(middle.size)]
    found = []
    for name, values in (("max", series.max_ns), ("p99", carried), ("p50", series.p50_ns)):
        symbol, color = theme.QUANTILE_MARKS[name]
        is_line = name != "max"
        found.append(
            theme.scatter(
                "lines+markers" if is_line else "markers",
                [round(float(value), 6) for value in middle],
                [float(f"{value:.5g}") if np.isfinite(value) else None for value in values],
                name=theme.QUANTILE_LABELS[name],
                legendgroup=name,
                showlegend=is_first,
                line={"width": 1.6, "color": color, "dash": "solid" if name == "p50" else "dot"},
                marker={"symbol": symbol, "size": 3 if is_line else 5, "color": color}
                | {"line": {"width": 0 if is_line else 1, "color": color}},
                hoverinfo="text" if name == "p50" else "skip",
                text=texts if name == "p50" else None,
                on=(number, number),
                # one label tells everything about a column
            )
        )
    return found


def _column_text(series: IntervalSeries, index: int) -> str:
    begin, length = series.start_ns[index] / 1e9, series.duration_ns[index] / 1e9
    if not series.count[index]:
        return f"{number_text(begin)} to {number_text(begin + length)} s: nothing completed"
    p99 = latency_text(series.p99_ns[index]) if series.count[index] >= _COUNT_FOR_P99 else "not carried"
    return (
        f"{number_text(begin)} to {number_text(begin + length)} s<br>median <b>{latency_text(series.p50_ns[index])}</b>"
        f"<br>p99 {p99}<br>max {latency_text(series.max_ns[index])}<br>{count_text(series.count[index])} I/Os"
    )


def _time_axis(series: IntervalSeries, number: int, *, is_last: bool) -> dict[str, Any]:
    return theme.axis(
        "time since the measured window began [s]" if is_last else "",
        anchor=theme.axis_name("y", number),
        range=[0, float(_edges_s(series)[-1])],
        showgrid=False,
    )


def _panel_text(trial: TrialContent, series: IntervalSeries) -> str:
    column = round_latency_text(float(np.median(series.duration_ns)))
    note = f"{count_text(trial.histogram.total_count)} I/Os, columns of {column}"
    if span := trial.estimate(WINDOW_SPAN):
        note += f", {span.sample_count} windows within {span}, end to end"
    return f"<b>{theme.named(trial)}</b>  <span style='font-size:11px'>{note}</span>"


def _caption(found: int, shown: int, series: Sequence[IntervalSeries]) -> str:
    caption = CAPTION
    if any(one.intervals_per_column > 1 for one in series):
        caption += " Neighbouring intervals are joined, without loss, where there are more than fit the width."
    if any((one.count < _COUNT_FOR_P99).any() for one in series):
        caption += f" No p99 is drawn for a stretch of fewer than {_COUNT_FOR_P99} I/Os, where it is the maximum."
    return caption + theme.shown_words(shown, found, "trials")


def _table(trials: Sequence[TrialContent], series: Sequence[IntervalSeries]) -> DataTable:
    columns = (
        "trial",
        "operation",
        "start_s",
        "duration_s",
        "io_count",
        "error_count",
        "latency_p50_ns",
        "latency_p99_ns",
        "latency_max_ns",
    )
    rows = [
        [
            trial.name,
            trial.operation,
            round(float(one.start_ns[index]) / 1e9, 6),
            round(float(one.duration_ns[index]) / 1e9, 6),
            int(one.count[index]),
            int(one.errors[index]),
            *(round(float(v[index])) if np.isfinite(v[index]) else None for v in (one.p50_ns, one.p99_ns, one.max_ns)),
        ]
        for trial, one in zip(trials, series, strict=True)
        for index in range(one.count.size)
    ]
    return DataTable(columns, rows)
