"""Latency over the size of an I/O, both logarithmic: do the bytes cost, or the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.run_answer import RunAnswer
from drivelab.model.units import format_bytes
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.size_series import Panel, SizePoint, SizeSeries, panels_of_answer, panels_of_trials
from drivelab.report.numerals import count_text, latency_text

HEIGHT_PX = 380
PLOTS_AT_MOST = 12
FLAT = "A flat line: the commands cost, not the bytes."
FROM_DURABLE = "From the start of the write call until its sync call returned."
FROM_ANY = "From the start of the call until the I/O had completed, durable writes until their sync call returned."
OF_TRIALS = "Whiskers are 95\u00a0% intervals."
OF_REPEATS = "Lines are medians over all trials of a size, bands reach from the fastest trial to the slowest."


def latency_over_size(trials: Sequence[TrialContent], answer: RunAnswer | None = None) -> Figure | None:
    """The latency of I/Os over their size; None when no series has two sizes.

    Parameters
    ----------
    trials : sequence of TrialContent
        Trials of a check, or of a run whose combinations were measured once.
    answer : RunAnswer, optional
        The combinations of a run; with repeats they are what is drawn.
    """
    combinations = answer.combinations if answer is not None else ()
    # with repeats, or of trials that are not all here
    is_repeated = any(one.trial_count > 1 for one in combinations) or len(trials) < len(combinations)
    panels = panels_of_answer(answer) if answer is not None and is_repeated else panels_of_trials(trials)
    if not panels:
        return None
    is_durable = all(series.is_durable for panel in panels for series in panel.series)
    words = [FROM_DURABLE if is_durable else FROM_ANY, FLAT, OF_REPEATS if is_repeated else OF_TRIALS]
    common = panels[0].common if len(panels) == 1 else ""
    if len(panels) > PLOTS_AT_MOST:
        words.append(f"The first {PLOTS_AT_MOST} of {len(panels)} drawings are shown; the data below hold all.")
    ends = [
        end
        for panel in panels
        for series in panel.series
        for points in series.lines.values()
        for point in points
        for end in (point.value_ns, point.low_ns, point.high_ns)
        if end
    ]
    return Figure(
        key="latency-over-size",
        title="Time of a durable write over its size" if is_durable else "Latency over the size of an I/O",
        caption=" ".join([*([f"{common}."] if common else []), *words]),
        plots=tuple(_plot(panel, min(ends), max(ends), is_repeated=is_repeated) for panel in panels[:PLOTS_AT_MOST]),
        table=_table(panels),
    )


def _plot(panel: Panel, low_ns: float, high_ns: float, *, is_repeated: bool) -> Plot:
    layout = theme.layout(HEIGHT_PX)
    sizes = sorted({point.size_bytes for one in panel.series for line in one.lines.values() for point in line})
    layout["xaxis"] = theme.axis(
        "size of an I/O [unit at each tick, log scale]",
        type="log",
        tickmode="array",
        tickvals=sizes,
        ticktext=[format_bytes(size) for size in sizes],
    )
    layout["yaxis"] = theme.latency_axis(low_ns, high_ns, ticks_at_most=8)
    data: list[Mapping[str, Any]] = []
    for place, series in enumerate(panel.series):
        for name, points in series.lines.items():
            if is_repeated:
                data.append(_band(points, place))
            data.append(_line(series, name, points, place, is_alone=len(panel.series) == 1, is_repeated=is_repeated))
    return Plot(data, layout, HEIGHT_PX, panel.name)


def _band(points: Sequence[SizePoint], place: int) -> dict[str, Any]:
    """The range of a line, as an area without a border."""
    ends = [(point.size_bytes, point.high_ns) for point in points]
    ends += [(point.size_bytes, point.low_ns) for point in reversed(points)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [size for size, _ in ends],
        "y": [end for _, end in ends],
        "fill": "toself",
        "fillcolor": theme.BANDS[place % len(theme.BANDS)],
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _line(
    series: SizeSeries, name: str, points: Sequence[SizePoint], place: int, *, is_alone: bool, is_repeated: bool
) -> dict[str, Any]:
    symbol, quantile_color = theme.QUANTILE_MARKS[name]
    color = theme.SERIES[place % len(theme.SERIES)] if place or is_repeated else quantile_color
    dash = theme.dash_of(series.label, place) if is_repeated else "solid" if name == "p50" else "dot"
    quantile = theme.QUANTILE_LABELS[name]
    label = quantile if is_alone else series.label if is_repeated else f"{quantile}, {series.label}"
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": theme.escaped(label),
        "x": [point.size_bytes for point in points],
        "y": [point.value_ns for point in points],
        "text": [_hover(series, point, quantile, is_repeated=is_repeated) for point in points],
        "hoverinfo": "text",
        "line": {"color": color, "width": 1.6, "dash": dash},
        "marker": {"symbol": symbol, "size": 6 if is_repeated else 8, "color": color},
    }
    if not is_repeated:
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, (point.high_ns or point.value_ns) - point.value_ns) for point in points],
            "arrayminus": [max(0.0, point.value_ns - (point.low_ns or point.value_ns)) for point in points],
            "color": color,
            "thickness": 1.2,
            "width": 4,
        }
    return trace


def _hover(series: SizeSeries, point: SizePoint, quantile: str, *, is_repeated: bool) -> str:
    low = "…" if point.low_ns is None else latency_text(point.low_ns)
    high = "…" if point.high_ns is None else latency_text(point.high_ns)
    span = f"{count_text(point.count)} trials: {low} to {high}" if is_repeated else f"95 % interval {low} to {high}"
    behind = "" if is_repeated else f"<br>{count_text(point.count)} operations"
    return (
        f"{theme.escaped(point.label or series.label)}<br>{format_bytes(point.size_bytes)}, {quantile}: "
        f"<b>{latency_text(point.value_ns)}</b><br>{span}{behind}"
    )


def _table(panels: Sequence[Panel]) -> DataTable:
    rows: list[list[Cell]] = []
    for panel in panels:
        for series in panel.series:
            label = " · ".join(part for part in (panel.name or panel.common, series.label) if part)
            for name, points in series.lines.items():
                for point in points:
                    ends = (point.value_ns, point.low_ns, point.high_ns)
                    rounded = [None if end is None else round(end) for end in ends]
                    rows.append([label, point.size_bytes, theme.QUANTILES[name], *rounded, point.count])
    columns = ("series", "block_size_bytes", "quantile", "latency_ns", "latency_ns_low", "latency_ns_high", "count")
    return DataTable(columns, rows)
