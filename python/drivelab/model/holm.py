"""Holm's correction for how many differences were looked at: of p-values, and of the levels of their intervals.

S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6(2), 1979.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number, in the order given (Holm 1979).

    The smallest is multiplied by how many there are, the next by one less, and
    so on; none becomes smaller than one before it, nor larger than 1.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def holm_levels(p_values: Sequence[float], significance: float) -> list[float]:
    """At which level each of several was held against chance by Holm's correction, in the order given.

    An interval of 1 minus that level leaves out no difference exactly where the adjusted p-value is
    at most `significance`: the smallest p-value is held against a share of it, and the next against a larger
    one, up to the first that is not refused, whose share all others have.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    levels = [significance] * len(p_values)
    left = len(p_values)
    for place in order:
        levels[place] = significance / max(1, left)
        left -= p_values[place] <= levels[place]
    return levels
