"""Bars side by side: drive, file system and write cache, with intervals; the best of a drive is told in words."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.result_set import ResultSet
from drivelab.report.figures import theme
from drivelab.report.figures.bar_plot import DrawnBars, drawn_bars
from drivelab.report.figures.bars import NUMBERS_AT_MOST, bars_of, table_of, words_of
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.measured import (
    BLOCK_SIZE,
    QUEUE_DEPTH,
    Measured,
    measured,
    number_words,
    typical_latencies,
)
from drivelab.report.figures.quantity import caption_end, event_words
from drivelab.report.parts_of_text import shared_beginning

PLOTS_AT_MOST = 8


def bar_groups(sets: Sequence[ResultSet]) -> Figure | None:
    """Bars of everything that was measured of several drives or at several levels; None without two bars."""
    items = measured(sets)
    groups: dict[tuple[bool | str | float | None, ...], list[Measured]] = {}
    for one in what_it_is_about(items):
        size, depth = one.numbers.get(BLOCK_SIZE), one.numbers.get(QUEUE_DEPTH)
        is_latency = one.observation.quantity == "latency"
        # bytes a second are the same whenever they are durable; a time until they are is another
        is_durable = is_latency and one.observation.is_durable
        operation = one.observation.operation if is_latency else one.observation.operation.removeprefix("durable_")
        key = (is_latency, is_durable, operation, size, depth or 1)
        groups.setdefault(key, []).append(one)
    sweeps = _sweeps(items)
    drawn: list[DrawnBars] = []
    for members in groups.values():
        kept = [one for one in members if (one.source, one.observation.workload) not in sweeps]
        bars = bars_of(kept)
        if len(bars) > 1:
            drawn += drawn_bars(_title(kept), bars)
    if not drawn:
        return None
    shown = [each for one in drawn for bar in one.bars for each in bar.point.members]
    words = [event_words(shown), words_of([bar for one in drawn for bar in one.bars]), caption_end(shown)]
    plots = [one.plot for one in drawn[:PLOTS_AT_MOST]]
    if any("log" in plot.layout["xaxis"]["title"]["text"] for plot in plots):
        words.append(
            "On a logarithmic axis equal distances are equal ratios; the numbers of a row stand in the order of the "
            "legend."
        )
    return Figure(
        key="bar-groups",
        title="Drives and settings side by side",
        caption=" ".join(word for word in words if word) + theme.shown_words(len(plots), len(drawn)),
        plots=tuple(plots),
        table=table_of([(one.name, one.bars) for one in drawn]),
    )


def _sweeps(items: Sequence[Measured]) -> set[tuple[str, str]]:
    """Result sets and workloads with so many sizes or queue depths that lines show them."""
    numbers: dict[tuple[str, str], set[tuple[float | None, ...]]] = {}
    for one in items:
        places = (one.numbers.get(BLOCK_SIZE), one.numbers.get(QUEUE_DEPTH))
        numbers.setdefault((one.source, one.observation.workload), set()).add(places)
    return {workload for workload, found in numbers.items() if len(found) > NUMBERS_AT_MOST}


def what_it_is_about(items: Sequence[Measured]) -> list[Measured]:
    """The numbers that their workloads are about: latencies of what is waited for, bytes of what is large."""
    chosen = [*typical_latencies(items), *(one for one in items if one.observation.metric == THROUGHPUT)]
    return [one for one in chosen if _is_about(one, is_latency=one.observation.quantity == "latency")]


def _is_about(one: Measured, *, is_latency: bool) -> bool:
    is_small = one.numbers.get(BLOCK_SIZE, 0) < 1 << 20
    is_waited_for = one.observation.is_durable or one.numbers.get(QUEUE_DEPTH, 1) == 1
    return (is_small and is_waited_for) == is_latency or one.is_reference


def _title(members: Sequence[Measured]) -> str:
    titles = list(dict.fromkeys(one.observation.title or one.observation.workload for one in members))
    first = members[0]
    what = "throughput" if first.observation.quantity == "throughput" else "latency"
    named = (len(titles) > 2 and shared_beginning(titles)[0]) or " / ".join(titles[:2])
    sized = BLOCK_SIZE in first.numbers and not any(char.isdigit() for char in named)
    size = f", {number_words(BLOCK_SIZE, first.numbers[BLOCK_SIZE])}" if sized else ""
    return f"{named}{size}: {what}"
