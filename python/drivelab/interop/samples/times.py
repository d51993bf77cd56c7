"""Times of samples, however they are written, as seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from drivelab.model.errors import DrivelabError
from drivelab.model.fleet import Seconds

EARLIEST_S, LATEST_S = 946_684_800, 4_102_444_800
NO_TIME = -1
# from which size on a number counts these
_COUNTS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2,4})(.*)")
_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{2,4})(.*)")
_ZONE = re.compile(r"(Z|UTC|\d[+-]\d\d:?(\d\d)?)\s*$")
_NOON = re.compile(r"(.*?)(\d\d)(:\d\d:\d\d\S*) ([AP])M")


def seconds_of_text(text: str, *, is_day_first: bool = False) -> int:
    """Seconds since 1970 of a date and a time; without a zone they are of UTC.

    Parameters
    ----------
    text : str
        ISO 8601, or as iostat and sar print them: ``07/18/2022 01:00:15 PM``, ``18.07.22 13:00:15``.
    is_day_first : bool
        Of a date with slashes, as its whole file has it: ``18/07/2022``.

    Returns
    -------
    int
        -1 where it is no time.
    """
    plain = text.strip().removesuffix(" UTC").replace(",", ".")
    if match := _NOON.fullmatch(plain):
        plain = f"{match[1]}{int(match[2]) % 12 + (12 if match[4] == 'P' else 0):02}{match[3]}"
    if match := _SLASHES.fullmatch(plain):
        day, month = (match[1], match[2]) if is_day_first else (match[2], match[1])
        plain = f"{_year(match[3])}-{int(month):02}-{int(day):02}{match[4]}"
    elif match := _DOTS.fullmatch(plain):
        plain = f"{_year(match[3])}-{int(match[2]):02}-{int(match[1]):02}{match[4]}"
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        return NO_TIME
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def has_zone(text: str) -> bool:
    """Whether a time tells how far it is from UTC."""
    return ":" in text and _ZONE.search(text) is not None


def _year(digits: str) -> str:
    return digits if len(digits) == 4 else f"20{digits}"


def seconds_of_numbers(numbers: npt.NDArray[np.float64], where: str) -> Seconds:
    """Seconds since 1970 of numbers that count s, ms, us or ns; what is no number is -1.

    Raises
    ------
    DrivelabError
        I503: a time before 2000 or after 2100.
    """
    known = np.isfinite(numbers)
    if not known.any():
        return np.full(len(numbers), NO_TIME, dtype=np.int64)
    middle = float(np.median(numbers[known]))
    per_s = next((per_s for least, per_s in _COUNTS if middle >= least), 1.0)
    found = np.where(known, np.nan_to_num(numbers) / per_s, NO_TIME).astype(np.int64)
    beyond = known & ((found < EARLIEST_S) | (found > LATEST_S))
    if beyond.any():
        what = f"{numbers[beyond][0]:.15g} is no time between 2000 and 2100"
        raise DrivelabError("I503", what, where=where, do="write seconds since 1970, or 2022-07-18 13:00:15")
    return found
