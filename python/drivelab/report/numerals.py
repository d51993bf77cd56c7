"""Numbers as a page prints them: three significant digits, one unit for a whole column.

A column of a table has one unit in its header, so that its numbers can be
compared at a glance; `column_unit` picks it. `model.units` prints numbers that
stand alone, each with a unit of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from string import ascii_letters

from drivelab.model.estimate import Estimate
from drivelab.model.metric import Metric, metric_of
from drivelab.model.units import format_count, format_rate_bytes_per_s, format_rate_per_s

_QUANTITY = re.compile(r"(?<=\d) (ns|us|ms|s|B|KiB|MiB|GiB|[kMG]B/s|%)(?!\w)")
# between the digits of a number
_GROUPS = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
# narrow and unbreakable, so that 12 300 never falls apart at the end of a line
THIN_SPACE = "\u202f"
SIGNIFICANT_DIGITS = 3
_UNIT_CHARACTERS = f" \u00a0{THIN_SPACE}/{ascii_letters}µ"


@dataclass(frozen=True, slots=True)
class DisplayUnit:
    """A unit that a column or an axis is printed in.

    Attributes
    ----------
    name : str
        What stands in the header (``µs``); empty for a plain number.
    scale : float
        How many internal units (ns, B, B/s, 1/s) one of it is.
    """

    name: str
    scale: float


_CHOICES: dict[str, tuple[DisplayUnit, ...]] = {
    "ns": (DisplayUnit("ns", 1), DisplayUnit("µs", 1e3), DisplayUnit("ms", 1e6), DisplayUnit("s", 1e9)),
    "B/s": (DisplayUnit("B/s", 1), DisplayUnit("kB/s", 1e3), DisplayUnit("MB/s", 1e6), DisplayUnit("GB/s", 1e9)),
    "B": (DisplayUnit("B", 1), DisplayUnit("KiB", 2**10), DisplayUnit("MiB", 2**20), DisplayUnit("GiB", 2**30)),
    "1/s": (DisplayUnit("1/s", 1),),
    "1": (DisplayUnit("", 1),),
}
# the middle number of a column is printed as at least 1 of its unit; throughput stays in MB/s, where people know it
_AT_MOST = {"B/s": 1e6}


def column_unit(values: Iterable[float | None], unit: str) -> DisplayUnit:
    """The unit to print a column of values in.

    Parameters
    ----------
    values : iterable of float or None
        The column, in the internal unit.
    unit : str
        The internal unit: ns, B, B/s, 1/s or 1.

    Returns
    -------
    DisplayUnit
        The largest unit that leaves the middle value at 1 or more, of throughput the largest one.
    """
    known = sorted(abs(value) for value in values if value is not None and math.isfinite(value) and value != 0)
    choices = [choice for choice in _CHOICES[unit] if choice.scale <= _AT_MOST.get(unit, math.inf)]
    if not known:
        return choices[-1] if unit == "B/s" else choices[0]
    # 2 870 MB/s is read more easily beside 0.302 than 2 870 000 kB/s beside 302
    middle = known[-1] if unit == "B/s" else known[(len(known) - 1) // 2]
    fitting = [choice for choice in choices if middle >= choice.scale]
    return fitting[-1] if fitting else choices[0]


def span_beside(value: str, low: str, high: str) -> str:
    """An interval that stands beside its number, without the unit where all three have the same: ``1.37–1.41``.

    A lower end of 0, which what was done cannot have, says that only the upper one is known: ``≤3.42 GB/s``.
    """
    if _is_zero(low) and not _is_zero(value):
        return f"≤{high}"
    units = {text[len(text.rstrip(_UNIT_CHARACTERS)) :] for text in (value, low, high)}
    unit = units.pop() if len(units) == 1 else ""
    return f"{low.removesuffix(unit)}–{high.removesuffix(unit)}"


def span_between(low: str, high: str, word: str = "to") -> str:
    """A span or a pair in a sentence, with the unit once where both have the same: ``290 to 516 MB/s``."""
    units = {text[len(text.rstrip(_UNIT_CHARACTERS)) :] for text in (low, high)}
    return f"{low.removesuffix(units.pop()) if len(units) == 1 else low} {word} {high}"


def _is_zero(text: str) -> bool:
    return not text.rstrip(_UNIT_CHARACTERS).strip("0.")


def shown_number(estimate: Estimate) -> float | None:
    """What a column shows of an estimate, for the choice of its unit: the value, else a bound, else what was seen."""
    known = (estimate.value, estimate.low, estimate.high, estimate.observed)
    return next((number for number in known if number is not None), None)


def number_text(value: float, significant: int = SIGNIFICANT_DIGITS) -> str:
    """A number with so many significant digits: ``0.0123``, ``1.5``, ``12 300``.

    Zeros after the decimal point are kept, since they are digits that were measured.
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    magnitude = math.floor(math.log10(abs(value)))
    # the number of an array is rounded in twenty times the time
    rounded = round(float(value), significant - 1 - magnitude)
    # 9.996 becomes 10.0, which has one digit more before the point
    magnitude = math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, significant - 1 - magnitude)}f}".replace(",", THIN_SPACE)


def count_text(count: float) -> str:
    """A whole number with its digits in groups: ``12 345``."""
    return format_count(count).replace(" ", THIN_SPACE)


def rate_text(value: float) -> str:
    """Commands per operation: two decimals, because whole numbers are expected: ``1.00``, ``2.07``."""
    return f"{value:,.2f}".replace(",", THIN_SPACE) if value < 1000 else number_text(value)


def cell_number(metric: Metric, unit: DisplayUnit, value: float) -> str:
    """A number of a metric in a column's unit: a share in percent, a count per operation with two decimals."""
    if metric.is_share:
        return number_text(100 * value)
    return rate_text(value) if metric.unit == "1" else number_text(value / unit.scale)


def value_writer(metric: str) -> Callable[[float], str]:
    """What writes the numbers of a metric that workloads are judged by: a latency, a throughput or a rate."""
    writers = {"B/s": format_rate_bytes_per_s, "1/s": lambda rate: f"{format_rate_per_s(rate)}/s"}
    return writers.get(metric_of(metric).unit, latency_text)


def latency_text(nanoseconds: float) -> str:
    """A measured latency that stands alone, with its unit: ``333 µs``, ``9.80 ms``."""
    unit = _latency_unit(nanoseconds)
    return f"{number_text(nanoseconds / unit.scale)}\u00a0{unit.name}"


def round_latency_text(nanoseconds: float) -> str:
    """A latency that somebody chose, a limit or a tick of an axis: ``10 ms``, ``1.5 ms``."""
    unit = _latency_unit(nanoseconds)
    text = number_text(nanoseconds / unit.scale)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}\u00a0{unit.name}"


def _latency_unit(nanoseconds: float) -> DisplayUnit:
    fitting = [unit for unit in _CHOICES["ns"] if abs(nanoseconds) >= 0.9995 * unit.scale]
    return fitting[-1] if fitting else _CHOICES["ns"][0]


def typeset(text: str) -> str:
    """A sentence written for terminals, with real micro signs and arrows, and numbers that no line break parts."""
    text = _GROUPS.sub("\u00a0", text)
    text = text.replace(" -> ", "\u00a0→ ")
    return _QUANTITY.sub(lambda found: "\u00a0" + ("µs" if found[1] == "us" else found[1]), text)


def percent_text(fraction: float) -> str:
    """A share for people: ``24.7 %``; tiny ones keep their first digits."""
    return f"{number_text(100 * fraction)}\u00a0%"


def estimate_numbers(estimate: Estimate, unit: DisplayUnit) -> tuple[str, str]:
    """An estimate in a column's unit: the value, and its interval (``320–345``; empty when there is none).

    Where one end of the interval is all that is known, it is a bound, ``≥ 812``.
    A quantile that lies beyond all that was measured is a bound itself, with the
    largest observation below it, ``seen 930``; a count that is known only
    between bounds is both of them, ``1.00–2.00``, or one where they print alike. What was counted
    exactly (`unit` 1 or B) has no interval.
    """
    write = rate_text if estimate.unit == "1" else number_text
    if estimate.value is None and estimate.low is not None and estimate.high is not None:
        least, most = write(estimate.low / unit.scale), write(estimate.high / unit.scale)
        return least if least == most else f"{least}–{most}", ""
    if estimate.value is None:
        bound = "–" if estimate.low is None else f"≥{THIN_SPACE}{write(estimate.low / unit.scale)}"
        return bound, "" if estimate.observed is None else f"seen {write(estimate.observed / unit.scale)}"
    value = write(estimate.value / unit.scale)
    low = "" if estimate.low is None else write(estimate.low / unit.scale)
    high = "" if estimate.high is None else write(estimate.high / unit.scale)
    if estimate.unit in ("1", "B") and estimate.low == estimate.high:
        return value, ""
    if not low or not high:
        return value, f"≥{THIN_SPACE}{low}" if low else f"≤{THIN_SPACE}{high}" if high else ""
    return value, f"{low}–{high}"
