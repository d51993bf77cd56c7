"""The latency of durable writes over dates: median and p99 of each run, and marks where something changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.history import HistoryRow
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import latency_text

HEIGHT_PX = 380
_LINES = (("durable_write_p50", "median", theme.BLUE), ("durable_write_p99", "p99", theme.VERMILLION))


def over_dates(rows: Sequence[HistoryRow]) -> Figure | None:
    """The figure; None unless two runs have a latency."""
    drawn = [row for row in rows if any(_shown(row.numbers.get(name)) for name, _, _ in _LINES)]
    if len(drawn) < 2:
        return None
    ends = [end for row in drawn for name, _, _ in _LINES for end in _ends(row.numbers.get(name))]
    layout = theme.layout(HEIGHT_PX)
    layout["xaxis"] = theme.axis("when the run began (UTC)", type="date")
    layout["yaxis"] = theme.latency_axis(min(ends), max(ends))
    changed = [row for row in rows if row.changes]
    layout["shapes"] = [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": row.started_utc,
            "x1": row.started_utc,
            "y0": 0,
            "y1": 1,
            "line": {"color": theme.MUTED, "width": 1, "dash": "dot"},
        }
        for row in changed
    ]
    data = [_line([row for row in drawn if row.is_full], *line) for line in _LINES]
    if others := [row for row in drawn if not row.is_full]:
        data.append(_others(others))
    if changed:
        data.append(_marks(changed, max(ends)))
    return Figure(
        key="over-dates",
        title="Durable 4\u00a0KiB writes over dates",
        caption=(
            "From the beginning of a write until its sync call returned, in each run. Whiskers are 95\u00a0% intervals "
            "within a run: another day may differ by more. The lines go through full runs on a quiet machine; a "
            "diamond is another. A triangle is where something changed: point at it."
        ),
        plots=(Plot(data, layout, HEIGHT_PX),),
        table=DataTable(
            ("run", "started_utc", *(f"{name}_{end}_ns" for name, _, _ in _LINES for end in ("value", "low", "high"))),
            [
                [row.run, row.started_utc, *(cell for name, _, _ in _LINES for cell in _cells(row.numbers.get(name)))]
                for row in drawn
            ],
        ),
    )


def _shown(estimate: Estimate | None) -> float | None:
    if estimate is None:
        return None
    return next((one for one in (estimate.value, estimate.observed, estimate.low) if one is not None), None)


def _ends(estimate: Estimate | None) -> list[float]:
    if estimate is None:
        return []
    return [end for end in (_shown(estimate), estimate.low, estimate.high) if end is not None]


def _cells(estimate: Estimate | None) -> list[float | None]:
    return [estimate.value, estimate.low, estimate.high] if estimate else [None] * 3


def _line(rows: Sequence[HistoryRow], name: str, label: str, colour: str) -> Mapping[str, Any]:
    found = [(row, row.numbers[name], value) for row in rows if (value := _shown(row.numbers.get(name))) is not None]
    return theme.scatter(
        "lines+markers",
        [row.started_utc for row, _, _ in found],
        [value for _, _, value in found],
        [_hover(row, label, value) for row, _, value in found],
        name=label,
        error_y=theme.whiskers(((value, one.low, one.high) for _, one, value in found), colour, thickness=1),
        line={"color": colour, "width": 1.5},
        marker={
            "size": 7,
            "color": colour,
            # only a bound or what was seen
            "symbol": ["circle" if one.value is not None else "circle-open" for _, one, _ in found],
        },
        # only a bound or what was seen
    )


def _others(rows: Sequence[HistoryRow]) -> Mapping[str, Any]:
    """Runs that are not to be held against full ones: no line goes through them."""
    found = [
        (row, label, value)
        for name, label, _ in _LINES
        for row in rows
        if (value := _shown(row.numbers.get(name))) is not None
    ]
    return theme.scatter(
        "markers",
        [row.started_utc for row, _, _ in found],
        [value for _, _, value in found],
        [_hover(row, label, value) for row, label, value in found],
        name="quick, busy or cut off",
        marker={"size": 7, "color": theme.MUTED, "symbol": "diamond-open"},
    )


def _hover(row: HistoryRow, label: str, value: float) -> str:
    return f"{theme.escaped(row.run)}<br><b>{label} {latency_text(value)}</b>"


def _marks(rows: Sequence[HistoryRow], top: float) -> Mapping[str, Any]:
    return theme.scatter(
        "markers",
        [row.started_utc for row in rows],
        [top] * len(rows),
        ["<br>".join(map(theme.escaped, row.changes)) for row in rows],
        name="something changed",
        marker={"size": 10, "color": theme.MUTED, "symbol": "triangle-down"},
    )
