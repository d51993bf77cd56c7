"""What needs ask for beside what was measured: a row for each limit, with the good side and the bad one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.report.answer import asked_words, limit_words, quantity_words
from drivelab.report.figures import theme
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.numerals import typeset

KEY = "limit-gauge"
ROW_PX, TOP_PX, BOTTOM_PX = 84, 14, 56
_BAND, _LABEL_ABOVE, _LIMIT_BELOW = 0.2, 0.36, 0.34
# the narrowest axis, so that what lies close by the limit is seen to do so
_LEAST_FACTOR = 10
# beyond the outermost number, so that both sides of a limit are seen
_ROOM = 1.3
_NAMES = {"ns": "Latency", "1/s": "Rate", "B/s": "Throughput"}
CAPTION = (
    "The point is what was measured, the bar through it the 95\u00a0% interval, and the upright line the limit: "
    "green is the side that a need allows, red the other."
)
BOUND = " An arrow is a bound: there was too little data for a number, which is at least there."


@dataclass(frozen=True, slots=True)
class Gauge:
    """A limit, and what was measured.

    Attributes
    ----------
    limit_text, text : str
        Who asks for what, and what was measured, in words.
    unit : str
        Of the numbers: ns, 1/s or B/s.
    is_at_most : bool
        Whether the limit is an upper one.
    limit, value, low, high : float
        The limit, what was measured and its interval; None for what is not known.
    outcome : str
        pass, fail or undecided.
    """

    limit_text: str
    text: str
    unit: str
    is_at_most: bool
    limit: float
    value: float | None
    low: float | None
    high: float | None
    outcome: str


def gauges_of(verdict: Mapping[str, Any] | None) -> Iterator[Gauge]:
    """The limits of all needs that were judged, where something was measured."""
    judged = (verdict or {}).get("verdicts") or [verdict or {}]
    for one in judged:
        for check in one.get("checks", ()):
            threshold, estimate = check["threshold"], check.get("estimate") or {}
            value, low, unit = estimate.get("value"), estimate.get("low"), str(threshold["unit"])
            known = value or low
            if not known or unit not in _NAMES:
                continue
            limit, is_at_most = float(threshold["limit"]), threshold["direction"] == "at_most"
            asks = "asks for" if threshold["force"] == "required" else "recommends"
            yield Gauge(
                limit_text=f"{one.get('title', '')} {asks} {limit_words(limit, unit)} or "
                f"{'less' if is_at_most else 'more'}",
                text=asked_words(threshold, f"{'' if value else 'at least '}{quantity_words(known, unit)}"),
                unit=unit,
                is_at_most=is_at_most,
                limit=limit,
                value=value,
                low=low,
                high=estimate.get("high"),
                outcome=check["outcome"],
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
        caption=CAPTION + BOUND * any(gauge.value is None for gauge in gauges),
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
    layout["yaxis"] = theme.axis("", range=[len(gauges) - 0.5, -0.5], visible=False, fixedrange=True)
    for row, gauge in enumerate(gauges):
        layout["shapes"] += _sides(row, gauge, *ends)
        layout["annotations"] += _words(row, gauge, math.sqrt(ends[0] * ends[1]))
    return Plot([_marks(gauges)], layout, height, _NAMES[unit] if is_named else "")


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


def _words(row: int, gauge: Gauge, middle: float) -> list[dict[str, Any]]:
    """What was measured above the row, what is asked for below it."""
    measured = theme.row_label(theme.escaped(typeset(gauge.text)), row, _LABEL_ABOVE)
    measured["font"] = {"size": theme.TEXT_SIZE, "color": theme.INK}
    return [
        measured,
        {
            "text": theme.escaped(typeset(gauge.limit_text)),
            "xref": "x",
            "x": math.log10(gauge.limit),
            "xanchor": "right" if gauge.limit > middle else "left",
            "yref": "y",
            "y": row + _LIMIT_BELOW,
            "yanchor": "middle",
            "showarrow": False,
            "font": {"size": theme.SMALL_TEXT_SIZE, "color": "var(--fail)"},
        },
    ]


def _marks(gauges: Sequence[Gauge]) -> dict[str, Any]:
    places = [one.value or one.low or one.limit for one in gauges]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": places,
        "y": list(range(len(gauges))),
        "text": [theme.escaped(typeset(f"{one.text}; {one.limit_text}")) for one in gauges],
        "hoverinfo": "text",
        "cliponaxis": False,
        "marker": {
            "symbol": ["circle" if one.value else "arrow-right-open" for one in gauges],
            "size": 13,
            "color": theme.BLUE,
        },
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, (one.high or at) - at) for one, at in zip(gauges, places, strict=True)],
            "arrayminus": [max(0.0, at - (one.low or at)) for one, at in zip(gauges, places, strict=True)],
            "color": theme.BLUE,
            "thickness": 5,
            "width": 0,
        },
    }


def _table(gauges: Sequence[Gauge]) -> DataTable:
    columns = ("asked", "measured", "unit", "limit", "value", "value_low", "value_high", "outcome")
    return DataTable(
        columns,
        [[one.limit_text, one.text, one.unit, one.limit, one.value, one.low, one.high, one.outcome] for one in gauges],
    )
