"""Every recorded I/O by time and latency: counted into cells, never thinned, the slowest drawn one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import count_text, latency_text, number_text

PANEL_PX, TOP_PX, BOTTOM_PX = 200, 40, 56
TIME_CELLS, LATENCY_CELLS = 240, 60
TRIALS_AT_MOST = 8
SLOWEST = 50
_OPERATIONS = ("read", "write", "trim", "sync")
_SYNC = 3
CAPTION = (
    "All recorded I/Os are here: a cell counts those that were issued in its stretch of time and took so long (shades "
    f"follow the logarithm of the count), and the {SLOWEST} slowest of each trial are drawn one by one."
)


def io_scatter(trials: Sequence[TrialContent]) -> Figure | None:
    """Latency of every I/O over its issue time; None when no trial recorded its I/Os."""
    recorded = [trial for trial in trials if trial.records is not None and trial.records.num_rows]
    if not recorded:
        return None
    shown = recorded[:TRIALS_AT_MOST]
    height, domains = theme.panels(len(shown), PANEL_PX, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=26)
    layout = theme.layout(height, annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX}
    data: list[dict[str, Any]] = []
    rows: list[list[str | int | float | None]] = []
    for number, (trial, domain) in enumerate(zip(shown, domains, strict=True), start=1):
        assert trial.records is not None
        ios = _ios(trial)
        issued_s, latency_ns = ios.issued_s, ios.latency_ns
        x_edges, y_edges, counts = _cells(issued_s, latency_ns)
        data += [_shades(x_edges, y_edges, counts, number), _slowest(ios, number)]
        rows += _rows(trial, x_edges, y_edges, counts)
        last = number == len(shown)
        layout[theme.layout_key("x", number)] = theme.axis(
            "time of issue since the first I/O [s]" if last else "",
            anchor=theme.axis_name("y", number),
            showgrid=False,
            range=[0, float(x_edges[-1])],
        )
        layout[theme.layout_key("y", number)] = theme.latency_axis(
            y_edges[0], y_edges[-1], ticks_at_most=6, domain=domain, anchor=theme.axis_name("x", number)
        )
        text = f"<b>{theme.escaped(trial.label)}</b>  {count_text(latency_ns.size)} I/Os"
        layout["annotations"].append(theme.panel_label(text, number))
    columns = ("trial", "issued_s_from", "issued_s_below", "latency_ns_from", "latency_ns_below", "io_count")
    return Figure(
        key="io-scatter",
        title="Every I/O",
        caption=_caption(len(recorded), len(shown)),
        plots=(Plot(data, layout, height),),
        table=DataTable(columns, rows),
    )


def _caption(found: int, shown: int) -> str:
    if found == shown:
        return CAPTION
    return f"{CAPTION} The first {shown} of {found} recorded trials are drawn; all are in the run's directory ios."


@dataclass(frozen=True, slots=True)
class _Ios:
    """The I/Os that a trial is about: issue since the first one, latency, and what each one was."""

    issued_s: NDArray[np.float64]
    latency_ns: NDArray[np.float64]
    words: str
    size_bytes: NDArray[np.int64]
    offset_bytes: NDArray[np.int64]


def _ios(trial: TrialContent) -> _Ios:
    """The recorded I/Os; a durable write lasts from its issue until the sync call after it returned."""
    records = trial.records
    assert records is not None
    issue, latency = _integers(records, "issue_ns"), _integers(records, "total_latency_ns")
    chosen = np.arange(issue.size)
    operation = _integers(records, "operation")
    words = trial.operation
    if trial.operation == "durable_write":
        order = np.lexsort((issue, _integers(records, "job")))
        at = np.flatnonzero(operation[order] == _SYNC)
        at = at[at > 0]
        syncs, chosen = order[at], order[at - 1]
        latency = latency.copy()
        latency[chosen] = issue[syncs] + latency[syncs] - issue[chosen]
        words = "write + sync"
    elif trial.operation in _OPERATIONS:
        chosen = np.flatnonzero(operation == _OPERATIONS.index(trial.operation))
    return _Ios(
        issued_s=(issue[chosen] - issue.min()) / 1e9,
        latency_ns=np.maximum(latency[chosen], 1).astype(np.float64),
        words=words,
        size_bytes=_integers(records, "size_bytes")[chosen],
        offset_bytes=_integers(records, "offset_bytes")[chosen],
    )


def _integers(records: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(records[name], dtype=np.int64)


def _cells(
    issued_s: NDArray[np.float64], latency_ns: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Edges in time and latency, and the count of each cell, shape (latency, time)."""
    x_edges = np.linspace(0, max(float(issued_s.max()), 1e-9), TIME_CELLS + 1)
    low, high = theme.padded_range(float(latency_ns.min()), float(latency_ns.max()))
    y_edges = np.geomspace(low, high, LATENCY_CELLS + 1)
    counts, _, _ = np.histogram2d(latency_ns, issued_s, bins=(y_edges, x_edges))
    return x_edges, y_edges, counts.astype(np.int64)


def _shades(
    x_edges: NDArray[np.float64], y_edges: NDArray[np.float64], counts: NDArray[np.int64], number: int
) -> dict[str, Any]:
    highest = max(int(counts.max()), 2)
    # shades by the logarithm of the count, while the value itself stays the count, for the label
    stops = [(0.0, "var(--heat-2)"), (np.sqrt(highest) / highest, "var(--heat-3)"), (1.0, "var(--heat-4)")]
    return {
        "type": "heatmap",
        "x": [float(f"{value:.6g}") for value in x_edges],
        "y": [float(f"{value:.5g}") for value in y_edges],
        "z": [[int(count) or None for count in row] for row in counts],
        "hovertemplate": "%{x:.4g} s: <b>%{z} I/Os</b><extra></extra>",
        "hoverongaps": False,
        "zmin": 0,
        "zmax": highest,
        "colorscale": [[float(round(place, 4)), color] for place, color in stops],
        "showscale": False,
        "xaxis": theme.axis_name("x", number),
        "yaxis": theme.axis_name("y", number),
    }


def _slowest(ios: _Ios, number: int) -> dict[str, Any]:
    chosen = np.argsort(ios.latency_ns, kind="stable")[-SLOWEST:][::-1]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"the {SLOWEST} slowest",
        "showlegend": number == 1,
        "legendgroup": "slowest",
        "x": [float(f"{value:.7g}") for value in ios.issued_s[chosen]],
        "y": [float(value) for value in ios.latency_ns[chosen]],
        "text": [
            f"{ios.words} of {count_text(ios.size_bytes[i])} B at byte {count_text(ios.offset_bytes[i])}"
            f"<br><b>{latency_text(ios.latency_ns[i])}</b>, issued at {number_text(ios.issued_s[i], 5)} s"
            for i in chosen
        ],
        "hoverinfo": "text",
        "marker": {"symbol": "circle-open", "size": 6, "color": theme.VERMILLION, "line": {"width": 1.2}},
        "xaxis": theme.axis_name("x", number),
        "yaxis": theme.axis_name("y", number),
    }


def _rows(
    trial: TrialContent, x_edges: NDArray[np.float64], y_edges: NDArray[np.float64], counts: NDArray[np.int64]
) -> list[list[str | int | float | None]]:
    return [
        [
            trial.name,
            round(float(x_edges[column]), 6),
            round(float(x_edges[column + 1]), 6),
            round(float(y_edges[row])),
            round(float(y_edges[row + 1])),
            int(counts[row, column]),
        ]
        for row, column in np.argwhere(counts)
    ]
