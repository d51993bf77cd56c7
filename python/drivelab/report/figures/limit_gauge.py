"""What needs ask for beside what was measured: a row for each limit, with the good side and the bad one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.verdict import COMMITS, verdicts_in
from drivelab.report.answer import asked_words, estimate_words, interval_words, limit_words, quantity_words
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import typeset

KEY = "limit-gauge"
ROW_PX, TOP_PX, BOTTOM_PX = 84, 14, 56
_BAND, _LABEL_ABOVE, _NUMBER_BELOW = 0.2, 0.36, 0.34
# the narrowest axis, so that what lies close by the limit is seen to do so
_LEAST_FACTOR = 10
# beyond the outermost number, for both sides of a limit and what stands there
_ROOM = 2.5
_NAMES = {"ns": "Latency", "1/s": "Rate", "B/s": "Throughput"}
CAPTION = (
    "The point is what was measured, the bar through it the 95\u00a0% interval, and the upright line the limit: "
    "green is the side that a need allows, red the other."
)
OPEN = " A bar that reaches the edge has no known end there, and an arrow is a bound: too little was measured."


@dataclass(frozen=True, slots=True)
class Gauge:
    """A limit, and what was measured.

    Attributes
    ----------
    need : str
        Who asks for it, for people.
    is_required, is_at_most : bool
        Whether it decides the verdict, and whether it is an upper limit.
    asked, told : str
        The same sentence with the limit, and with what was measured.
    limit_text, text, interval : str
        The limit, what was measured and its 95 % interval: ``10 ms``, ``933 µs``, ``893 µs to 998 µs``.
    unit : str
        Of the numbers: ns, 1/s or B/s.
    limit, value, low, high : float
        The numbers; None for what is not known.
    outcome : str
        pass, fail or undecided.
    is_wanted : bool
        Whether whoever made the check wanted it: how often a program commits.
    """

    need: str
    is_required: bool
    is_at_most: bool
    asked: str
    told: str
    limit_text: str
    text: str
    interval: str
    unit: str
    limit: float
    value: float | None
    low: float | None
    high: float | None
    outcome: str
    is_wanted: bool = False

    @property
    def limit_words(self) -> str:
        """Who asks for what: ``etcd asks for 10 ms or less``."""
        limit = f"{self.limit_text} or {'less' if self.is_at_most else 'more'}"
        if self.is_wanted:
            # no program asks for it
            return f"{self.need}: {limit} wanted"
        return f"{self.need} {'asks for' if self.is_required else 'recommends'} {limit}"

    @property
    def place(self) -> float:
        """Where its mark stands."""
        return self.value or self.low or self.limit


def gauges_of(verdict: Mapping[str, Any] | None) -> Iterator[Gauge]:
    """The limits of all needs that were judged, where something was measured."""
    for one in verdicts_in(verdict):
        for check in one.get("checks", ()):
            threshold, estimate = check["threshold"], Estimate(**check["estimate"]) if check.get("estimate") else None
            if estimate is None or threshold["unit"] not in _NAMES or not (estimate.value or estimate.low):
                continue
            if lasting := check.get("lasting_per_s"):
                # it is judged by what lasts, not by what a cache or a burst gave at first
                estimate = replace(estimate, value=lasting, low=None, high=None)
            limit_text, text = limit_words(threshold["limit"], threshold["unit"]), estimate_words(estimate)
            yield Gauge(
                need=str(one.get("title", "")),
                is_required=threshold["force"] == "required",
                is_at_most=threshold["direction"] == "at_most",
                asked=asked_words(threshold, limit_text),
                told=asked_words(threshold, text),
                limit_text=limit_text,
                text=text,
                interval=interval_words(estimate),
                unit=threshold["unit"],
                limit=float(threshold["limit"]),
                value=estimate.value,
                low=estimate.low,
                high=estimate.high,
                outcome=check["outcome"],
                is_wanted=threshold.get("metric") == COMMITS,
            )


def limit_gauge(verdict: Mapping[str, Any] | None) -> Figure | None:
    """A row for each limit; None where nothing has one."""
    gauges = list(gauges_of(verdict))
    if not gauges:
        return None
    units = dict.fromkeys(gauge.unit for gauge in gauges)
    return Figure(
        key=KEY,
        title="What is asked for, and what was measured",
        caption=CAPTION + OPEN * any(None in (gauge.value, gauge.low, gauge.high) for gauge in gauges),
        plots=tuple(_plot(unit, [one for one in gauges if one.unit == unit], len(units) > 1) for unit in units),
        table=_table(gauges),
    )


def _plot(unit: str, gauges: Sequence[Gauge], is_named: bool) -> Plot:
    known = [end for one in gauges for end in (one.limit, one.value, one.low, one.high) if end]
    low, high = theme.padded_range(min(known) / _ROOM, max(known) * _ROOM, _LEAST_FACTOR)
    height = TOP_PX + BOTTOM_PX + ROW_PX * len(gauges)
    layout = theme.layout(height, showlegend=False, shapes=[], annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "l": 14}
    layout["xaxis"] = theme.latency_axis(low, high, ticks_at_most=8) if unit == "ns" else _axis(unit, low, high)
    ends = [10**end for end in layout["xaxis"]["range"]]
    layout["yaxis"] = theme.axis("", range=[len(gauges) - 0.5, -0.5], visible=False)
    for row, gauge in enumerate(gauges):
        layout["shapes"] += _sides(row, gauge, *ends)
        layout["annotations"] += _words(row, gauge)
    return Plot([_marks(gauges, *ends)], layout, height, _NAMES[unit] if is_named else "")


def _axis(unit: str, low: float, high: float) -> dict[str, Any]:
    # ticks are chosen for nanoseconds, which have no fractions
    ticks = [tick / 1e6 for tick in theme.latency_ticks(low * 1e6, high * 1e6, at_most=8)]
    return theme.axis(
        f"{_NAMES[unit].lower()} [{'1/s' if unit == '1/s' else 'unit at each tick'}, log scale]",
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[quantity_words(tick, unit).removesuffix(" a second") for tick in ticks],
    )


def _sides(row: int, gauge: Gauge, low: float, high: float) -> list[dict[str, Any]]:
    """The side that is allowed, the other, and the limit between them."""
    place = {"y0": row - _BAND, "y1": row + _BAND, "layer": "below"}
    tints = ("pass", "fail") if gauge.is_at_most else ("fail", "pass")
    sides = zip(tints, ((low, gauge.limit), (gauge.limit, high)), strict=True)
    line = {"type": "line", "x0": gauge.limit, "x1": gauge.limit, "line": {"width": 3, "color": "var(--fail)"}}
    return [
        *(
            {"type": "rect", "x0": x0, "x1": x1, "fillcolor": f"var(--{tint}-tint)", "line": {"width": 0}} | place
            for tint, (x0, x1) in sides
        ),
        line | place,
    ]


def _words(row: int, gauge: Gauge) -> list[dict[str, Any]]:
    """What is asked above the row; below it the limit and what was measured, away from each other."""
    lead = gauge.need if gauge.is_required else f"{gauge.need} recommends"
    asked = theme.row_label(theme.escaped(typeset(f"{lead}: {gauge.asked}")), row, _LABEL_ABOVE)
    asked["font"] = {"size": theme.TEXT_SIZE, "color": theme.INK}
    is_left = gauge.limit < gauge.place
    limit = _number(f"{'≤' if gauge.is_at_most else '≥'}\u00a0{gauge.limit_text}", gauge.limit, row, "var(--fail)")
    measured = _number(f"<b>{gauge.text}</b>", gauge.place, row, theme.BLUE)
    return [
        asked,
        limit | {"xanchor": "right" if is_left else "left"},
        measured | {"xanchor": "left" if is_left else "right"},
    ]


def _number(text: str, at: float, row: int, color: str) -> dict[str, Any]:
    return {
        "text": text,
        "xref": "x",
        "x": math.log10(at),
        "yref": "y",
        "y": row + _NUMBER_BELOW,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": theme.SMALL_TEXT_SIZE, "color": color},
    }


def _marks(gauges: Sequence[Gauge], low: float, high: float) -> dict[str, Any]:
    """What was measured; where one end is not known its bar reaches the edge."""
    reach = [
        (one.place, one.low or low, one.high or high) if one.low or one.high else (one.place, None, None)
        for one in gauges
    ]
    return theme.scatter(
        "markers",
        [one.place for one in gauges],
        list(range(len(gauges))),
        [_hover(one) for one in gauges],
        marker={
            "symbol": ["circle" if one.value else "arrow-right-open" for one in gauges],
            "size": 13,
            "color": theme.BLUE,
        },
        error_x=theme.whiskers(reach, theme.BLUE, thickness=5, width=0),
    )


def _hover(one: Gauge) -> str:
    span = f"<br>95\u00a0% interval {one.interval}" if one.interval else ""
    return f"{theme.escaped(typeset(one.told))}{span}<br>{theme.escaped(one.limit_words)}"


def _table(gauges: Sequence[Gauge]) -> DataTable:
    columns = ("asked", "measured", "unit", "limit", "value", "value_low", "value_high", "outcome")
    return DataTable(
        columns,
        [[one.limit_text, one.text, one.unit, one.limit, one.value, one.low, one.high, one.outcome] for one in gauges],
    )
