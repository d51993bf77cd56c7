"""A run from its first trial to its last: I/Os a second over time, and over what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.timeline import TrialTimeline
from drivelab.model.units import format_decimal_bytes, format_rate_bytes_per_s
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.quantity import scale_of, value_axis
from drivelab.report.numerals import number_text

HEIGHT_PX = 320
# whose bytes are what counts
_LARGE_BYTES = 65536


def timeline(trials: Sequence[TrialTimeline]) -> Figure | None:
    """The figure; None where nothing was read for it."""
    targets = dict.fromkeys(one.target for one in trials)
    plots: list[Plot] = []
    for target in targets:
        own = [one for one in trials if one.target == target]
        name = target if len(targets) > 1 else ""
        plots.append(_plot(own, "time", name))
        if own[0].capacity_bytes and any(one.written_bytes[-1] for one in own if one.written_bytes):
            plots.append(_plot(own, "written", name))
    if not plots:
        return None
    columns = ("target", "trial", "workload", "time_s", "written_bytes", "iops", "throughput_bytes_per_s")
    rows: list[list[Cell]] = [
        [one.target, one.trial, one.workload, round(at, 3), round(written), round(iops, 3), round(rate)]
        for one in trials
        for at, written, iops, rate in zip(one.middle_s, one.written_bytes, one.iops, one.bytes_per_s, strict=True)
    ]
    return Figure(
        key="timeline",
        title="The whole run over time",
        caption=(
            "Time is that of the measurements alone, one behind the other; pauses of a workload show as gaps. The "
            "second drawing has below it what was written until then, in multiples of the capacity."
        ),
        plots=tuple(plots),
        table=DataTable(columns, rows),
    )


def _plot(trials: Sequence[TrialTimeline], over: str, name: str) -> Plot:
    rates = [rate for one in trials for rate in one.bytes_per_s]
    iops = [rate for one in trials for rate in one.iops]
    is_of_bytes = sum(rates) > _LARGE_BYTES * sum(iops)

    def values(one: TrialTimeline) -> tuple[float, ...]:
        return one.bytes_per_s if is_of_bytes else one.iops

    known = [value for one in trials for value in values(one)]
    scale = scale_of(known, "B/s" if is_of_bytes else "1/s", is_log=max(known) > 20 * min(known) > 0)
    last_s = max(at for one in trials for at in one.middle_s)
    unit, unit_s = ("h", 3600) if last_s > 7200 else ("min", 60) if last_s > 300 else ("s", 1)
    titles = list(dict.fromkeys(one.title for one in trials))
    layout = theme.layout(HEIGHT_PX + theme.LEGEND_ROW_PX * len(titles))
    theme.legend_rows(layout, len(titles))
    words = f"time [{unit}]" if over == "time" else "written [multiples of the capacity]"
    layout["xaxis"] = theme.axis(words, rangemode="tozero")
    layout["yaxis"] = value_axis(scale, min(known), max(known), "throughput" if is_of_bytes else "IOPS")
    data: list[Mapping[str, Any]] = []
    told: set[str] = set()
    for one in trials:
        place = titles.index(one.title)
        places, step = (one.middle_s, unit_s) if over == "time" else (one.written_bytes, one.capacity_bytes)
        at = [value / step for value in places]
        data.append(
            theme.scatter(
                "lines" if len(at) > 1 else "markers",
                [float(f"{x:.5g}") for x in at],
                [scale.drawn(value) for value in values(one)],
                [
                    f"{theme.escaped(one.title)}<br>{number_text(s)} s, {format_decimal_bytes(written)} written: "
                    f"<b>{number_text(rate)} IOPS</b>, {format_rate_bytes_per_s(moved)}"
                    for s, written, rate, moved in zip(
                        one.middle_s, one.written_bytes, one.iops, one.bytes_per_s, strict=True
                    )
                ],
                name=theme.escaped(one.title),
                legendgroup=one.title,
                showlegend=one.title not in told,
                line={"color": theme.SERIES[place % len(theme.SERIES)], "width": 1.4},
                marker={"color": theme.SERIES[place % len(theme.SERIES)], "size": 5},
            )
        )
        told.add(one.title)
    suffix = "over time" if over == "time" else "over what was written"
    return Plot(data, layout, layout["height"], ", ".join(filter(None, (name, suffix))))
