"""Axes and words of the quantities that figures of several runs show: latency, throughput, rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.finding import trials_of
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RESPONSE
from drivelab.report.figures import theme
from drivelab.report.figures.measured import FACTOR_UNITS, Measured, Point, factor_words, number_words
from drivelab.report.numerals import DisplayUnit, column_unit, count_text, number_text

# of a measured number, in a label that appears on demand
EXACT_DIGITS = 5
MACHINE_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "star", "cross")
# one name in the legend for the same mark in every figure
INVALID_NAME = "✗ has trials that do not describe the drive"
WHISKERS = (
    "A whisker is the 95\u00a0% interval of a single trial, or reaches from the lowest to the highest of several."
)
HOLLOW = "Hollow marks are published numbers."
INVALID = "A cross marks results with trials that do not describe the drive."
_NAMES = {"ns": "latency", "B/s": "throughput", "1/s": "rate", "B": "size", "1": "value"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How a quantity is drawn: its unit on paper, and whether its axis is logarithmic."""

    unit: str
    shown: DisplayUnit
    is_log: bool

    def drawn(self, value: float) -> float:
        """A value in the unit of the axis."""
        return float(f"{value / self.shown.scale:.6g}")

    def exact(self, value: float) -> str:
        """A value for people with more digits than a table has."""
        return exact_text(value, self.unit)


def exact_text(value: float, unit: str, digits: int = EXACT_DIGITS) -> str:
    """A number with its own unit: ``9.8213 ms``."""
    shown = column_unit([value], unit)
    name = {"1/s": "IOPS"}.get(unit, shown.name)
    return f"{number_text(value / shown.scale, digits)}{chr(0xA0) if name else ''}{name}"


def scale_of(values: Sequence[float], unit: str, *, is_log: bool) -> Scale:
    """The scale that suits values of a unit; latencies on logarithmic axes stay in ns, since their ticks have units."""
    shown = DisplayUnit("ns", 1) if unit == "ns" and is_log else column_unit(values, unit)
    return Scale(unit, shown, is_log)


def value_axis(scale: Scale, low: float, high: float, name: str = "", **more: Any) -> dict[str, Any]:
    """The axis of a quantity.

    Parameters
    ----------
    scale : Scale
        Of the values.
    low, high : float
        Ends of what is drawn, in the internal unit.
    name : str
        What stands before the unit; default: what has such a unit.
    **more
        Plotly's attributes of an axis; ``ticks_at_most``.
    """
    words = name or _NAMES[scale.unit]
    if scale.is_log and scale.unit == "ns":
        latency = theme.latency_axis(low, high, ticks_at_most=more.pop("ticks_at_most", 8), **more)
        latency["title"]["text"] = latency["title"]["text"].replace("latency", words, 1)
        return latency
    unit = scale.shown.name
    if not scale.is_log:
        more.pop("ticks_at_most", None)
        return theme.axis(f"{words} [{unit}]" if unit else words, rangemode="tozero", **more)
    ends = theme.padded_range(1e6 * low / scale.shown.scale, 1e6 * high / scale.shown.scale)
    ticks = [tick / 1e6 for tick in theme.latency_ticks(*ends, at_most=more.pop("ticks_at_most", 8))]
    return theme.axis(
        f"{words} [{unit}, log scale]" if unit else f"{words} [log scale]",
        type="log",
        range=[math.log10(end / 1e6) for end in ends],
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{number_text(tick, 2)}" if tick < 10 else count_text(tick) for tick in ticks],
        **more,
    )


def factor_axis(factor: str, numbers: Sequence[float], **more: Any) -> dict[str, Any]:
    """The axis of a factor with its levels as ticks; logarithmic where they are positive and far apart."""
    unit = FACTOR_UNITS.get(factor, "")
    is_log = _is_log_factor(numbers)
    notes = ", ".join(
        filter(None, ("unit at each tick" if unit in ("B", "ns") else unit, "log scale" if is_log else ""))
    )
    words = f"{factor_words(factor)} [{notes}]" if notes else factor_words(factor)
    ticks = sorted(set(numbers))
    every = -(-len(ticks) // 12)
    return theme.axis(
        words,
        type="log" if is_log else "linear",
        tickmode="array",
        tickvals=ticks[::every],
        ticktext=[number_words(factor, tick) for tick in ticks[::every]],
        **more,
    )


def _is_log_factor(numbers: Sequence[float]) -> bool:
    """Whether the levels of a factor are best seen on a logarithmic axis."""
    return min(numbers) > 0 and max(numbers) >= 8 * min(numbers)


def ends_of(points: Sequence[Point]) -> tuple[float, float]:
    """Lowest and highest of points with their whiskers."""
    values = [end for one in points for end in (one.value, one.low, one.high) if end is not None and end > 0]
    return min(values), max(values)


def whiskers(points: Sequence[Point], scale: Scale, color: str) -> dict[str, Any]:
    """Plotly's error bars of points."""
    ends = [(one.value, one.value if one.low is None else one.low, one.high or one.value) for one in points]
    found = theme.whiskers([(scale.drawn(at), scale.drawn(low), scale.drawn(high)) for at, low, high in ends], color)
    return found | {"visible": any(found["array"]) or any(found["arrayminus"])}


def owners(items: Sequence[Measured]) -> dict[tuple[str, str], str]:
    """What tells drives and machines apart: nothing where all is of one; no machine where there is one only."""
    machines = {one.machine for one in items}
    pairs = list(dict.fromkeys((one.drive, one.machine) for one in items))
    if len(pairs) == 1:
        return {pairs[0]: ""}
    named = len(machines) > 1
    return {
        (drive, machine): f"{drive} on {machine}" if named and machine and machine not in drive else drive
        for drive, machine in pairs
    }


def evidence_words(point: Point, scale: Scale) -> str:
    """What is behind a point: its range, the trials and operations, and what is wrong with them."""
    first = point.members[0].observation
    parts = []
    if first.printed and len(point.members) == 1:
        parts.append(f"printed as {theme.escaped(first.printed)}")
    if point.low is not None and point.high is not None and point.low < point.high:
        is_range = point.trial_count > 1
        words = ("lowest", "highest") if is_range else ("95 % interval", "")
        low, high = scale.exact(point.low), scale.exact(point.high)
        parts.append(f"{words[0]} {low} to {words[1]} {high}".replace("  ", " "))
    behind = f"{count_text(point.trial_count)} {'trial' if point.trial_count == 1 else 'trials'}"
    if point.sample_count:
        behind += f", {count_text(point.sample_count)} operations"
    parts.append("published" if point.members[0].is_reference and not point.sample_count else behind)
    if point.invalid_trials:
        parts.append(f"✗ {trials_of(point.invalid_trials, point.trial_count, 'do not')} describe the drive")
    parts += [theme.escaped(one.observation.note) for one in point.members[:1] if one.observation.note]
    return "<br>".join(parts)


def invalid_marks(points: Sequence[tuple[float | str, float]], **axes: Any) -> dict[str, Any] | None:
    """Crosses over what must not be believed; None when there is nothing such."""
    if not points:
        return None
    return (
        theme.scatter(
            "markers",
            [x for x, _ in points],
            [y for _, y in points],
            name=INVALID_NAME,
            marker={"symbol": "x-thin", "size": 13, "color": theme.INK, "line": {"width": 2, "color": theme.INK}},
        )
        | axes
    )


def caption_end(items: Sequence[Measured]) -> str:
    """What marks mean that some of the items have."""
    found = [WHISKERS] if any(one.observation.estimate.low is not None for one in items) else []
    found += [HOLLOW] if any(one.is_reference for one in items) else []
    found += [INVALID] if any(one.observation.invalid_trials for one in items) else []
    return " ".join(found)


def event_words(items: Sequence[Measured]) -> str:
    """From which event to which the latencies of measured items are; empty without latencies."""
    latencies = [one for one in items if one.observation.quantity == "latency"]
    if not latencies:
        return ""
    metrics = {one.observation.metric for one in latencies}
    # pages print means, runs medians
    kinds = [word for word, known in (("median", {LATENCY, RESPONSE}), ("mean", {MEAN_LATENCY})) if metrics & known]
    kind = " or ".join(kinds) or "typical"
    begin = "the moment it was to be issued" if RESPONSE in metrics else "the start of the call"
    is_durable = [one.observation.is_durable for one in latencies]
    if all(is_durable):
        return f"Latency is the {kind} time from {begin} of a write until its sync call had returned."
    end = ", durable writes until their sync call had returned" if any(is_durable) else ""
    return f"Latency is the {kind} time of an I/O from {begin} until it had completed{end}."
