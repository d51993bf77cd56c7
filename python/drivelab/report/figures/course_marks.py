"""What is drawn on a line of throughput: where its level changes, and the window in which it was steady."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from drivelab.model.throughput_course import ThroughputChange, ThroughputCourse
from drivelab.model.units import format_decimal_bytes, format_rate_bytes_per_s
from drivelab.report.figures import theme

Axis = Literal["time", "bytes"]

CHANGE_SYMBOL, CLIFF_SYMBOL = "diamond-open", "diamond"
MARKS_CAPTION = (
    "A diamond is where the level changes, a filled one where it falls to 0.7 or less and stays there (a cliff). "
    "A wide band is the last five rounds of 5 % of the capacity where the throughput was steady."
)


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
