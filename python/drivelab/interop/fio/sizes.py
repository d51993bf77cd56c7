"""fio's sizes and times, which are not drivelab's: ``4k`` is 4096, ``4KiB`` is 4000, ``30sec`` is 30 us."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from drivelab.interop.fio.arithmetic import ArithmeticMistake, evaluated
from drivelab.model.units import format_bytes, format_duration_ns

VALUE_MAX = 2**63 - 1
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|\d+)(.*)", re.DOTALL | re.ASCII)
_SEPARATORS = re.compile(r"[:\-,/]")
_TIMES_US = {"s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
_TIMES_MEANT_US = {
    "sec": 10**6,
    "secs": 10**6,
    "second": 10**6,
    "seconds": 10**6,
    "min": 60 * 10**6,
    "mins": 60 * 10**6,
    "minute": 60 * 10**6,
    "minutes": 60 * 10**6,
    "hr": 3600 * 10**6,
    "hour": 3600 * 10**6,
    "hours": 3600 * 10**6,
    "day": 86400 * 10**6,
    "days": 86400 * 10**6,
}
Measure = Literal["bytes", "percent", "zones"]


class ValueMistake(Exception):
    """A value that is none; the text says why."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as fio reads it.

    Attributes
    ----------
    value : int
        Bytes, a bare number, per cent, zones, or microseconds.
    measure : str
        What it counts.
    surprise : str
        What a reader would not expect of it; "" for nothing.
    """

    value: int
    measure: Measure = "bytes"
    surprise: str = ""


def parse_amount(text: str, *, kb_base: int = 1024) -> Amount:
    """A size or a bare number, as fio reads it: suffixes are powers of `kb_base`.

    With a base of 1024 KiB, MiB and so on are powers of 1000, and the other way
    round with 1000. A suffix that fio doesn't know is passed over.

    Raises
    ------
    ValueMistake
        There is no number, it has a fraction, or it is too large.
    """
    if text.strip().startswith("("):
        return Amount(_calculated(text, lambda suffix: Fraction(_factor(suffix.lower(), kb_base))))
    number, rest = _number_of(text)
    if text[:1].isspace() and rest.strip():
        return Amount(number, surprise=_surprise_of_blank(text, number))
    suffix = _SEPARATORS.split(rest)[0].strip()
    if re.match(r"\.\d", rest):
        raise ValueMistake(f"fio knows no fractions and would read {number}: write a smaller unit")
    if suffix.startswith("%"):
        return Amount(number, "percent")
    factor = _factor(suffix.lower(), kb_base)
    value = _checked(number * factor)
    return Amount(value, surprise=_surprise_of_size(text.strip(), suffix, number, factor, kb_base))


def parse_zones(text: str) -> Amount | None:
    """A number of zones, ``3z``; None if it is none."""
    match = re.fullmatch(r"\s*(\d+)z", text, re.ASCII)
    return Amount(_checked(int(match[1])), "zones") if match else None


def parse_time_us(text: str, *, in_seconds: bool) -> Amount:
    """A time in microseconds, as fio reads it: a bare number is in seconds or microseconds.

    Raises
    ------
    ValueMistake
        There is no number, it has a fraction, or it is too large.
    """
    bare = 10**6 if in_seconds else 1
    if text.strip().startswith("("):
        return Amount(_calculated(text, lambda suffix: Fraction(_time_factor(suffix.lower()) if suffix else bare)))
    number, rest = _number_of(text)
    if re.match(r"\.\d", rest):
        raise ValueMistake(f"fio knows no fractions and would read {number}: write a smaller unit")
    if text[:1].isspace() and rest.strip():
        return Amount(_checked(number * bare), surprise=_surprise_of_blank(text, number))
    if not rest[:1].isalpha():
        return Amount(_checked(number * bare))
    suffix = rest.strip().lower()
    value = _checked(number * _time_factor(suffix))
    known = suffix in ("us", "usec", "ms", "msec", *_TIMES_US)
    return Amount(value, surprise="" if known else _surprise_of_time(text.strip(), suffix, number, value))


def _number_of(text: str) -> tuple[int, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueMistake("a number is missing" if not text.strip() else "it does not begin with a number")
    is_hexadecimal = match[2][:2] in ("0x", "0X")
    # a leading zero is no octal number to fio; more digits than these are too large anyway
    digits = match[2][2:].lstrip("0")[:40] if is_hexadecimal else match[2].lstrip("0")[:40]
    number = int(digits or "0", 16 if is_hexadecimal else 10)
    return _checked(-number if match[1] == "-" else number), match[3]


def _factor(suffix: str, kb_base: int) -> int:
    base = kb_base
    if suffix[1:3] == "ib":
        base = 1000 if kb_base == 1024 else 1024
    return math.prod([base] * _POWERS.get(suffix[:1], 0))


def _time_factor(suffix: str) -> int:
    if suffix.startswith("us"):
        return 1
    if suffix.startswith("ms"):
        return 1000
    # what fio does not know counts as microseconds
    return _TIMES_US.get(suffix, 1)


def _surprise_of_size(text: str, suffix: str, number: int, factor: int, kb_base: int) -> str:
    lowered = suffix.lower()
    if lowered[1:3] == "ib" and factor != 1 and kb_base == 1024:
        other = number * 1024 ** _POWERS[lowered[0]]
        return (
            f"{text} is {number * factor} B to fio, because its KiB are of 1000 B unless kb_base=1000; "
            f"{number}{lowered[0]} would be {other} B ({format_bytes(other)})"
        )
    if lowered[:2] in ("ki", "mi", "gi", "ti", "pi") and lowered[2:] == "" and kb_base == 1000:
        power = _POWERS[lowered[0]]
        return f"{text} is {number * 1000**power} B to fio with kb_base=1000, not {number * 1024**power} B"
    known = lowered in ("", "b", *_POWERS, *(f"{each}{rest}" for each in _POWERS for rest in ("b", "i", "ib")))
    return "" if known else f"fio takes no notice of what follows the number in {text}: it is {number * factor}"


def _surprise_of_time(text: str, suffix: str, number: int, value: int) -> str:
    read = f"{text} is {format_duration_ns(value * 1000)} to fio, which does not know '{suffix}'"
    meant = _TIMES_MEANT_US.get(suffix)
    if meant is None:
        return read
    unit = next(short for short, factor in _TIMES_US.items() if factor == meant)
    return f"{read}; {number}{unit} would be {format_duration_ns(number * meant * 1000)}"


def _surprise_of_blank(text: str, number: int) -> str:
    return f"'{text}' is {number} to fio, which does not see a unit behind a blank: write it without the blank"


def _calculated(text: str, unit: Callable[[str], Fraction]) -> int:
    try:
        return _checked(int(evaluated(text, unit=unit)))
    except ArithmeticMistake as mistake:
        raise ValueMistake(str(mistake)) from None


def _checked(value: int) -> int:
    if not 0 <= value <= VALUE_MAX:
        raise ValueMistake("it is too large" if value > 0 else "it is below 0")
    return value
