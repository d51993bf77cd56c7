"""The one picture: every trial's median, p99 and p99.9 with their intervals, on one latency axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import count_text, latency_text

KEY = "latency-overview"
ROW_PX, TOP_PX, BOTTOM_PX = 38, 40, 56
ROWS_PER_PLOT = 22
_LABEL_ABOVE = 0.42
CAPTION = (
    "Whiskers are 95\u00a0% intervals; the thin line reaches to the slowest I/O. An open mark with an arrow is a "
    "bound: the trial has too few I/Os for that quantile, which is at least there."
)


def latency_overview(
    trials: Sequence[TrialContent], thresholds: Mapping[str, Sequence[tuple[float, str]]] | None = None
) -> Figure | None:
    """The latency quantiles of all trials, one row each; None when there are none.

    Parameters
    ----------
    thresholds : mapping of trial name to sequence of (latency in ns, words), optional
        What a need asks of a trial, drawn as a mark across its row.
    """
    shown = [trial for trial in trials if trial.histogram.total_count]
    if not shown:
        return None
    limits = [limit for name in (t.name for t in shown) for limit, _ in (thresholds or {}).get(name, ())]
    highs = [trial.histogram.maximum_ns for trial in shown]
    middle = [_first_value(trial) for trial in shown]
    ends = min([*middle, *limits]), max([*highs, *limits])
    # few trials stand in one drawing, whatever their kinds; many must be divided to fit a sheet of paper
    sheets = [("", shown)] if len(shown) <= ROWS_PER_PLOT else theme.sheets(shown, ROWS_PER_PLOT)
    return Figure(
        key=KEY,
        title="Latency at a glance",
        caption=CAPTION + theme.invalid_words(trials),
        plots=tuple(_plot(group, members, ends, thresholds or {}) for group, members in sheets),
        table=_table(shown),
    )


def _plot(
    group: str,
    trials: Sequence[TrialContent],
    ends: tuple[float, float],
    thresholds: Mapping[str, Sequence[tuple[float, str]]],
) -> Plot:
    height = TOP_PX + BOTTOM_PX + ROW_PX * len(trials)
    layout = theme.layout(height, annotations=[], shapes=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": 14}
    layout["xaxis"] = theme.latency_axis(*ends)
    layout["yaxis"] = theme.blank_rows("trial", len(trials))
    layout["annotations"] = [theme.row_label(theme.named(trial), row, _LABEL_ABOVE) for row, trial in enumerate(trials)]
    data = [_reach(trials)]
    data += [trace for name in theme.QUANTILES for trace in _marks(trials, name)]
    data += [mark for mark in [_seen(trials), _thresholds(trials, thresholds)] if mark]
    return Plot(data, layout, height, group)


def _first_value(trial: TrialContent) -> float:
    estimate = trial.estimate("p50")
    known = [v for v in (estimate.low, estimate.value) if v] if estimate else []
    return min(known) if known else trial.histogram.quantile_ns(0.5)


def _reach(trials: Sequence[TrialContent]) -> dict[str, Any]:
    """A thin line from the median to the slowest I/O of each row."""
    x: list[float | None] = []
    y: list[float | None] = []
    for row, trial in enumerate(trials):
        x += [_first_value(trial), float(trial.histogram.maximum_ns), None]
        y += [row, row, None]
    return theme.scatter("lines", x, y, showlegend=False, line={"width": 1, "color": theme.AXIS})


def _marks(trials: Sequence[TrialContent], name: str) -> list[dict[str, Any]]:
    """The values of one quantile with their intervals, and where there is only a bound, the bounds."""
    symbol, color = theme.QUANTILE_MARKS[name]
    found = [(row, t, e) for row, t in enumerate(trials) if (e := t.estimate(name))]
    values = [(row, t, e, e.value) for row, t, e in found if e.value is not None]
    bounds = [(row, t, e, e.low) for row, t, e in found if e.value is None and e.low is not None]
    whiskers = theme.whiskers(((v, e.low, e.high) for _, _, e, v in values), color, thickness=1.5)
    # an entry of the legend needs a point, even one that is nowhere
    marks = _points(values, name, symbol, color) if values else {"type": "scatter", "x": [None], "y": [None]}
    marks |= {"mode": "markers", "marker": {"symbol": symbol, "size": 9, "color": color}, "error_x": whiskers}
    arrows = _points(bounds, name, "arrow-right-open", color) | {"showlegend": False}
    return (
        [marks | {"name": theme.QUANTILE_LABELS[name], "legendgroup": name}, arrows]
        if bounds
        else [marks | {"name": theme.QUANTILE_LABELS[name], "legendgroup": name}]
    )


def _seen(trials: Sequence[TrialContent]) -> dict[str, Any] | None:
    """The medians of trials that have not even a bound of theirs: their rows would be empty."""
    found = [
        (row, trial, trial.histogram.quantile_ns(0.5))
        for row, trial in enumerate(trials)
        if not (estimate := trial.estimate("p50")) or (estimate.value is None and estimate.low is None)
    ]
    if not found:
        return None
    return theme.scatter(
        "markers",
        [float(value) for _, _, value in found],
        [row for row, _, _ in found],
        [
            f"{theme.named(trial)}<br>median as seen: <b>{latency_text(value)}</b><br>"
            f"{count_text(trial.histogram.total_count)} I/Os: too few independent ones for an interval"
            for _, trial, value in found
        ],
        name="median as seen",
        marker={"symbol": "circle-open", "size": 9, "color": theme.MUTED, "line": {"width": 1.5}},
    )


def _points(
    found: Sequence[tuple[int, TrialContent, Estimate, float]], name: str, symbol: str, color: str
) -> dict[str, Any]:
    return theme.scatter(
        "markers",
        [value for _, _, _, value in found],
        [row for row, _, _, _ in found],
        [_hover(trial, name, estimate) for _, trial, estimate, _ in found],
        legendgroup=name,
        marker={"symbol": symbol, "size": 9, "color": color, "line": {"width": 1.5, "color": color}},
    )


def _hover(trial: TrialContent, name: str, estimate: Estimate) -> str:
    title = f"{theme.named(trial)}<br>{theme.QUANTILE_LABELS[name]}: "
    count = f"{count_text(estimate.sample_count)} I/Os"
    if estimate.value is None:
        return f"{title}<b>at least {latency_text(estimate.low or 0)}</b><br>{count} do not carry it"
    low = "…" if estimate.low is None else latency_text(estimate.low)
    high = "…" if estimate.high is None else latency_text(estimate.high)
    return f"{title}<b>{latency_text(estimate.value)}</b><br>95 % interval {low} to {high}<br>{count}"


def _thresholds(
    trials: Sequence[TrialContent], thresholds: Mapping[str, Sequence[tuple[float, str]]]
) -> dict[str, Any] | None:
    found = [(row, limit, words) for row, trial in enumerate(trials) for limit, words in thresholds.get(trial.name, ())]
    if not found:
        return None
    return theme.scatter(
        "markers",
        [limit for _, limit, _ in found],
        [row for row, _, _ in found],
        [f"{theme.escaped(words)}: <b>{latency_text(limit)}</b>" for _, limit, words in found],
        name="asked by the need",
        marker={"symbol": "line-ns", "size": 20, "line": {"width": 2, "color": theme.INK}, "color": theme.INK},
    )


def _table(trials: Sequence[TrialContent]) -> DataTable:
    rows: list[list[str | int | float | None]] = []
    for trial in trials:
        for name, at in theme.QUANTILES.items():
            estimate = trial.estimate(name)
            if estimate is not None:
                ends = (estimate.value, estimate.low, estimate.high)
                rounded = [None if end is None else round(end) for end in ends]
                rows.append([trial.name, trial.operation, at, *rounded, estimate.sample_count])
        rows.append([trial.name, trial.operation, 1.0, trial.histogram.maximum_ns, None, None, _count(trial)])
    columns = ("trial", "operation", "quantile", "latency_ns", "latency_ns_low", "latency_ns_high", "io_count")
    return DataTable(columns, rows)


def _count(trial: TrialContent) -> int:
    return trial.histogram.total_count
