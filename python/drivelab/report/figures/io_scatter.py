"""Every recorded I/O by time and latency: counted into cells, never thinned, the slowest drawn one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.io_cells import COLUMNS_AT_MOST, RECORD_COLUMNS, IoCells, io_cells
from drivelab.report.numerals import count_text, latency_text, number_text

PANEL_PX, TOP_PX, BOTTOM_PX = 200, 40, 56
TRIALS_AT_MOST, TRIALS_IN_FULL_WIDTH = 8, 4
SLOWEST = 50
CAPTION = (
    "All recorded I/Os are here: a cell counts those that were issued in its stretch of time and took so long (shades "
    f"follow the logarithm of the count), and the {SLOWEST} slowest of each trial are drawn one by one."
)


def io_scatter(trials: Sequence[TrialContent]) -> Figure | None:
    """Latency of every I/O over its issue time; None when no trial recorded its I/Os."""
    recorded = [trial for trial in trials if trial.records is not None and trial.records.num_rows]
    counted = _counted(recorded[:TRIALS_AT_MOST])
    if not counted:
        return None
    height, domains = theme.panels(len(counted), PANEL_PX, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=26)
    layout = theme.layout(height, annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX}
    data: list[Mapping[str, Any]] = []
    rows: list[Sequence[Cell]] = []
    for number, ((trial, cells), domain) in enumerate(zip(counted, domains, strict=True), start=1):
        data += [_shades(cells, number), _slowest(trial, cells, number)]
        rows += _rows(trial, cells)
        last = number == len(counted)
        layout[theme.layout_key("x", number)] = theme.axis(
            "time of issue since the first I/O [s]" if last else "",
            anchor=theme.axis_name("y", number),
            showgrid=False,
            range=[0, float(cells.time_edges_s[-1])],
        )
        ends = cells.latency_edges_ns[[0, -1]]
        layout[theme.layout_key("y", number)] = theme.latency_axis(
            *ends, ticks_at_most=6, domain=domain, anchor=theme.axis_name("x", number)
        )
        text = f"<b>{theme.named(trial)}</b>  {count_text(cells.io_count)} I/Os"
        layout["annotations"].append(theme.panel_label(text, number))
    columns = ("trial", "issued_s_from", "issued_s_below", "latency_ns_from", "latency_ns_below", "io_count")
    return Figure(
        key="io-scatter",
        title="Every I/O",
        caption=_caption(len(recorded), len(counted)) + theme.invalid_words([trial for trial, _ in counted]),
        plots=(Plot(data, layout, height),),
        table=DataTable(columns, rows),
    )


def _counted(trials: Sequence[TrialContent]) -> list[tuple[TrialContent, IoCells]]:
    """The trials with their I/Os in cells: fewer columns where there are many trials, so that the page stays small."""
    columns = COLUMNS_AT_MOST if len(trials) <= TRIALS_IN_FULL_WIDTH else COLUMNS_AT_MOST // 2
    found = []
    for trial in trials:
        assert trial.records is not None
        batches = trial.records.batches(RECORD_COLUMNS)
        cells = io_cells(batches, trial.operation, slowest_count=SLOWEST, columns_at_most=columns)
        if cells is not None:
            found.append((trial, cells))
    return found


def _caption(found: int, shown: int) -> str:
    if found == shown:
        return CAPTION
    return f"{CAPTION} The first {shown} of {found} recorded trials are drawn; all are in the run's directory ios."


def _shades(cells: IoCells, number: int) -> dict[str, Any]:
    highest = max(int(cells.counts.max()), 2)
    return {
        "type": "heatmap",
        "x": [float(f"{value:.6g}") for value in cells.time_edges_s],
        "y": [float(f"{value:.5g}") for value in cells.latency_edges_ns],
        "z": [[round(math.log(count), 2) if count else None for count in row] for row in cells.counts.tolist()],
        "hoverinfo": "skip",
        "zmin": 0,
        "zmax": round(math.log(highest), 2),
        "colorscale": [[0.0, "var(--heat-2)"], [0.5, "var(--heat-3)"], [1.0, "var(--heat-4)"]],
        "showscale": False,
        "xaxis": theme.axis_name("x", number),
        "yaxis": theme.axis_name("y", number),
    }


def _slowest(trial: TrialContent, cells: IoCells, number: int) -> dict[str, Any]:
    ios = cells.slowest
    issued_s = (ios.issue_ns - cells.first_issue_ns) / 1e9
    words = "write + sync" if trial.operation == "durable_write" else trial.operation
    return theme.scatter(
        "markers",
        [float(f"{value:.7g}") for value in issued_s],
        [float(value) for value in ios.latency_ns],
        [
            f"{words} of {count_text(ios.size_bytes[i])} B at byte {count_text(ios.offset_bytes[i])}"
            f"<br><b>{latency_text(ios.latency_ns[i])}</b>, issued at {number_text(issued_s[i], 5)} s"
            for i in range(issued_s.size)
        ],
        name=f"the {SLOWEST} slowest",
        showlegend=number == 1,
        legendgroup="slowest",
        marker={"symbol": "circle-open", "size": 6, "color": theme.VERMILLION, "line": {"width": 1.2}},
        on=(number, number),
    )


def _rows(trial: TrialContent, cells: IoCells) -> list[Sequence[Cell]]:
    """One row per cell that holds anything."""
    row, column = np.nonzero(cells.counts)
    times, latencies = np.round(cells.time_edges_s, 6), np.round(cells.latency_edges_ns).astype(np.int64)
    columns = (
        times[column].tolist(),
        times[column + 1].tolist(),
        latencies[row].tolist(),
        latencies[row + 1].tolist(),
        cells.counts[row, column].tolist(),
    )
    return [[trial.name, *cell] for cell in zip(*columns, strict=True)]
