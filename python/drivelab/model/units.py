"""The only parser and the only printer of sizes, times and rates.

Inside drivelab every size is an integer of bytes and every time an integer
of nanoseconds. MB is 10**6 bytes and MiB is 2**20 bytes, always. A bare
``k`` or ``M`` is refused, because people disagree about what it means.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from drivelab.model.errors import DrivelabError

_BYTE_UNITS = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
# between the digits of a number, and between it and its unit
_WITHIN_QUANTITY = re.compile(
    r"(?<=\d) (?=\d{3}(?!\d))|(?<=\d) (?=(?:ns|us|µs|ms|s|min|h|B|[KMGT]iB|[kMGT]B|[kMG]B/s|%|IOPS)(?!\w))"
)
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)


@lru_cache(maxsize=1024)
def parse_bytes(text: str) -> int:
    """Number of bytes that a text such as ``4KiB`` names.

    Parameters
    ----------
    text : str
        A number, and a unit of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.

    Raises
    ------
    DrivelabError
        U001: no number, no known unit, or not a whole number of bytes.

    Examples
    --------
    >>> parse_bytes("4KiB"), parse_bytes("1.5MB"), parse_bytes("512")
    (4096, 1500000, 512)
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _BYTE_UNITS:
        raise DrivelabError("U001", f"'{text}' is not a size", do=_byte_advice(text))
    count = Fraction(match[1]) * _BYTE_UNITS[match[2]]
    if count.denominator != 1:
        raise DrivelabError("U001", f"'{text}' is not a whole number of bytes")
    return int(count)


def _byte_advice(text: str) -> str:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT])\s*", text)
    if match is None:
        return "write a number and a unit: 4KiB, 1MB, 512"
    number, prefix = match[1], match[2].upper()
    decimal = "kB" if prefix == "K" else f"{prefix}B"
    return f"write {number}{prefix}iB (powers of 1024) or {number}{decimal} (powers of 1000)"


@lru_cache(maxsize=1024)
def parse_duration_ns(text: str) -> int:
    """Nanoseconds that a text such as ``5s`` or ``250ms`` names.

    Raises
    ------
    DrivelabError
        U002: no number or no known unit (ns, us, ms, s, min, h).

    Examples
    --------
    >>> parse_duration_ns("250ms")
    250000000
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _TIME_UNITS:
        raise DrivelabError("U002", f"'{text}' is not a duration")
    return round(Fraction(match[1]) * _TIME_UNITS[match[2]])


def format_bytes(count: float) -> str:
    """Bytes for people, in powers of 1024: ``4 KiB``, ``1.5 GiB``, ``2300 B``."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        size = _BYTE_UNITS[unit]
        if count >= size:
            scaled = count / size
            exact = scaled == int(scaled)
            if unit == "KiB" and not exact and count < 10 * size:
                break
            return f"{int(scaled)} {unit}" if exact else f"{_three_digits(scaled)} {unit}"
    return f"{int(count)} B"


def format_decimal_bytes(count: float) -> str:
    """Bytes for people, in powers of 1000 as makers rate drives: ``12 GB``, ``600 TB``, ``1500 TB``."""
    for unit in ("TB", "GB", "MB", "kB"):
        size = _BYTE_UNITS[unit]
        if count >= 0.9995 * size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{int(count)} B"


def format_percent(share: float) -> str:
    """A share for people, with two digits: ``0.002 %``, ``12 %``, ``0.00031 %``."""
    if share <= 0 or not math.isfinite(share):
        return "0 %"
    decimals = max(0, 1 - math.floor(math.log10(share * 100)))
    text = f"{share * 100:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def format_duration_ns(nanoseconds: float) -> str:
    """A time for people with three digits: ``333 us``, ``9.82 ms``, ``1.2 s``."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(nanoseconds) >= 0.9995 * size:
            return f"{_measured_digits(nanoseconds / size)} {unit}"
    return f"{_measured_digits(nanoseconds)} ns"


def format_wait_ns(nanoseconds: float) -> str:
    """A time to wait, for people: ``40 s``, ``3 min``, ``2 h 10 min``."""
    seconds = round(nanoseconds / 1e9)
    if seconds < 60:
        return f"{seconds} s" if seconds else "less than 1 s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def format_rate_bytes_per_s(rate: float) -> str:
    """Throughput for people, in powers of 1000: ``538 MB/s``."""
    for unit, size in (("GB/s", 10**9), ("MB/s", 10**6), ("kB/s", 10**3)):
        if rate >= 0.9995 * size:
            return f"{_measured_digits(rate / size)} {unit}"
    return f"{_measured_digits(rate)} B/s"


def format_count(count: float) -> str:
    """A whole number for people: ``12 345``."""
    return f"{round(count):,}".replace(",", " ")


def format_rate_per_s(rate: float) -> str:
    """Operations per second for people: ``98 500``, ``104``, ``9.82``."""
    if rate >= 1000:
        digits = max(0, 3 - math.ceil(math.log10(rate + 1)))
        return format_count(round(rate, digits - (len(str(int(rate))) - 3)))
    return _measured_digits(rate)


def glued(text: str) -> str:
    """A text in which no end of a line can part a number from its unit: ``1 090 us`` with unbreakable spaces."""
    return _WITHIN_QUANTITY.sub("\u00a0", text)


def format_quantity(value: float, unit: str) -> str:
    """A value in one of the internal units (ns, B, B/s, 1/s, 1), for people."""
    if unit == "ns":
        return format_duration_ns(value)
    if unit == "B":
        return format_bytes(value)
    if unit == "B/s":
        return format_rate_bytes_per_s(value)
    if unit == "1/s":
        return format_rate_per_s(value)
    return _measured_digits(value)


def quantity_in_words(value: float, unit: str) -> str:
    """The same for a sentence, in which a rate is one ``a second``: ``300 a second``, ``134 MB/s``."""
    return f"{format_quantity(value, unit)}{' a second' if unit == '1/s' else ''}"


def _measured_digits(value: float) -> str:
    """Three digits; a zero that was measured is a digit, one behind a number that somebody chose is none."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    # 0.9996 becomes 1.00, which has one digit more before the point
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    decimals = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return _three_digits(value) if math.isclose(rounded, value, rel_tol=1e-9) else f"{rounded:.{decimals}f}"


def _three_digits(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
