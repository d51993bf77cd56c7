"""Reads the numbers that people print: ``~8``, ``<1ms``, ``6,200/second``, ``between 260 and 270 MB/s``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from drivelab.model.estimate import Unit

_FACTORS: dict[str, tuple[int, Unit]] = {
    "ns": (1, "ns"),
    "us": (10**3, "ns"),
    "µs": (10**3, "ns"),
    "ms": (10**6, "ns"),
    "s": (10**9, "ns"),
    "MB/s": (10**6, "B/s"),
    "GB/s": (10**9, "B/s"),
    "/s": (1, "1/s"),
    "/second": (1, "1/s"),
}
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_PRINTED = re.compile(
    rf"(?P<sign>~|<|about |between )?\s*(?P<first>{_NUMBER})(?:\s*(?:-|to|and)\s*(?P<last>{_NUMBER}))?"
    r"\s*(?P<unit>[µa-zA-Z]*(?:/s(?:econd)?)?)(?: per write)?"
)


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """What a printed number says, in a unit of ours.

    Attributes
    ----------
    value : float or None
        The number; None where only its bounds are printed.
    low, high : float or None
        Bounds, where they are all that is printed: ``<1ms`` lies between 0 and 1 ms.
    unit : str
        ns, B/s or 1/s.
    is_approximate : bool
        Whether the page says "about".
    """

    value: float | None
    low: float | None
    high: float | None
    unit: Unit
    is_approximate: bool


def read_printed(text: str, unit: str = "") -> PrintedNumber:
    """The number in a text.

    Parameters
    ----------
    text : str
        As printed; a trailing "per write" is left out.
    unit : str
        The unit of a text that has none, because the head of its column tells: ns, us, ms, s, MB/s, GB/s, /s.

    Raises
    ------
    ValueError
        No number, or a unit that is not known.

    Examples
    --------
    >>> read_printed("~8", "ms").value, read_printed("<1ms per write").high
    (8000000.0, 1000000.0)
    """
    match = _PRINTED.fullmatch(text.strip())
    if match is None or (match["unit"] or unit) not in _FACTORS:
        raise ValueError(f"'{text}' is not a number in a known unit")
    factor, own_unit = _FACTORS[match["unit"] or unit]
    first = _scaled(match["first"], factor)
    if match["last"]:
        return PrintedNumber(None, first, _scaled(match["last"], factor), own_unit, is_approximate=False)
    if match["sign"] == "<":
        return PrintedNumber(None, 0.0, first, own_unit, is_approximate=False)
    return PrintedNumber(first, None, None, own_unit, is_approximate=match["sign"] in ("~", "about "))


def _scaled(digits: str, factor: int) -> float:
    # in decimals, so that 0.048 ms is 48000 ns and not 48000.000000000007
    return float(Decimal(digits.replace(",", "")) * factor)
