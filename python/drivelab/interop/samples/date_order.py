"""Whether 12/11/2026 is in December or in November: one order of month and day for each file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path

from drivelab.model.errors import DrivelabError

# first and second number, and the year
SlashedDate = tuple[int, int, int]
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\d/])")
# dates that follow one another span so much less than the same dates read the other way
_SPAN_RATIO = 2
_DO = "write dates as 2026-11-12 (iostat, sar: S_TIME_FORMAT=ISO)"


def slashed_dates(text: str) -> set[SlashedDate]:
    """All dates with slashes that stand in a text, but for what is none in either order."""
    found = {
        (int(first), int(second), int(year) if len(year) == 4 else 2000 + int(year))
        for first, second, year in set(_SLASHED.findall(text))
    }
    return {one for one in found if 1 <= min(one[:2]) <= 12 and max(one[:2]) <= 31}


def day_first_files(files: Mapping[Path, set[SlashedDate]]) -> tuple[set[Path], list[str]]:
    """Which files have the day before the month, and what is to be said of files that do not tell.

    A file tells it by a day beyond the 12th, or by dates that follow one another in one order alone. What tells
    neither is read as the files that do, and else by the dates of all files together.

    Parameters
    ----------
    files : mapping of Path to set of (int, int, int)
        The dates with slashes of each file that has any.

    Raises
    ------
    DrivelabError
        I503: dates of one file that no order makes dates, or an order that other files tell both ways.
    """
    # a month and day that are the same are one date in both orders
    files = {path: dates for path, dates in files.items() if any(first != second for first, second, _ in dates)}
    order = {path: _told_by_numbers(path, dates) for path, dates in files.items()}
    by_jumps = {path: _told_by_jumps(files[path]) for path, told in order.items() if told is None}
    order |= by_jumps
    known = {told for told in order.values() if told is not None}
    open_ones = [path for path, told in order.items() if told is None]
    if open_ones and len(known) > 1:
        what = f"{_example(files[open_ones[0]])} may have the month or the day first, and other files have either"
        raise DrivelabError("I503", what, where=str(open_ones[0]), do=_DO)
    together = _told_by_jumps(set().union(*(files[path] for path in open_ones)))
    common = next(iter(known)) if known else bool(together)
    order |= dict.fromkeys(open_ones, common)
    alike: dict[tuple[bool | None, str], list[Path]] = {}
    for path in by_jumps:
        by_dates = path not in open_ones or (not known and together is not None)
        why = "so that dates follow one another" if by_dates else "as in other files" if known else "which is a guess"
        alike.setdefault((order[path], why), []).append(path)
    remarks = [
        f"{_example(files[paths[0]])} of {paths[0]}{f' (and of {len(paths) - 1} more)' if len(paths) > 1 else ''} "
        f"is read with the {'day' if is_day_first else 'month'} first, {why}; to settle it, {_DO}"
        for (is_day_first, why), paths in alike.items()
    ]
    return {path for path, is_day_first in order.items() if is_day_first}, remarks


def _example(dates: Iterable[SlashedDate]) -> str:
    first, second, year = min(dates)
    return f"{first:02}/{second:02}/{year}"


def _told_by_numbers(path: Path, dates: Iterable[SlashedDate]) -> bool | None:
    """Whether the day is first; None where both are possible."""
    of_day_first = next((one for one in sorted(dates) if one[0] > 12), None)
    of_month_first = next((one for one in sorted(dates) if one[1] > 12), None)
    if of_day_first and of_month_first:
        what = f"{_example([of_day_first])} has the day first, and {_example([of_month_first])} the month"
        raise DrivelabError("I503", what, where=str(path), do=_DO)
    return None if of_day_first is None and of_month_first is None else of_month_first is None


def _told_by_jumps(dates: Iterable[SlashedDate]) -> bool | None:
    """Whether the day is first, by dates that lie beside each other in one order and far apart in the other."""
    spans = {is_day_first: _span_days(_read(dates, is_day_first)) for is_day_first in (False, True)}
    if min(spans.values()) * _SPAN_RATIO > max(spans.values()) or not all(spans.values()):
        return None
    return spans[True] < spans[False]


def _read(dates: Iterable[SlashedDate], is_day_first: bool) -> Iterator[date]:
    for first, second, year in dates:
        day, month = (first, second) if is_day_first else (second, first)
        try:
            yield date(year, month, day)
        except ValueError:
            continue


def _span_days(dates: Iterable[date]) -> int:
    known = list(dates)
    return (max(known) - min(known)).days if known else 0
