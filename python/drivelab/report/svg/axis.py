"""Axes: from a value to its place in px, and which ticks have room."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from drivelab.report.card.letters import width_px
from drivelab.report.numerals import THIN_SPACE

# room beside what is drawn where the figure names no range, as a share of it
_ROOM = 0.05
_TICK_GAP_PX = 6
# between ticks that nobody named, in sizes of their letters
_LYING_EM, _STANDING_EM = 6.0, 4.0
_STEPS = (1, 2, 5)
_DAY_S, _MONTH_S, _MONTHS_FROM_S = 86_400, 2_629_800, 90 * 86_400
_DATE_STEPS_S = (60, 300, 900, 3600, 10_800, 21_600, 43_200, _DAY_S, 2 * _DAY_S, 7 * _DAY_S, 14 * _DAY_S)
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 600)
_DATE_PX = 80


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its value, and its words in Plotly's markup."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a drawing.

    Attributes
    ----------
    low, high : float
        Its ends; logarithms on a logarithmic axis.
    begin, end : float
        Where these ends lie, in px.
    is_log : bool
        Whether equal distances are equal ratios.
    first, last : float
        The smaller and the larger of `begin` and `end`.
    """

    spec: Mapping[str, Any]
    low: float
    high: float
    begin: float
    end: float
    is_log: bool = field(init=False)
    first: float = field(init=False)
    last: float = field(init=False)

    def __post_init__(self) -> None:
        """Work out once what every point asks for."""
        first, last = sorted((self.begin, self.end))
        for name, value in (("is_log", self.spec.get("type") == "log"), ("first", first), ("last", last)):
            object.__setattr__(self, name, value)

    def at(self, value: Any) -> float | None:
        """Place of a value; None where it has none."""
        number = number_of(value)
        if number is None or (self.is_log and number <= 0):
            return None
        return self.at_end(math.log10(number) if self.is_log else number)

    def at_end(self, value: float) -> float:
        """Place of an end of a range: on a logarithmic axis, of a logarithm."""
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)

    @property
    def base(self) -> float:
        """Where bars and filled areas stand: at zero, or where the axis begins."""
        return self.begin if self.is_log else self.within(self.at_end(0.0))

    def within(self, place: float) -> float:
        """The place, or the end of the axis that is nearest to it."""
        return min(max(place, self.first), self.last)

    def has(self, place: float, room: float = 0.5) -> bool:
        """Whether a place lies within the axis."""
        return self.first - room <= place <= self.last + room


def number_of(value: Any) -> float | None:
    """A value as a number: dates in seconds; None for none."""
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if value is None or not math.isfinite(value):
        return None
    return float(value)


def range_of(spec: Mapping[str, Any], values: Iterable[Any], *, is_exact: bool) -> tuple[float, float]:
    """The ends of an axis: those that it names, or those of what is drawn with a little room.

    Parameters
    ----------
    is_exact : bool
        Whether there is no room beside the values: cells of a map reach to its sides.
    """
    if "range" in spec:
        low, high = map(float, spec["range"])
        # a run in which nothing took any time
        return (low, high) if low != high else (low, low + 1)
    known = [number for value in values if (number := number_of(value)) is not None]
    if spec.get("type") == "log":
        known = [math.log10(number) for number in known if number > 0]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if spec.get("rangemode") == "tozero":
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    room = 0.0 if is_exact else _ROOM * (high - low)
    from_zero = spec.get("rangemode") == "tozero" and low == 0
    return low if from_zero else low - room, high + room


def ticks_of(axis: Axis, size_px: float) -> list[Tick]:
    """The ticks of an axis: those that it names, or round values."""
    spec = axis.spec
    if "tickvals" in spec:
        texts = spec.get("ticktext", [f"{value:g}" for value in spec["tickvals"]])
        found = [Tick(value, text) for value, text in zip(spec["tickvals"], texts, strict=True)]
    elif spec.get("type") == "date":
        found = _date_ticks(axis)
    elif axis.is_log:
        decades = range(math.ceil(axis.low - 1e-9), math.floor(axis.high + 1e-9) + 1)
        found = [Tick(10.0**power, f"{10.0**power:,g}".replace(",", THIN_SPACE)) for power in decades]
    else:
        apart_px = size_px * (_STANDING_EM if spec.get("side") == "left" else _LYING_EM)
        found = _round_ticks(axis, spec.get("nticks") or max(2.0, abs(axis.end - axis.begin) / apart_px))
    if spec.get("rangemode") == "nonnegative":
        found = [tick for tick in found if tick.value >= 0]
    inside = [tick for tick in found if (place := axis.at(tick.value)) is not None and axis.has(place)]
    return fitting(axis, inside, size_px) if axis.spec.get("side") != "left" else inside


def _round_ticks(axis: Axis, at_most: float) -> list[Tick]:
    low, high = sorted((axis.low, axis.high))
    power = 10.0 ** math.floor(math.log10((high - low) / at_most))
    step = next(one for one in (*(power * step for step in _STEPS), power * 10) if (high - low) / one <= at_most)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    values = [(first + number) * step for number in range(count)]
    return [Tick(value, _number_text(value, digits)) for value in values]


def _number_text(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}" if round(value, digits) else "0"
    return text.replace(",", THIN_SPACE).replace("-", "−")


def _date_ticks(axis: Axis) -> list[Tick]:
    span = axis.high - axis.low
    at_most = max(2.0, abs(axis.end - axis.begin) / _DATE_PX)
    if span > _MONTHS_FROM_S:
        return _month_ticks(axis, next(step for step in _MONTH_STEPS if span / (step * _MONTH_S) <= at_most))
    step = next((one for one in _DATE_STEPS_S if span / one <= at_most), _DATE_STEPS_S[-1])
    form = "%d %b %Y" if step >= _DAY_S else "%d %b %H:%M"
    values = [number * step for number in range(math.ceil(axis.low / step), math.floor(axis.high / step) + 1)]
    return [Tick(value, datetime.fromtimestamp(value, UTC).strftime(form)) for value in values]


def _month_ticks(axis: Axis, step: int) -> list[Tick]:
    first, last = (datetime.fromtimestamp(end, UTC) for end in (axis.low, axis.high))
    months = range(12 * first.year, 12 * last.year + 12, step)
    days = [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months]
    return [Tick(day.timestamp(), day.strftime("%b %Y")) for day in days if axis.low <= day.timestamp() <= axis.high]


def fitting(axis: Axis, ticks: Sequence[Tick], size_px: float) -> list[Tick]:
    """The ticks of an axis that lies, thinned until no label touches the next: first to powers of ten."""
    tens = [tick for tick in ticks if axis.is_log and tick.value > 0 and math.log10(tick.value) % 1 < 1e-9]
    choices = [
        list(ticks),
        *([tens] if len(tens) > 1 else []),
        *(list(ticks[::every]) for every in range(2, len(ticks))),
    ]
    return next((chosen for chosen in choices if not _touch(axis, chosen, size_px)), list(ticks[:1]))


def _touch(axis: Axis, ticks: Sequence[Tick], size_px: float) -> bool:
    spans = sorted((axis.at(tick.value) or 0.0, width_px(tick.text, size_px) * 0.9) for tick in ticks)
    return any(
        one + width / 2 + _TICK_GAP_PX > other - next_width / 2
        for (one, width), (other, next_width) in itertools.pairwise(spans)
    )
