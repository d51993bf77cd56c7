"""The moment at which a drive that is written at random begins to collect: it becomes slower, and stays so."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

# so many parts in a row have to be slow, and as many as that must have come before
SLOW_PARTS = 2
_PARTS_BEFORE = 5
# beyond one capacity of random writes collection halves the rate, or nearly; noise does less
_SLOW = 0.8


def collects_since(rates: Sequence[float]) -> int | None:
    """The part of equal size since which a drive collects, by the rate of each part so far; None while it does not.

    Parameters
    ----------
    rates : sequence of float
        In order of time. The newest `SLOW_PARTS` are compared with the middle one of those before.
    """
    before, newest = rates[:-SLOW_PARTS], rates[-SLOW_PARTS:]
    if len(before) < _PARTS_BEFORE or max(newest) >= _SLOW * median(before):
        return None
    return len(before)
