"""The wear of drives over dates: a line for each of those that wore most."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.fleet_history import DriveHistory
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot

HEIGHT_PX = 380
_LINES_MAX = 7


def wear_over_dates(drives: Sequence[DriveHistory]) -> Figure | None:
    """The figure; None where no drive has two runs that know its wear."""
    known = [one for one in drives if len(one.wear_percent) > 1]
    if not known:
        return None
    drawn = sorted(known, key=lambda one: (-one.wear_grown, one.drive.key))[:_LINES_MAX]
    layout = theme.layout(HEIGHT_PX)
    layout["xaxis"] = theme.axis("when the run began (UTC)", type="date")
    layout["yaxis"] = theme.axis("used of its life [%]", rangemode="tozero")
    data = [
        theme.scatter(
            "lines+markers",
            [row.started_utc for row, _ in one.wear_percent],
            [wear for _, wear in one.wear_percent],
            [f"{theme.escaped(one.drive.words)}<br><b>{wear:g} %</b>" for _, wear in one.wear_percent],
            name=one.drive.serial or f"{one.drive.name} of {one.drive.host}",
            line={"color": theme.SERIES[place], "width": 1.5},
            marker={"size": 6, "color": theme.SERIES[place]},
        )
        for place, one in enumerate(drawn)
    ]
    of = f" The {len(drawn)} of {len(known)} drives that wore most." if len(known) > len(drawn) else ""
    return Figure(
        key="wear",
        title="Wear over dates",
        caption=f"The share of its life that a drive says is used, before each run.{of}",
        plots=(Plot(data, layout, HEIGHT_PX),),
        table=DataTable(
            ("host", "drive", "serial", "run", "started_utc", "used_percent"),
            [
                [one.drive.host, one.drive.name, one.drive.serial, row.run, row.started_utc, wear]
                for one in known
                for row, wear in one.wear_percent
            ],
        ),
    )
