"""Cumulative latency on an axis that stretches the tail, drawn only as far as the data carry a quantile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.model.estimate import Estimate
from drivelab.model.histogram import Histogram
from drivelab.report.content import TrialContent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.latency_bins import carried_quantile, quantiles_ns
from drivelab.report.numerals import count_text, latency_text, number_text

HEIGHT_PX = 340
# as many lines as colours and dashes tell apart
TRIALS_PER_PLOT = 7
# two pixels apart; every second of them is enough to redraw the line
_POINTS_PER_NINE, _ROWS_PER_NINE = 30, 15
CAPTION = (
    "Read it from the side: 99.9 % of the I/Os took no longer than where the line crosses that height. The axis gives "
    "every further nine the same room. A line ends at the last quantile that its number of I/Os carries with a "
    "95\u00a0% interval (368 I/Os carry p99, 3 688 carry p99.9)."
)


def latency_cdf(trials: Sequence[TrialContent]) -> Figure | None:
    """The cumulative latencies of all trials, a panel for each kind of trial; None when none carries even a median."""
    filled = [trial for trial in trials if _last_quantile(trial) > 0.5]
    if not filled:
        return None
    ends = [quantiles_ns(trial.histogram, levels_up_to(_last_quantile(trial)))[[0, -1]] for trial in filled]
    low, high = min(float(end[0]) for end in ends), max(float(end[1]) for end in ends)
    sheets = theme.sheets(filled, TRIALS_PER_PLOT)
    return Figure(
        key="latency-cdf",
        title="The tail: what share of I/Os took no longer",
        caption=CAPTION + theme.invalid_words(filled),
        plots=tuple(_plot(group, members, low, high) for group, members in sheets),
        table=_table(filled),
    )


def _plot(group: str, trials: Sequence[TrialContent], low_ns: float, high_ns: float) -> Plot:
    layout = theme.layout(HEIGHT_PX)
    layout["xaxis"] = theme.latency_axis(low_ns, high_ns)
    layout["yaxis"] = share_axis(max(nines(_last_quantile(trial)) for trial in trials))
    return Plot([_line(trial, place) for place, trial in enumerate(trials)], layout, HEIGHT_PX, group)


def last_quantile(histogram: Histogram, tail: Estimate | None) -> float:
    """The highest quantile that so many latencies carry, as dependent as an estimate of their tail says they are."""
    count = float(histogram.total_count)
    if tail is not None and tail.effective_sample_count > 0:
        count = min(count, tail.effective_sample_count)
    return carried_quantile(count)


def _last_quantile(trial: TrialContent) -> float:
    return last_quantile(trial.histogram, trial.estimate("p99"))


def nines(at: float) -> float:
    """How many nines a quantile has: 2 of 0.99."""
    return float(-np.log10(1 - at))


def levels_up_to(last: float) -> NDArray[np.float64]:
    """Quantiles to read, evenly spaced on the stretched axis, up to the last that the data carry."""
    return np.asarray(1 - 10 ** -np.linspace(0, nines(last), max(2, round(nines(last) * _POINTS_PER_NINE))))


def level_rows(about: Sequence[Cell], histogram: Histogram, levels: NDArray[np.float64]) -> Iterator[list[Cell]]:
    """Rows of a table, as many as redraw the line."""
    read = levels[:: _POINTS_PER_NINE // _ROWS_PER_NINE]
    for at, value in zip(read, quantiles_ns(histogram, read), strict=True):
        yield [*about, round(float(at), 8), round(float(value))]


def _line(trial: TrialContent, place: int) -> dict[str, Any]:
    levels = levels_up_to(_last_quantile(trial))
    values = quantiles_ns(trial.histogram, levels)
    beyond = (1 - levels) * trial.histogram.total_count
    texts = [
        f"{theme.named(trial)}<br>p{number_text(100 * at, 5)}: <b>{latency_text(value)}</b>"
        f"<br>{count_text(more)} of {count_text(trial.histogram.total_count)} I/Os took longer"
        for at, value, more in zip(levels, values, beyond, strict=True)
    ]
    return theme.scatter(
        "lines",
        [float(f"{value:.5g}") for value in values],
        [round(nines(at), 4) for at in levels],
        texts,
        name=theme.named(trial),
        line={
            "color": theme.SERIES[place % len(theme.SERIES)],
            "dash": theme.dash_of(trial.label, place),
            "width": 1.8,
        },
    )


def share_axis(top: float) -> dict[str, Any]:
    """An axis of shares that gives every further nine the same room, up to so many nines."""
    marks = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999]
    marks = [at for at in marks if nines(at) <= top + 0.05]
    return theme.axis(
        "I/Os at or below [%, tail stretched]",
        range=[0, 1.04 * top],
        tickmode="array",
        tickvals=[nines(at) for at in marks],
        ticktext=[f"{round(100 * at, 6):g}" for at in marks],
    )


def _table(trials: Sequence[TrialContent]) -> DataTable:
    rows = [
        row
        for trial in trials
        for row in level_rows([trial.name, trial.operation], trial.histogram, levels_up_to(_last_quantile(trial)))
    ]
    return DataTable(("trial", "operation", "quantile", "latency_ns"), rows)
