"""Rate and latency over queue depth, one above the other, with the knee: where more outstanding I/Os stop to pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.judged_metric import RATE
from drivelab.model.result_set import ResultSet
from drivelab.model.saturation import Saturation, knee_place, perhaps_knees, saturation
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.measured import (
    QUEUE_DEPTH,
    WORKLOAD,
    Measured,
    Point,
    level_of,
    levels_words,
    measured,
    points,
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
from drivelab.report.numerals import THIN_SPACE
from drivelab.report.parts_of_text import capitalised

PANEL_PX, BOTTOM_PX = 210, 56
LINES_PER_PLOT, PLOTS_AT_MOST, SENTENCES_AT_MOST = 6, 6, 6
RULE = "The ring marks the knee: behind it twice as many outstanding bring less than 41\u00a0% more I/Os."


@dataclass(frozen=True, slots=True)
class _Line:
    """One drive and workload at all depths."""

    first: Measured
    label: str
    rates: tuple[Point, ...]
    latencies: tuple[Point, ...]

    @property
    def latency_at(self) -> list[float | None]:
        """The latency at each depth that has a rate."""
        found = {point.x: point.value for point in self.latencies}
        return [found.get(point.x) for point in self.rates]

    @property
    def knee(self) -> Point | None:
        """The point of the rate where more stops to pay; None where repeats do not tell it."""
        if self.is_open:
            return None
        place = knee_place([point.x for point in self.rates], [point.value for point in self.rates])
        return None if place is None else self.rates[place]

    @property
    def is_open(self) -> bool:
        """Whether repeats scatter too far to tell the knee."""
        ends = [(point.low, point.high) for point in self.rates if point.trial_count > 1]
        lowest, highest = ([end for pair in ends if (end := pair[side]) is not None] for side in (0, 1))
        if not len(lowest) == len(highest) == len(self.rates):
            return False
        return perhaps_knees([point.x for point in self.rates], lowest, highest) is not None

    @property
    def beyond(self) -> Saturation | None:
        """What lies beyond the knee."""
        if self.is_open:
            return None
        depths, rates = [point.x for point in self.rates], [point.value for point in self.rates]
        return saturation(depths, rates, self.latency_at)


def queue_depth(sets: Sequence[ResultSet]) -> Figure | None:
    """Rate and latency over queue depth; None when nobody measured two depths alike."""
    items = [one for one in measured(sets) if QUEUE_DEPTH in one.numbers]
    rates = [one for one in items if one.observation.metric == RATE]
    latencies = typical_latencies(items)
    varied = varying([*rates, *latencies], (QUEUE_DEPTH,))
    lines = [line for line in _lines(rates, latencies, varied) if len(line.rates) > 1]
    if not lines:
        return None
    plots = [lines[begin : begin + LINES_PER_PLOT] for begin in range(0, len(lines), LINES_PER_PLOT)]
    shown = [one for line in lines for point in (*line.rates, *line.latencies) for one in point.members]
    rule = RULE if any(line.knee is not None for line in lines) else ""
    words = [*_sentences(lines), rule, event_words(shown), caption_end(shown)]
    return Figure(
        key="queue-depth",
        title="What more outstanding I/Os bring, and what they cost",
        caption=" ".join(word for word in words if word) + theme.shown_words(PLOTS_AT_MOST, len(plots)),
        plots=tuple(_plot(members, _name(members, len(plots))) for members in plots[:PLOTS_AT_MOST]),
        table=_table(lines),
    )


def _lines(rates: Sequence[Measured], latencies: Sequence[Measured], varied: Sequence[str]) -> list[_Line]:
    groups: dict[tuple[str, ...], tuple[list[Measured], list[Measured]]] = {}
    for place, items in enumerate((rates, latencies)):
        for one in items:
            observation = one.observation
            levels = (level_of(one, factor) for factor in varied if factor != WORKLOAD)
            key = (one.source, one.drive, one.machine, observation.workload, observation.operation, *levels)
            groups.setdefault(key, ([], []))[place].append(one)
    names = owners(rates)
    found = []
    for members, slow in groups.values():
        if members:
            first = members[0]
            words = (levels_words(first, varied), names[first.drive, first.machine])
            label = ", ".join(word for word in words if word) or first.drive
            label = f"{label} (published)" if first.is_reference else label
            found.append(_Line(first, label, tuple(points(members, QUEUE_DEPTH)), tuple(points(slow, QUEUE_DEPTH))))
    return found


def _sentences(lines: Sequence[_Line]) -> list[str]:
    """What lies beyond each knee, and where there is none in what was measured."""
    found = []
    for line in lines[:SENTENCES_AT_MOST]:
        # a name keeps its case
        words = line.label if line.label.startswith(line.first.drive) else capitalised(line.label)
        lead = f"{words}: " if len(lines) > 1 else ""
        knee, beyond = line.knee, line.beyond
        last = line.rates[-1].x
        if beyond is not None:
            text = beyond.text.replace(" %", "\u00a0%").replace("x latency", f"{THIN_SPACE}× the latency")
            found.append(lead + text[0].lower() + text[1:] if lead else text)
        elif line.is_open:
            text = f"{lead}the repeats scatter too far to tell where more stop to pay."
            found.append(text if lead else capitalised(text))
        elif knee is None and len(line.rates) > 2:
            text = f"{lead}the rate still grows at {last:g} outstanding, the most that was measured."
            found.append(text if lead else capitalised(text))
    return found


def _name(lines: Sequence[_Line], count: int) -> str:
    if count == 1:
        return ""
    first = lines[0].first
    return ", ".join(dict.fromkeys([first.drive, first.observation.title or first.observation.workload]))


def _plot(lines: Sequence[_Line], name: str) -> Plot:
    has_latency = any(line.latencies for line in lines)
    marks = 1 + (1 if any(point.invalid_trials for line in lines for point in line.rates) else 0)
    top = 14 + theme.LEGEND_ROW_PX * (len(lines) + marks)
    count = 2 if has_latency else 1
    height, domains = theme.panels(count, PANEL_PX, top_px=top, bottom_px=BOTTOM_PX, gap_px=16)
    layout = theme.layout(height, annotations=[])
    theme.legend_rows(layout, len(lines) + marks)
    layout["margin"] |= {"b": BOTTOM_PX}
    depths = [point.x for line in lines for point in line.rates]
    layout["xaxis"] = factor_axis(QUEUE_DEPTH, depths, anchor=theme.axis_name("y", count))
    layout["xaxis"]["title"]["text"] = layout["xaxis"]["title"]["text"].replace("queue depth", "I/Os outstanding")
    scale = scale_of([], "1/s", is_log=True)
    ends = ends_of([point for line in lines for point in line.rates])
    layout["yaxis"] = value_axis(scale, *ends, name="IOPS", domain=domains[0])
    layout["annotations"].append(theme.panel_label("<b>I/Os per s</b>", 1))
    data: list[Mapping[str, Any]] = [_trace(line.rates, line, place, scale, 1) for place, line in enumerate(lines)]
    knees = [knee for line in lines if (knee := line.knee)]
    data += _knees(knees, scale, 1)
    wrong = _wrong([line.rates for line in lines], scale, 1)
    if has_latency:
        slow = scale_of([], "ns", is_log=True)
        ends = ends_of([point for line in lines for point in line.latencies])
        layout["yaxis2"] = value_axis(slow, *ends, domain=domains[1])
        metrics = {one.observation.metric for line in lines for point in line.latencies for one in point.members}
        of_medians = all(metric.endswith("_p50") for metric in metrics)
        layout["annotations"].append(theme.panel_label("<b>Median latency</b>" if of_medians else "<b>Latency</b>", 2))
        data += [_trace(line.latencies, line, place, slow, 2) for place, line in enumerate(lines) if line.latencies]
        found = [p for line in lines if (knee := line.knee) for p in line.latencies if p.x == knee.x]
        data += _knees(found, slow, 2)
        wrong += _wrong([line.latencies for line in lines], slow, 2)
    return Plot([*data, *wrong], layout, height, name)


def _trace(found: Sequence[Point], line: _Line, place: int, scale: Scale, panel: int) -> dict[str, Any]:
    color = theme.SERIES[place % len(theme.SERIES)]
    symbol = MACHINE_SYMBOLS[place % len(MACHINE_SYMBOLS)]
    short = (
        f": beyond {line.beyond.depth:g}, {line.beyond.last_depth:g} {line.beyond.short_text}" if line.beyond else ""
    )
    is_hollow = line.first.is_reference
    return theme.scatter(
        "lines+markers",
        [point.x for point in found],
        [scale.drawn(point.value) for point in found],
        [_hover(line, point, scale) for point in found],
        name=theme.escaped(line.label + short.replace("x latency", f"{THIN_SPACE}× latency")),
        legendgroup=str(place),
        showlegend=panel == 1,
        line={"color": color, "width": 1.7, "dash": theme.dash_of(line.label, place)},
        marker={"symbol": f"{symbol}-open" if is_hollow else symbol, "size": 7, "color": color},
        error_y=whiskers(found, scale, color),
        on=(1, panel),
    )


def _hover(line: _Line, point: Point, scale: Scale) -> str:
    return (
        f"{theme.escaped(line.label)}<br>{point.x:g} outstanding: <b>{scale.exact(point.value)}</b><br>"
        f"{evidence_words(point, scale)}"
    )


def _knees(rings: Sequence[Point], scale: Scale, panel: int) -> list[Mapping[str, Any]]:
    """A ring around the knee of every line; its entry in the legend stands once."""
    if not rings:
        return []
    return [
        theme.scatter(
            "markers",
            [ring.x for ring in rings],
            [scale.drawn(ring.value) for ring in rings],
            name="knee",
            legendgroup="knee",
            showlegend=panel == 1,
            marker={"symbol": "circle-open", "size": 17, "color": theme.INK, "line": {"width": 2}},
            on=(1, panel),
        )
    ]


def _wrong(lines: Sequence[Sequence[Point]], scale: Scale, panel: int) -> list[Mapping[str, Any]]:
    found = [(point.x, scale.drawn(point.value)) for line in lines for point in line if point.invalid_trials]
    marks = invalid_marks(found, xaxis="x", yaxis=theme.axis_name("y", panel), showlegend=panel == 1)
    return [marks] if marks else []


def _table(lines: Sequence[_Line]) -> DataTable:
    rows: list[Sequence[Cell]] = []
    for line in lines:
        slow = {point.x: point for point in line.latencies}
        knee = line.knee
        for point in line.rates:
            other = slow.get(point.x)
            ends = (other.value, other.low, other.high) if other else (None, None, None)
            rows.append(
                [
                    *(line.first.source, line.first.drive, line.first.machine, line.label, int(point.x)),
                    *(_rounded(end) for end in (point.value, point.low, point.high)),
                    *(None if end is None else round(end) for end in ends),
                    *(int(knee is point), point.trial_count, point.invalid_trials, point.sample_count),
                ]
            )
    rates = ("iops_per_s", "iops_per_s_low", "iops_per_s_high")
    latencies = ("latency_ns", "latency_ns_low", "latency_ns_high")
    counts = ("is_knee", "trial_count", "invalid_trials", "operation_count")
    return DataTable(("results", "drive", "machine", "series", "queue_depth", *rates, *latencies, *counts), rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
