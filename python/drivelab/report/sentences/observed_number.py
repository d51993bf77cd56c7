"""One number of a drive as a sentence has it, with the interval that it is judged by or without."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from drivelab.model.result_set import Observation
from drivelab.model.units import format_rate_bytes_per_s
from drivelab.report.numerals import latency_text, number_text

_UNIT = re.compile(r"\s\D+$")
_WRITERS: Mapping[str, Callable[[float], str]] = {
    "throughput": format_rate_bytes_per_s,
    "rate": lambda value: f"{number_text(value)} a second",
}


def number_alone(one: Observation) -> str:
    """The number without its interval; between what it lies where no more is known."""
    ends = ends_of(one)
    if one.estimate.value is None and ends is not None:
        return _between(one, *ends)
    return _WRITERS.get(one.quantity, latency_text)(one.estimate.value or 0.0)


def number_with_ends(one: Observation) -> str:
    """The number with its interval: ``48.0 µs (5 repeats: 46.1 to 51.2 µs)``."""
    value = number_alone(one)
    ends = ends_of(one)
    if ends is None or ends[0] == ends[1]:
        return value
    of = f"{one.trial_count} repeats:" if one.trial_count > 1 else "95 %:"
    return f"{value} ({of} {_between(one, *ends)})"


def _between(one: Observation, *ends: float) -> str:
    """``46.1 to 51.2 us``."""
    low, high = map(_WRITERS.get(one.quantity, latency_text), ends)
    unit = _UNIT.search(high)
    return f"{low.removesuffix(unit[0]) if unit else low} to {high}"


def ends_of(one: Observation) -> tuple[float, float] | None:
    """The ends of its interval or range; None where nothing tells them."""
    low, high = one.estimate.low, one.estimate.high
    return None if low is None or high is None else (low, high)
