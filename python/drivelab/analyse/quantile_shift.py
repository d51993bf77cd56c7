"""How far NEW is from BASE at every height of the distribution: a tail that grew, a second mode that came.

A median or a p99 tells one height each. Here the ratio of the two sides stands
at each quantile from p1 to p99.99 that the I/Os of every run carry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.comparison_interval import shifts_between
from drivelab.model.comparison import QuantileShift
from drivelab.model.histogram import Histogram

Floats = NDArray[np.float64]
# of so few I/Os beyond a quantile it is the luck of a few of them
BEYOND_MIN = 5
# even steps below the median; above it every further nine has the same room
_QUANTILES = tuple(round(0.01 * n, 2) for n in (1, *range(2, 52, 2))) + tuple(
    round(1 - 10 ** (-0.1 * n), 6) for n in range(4, 41)
)


def quantile_shift(base: Sequence[Histogram], new: Sequence[Histogram]) -> tuple[QuantileShift, ...]:
    """The ratio of NEW to BASE at each quantile.

    Parameters
    ----------
    base, new : sequence of Histogram
        Latencies of each run of both sides.

    Returns
    -------
    tuple of QuantileShift
        Those of which every run has at least `BEYOND_MIN` I/Os on both sides of
        the quantile. Intervals are 95 % for each height by itself, and there
        from three runs a side on.
    """
    fewest = min((one.total_count for one in (*base, *new)), default=0)
    at = np.array([one for one in _QUANTILES if fewest * min(one, 1 - one) >= BEYOND_MIN])
    if not len(at):
        return ()
    ours, theirs = (np.array([_logarithms(one, at) for one in side]) for side in (base, new))
    found = []
    for place, quantile in enumerate(at.tolist()):
        # by itself: the tail scatters more than the middle, and lends it nothing
        (shift,) = shifts_between([(ours[:, place], theirs[:, place])])
        low, high = map(math.exp, shift.ends) if shift.ends else (None, None)
        before, after = (math.exp(float(side[:, place].mean())) for side in (ours, theirs))
        found.append(QuantileShift(quantile, before, after, math.exp(shift.value), low, high))
    return tuple(found)


def _logarithms(histogram: Histogram, at: Floats) -> Floats:
    running = np.cumsum(histogram.count)
    ranks = np.clip(np.ceil(at * histogram.total_count - 1e-9), 1, histogram.total_count)
    values = histogram.midpoints_ns()[np.searchsorted(running, ranks)]
    return np.asarray(np.log(np.maximum(values, 1.0)))
