"""Mean latency over IOPS as more is asked of a drive at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.level_words import level_text
from drivelab.model.rounds import PhaseRounds
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.quantity import scale_of, value_axis
from drivelab.report.sentences.rounds import tracked_text

HEIGHT_PX = 340


def demand_intensity(rounds: Sequence[PhaseRounds], points: Sequence[Any]) -> Figure | None:
    """Mean latency over IOPS, a line for each number of threads with a point for each depth; None without both."""
    plots: list[Plot] = []
    rows: list[list[Cell]] = []
    for one in rounds:
        lines: dict[str, list[tuple[int, float, float]]] = {}
        for cell in one.averages:
            threads, depth = cell.levels.get("job_count"), cell.levels.get("queue_depth")
            if threads and depth and cell.iops is not None and cell.latency_ns_mean is not None:
                lines.setdefault(threads, []).append((int(depth), cell.iops, cell.latency_ns_mean))
        if lines:
            marks = [point for point in points if point.target == one.target]
            plots.append(_intensity(lines, marks, f"{one.target}, {one.phase}"))
            rows += [[one.target, threads, *point] for threads, found in lines.items() for point in found]
    if not plots:
        return None
    return Figure(
        key="demand-intensity",
        title="Demand intensity: latency over IOPS",
        caption=(
            "Each line is a number of threads, each point of it a number of I/Os that every thread keeps outstanding, "
            "more from left to right; means over the measurement. Rings mark the Max and Mid points, which are chosen "
            "among those with a mean latency below 5\u00a0ms."
        ),
        plots=tuple(plots),
        table=DataTable(("target", "threads", "queue_depth", "iops", "latency_ns_mean"), rows),
    )


def _intensity(lines: Mapping[str, Sequence[tuple[int, float, float]]], marks: Sequence[Any], name: str) -> Plot:
    iops = [point[1] for found in lines.values() for point in found]
    latencies = [point[2] for found in lines.values() for point in found]
    rate, latency = scale_of(iops, "1/s", is_log=False), scale_of(latencies, "ns", is_log=True)
    layout = theme.layout(HEIGHT_PX)
    layout["xaxis"] = value_axis(rate, min(iops), max(iops), "IOPS")
    layout["yaxis"] = value_axis(latency, min(latencies), max(latencies), "mean latency")
    data: list[Mapping[str, Any]] = []
    for place, (threads, found) in enumerate(lines.items()):
        ordered = sorted(found)
        color = theme.SERIES[place % len(theme.SERIES)]
        data.append(
            theme.scatter(
                "lines+markers",
                [rate.drawn(point[1]) for point in ordered],
                [latency.drawn(point[2]) for point in ordered],
                [
                    f"{threads} threads of {depth}: <b>{tracked_text('iops', each)}</b>, mean {latency.exact(mean)}"
                    for depth, each, mean in ordered
                ],
                name="1 thread" if threads == "1" else f"{threads} threads",
                line={"color": color, "width": 1.5},
                marker={"size": 6, "color": color},
            )
        )
    if marks:
        data.append(
            theme.scatter(
                "markers",
                [rate.drawn(one.iops) for one in marks],
                [latency.drawn(one.latency_ns_mean) for one in marks],
                [f"{one.which}: {level_text('', one.levels['job_count'])} threads" for one in marks],
                name=" and ".join(dict.fromkeys(one.which.capitalize() for one in marks)),
                marker={"symbol": "circle-open", "size": 15, "color": theme.INK, "line": {"width": 2}},
            )
        )
    return Plot(data, layout, HEIGHT_PX, name)
