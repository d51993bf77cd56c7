"""Throughput over time, and over the bytes moved: a line per trial, the colour tells its levels, repeats are thin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.finding import VOLUME_CODES
from drivelab.model.judged_metric import THROUGHPUT, is_counted
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.throughput_course import ThroughputChange, ThroughputCourse
from drivelab.model.units import format_decimal_bytes, format_rate_bytes_per_s
from drivelab.model.workload import OPERATIONS
from drivelab.report.combination_labels import combination_labels, row_words
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import column_unit, number_text, percent_text

Axis = Literal["time", "bytes"]

CHANGE_SYMBOL, CLIFF_SYMBOL = "diamond-open", "diamond"
MARKS_CAPTION = (
    "A diamond is where the level changes, a filled one where it falls to 0.7 or less and stays there (a cliff). "
    "A wide band is the last five rounds of 5 % of the capacity where the throughput was steady."
)
HEIGHT_PX, _LEGEND_ROW_PX = 300, 20
COLUMNS_AT_MOST = 300
# as many lines as colours and dashes tell apart
LEVELS_PER_PLOT, PLOTS_AT_MOST = 7, 12
REPEATS_AT_MOST = 5
_LEGEND = (
    "The legend says what the last tenth of the trial is of the first, and the throughput of both (medians over the "
    "repeats): a level that falls and stays low is a cache, or spare room, that is used up. "
)
_CAPTION = (
    "The second drawing of each drive has the bytes moved below it: what a cache holds can be read from it. "
    + MARKS_CAPTION
)
_TITLES: dict[Axis, str] = {"time": "time since the measured window began [s]", "bytes": "moved until then [GB]"}
_FALLS = VOLUME_CODES | {"throughput-cliff"}


@dataclass(frozen=True, slots=True)
class _Series:
    """Throughput of one trial in its stretches of time, and what was moved until the middle of each."""

    middle_s: NDArray[np.float64]
    bytes_per_s: NDArray[np.float64]
    moved_bytes: NDArray[np.float64]
    course: ThroughputCourse | None = None

    def places(self, axis: Axis) -> NDArray[np.float64]:
        """Where its stretches lie: s, or GB."""
        return self.middle_s if axis == "time" else self.moved_bytes / 1e9


def throughput_over_time(trials: Sequence[TrialContent], answer: RunAnswer) -> Figure | None:
    """The throughput over time of the workloads that are judged by it; None when there are none.

    Parameters
    ----------
    trials : sequence of TrialContent
        With their intervals.
    """
    places: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        if one.judged_metric == THROUGHPUT:
            places.setdefault((one.target, one.workload), []).append(one)
    plots: list[Plot] = []
    rows: list[list[str | int | float | None]] = []
    is_cut = False
    # where it rests to see a burst come again, the last tenth over the first says nothing
    has_tenths = not answer.buckets
    fell = {trial.name for trial in trials if any(one.code in _FALLS for one in trial.findings)}
    bursts = {
        (target, bucket.token == "bytes"): bucket.base_per_s or bucket.burst_per_s or 0.0
        for target, bucket in answer.buckets
    }

    def place(members: Sequence[CombinationResult]) -> tuple[bool, bool, float]:
        """What fell is what the picture is for; where the end of a burst was watched for, the slowest small reads."""
        is_large = not all(is_counted(THROUGHPUT, one.block_size_bytes) for one in members)
        own = bursts.get((members[0].target, is_large), 0.0)
        return not any(fell & set(one.trials) for one in members), bool(bursts) and is_large, own

    ordered = sorted(places.values(), key=place)
    for combinations in ordered:
        named = list(zip(combinations, _labels(combinations), strict=True))
        for begin in range(0, len(named), LEVELS_PER_PLOT):
            lines = [
                (one, label, found)
                for one, label in named[begin : begin + LEVELS_PER_PLOT]
                if (found := _series_of(one, trials, answer.courses))
            ]
            is_cut = is_cut or (bool(lines) and len(plots) >= PLOTS_AT_MOST)
            if lines and len(plots) < PLOTS_AT_MOST:
                plots += [_plot(lines, axis, has_tenths=has_tenths) for axis in _TITLES]
            rows += [row for _, label, found in lines for name, series in found for row in _rows(label, name, series)]
    if not plots:
        return None
    return Figure(
        key="throughput-over-time",
        title="Throughput over time",
        caption=f"Bytes moved in each stretch of time, over its length. {_LEGEND if has_tenths else ''}{_CAPTION}"
        + (f" Drawn are the first {PLOTS_AT_MOST}; the data below hold more." if is_cut else ""),
        plots=tuple(plots),
        table=DataTable(("levels", "trial", "time_s", "moved_bytes", "throughput_bytes_per_s"), rows),
    )


def _labels(combinations: Sequence[CombinationResult]) -> list[str]:
    labels = combination_labels(combinations)
    words = [row_words(labels.names, row) for row in labels.rows]
    return [text or one.label for text, one in zip(words, combinations, strict=True)]


def _series_of(
    combination: CombinationResult, trials: Sequence[TrialContent], courses: Mapping[str, ThroughputCourse]
) -> list[tuple[str, _Series]]:
    """Names and series of the first repeats of a combination."""
    found: list[tuple[str, _Series]] = []
    for trial in trials:
        if not _is_of(trial, combination) or len(found) == REPEATS_AT_MOST:
            continue
        series = throughput_series(trial.intervals, float(trial.engine.get("measured_ns") or 0))
        if series is not None:
            found.append((trial.name, replace(series, course=courses.get(trial.name))))
    return found


def _is_of(trial: TrialContent, combination: CombinationResult) -> bool:
    return trial.name in combination.trials


def throughput_series(intervals: pa.Table | None, measured_ns: float) -> _Series | None:
    """Throughput over time, neighbouring intervals joined where there are more than fit; None below two of them."""
    if intervals is None or intervals.num_rows == 0:
        return None
    total = pc.and_(pc.equal(intervals["latency"], "total"), pc.is_in(intervals["operation"], pa.array(OPERATIONS)))
    rows = intervals.filter(total)
    number, moved = np.asarray(rows["interval"], np.int64), np.asarray(rows["bytes"], np.float64)
    if number.size == 0 or number.max() < 1:
        return None
    joined = -(-(int(number.max()) + 1) // COLUMNS_AT_MOST)
    column = number // joined
    size = int(column.max()) + 1
    # an interval in which nothing was completed has no row, and yet it took its time
    begin = joined * np.arange(size) * float(rows["duration_ns"][0].as_py())
    end = np.append(begin[1:], max(measured_ns, begin[-1] + 1))
    if size > 1 and end[-1] - begin[-1] < (end[0] - begin[0]) / 2:
        # too short to be a stretch of its own: one I/O more or less in it looks like a cliff
        column, size = np.minimum(column, size - 2), size - 1
        begin, end = begin[:-1], np.append(end[:-2], end[-1])
    if size < 2:
        return None
    sums = np.bincount(column, weights=moved, minlength=size)
    return _Series((begin + end) / 2e9, sums / ((end - begin) / 1e9), np.cumsum(sums) - sums / 2)


def _plot(
    lines: Sequence[tuple[CombinationResult, str, list[tuple[str, _Series]]]], axis: Axis, *, has_tenths: bool
) -> Plot:
    # one line of the legend for each level, above the drawing: its numbers are part of it
    height = HEIGHT_PX + _LEGEND_ROW_PX * len(lines)
    layout = theme.layout(height)
    layout["margin"] |= {"t": 14 + _LEGEND_ROW_PX * len(lines)}
    layout["legend"] |= {"orientation": "v"}
    series = [one for _, _, found in lines for _, one in found]
    unit = column_unit([float(np.median(one.bytes_per_s)) for one in series], "B/s")
    longest = max(float(one.places(axis)[-1]) for one in series)
    layout["xaxis"] = theme.axis(_TITLES[axis], range=[0, 1.02 * longest])
    layout["yaxis"] = theme.axis(f"throughput [{unit.name}]", rangemode="tozero")
    data: list[Mapping[str, Any]] = []
    marks: list[Mapping[str, Any]] = []
    for place, (one, label, found) in enumerate(lines):
        told, style = _how_far_it_fell(one) if has_tenths else "", _style(label, place, unit.scale)
        named = theme.escaped(f"{label}: {told}" if told else label)
        for number, (name, each) in enumerate(found):
            data.append(_line(style, name, each, axis, _drawn(place, named, is_first=number == 0)))
        # those of the first repeat only: five diamonds beside each other hide the line
        marks += course_marks(found[0][1].course, axis, style)
    first = lines[0][0]
    over = "" if axis == "time" else ", over the bytes moved"
    return Plot([*data, *marks], layout, height, f"{first.label} on {first.target}{over}")


def _style(label: str, place: int, scale: float) -> LineStyle:
    return LineStyle(label, theme.SERIES[place % len(theme.SERIES)], scale)


def _drawn(place: int, name: str, *, is_first: bool) -> dict[str, Any]:
    """What tells the first repeat of a combination from its others."""
    line = {
        "width": 1.8 if is_first else 0.8,
        "color": theme.SERIES[place % len(theme.SERIES)],
        "dash": theme.dash_of(name, place),
    }
    return {"name": name, "showlegend": is_first, "line": line}


def _line(style: LineStyle, trial: str, series: _Series, axis: Axis, drawn: Mapping[str, Any]) -> dict[str, Any]:
    words = level_words(series.course)
    ending = f"<br>{words}<br>{theme.escaped(trial)}" if words else f"<br>{theme.escaped(trial)}"
    return theme.scatter(
        "lines",
        [round(float(value), 4) for value in series.places(axis)],
        [float(f"{value / style.scale:.4g}") for value in series.bytes_per_s],
        [
            f"{theme.escaped(style.label)}<br>{number_text(at)} s, {format_decimal_bytes(moved)}: "
            f"<b>{format_rate_bytes_per_s(value)}</b>{ending}"
            for at, moved, value in zip(series.middle_s, series.moved_bytes, series.bytes_per_s, strict=True)
        ],
        legendgroup=style.label,
    ) | dict(drawn)


def _how_far_it_fell(combination: CombinationResult) -> str:
    """Last tenth over the first, which a narrow page keeps, and both: ``25 % (512 MB/s → 130 MB/s)``; may be empty."""
    names = ("throughput_first_tenth_bytes_per_s", "throughput_last_tenth_bytes_per_s")
    ratio = combination.metrics.get("throughput_last_over_first_ratio")
    found = [combination.metrics.get(name) for name in names]
    if ratio is None or any(one is None for one in found):
        return ""
    first, last = (format_rate_bytes_per_s(one.median) for one in found if one is not None)
    return f"{percent_text(ratio.median)} ({first} → {last})"


def _rows(label: str, trial: str, series: _Series) -> list[list[str | int | float | None]]:
    return [
        [label, trial, round(float(at), 4), round(float(moved)), round(float(value))]
        for at, moved, value in zip(series.middle_s, series.moved_bytes, series.bytes_per_s, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How the line is drawn that marks belong to."""

    label: str
    colour: str
    scale: float


def level_words(course: ThroughputCourse | None) -> str:
    """The levels for the hover: ``level 480 MB/s until 6.2 GB, then 95 MB/s``; empty without changes."""
    return f"level {course.text}" if course is not None and course.changes else ""


def course_marks(course: ThroughputCourse | None, axis: Axis, style: LineStyle) -> list[Mapping[str, Any]]:
    """Traces that mark the changes and the steady window of one line.

    Parameters
    ----------
    course : ThroughputCourse or None
        Of the trial; None where it is not known.
    axis : str
        What lies on the x axis: ``time`` in s, or ``bytes`` moved in GB.
    """
    if course is None:
        return []
    return [*_steady_band(course, axis, style), *_changes(course, axis, style)]


def _changes(course: ThroughputCourse, axis: Axis, style: LineStyle) -> list[Mapping[str, Any]]:
    if not course.changes:
        return []
    cliff_bytes = course.cliff.at_bytes if course.cliff else -1
    words = theme.escaped(style.label)
    return [
        theme.scatter(
            "markers",
            [_place(one.at_bytes, one.at_ns, axis) for one in course.changes],
            [float(f"{(one.after.value or 0) / style.scale:.4g}") for one in course.changes],
            [f"{words}<br><b>{level_words(course)}</b><br>{_change_words(one)}" for one in course.changes],
            legendgroup=style.label,
            showlegend=False,
            marker={
                "size": 10,
                "color": style.colour,
                "symbol": [CLIFF_SYMBOL if one.at_bytes == cliff_bytes else CHANGE_SYMBOL for one in course.changes],
                "line": {"width": 2, "color": style.colour},
            },
        )
    ]


def _change_words(change: ThroughputChange) -> str:
    low, high = (format_decimal_bytes(value) for value in (change.low_bytes, change.high_bytes))
    return f"here after {format_decimal_bytes(change.at_bytes)} ({low} to {high}), {change.at_ns / 1e9:.3g} s"


def _steady_band(course: ThroughputCourse, axis: Axis, style: LineStyle) -> list[Mapping[str, Any]]:
    steady = course.steady
    if steady is None or steady.verdict != "steady" or steady.bytes_per_s.value is None:
        return []
    level = float(f"{steady.bytes_per_s.value / style.scale:.4g}")
    interval = f" ({text})" if (text := steady.bytes_per_s.interval_text()) else ""
    words = (
        f"{theme.escaped(style.label)}<br><b>steady at {format_rate_bytes_per_s(steady.bytes_per_s.value)}</b>"
        f"{interval}<br>from {format_decimal_bytes(steady.window_begin_bytes)} "
        f"to {format_decimal_bytes(steady.window_end_bytes)}"
    )
    return [
        theme.scatter(
            "lines",
            [
                _place(steady.window_begin_bytes, steady.window_begin_ns, axis),
                _place(steady.window_end_bytes, steady.window_end_ns, axis),
            ],
            [level, level],
            [words, words],
            legendgroup=style.label,
            showlegend=False,
            opacity=0.35,
            line={"width": 9, "color": style.colour},
        )
    ]


def _place(moved_bytes: int, passed_ns: int, axis: Axis) -> float:
    return float(f"{moved_bytes / 1e9 if axis == 'bytes' else passed_ns / 1e9:.6g}")
