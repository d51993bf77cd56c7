"""Texts that differ in numbers only, as one with ranges: ``it fell from 2 to 3 s``, ``419 MB/s to 1.68 GB/s``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import zip_longest

# a number that is no part of a name, with its unit
_NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:[ \u202f]\d{3})+|\d+(?:\.\d+)?)"
    r"([ \u00a0]?%|[ \u00a0](?:[nuµm]?s|[KMGT]iB|[kMGT]?B(?:/s)?)\b)?(?![\w.]*\w)"
)
# ends of changes that are so many times apart would read as an interval of one change
_CHANGE, _CHANGES_APART_MAX = re.compile(r"\bfrom \d"), 4.0
_SCALES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_SCALES |= {"TiB": 2.0**40, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_Number = tuple[str, str]


class MergedTexts:
    """Takes texts one after the other, and keeps of each number only between what it lies."""

    def __init__(self) -> None:
        self._words: tuple[str, ...] | None = None
        self._ends: list[tuple[_Number, _Number]] = []
        self._is_alike = True

    def add(self, text: str) -> None:
        """Take one text."""
        parts = _NUMBER.split(text)
        words = tuple(parts[0::3])
        numbers = [(number, unit or "") for number, unit in zip(parts[1::3], parts[2::3], strict=True)]
        if self._words is None:
            self._words, self._ends = words, [(one, one) for one in numbers]
        elif words != self._words:
            self._is_alike = False
        else:
            ends = zip(self._ends, numbers, strict=True)
            self._ends = [(min(low, one, key=_size), max(high, one, key=_size)) for (low, high), one in ends]

    def text(self, times_max: float = math.inf) -> str:
        """One text for all; empty where they differ in words, or numbers are more than so many times apart."""
        if self._words is None or not self._is_alike:
            return ""
        if any(_CHANGE.search(f"{word}{low[0]}") for word, (low, _) in zip(self._words, self._ends, strict=False)):
            times_max = min(times_max, _CHANGES_APART_MAX)
        if any(_size(high) > times_max * _size(low) for low, high in self._ends):
            return ""
        # "from 1 to 2 to 3 to 4" could be anything
        joined = "–" if any(word.endswith(" to ") for word in self._words) else " to "
        numbers = [_span(low, high, joined) for low, high in self._ends]
        return "".join(word + number for word, number in zip_longest(self._words, numbers, fillvalue=""))


def merged_texts(texts: Iterable[str], times_max: float = math.inf) -> str:
    """One text with ranges where the texts differ in numbers only; empty where they differ in words.

    Parameters
    ----------
    texts : iterable of str
        What is said of several trials.
    times_max : float
        How many times the least of numbers that share a range the largest may be; empty beyond it.
    """
    merged = MergedTexts()
    for text in texts:
        merged.add(text)
    return merged.text(times_max)


def _size(number: _Number) -> float:
    return float(re.sub(r"\s", "", number[0])) * _SCALES.get(number[1].strip().removesuffix("/s"), 1.0)


def _span(low: _Number, high: _Number, joined: str) -> str:
    if _size(low) == _size(high):
        return "".join(low)
    return f"{low[0] if low[1] == high[1] else ''.join(low)}{joined}{''.join(high)}"
