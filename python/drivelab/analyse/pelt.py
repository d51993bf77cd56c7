"""Where the mean of a series changes: the exact best division into segments, found quickly (PELT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pelt(series: Floats, penalty: float, segment_min: int) -> list[int]:
    """The division of a series into segments with the least sum of squares, where each change costs `penalty`.

    Parameters
    ----------
    penalty : float
        What a change must save of the sum of squares, at least 0.
    segment_min : int
        Elements of the shortest segment allowed, at least 1.

    Returns
    -------
    list of int
        Where segments begin, the first one left out; ascending, empty when nothing changes.

    Notes
    -----
    A begin that is worse than the best division by more than the penalty can
    never be the best again (Killick, Fearnhead and Eckley 2012). With a shortest
    segment that holds only after so many more elements, so it is left out
    later: then the result is that of trying every division.
    """
    n = int(series.shape[0])
    centred = series - series.mean() if n else series
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred * centred)])
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    previous = np.zeros(n + 1, np.int64)
    begins = np.zeros(1, np.int64)
    until = np.full(1, n + 1, np.int64)
    for end in range(segment_min, n + 1):
        spread = squares[end] - squares[begins] - (sums[end] - sums[begins]) ** 2 / (end - begins)
        cost = best[begins] + spread
        least = int(np.argmin(cost))
        best[end], previous[end] = cost[least] + penalty, begins[least]
        until = np.where(cost > best[end], np.minimum(until, end + segment_min), until)
        kept = until > end + 1
        begins, until = begins[kept], until[kept]
        if end + 1 >= 2 * segment_min:
            begins, until = np.append(begins, end + 1 - segment_min), np.append(until, n + 1)
    found: list[int] = []
    place = int(previous[n])
    while place > 0:
        found.append(place)
        place = int(previous[place])
    return found[::-1]
