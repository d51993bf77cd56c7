"""The distribution of each part of the latency, on the axis that stretches the tail: which part makes the tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drivelab.model.histogram import Histogram
from drivelab.model.trace import Part
from drivelab.report.content import TracedCombination
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.latency_cdf import last_quantile, level_rows, levels_up_to, nines, share_axis
from drivelab.report.figures.part_style import PART_COLOURS, PART_DASHES, answered, part_title
from drivelab.report.latency_bins import quantiles_ns
from drivelab.report.numerals import count_text, latency_text, number_text, percent_text
from drivelab.report.part_series import part_histograms, zero_share

HEIGHT_PX = 380
DRAWN_AT_MOST = 8
LATENCY = "latency"
CAPTION = (
    "Read it from the side: at the height of 99 % stands what each part took at most in 99 % of the operations. The "
    "part whose line runs beside that of the whole latency in the upper half makes the slow operations. A line begins "
    "at the share of operations that do not have the part at all, and ends at the last quantile that their number "
    "carries. Quantiles of parts do not add up to those of the latency: the slow operations of one part need not be "
    "those of another."
)


def part_cdf(traced: Sequence[TracedCombination]) -> Figure | None:
    """The distributions of the parts, one drawing for each traced combination; None when no operations were stored."""
    found = [(one, histograms) for one in answered(traced) if (histograms := part_histograms(one))]
    found = [(one, histograms) for one, histograms in found if _last_quantile(one, LATENCY, histograms) > 0.5]
    if not found:
        return None
    shown = found[:DRAWN_AT_MOST]
    return Figure(
        key="part-cdf",
        title="The tail of each part",
        caption=CAPTION + theme.shown_words(len(shown), len(found), "traced combinations"),
        plots=tuple(_plot(one, histograms, has_name=len(found) > 1) for one, histograms in shown),
        table=_table(found),
    )


def _last_quantile(traced: TracedCombination, name: str, histograms: Mapping[str, Histogram]) -> float:
    """The highest quantile of a part that the operations carry, as dependent as they are."""
    explanation = traced.explanation
    told = {part.part: part.p99 for part in explanation.parts} | {LATENCY: explanation.traced_p99_ns}
    return last_quantile(histograms[name], told.get(name))


def _plot(traced: TracedCombination, histograms: Mapping[str, Histogram], *, has_name: bool) -> Plot:
    last = {name: _last_quantile(traced, name, histograms) for name in histograms}
    drawn = {name: one for name, one in histograms.items() if one.maximum_ns > 0 and last[name] > 0}
    lines = [_line(name, histogram, last[name]) for name, histogram in drawn.items()]
    ends = [value for line in lines for value in line["x"]]
    layout = theme.layout(HEIGHT_PX)
    layout["xaxis"] = theme.latency_axis(min(ends), max(ends))
    layout["xaxis"]["title"]["text"] = layout["xaxis"]["title"]["text"].replace("latency", "time", 1)
    layout["yaxis"] = share_axis(max(nines(last[name]) for name in drawn))
    layout["yaxis"]["title"]["text"] = "operations at or below [%]"
    return Plot(lines, layout, HEIGHT_PX, traced.label if has_name else "")


def _line(name: str, histogram: Histogram, last: float) -> dict[str, Any]:
    levels = levels_up_to(last)
    values = quantiles_ns(histogram, levels)
    drawn = values > 0
    words = "whole latency" if name == LATENCY else part_title(name)
    total = histogram.total_count
    texts = [
        f"{words}<br>p{number_text(100 * at, 5)}: <b>{latency_text(value)}</b>"
        f"<br>longer in {count_text((1 - at) * total)} of {count_text(total)} operations"
        for at, value in zip(levels[drawn], values[drawn], strict=True)
    ]
    without = zero_share(histogram)
    is_whole = name == LATENCY
    part: Part = next((one for one in PART_COLOURS if one == name), "device")
    return theme.scatter(
        "lines",
        [float(f"{value:.5g}") for value in values[drawn]],
        [round(nines(at), 4) for at in levels[drawn]],
        texts,
        name=words + (f" (none in {percent_text(without)})" if without > 0.0005 else ""),
        line={
            "color": theme.INK if is_whole else PART_COLOURS[part],
            "dash": "solid" if is_whole else PART_DASHES[part],
            "width": 2.6 if is_whole else 1.8,
        },
    )


def _table(found: Sequence[tuple[TracedCombination, Mapping[str, Histogram]]]) -> DataTable:
    rows: list[list[Cell]] = []
    for one, histograms in found:
        for name, histogram in histograms.items():
            last = _last_quantile(one, name, histograms)
            levels = levels_up_to(last) if last > 0 else np.array([0.5])
            rows += level_rows([one.explanation.trial, one.explanation.operation, name], histogram, levels)
    return DataTable(("trial", "operation", "part", "quantile", "duration_ns"), rows)
