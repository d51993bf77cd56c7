"""Numbers over the rounds of a phase: how they converged, and the five rounds that are the measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.metric import metric_of
from drivelab.model.rounds import PhaseRounds, TrackedSeries
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.quantity import Scale, scale_of, value_axis
from drivelab.report.numerals import number_text, percent_text
from drivelab.report.sentences.rounds import RANGE_BOUND, SLOPE_BOUND, tracked_text, varied_phrase

HEIGHT_PX, WINDOW_HEIGHT_PX = 340, 300
LINES_AT_MOST = 8
# drives whose rounds are seen beneath each other, since the answer is about all of them
_OPEN_MAX = 4
_BOUNDS = ((1.1, "110 % of the average", "dash"), (1.0, "average", "solid"), (0.9, "90 % of the average", "dash"))


def steady_convergence(rounds: Sequence[PhaseRounds]) -> Figure | None:
    """What is tracked over all rounds, and beside it the combinations that differ in one factor; None without any."""
    judged = [one for one in rounds if one.tracked]
    if not judged:
        return None
    several = len({one.target for one in judged}) > 1
    return Figure(
        key="steady-convergence",
        title="Steady state convergence",
        caption=(
            "One point for each round. The band holds the five rounds of the measurement, over which the thick lines "
            f"decide: their range is {RANGE_BOUND} of the average, and the straight line through them moves by "
            f"{SLOPE_BOUND} of it."
        ),
        plots=tuple(_convergence(one, one.target if several else "") for one in judged),
        table=DataTable(
            ("target", "phase", "workload", "levels", "metric", "round", "value", "is_tracked"),
            [row for one in judged for row in _rows(one)],
        ),
        open_count=_OPEN_MAX,
    )


def _convergence(one: PhaseRounds, target: str) -> Plot:
    tracked = list(one.tracked)
    lines = [*tracked, *(series for series in one.beside if series.levels not in [each.levels for each in tracked])]
    lines = [series for series in lines if series.unit == tracked[0].unit][: LINES_AT_MOST + len(tracked)]
    known = [value for series in lines for value in series.values if value]
    if not known:
        known = [1.0]
    scale = scale_of(known, tracked[0].unit, is_log=max(known) > 8 * min(known))
    layout = theme.layout(HEIGHT_PX + theme.LEGEND_ROW_PX * len(lines))
    theme.legend_rows(layout, len(lines))
    layout["xaxis"] = _round_axis(1, one.rounds)
    layout["yaxis"] = value_axis(scale, min(known), max(known), _axis_words(tracked[0]))
    first, last = one.window
    layout["shapes"] = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": first - 0.3,
            "x1": last + 0.3,
            "y0": 0,
            "y1": 1,
            "fillcolor": theme.FILL,
            "line": {"width": 0},
            "layer": "below",
        }
    ]
    data = [_line(series, place, scale, is_tracked=place < len(tracked)) for place, series in enumerate(lines)]
    return Plot(data, layout, layout["height"], ", ".join(filter(None, (target, one.phase))))


def _axis_words(series: TrackedSeries) -> str:
    return {"iops": "IOPS", "total_latency_ns_mean": "mean latency"}.get(series.metric, metric_of(series.metric).words)


def _round_axis(first: int, last: int) -> dict[str, Any]:
    step = max(1, -(-(last - first + 1) // 13))
    ticks = list(range(first, last + 1, step))
    return theme.axis("round", range=[first - 0.5, last + 0.5], tickvals=ticks, ticktext=[str(tick) for tick in ticks])


def _line(series: TrackedSeries, place: int, scale: Scale, *, is_tracked: bool) -> Mapping[str, Any]:
    points = [(number, value) for number, value in enumerate(series.values, start=1) if value is not None]
    label = ", ".join(filter(None, (series.workload, varied_phrase(series.levels))))
    color = theme.SERIES[place % len(theme.SERIES)]
    return theme.scatter(
        "lines+markers",
        [number for number, _ in points],
        [scale.drawn(value) for _, value in points],
        [f"{theme.escaped(label)}<br>round {number}: <b>{scale.exact(value)}</b>" for number, value in points],
        name=theme.escaped(label) + (" (tracked)" if is_tracked else ""),
        line={"color": color, "width": 2.6 if is_tracked else 1, "dash": theme.DASHES[place // 7 % 4]},
        marker={"size": 6 if is_tracked else 4, "color": color},
    )


def _rows(one: PhaseRounds) -> Iterator[list[Cell]]:
    for is_tracked, members in ((1, one.tracked), (0, one.beside)):
        for series in members:
            words = varied_phrase(series.levels)
            for number, value in enumerate(series.values, start=1):
                yield [one.target, one.phase, series.workload, words, series.metric, number, value, is_tracked]


def steady_window(rounds: Sequence[PhaseRounds]) -> Figure | None:
    """The five rounds of each tracked number, with its average, 90 and 110 % of it, and the best straight line."""
    found = [(one, series) for one in rounds for series in one.tracked if series.window is not None]
    if not found:
        return None
    return Figure(
        key="steady-window",
        title="Steady state measurement window",
        caption=(
            "The five rounds that decide, their average with 10\u00a0% above and below, and the least-squares line "
            "through them. The range of 20\u00a0% is between any two of the five, not to the average."
        ),
        plots=tuple(_window(one, series) for one, series in found),
        table=DataTable(
            ("target", "phase", "workload", "levels", "metric", "average", "range_share", "slope_share", "is_steady"),
            [
                [one.target, one.phase, series.workload, varied_phrase(series.levels), series.metric]
                + ([w.average, w.range_share, w.slope_share, int(w.is_steady)] if (w := series.window) else [])
                for one, series in found
            ],
        ),
    )


def _window(one: PhaseRounds, series: TrackedSeries) -> Plot:
    assert series.window is not None
    first, last = one.window
    average, slope, middle = series.window.average, series.window.slope, (first + last) / 2
    values = [(number, value) for number in range(first, last + 1) if (value := series.values[number - 1]) is not None]
    ends = [value for _, value in values] + [0.88 * average, 1.12 * average]
    scale = scale_of([average], series.unit, is_log=False)
    layout = theme.layout(WINDOW_HEIGHT_PX)
    layout["xaxis"] = _round_axis(first, last)
    layout["yaxis"] = value_axis(scale, min(ends), max(ends), _axis_words(series)) | {
        "range": [scale.drawn(min(ends)), scale.drawn(max(ends))],
        "rangemode": "normal",
    }
    data = [
        theme.scatter(
            "lines",
            [first, last],
            [scale.drawn(part * average)] * 2,
            name=name,
            line={"color": theme.MUTED, "width": 1, "dash": dash},
            showlegend=part != 0.9,
        )
        for part, name, dash in _BOUNDS
    ]
    line = [scale.drawn(average + slope * (number - middle)) for number in (first, last)]
    formula = f"{number_text(scale.drawn(slope))} · round + {number_text(scale.drawn(average - slope * middle))}"
    data.append(
        theme.scatter(
            "lines", [first, last], line, name=f"best line: {formula}", line={"color": theme.VERMILLION, "width": 1.5}
        )
    )
    data.append(
        theme.scatter(
            "markers",
            [number for number, _ in values],
            [scale.drawn(value) for _, value in values],
            [f"round {number}: <b>{tracked_text(series.metric, value)}</b>" for number, value in values],
            name=f"measured (range {percent_text(series.window.range_share)}, "
            f"line {percent_text(series.window.slope_share)})",
            marker={"size": 8, "color": theme.BLUE},
        )
    )
    theme.legend_rows(layout, 4)
    layout["height"] += 4 * theme.LEGEND_ROW_PX
    words = ", ".join(filter(None, (one.phase, series.workload, varied_phrase(series.levels))))
    return Plot(data, layout, layout["height"], words)
