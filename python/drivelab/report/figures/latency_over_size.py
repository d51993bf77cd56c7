"""Time of a durable write over its size, both logarithmic: do the bytes cost, or the commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.units import format_bytes
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import count_text, latency_text

HEIGHT_PX = 380
CAPTION = (
    "From the begin of the write call until its sync call returned. A flat line: the commands cost, not the bytes. "
    "Whiskers are 95\u00a0% intervals."
)
_Series = dict[str, list[TrialContent]]


def latency_over_size(trials: Sequence[TrialContent]) -> Figure | None:
    """The median and p99 of durable writes over their size; None when no series has two sizes."""
    series = _series(trials)
    if not series:
        return None
    points = [(trial, trial.estimate(name)) for members in series.values() for trial in members for name in _SHOWN]
    ends = [end for _, e in points if e for end in (e.value, e.low, e.high) if end]
    layout = theme.layout(HEIGHT_PX)
    sizes = sorted({size for members in series.values() for t in members if (size := t.block_size_bytes)})
    layout["xaxis"] = theme.axis(
        "size of a write [unit at each tick, log scale]",
        type="log",
        tickmode="array",
        tickvals=sizes,
        ticktext=[format_bytes(size) for size in sizes],
    )
    layout["yaxis"] = theme.latency_axis(min(ends), max(ends), ticks_at_most=8)
    data = [
        _line(label if len(series) > 1 else "", members, name, place)
        for place, (label, members) in enumerate(series.items())
        for name in _SHOWN
        if any(_value(trial, name) for trial in members)
    ]
    return Figure(
        key="latency-over-size",
        title="Time of a durable write over its size",
        caption=CAPTION if len(series) > 1 else f"{next(iter(series))}. {CAPTION}",
        plots=(Plot(data, layout, HEIGHT_PX),),
        table=_table(series),
    )


_SHOWN = ("p50", "p99")


def _series(trials: Sequence[TrialContent]) -> _Series:
    """Trials that differ in nothing but size and repeat, by what they have in common."""
    found: _Series = {}
    for trial in trials:
        if trial.is_durable and trial.block_size_bytes and _value(trial, "p50"):
            found.setdefault(_common(trial), []).append(trial)
    kept = {label: members for label, members in found.items() if len({t.block_size_bytes for t in members}) > 1}
    return {label: sorted(members, key=lambda t: t.block_size_bytes or 0) for label, members in kept.items()}


def _common(trial: TrialContent) -> str:
    """Everything set but the size, in words."""
    workload, row = trial.workload, trial.row
    method = workload.get("durability", {}).get("method", "none")
    levels = [str(v) for k, v in row.items() if k.startswith("asked_") and k not in _NO_FACTORS and v is not None]
    parts = [str(row.get("target") or ""), *levels, str(workload.get("file_state", "")), method]
    parts += ["direct"] if workload.get("direct") else []
    return " · ".join(part for part in parts if part and part != "none")


_NO_FACTORS = ("asked_backend", "asked_direct", "asked_queue_depth", "asked_job_count", "asked_block_size")


def _value(trial: TrialContent, name: str) -> float | None:
    estimate = trial.estimate(name)
    return estimate.value if estimate else None


def _line(label: str, members: Sequence[TrialContent], name: str, place: int) -> dict[str, Any]:
    symbol, quantile_color = theme.QUANTILE_MARKS[name]
    found = [(t, e, e.value) for t in members if (e := t.estimate(name)) and e.value is not None]
    color = theme.SERIES[place % len(theme.SERIES)] if place else quantile_color
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": f"{theme.QUANTILE_LABELS[name]}{', ' if label else ''}{theme.escaped(label)}",
        "x": [trial.block_size_bytes for trial, _, _ in found],
        "y": [value for _, _, value in found],
        "text": [_hover(trial, name, estimate) for trial, estimate, _ in found],
        "hoverinfo": "text",
        "line": {"color": color, "width": 1.6, "dash": "solid" if name == "p50" else "dot"},
        "marker": {"symbol": symbol, "size": 8, "color": color},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, (e.high or v) - v) for _, e, v in found],
            "arrayminus": [max(0.0, v - (e.low or v)) for _, e, v in found],
            "color": color,
            "thickness": 1.2,
            "width": 4,
        },
    }


def _hover(trial: TrialContent, name: str, estimate: Estimate) -> str:
    low = "…" if estimate.low is None else latency_text(estimate.low)
    high = "…" if estimate.high is None else latency_text(estimate.high)
    return (
        f"{theme.escaped(trial.label)}<br>{theme.QUANTILE_LABELS[name]}: <b>{latency_text(estimate.value or 0)}</b>"
        f"<br>95 % interval {low} to {high}<br>{count_text(estimate.sample_count)} operations"
    )


def _table(series: _Series) -> DataTable:
    rows: list[list[str | int | float | None]] = []
    for label, members in series.items():
        for trial in members:
            for name in _SHOWN:
                e = trial.estimate(name)
                if e and e.value is not None:
                    ends = [None if end is None else round(end) for end in (e.value, e.low, e.high)]
                    size = trial.block_size_bytes
                    rows.append([label, trial.name, size, theme.QUANTILES[name], *ends, e.sample_count])
    names = ("series", "trial", "block_size_bytes", "quantile")
    return DataTable((*names, "latency_ns", "latency_ns_low", "latency_ns_high", "operation_count"), rows)
