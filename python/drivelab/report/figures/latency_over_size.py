"""Latency over the size of an I/O, both logarithmic: colour by drive, mark by machine, dashes by write cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.result_set import ResultSet
from drivelab.model.units import format_bytes
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.measured import (
    BLOCK_SIZE,
    CACHE,
    WORKLOAD,
    Measured,
    Point,
    factor_words,
    level_of,
    levels_words,
    measured,
    points,
    sized_workload,
    typical_latencies,
    varying,
)
from drivelab.report.figures.quantity import (
    MACHINE_SYMBOLS,
    Scale,
    caption_end,
    ends_of,
    event_words,
    evidence_words,
    factor_axis,
    invalid_marks,
    owners,
    scale_of,
    value_axis,
    whiskers,
)

PLOT_PX, PLOT_OF_MANY_PX = 350, 500
LINES_PER_PLOT, PLOTS_AT_MOST = 24, 8
# more lines than these are not named one by one: the legend tells colours, marks and dashes
LINES_NAMED = 8
_STYLES_AT_MOST = len(theme.DASHES)
FLAT = "A flat line: the commands cost, not the bytes."


@dataclass(frozen=True, slots=True)
class _Line:
    """The sizes of one drive on one machine at one level of the factor that dashes tell."""

    first: Measured
    points: tuple[Point, ...]
    label: str
    level: str


def latency_over_size(sets: Sequence[ResultSet]) -> Figure | None:
    """The latency over the size of I/Os that somebody waits for; None when nobody measured two sizes alike."""
    waited_for = [
        one for one in measured(sets, with_read_off=True) if BLOCK_SIZE in one.numbers and _is_waited_for(one)
    ]
    items = typical_latencies(waited_for)
    runs, pages = ([one for one in items if one.is_reference is is_page] for is_page in (False, True))
    own = runs or pages
    varied = varying(own, (BLOCK_SIZE, WORKLOAD))
    style = _style_factor(own, varied)
    panels: dict[tuple[str, ...], list[Measured]] = {}
    dividing = [factor for factor in varied if factor != style]
    for one in own:
        key = (_workload_of(one), *(level_of(one, factor) for factor in dividing))
        panels.setdefault(key, []).append(one)
    published = pages if runs else []
    drawn = []
    naming = [*([WORKLOAD] if len({_workload_of(one) for one in own}) > 1 else []), *dividing]
    names = owners(items)
    for members in panels.values():
        lines = _lines(members, style, names)
        if any(len(line.points) > 1 for line in lines):
            beside = [one for one in published if _is_compatible(one, members[0], style)]
            drawn.append((levels_words(members[0], naming), [*lines, *_lines(beside, style, names)]))
    if not drawn:
        return None
    pieces = [(name, piece) for name, lines in drawn for piece in _pieces(lines)]
    everything = [point for _, lines in pieces for line in lines for point in line.points]
    shown = [member for point in everything for member in point.members]
    words = [event_words(shown), FLAT, caption_end(shown), _style_words(style), *_read_off_words(sets, shown)]
    if any(one not in shown for one in published):
        words.append("Published numbers of other file systems or settings are not drawn here.")
    if len(pieces) > PLOTS_AT_MOST:
        words.append(f"The first {PLOTS_AT_MOST} of {len(pieces)} drawings are shown; the data below hold all.")
    is_durable = all(one.observation.is_durable for one in shown)
    return Figure(
        key="latency-over-size",
        title="Time per durable write over its size" if is_durable else "Latency over the size of an I/O",
        caption=" ".join(word for word in words if word),
        plots=tuple(_plot(name, lines, style, ends_of(everything)) for name, lines in pieces[:PLOTS_AT_MOST]),
        table=_table(pieces),
    )


def _is_waited_for(one: Measured) -> bool:
    """Whether it is about I/Os of one size that are durable, or judged by their latency."""
    found = one.observation
    return BLOCK_SIZE in one.numbers and (found.is_durable or (found.is_judged and found.quantity == "latency"))


def _workload_of(one: Measured) -> str:
    return sized_workload(one.observation.workload)


def _style_factor(items: Sequence[Measured], varied: Sequence[str]) -> str:
    """The factor that dashes tell: the write cache, or else the first that has few levels."""
    candidates = [CACHE, *(factor for factor in varied if factor != CACHE)]
    few = [f for f in candidates if f in varied and len({level_of(one, f) for one in items}) <= _STYLES_AT_MOST]
    return few[0] if few else CACHE


def _style_words(style: str) -> str:
    return "" if style == CACHE else f"Dashes tell the {style.replace('_', ' ')}."


def _read_off_words(sets: Sequence[ResultSet], shown: Sequence[Measured]) -> list[str]:
    """What has to be known of numbers that were read off somebody's drawing."""
    drawn = {id(one.observation) for one in shown}
    notes = dict.fromkeys(one.note for each in sets for one in each.read_off if one.note and id(one) in drawn)
    return [f"{note[0].upper()}{note[1:]}." for note in notes]


def _is_compatible(one: Measured, other: Measured, style: str) -> bool:
    """Whether a published number was made with the levels of a panel, as far as both tell."""
    shared = set(one.levels) & set(other.levels) - {style}
    return all(one.levels[name] == other.levels[name] for name in shared)


def _lines(items: Sequence[Measured], style: str, names: Mapping[tuple[str, str], str]) -> list[_Line]:
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for one in items:
        # a page prints numbers of workloads and settings that no run varied: each is a mark of its own
        others = (_workload_of(one), *sorted(one.levels.items())) if one.is_reference else ()
        key = (one.source, one.drive, one.machine, level_of(one, style), *(str(other) for other in others))
        groups.setdefault(key, []).append(one)
    return [
        _Line(
            members[0],
            tuple(points(members, BLOCK_SIZE)),
            _label(members[0], style, names),
            level_of(members[0], style),
        )
        for members in groups.values()
    ]


def _label(one: Measured, style: str, names: Mapping[tuple[str, str], str]) -> str:
    # what differs comes first: a narrow page cuts the end
    parts = [levels_words(one, [style]), names[one.drive, one.machine]]
    words = ", ".join(part for part in parts if part) or one.drive
    return f"{words} (published)" if one.is_reference else words


def _pieces(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Drawings of at most `LINES_PER_PLOT` lines; the marks of a page with many are not told apart by their colour."""
    own = [line for line in lines if not line.first.is_reference]
    beside = [line for line in lines if line.first.is_reference]
    if not own:
        own, beside = beside, []
    drives = list(dict.fromkeys(line.first.drive for line in own))
    pieces: list[list[_Line]] = [[]]
    for drive in drives:
        of_drive = [line for line in own if line.first.drive == drive]
        for begin in range(0, len(of_drive), LINES_PER_PLOT):
            part = of_drive[begin : begin + LINES_PER_PLOT]
            shown = {line.first.drive for line in pieces[-1]} | {drive}
            if len(pieces[-1]) + len(part) > LINES_PER_PLOT or len(shown) > len(theme.SERIES):
                pieces.append([])
            pieces[-1] += part
    return [[*piece, *beside] for piece in pieces]


def _plot(name: str, lines: Sequence[_Line], style: str, ends: tuple[float, float]) -> Plot:
    own = [line for line in lines if not line.first.is_reference]
    beside = [line for line in lines if line.first.is_reference]
    drives = list(dict.fromkeys(line.first.drive for line in lines))
    machines = list(dict.fromkeys(line.first.machine for line in lines))
    levels = sorted(dict.fromkeys(line.level for line in own or lines), key="off".__eq__)
    scale = scale_of([], "ns", is_log=True)
    fits = len(lines) <= LINES_PER_PLOT and len(drives) <= len(theme.SERIES)
    data: list[Mapping[str, Any]] = [
        _trace(line, scale, drives.index(line.first.drive), machines.index(line.first.machine), levels)
        for line in (lines if fits else own)
    ]
    if not fits:
        data += [_marks_of_page(found, scale) for found in _by_source(beside)]
    wrong = [(point.x, scale.drawn(point.value)) for line in lines for point in line.points if point.invalid_trials]
    data += [mark for mark in [invalid_marks(wrong)] if mark]
    is_named = len(lines) <= LINES_NAMED or not fits
    legend = [] if is_named else _legend(drives, machines, [f"{factor_words(style)} {level}" for level in levels])
    entries = len(legend) or len(data)
    if legend:
        data = [*({**trace, "showlegend": False} for trace in data), *legend]
    # short entries stand beside each other, two a row or more
    rows = entries if is_named else -(-entries // 2)
    height = (PLOT_PX if is_named else PLOT_OF_MANY_PX) + theme.LEGEND_ROW_PX * rows
    layout = theme.layout(height)
    theme.legend_rows(layout, rows)
    if not is_named:
        layout["legend"]["orientation"] = "h"
    sizes = [point.x for line in lines for point in line.points]
    layout["xaxis"] = factor_axis(BLOCK_SIZE, sizes)
    is_durable = all(line.first.observation.is_durable for line in lines)
    what = "a write" if is_durable else "an I/O"
    layout["xaxis"]["title"]["text"] = layout["xaxis"]["title"]["text"].replace("block size", f"size of {what}")
    layout["yaxis"] = value_axis(scale, *ends, name="time per durable write" if is_durable else "latency")
    return Plot(data, layout, height, name)


def _legend(drives: Sequence[str], machines: Sequence[str], levels: Sequence[str]) -> list[dict[str, Any]]:
    """Entries without points: a colour for each drive, a mark for each machine, a dash for each level."""
    plain = {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}
    ink = theme.INK
    colors = [
        {"mode": "lines", "name": theme.escaped(drive), "line": {"color": theme.SERIES[place % len(theme.SERIES)]}}
        for place, drive in enumerate(drives)
    ]
    symbols = [
        {
            "mode": "markers",
            "name": theme.escaped(machine),
            "marker": {"symbol": MACHINE_SYMBOLS[place % len(MACHINE_SYMBOLS)], "color": ink, "size": 7},
        }
        for place, machine in enumerate(machines)
        if len(machines) > 1
    ]
    dashes = [
        {"mode": "lines", "name": theme.escaped(level), "line": {"color": ink, "dash": theme.dash_of(level, place)}}
        for place, level in enumerate(levels)
        if len(levels) > 1
    ]
    return [plain | entry for entry in (*colors, *symbols, *dashes)]


def _by_source(lines: Sequence[_Line]) -> list[list[_Line]]:
    found: dict[str, list[_Line]] = {}
    for line in lines:
        found.setdefault(line.first.source, []).append(line)
    return list(found.values())


def _trace(line: _Line, scale: Scale, drive: int, machine: int, levels: Sequence[str]) -> dict[str, Any]:
    color = theme.SERIES[drive % len(theme.SERIES)]
    symbol = MACHINE_SYMBOLS[machine % len(MACHINE_SYMBOLS)]
    dash = theme.dash_of(line.label, levels.index(line.level) if line.level in levels else 0)
    is_hollow = line.first.is_reference
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": theme.escaped(line.label),
        "x": [point.x for point in line.points],
        "y": [scale.drawn(point.value) for point in line.points],
        "text": [_hover(line.label, point, scale) for point in line.points],
        "hoverinfo": "text",
        "line": {"color": color, "width": 1 if is_hollow else 1.7, "dash": dash},
        "marker": {
            "symbol": f"{symbol}-open" if is_hollow else symbol,
            "size": 9 if is_hollow else 7,
            "color": color,
            "line": {"width": 1.6 if is_hollow else 0, "color": color},
        },
        "error_y": whiskers(line.points, scale, color),
    }


def _marks_of_page(lines: Sequence[_Line], scale: Scale) -> dict[str, Any]:
    found = [(line, point) for line in lines for point in line.points]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": theme.escaped(f"{lines[0].first.source.removeprefix('reference:')} (published, one mark per result)"),
        "x": [point.x for _, point in found],
        "y": [scale.drawn(point.value) for _, point in found],
        "text": [_hover(line.label, point, scale) for line, point in found],
        "hoverinfo": "text",
        "marker": {"symbol": "circle-open", "size": 9, "color": theme.GREY, "line": {"width": 1.4}},
    }


def _hover(label: str, point: Point, scale: Scale) -> str:
    value = f"{format_bytes(point.x)}: <b>{scale.exact(point.value)}</b>"
    return f"{theme.escaped(label)}<br>{value}<br>{evidence_words(point, scale)}"


def _table(pieces: Sequence[tuple[str, Sequence[_Line]]]) -> DataTable:
    rows: list[Sequence[Cell]] = []
    for name, lines in pieces:
        for line in lines:
            for point in line.points:
                first = line.first
                ends = (point.value, point.low, point.high)
                rows.append(
                    [
                        *(first.source, name, first.drive, first.machine, level_of(first, CACHE), line.label),
                        *(int(point.x), *(None if end is None else round(end) for end in ends)),
                        *(point.trial_count, point.invalid_trials, point.sample_count, int(first.is_reference)),
                    ]
                )
    columns = ("results", "drawing", "drive", "machine", "write_cache", "series", "block_size_bytes", "latency_ns")
    counts = ("trial_count", "invalid_trials", "operation_count", "is_published")
    return DataTable((*columns, "latency_ns_low", "latency_ns_high", *counts), rows)
