"""One number of several repeats: their median, with an interval that their scatter, or their own intervals, give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from drivelab.analyse.paired_ratios import ratio_of_blocks
from drivelab.model.estimate import Estimate

# of fewer the scatter tells nothing
REPEATS_MIN = 3


def over_repeats(estimates: Sequence[Estimate]) -> Estimate | None:
    """One number of several repeats: their median, as tables tell them; of two the geometric mean.

    Notes
    -----
    From `REPEATS_MIN` repeats on the interval is that of the mean of their logarithms
    (Student's t); of two, their own half-widths are added in squares.
    """
    known = [one for one in estimates if one.value is not None and one.value > 0]
    if not known or len(known) < len(estimates):
        return None
    if len(known) == 1:
        return known[0]
    if len(known) >= REPEATS_MIN:
        method = f"median of {len(known)} repeats, Student t of their logarithms"
        count = sum(one.sample_count for one in known)
        found = median_of_logarithms([math.log(one.value or 1.0) for one in known])
        return replace(found, unit=known[0].unit, sample_count=count, method=method)
    middle = sum(math.log(one.value or 1.0) for one in known) / len(known)
    low, high = added_in_squares([(one, 1 / len(known)) for one in known], middle)
    effective = sum(one.effective_sample_count for one in known)
    count = sum(one.sample_count for one in known)
    return Estimate(
        math.exp(middle), low, high, known[0].unit, count, effective, "geometric mean of 2 repeats, from their own"
    )


def median_of_logarithms(logarithms: Sequence[float]) -> Estimate:
    """The median of some ratios, with the interval of their geometric mean."""
    found, _ = ratio_of_blocks(logarithms)
    value = math.exp(median(logarithms))
    if found.low is None or found.high is None:
        return replace(found, value=value)
    return replace(found, value=value, low=min(found.low, value), high=max(found.high, value))


def added_in_squares(weighted: Sequence[tuple[Estimate, float]], middle: float) -> tuple[float | None, float | None]:
    """The ends of a weighted sum of logarithms; None where one of them has no ends."""
    below = above = 0.0
    for one, weight in weighted:
        if not one.value or not one.low or one.high is None:
            return None, None
        down, up = math.log(one.value / one.low), math.log(one.high / one.value)
        below += (weight * (down if weight > 0 else up)) ** 2
        above += (weight * (up if weight > 0 else down)) ** 2
    return math.exp(middle - math.sqrt(below)), math.exp(middle + math.sqrt(above))
