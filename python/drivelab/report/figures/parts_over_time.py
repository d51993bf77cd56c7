"""The parts of the latency over the course of the traced pass, stacked: what grows when operations become slower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drivelab.model.trace import LAYERS, PARTS, Part
from drivelab.report.content import TracedCombination
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.part_style import answered, part_marker, part_title
from drivelab.report.numerals import DisplayUnit, column_unit, count_text, latency_text, number_text
from drivelab.report.part_series import PartSeries, part_series, shown_parts
from drivelab.report.sentences.explanation import operation_words

PANEL_PX, TOP_PX, BOTTOM_PX, GAP_PX = 150, 44, 52, 26
PANELS_PER_PLOT, DRAWN_AT_MOST = 3, 12
COLUMNS_AT_MOST = 120
CAPTION = (
    "Each column is one stretch of the traced pass; its height is the mean latency of the operations that began in it, "
    "and its colours are the mean of each part, stacked in the order of the legend from the bottom up. A part that "
    "swells where a column is high is what made those operations slow. Nothing began where there is no column."
)


def parts_over_time(traced: Sequence[TracedCombination]) -> Figure | None:
    """The parts over time of all that was traced; None when no operation was stored."""
    found = [(one, series) for one in answered(traced) if (series := part_series(one, COLUMNS_AT_MOST)) is not None]
    if not found:
        return None
    shown = found[:DRAWN_AT_MOST]
    sheets = [shown[begin : begin + PANELS_PER_PLOT] for begin in range(0, len(shown), PANELS_PER_PLOT)]
    return Figure(
        key="parts-over-time",
        title="The parts of the latency over time",
        caption=CAPTION + theme.shown_words(len(shown), len(found), "traced combinations"),
        plots=tuple(_plot(sheet, _name(sheets, place)) for place, sheet in enumerate(sheets)),
        table=_table(found),
    )


def _name(sheets: Sequence[Sequence[object]], place: int) -> str:
    """Which combinations a drawing holds, where there are several drawings."""
    if len(sheets) == 1:
        return ""
    first = 1 + sum(len(sheet) for sheet in sheets[:place])
    last = first + len(sheets[place]) - 1
    return f"combination {first}" if first == last else f"combinations {first} to {last}"


def _plot(sheet: Sequence[tuple[TracedCombination, PartSeries]], name: str) -> Plot:
    height, domains = theme.panels(len(sheet), PANEL_PX, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=GAP_PX)
    layout = theme.layout(height, annotations=[], barmode="stack", bargap=0, hovermode="x")
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX}
    layout["legend"]["traceorder"] = "normal"
    data: list[dict[str, Any]] = []
    for number, ((one, series), domain) in enumerate(zip(sheet, domains, strict=True), start=1):
        unit = column_unit(series.means_ns.sum(axis=0).tolist(), "ns")
        data += _stack(shown_parts(one), series, unit, number)
        layout[theme.layout_key("x", number)] = theme.axis(
            "time since the first traced operation [s]" if number == len(sheet) else "",
            anchor=theme.axis_name("y", number),
            range=[0, float(series.edges_s[-1])],
            showgrid=False,
        )
        layout[theme.layout_key("y", number)] = theme.axis(
            f"latency [{unit.name}]",
            anchor=theme.axis_name("x", number),
            domain=domain,
            rangemode="tozero",
            nticks=5,
        )
        width = latency_text(float(series.edges_s[1]) * 1e9)
        count = count_text(int(series.counts.sum()))
        words = f"{count} {operation_words(one.explanation)}s, columns of {width}"
        text = f"<b>{theme.escaped(one.label)}</b>  <span style='font-size:11px'>{words}</span>"
        layout["annotations"].append(theme.panel_label(text, number))
    return Plot(data, layout, height, name)


def _stack(parts: Sequence[Part], series: PartSeries, unit: DisplayUnit, number: int) -> list[dict[str, Any]]:
    edges = series.edges_s
    middles = [float(f"{value:.7g}") for value in (edges[:-1] + edges[1:]) / 2]
    texts = [_hover(parts, series, column) for column in range(series.counts.size)]
    found = []
    for row, part in enumerate(parts):
        is_last = part == parts[-1]
        found.append(
            {
                "type": "bar",
                "name": part_title(part),
                "legendgroup": part,
                "showlegend": number == 1,
                "x": middles,
                "y": [float(f"{value / unit.scale:.5g}") for value in series.means_ns[row]],
                "width": float(f"{edges[1]:.7g}"),
                "marker": part_marker(part),
                # one label tells everything about a column
                "hoverinfo": "text" if is_last else "skip",
                "hovertext": texts if is_last else None,
                "xaxis": theme.axis_name("x", number),
                "yaxis": theme.axis_name("y", number),
            }
        )
    return found


def _hover(shown: Sequence[Part], series: PartSeries, column: int) -> str:
    begin, end = series.edges_s[column], series.edges_s[column + 1]
    when = f"{number_text(float(begin))} to {number_text(float(end))} s"
    count = int(series.counts[column])
    if not count:
        return f"{when}: nothing began"
    means = series.means_ns[:, column]
    parts = "".join(f"<br>{part_title(part)} {latency_text(float(means[row]))}" for row, part in enumerate(shown))
    mean, slowest = latency_text(float(means.sum())), latency_text(float(series.slowest_ns[column]))
    return f"{when}: {count_text(count)} operations<br><b>mean {mean}</b>, slowest {slowest}{parts}"


def _table(found: Sequence[tuple[TracedCombination, PartSeries]]) -> DataTable:
    # one that has no layers has none of their time
    parts = (PARTS[0], LAYERS, *PARTS[1:]) if any(LAYERS in shown_parts(one) for one, _ in found) else PARTS
    names = tuple(f"{part}_mean_ns" for part in parts)
    columns = ("trial", "operation", "start_s", "duration_s", "operation_count", *names, "latency_max_ns")
    rows: list[list[Cell]] = []
    for one, series in found:
        about = [one.explanation.trial, one.explanation.operation]
        for column in np.flatnonzero(series.counts):
            begin, width = float(series.edges_s[column]), float(series.edges_s[1])
            known = dict(zip(shown_parts(one), series.means_ns[:, column].tolist(), strict=True))
            means = [round(known.get(part, 0.0), 1) for part in parts]
            counted = [int(series.counts[column]), *means, int(series.slowest_ns[column])]
            rows.append([*about, round(begin, 6), round(width, 9), *counted])
    return DataTable(columns, rows)
