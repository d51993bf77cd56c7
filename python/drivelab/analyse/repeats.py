"""Brings the repeats of one combination of factors together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from drivelab.model.estimate import Unit
from drivelab.model.run_answer import RepeatedMetric

Ends = tuple[float | None, float | None]
# fewest values that lie all on one side of the quantile with a probability of 2.5 % at most, either side
FEWEST_FOR_QUANTILE = {"p50": (0.5, 6), "p90": (0.9, 36), "p99": (0.99, 368), "p999": (0.999, 3688)}


def repeated_metric(
    values: Sequence[float | None],
    unit: Unit,
    *,
    is_seen: bool = False,
    ends: Sequence[Ends] = (),
    are_rounds: bool = False,
) -> RepeatedMetric | None:
    """One metric over the repeats of one combination of factors.

    Parameters
    ----------
    values : sequence of float or None
        One per repeat.
    is_seen : bool
        Whether some of them are the sample's own, without an interval.
    ends : sequence of (float or None, float or None)
        Their 95 % intervals; told of a single repeat, where no range says how sure it is.
    are_rounds : bool
        Whether several of them are rounds of a measurement window, of which the mean counts.

    Returns
    -------
    RepeatedMetric or None
        None where some repeat has no value: the others alone would be biased.
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    low, high = ends[0] if len(values) == 1 and ends and not is_seen else (None, None)
    mean = fmean(known) if are_rounds and len(known) > 1 else None
    return RepeatedMetric(median(known), min(known), max(known), unit, len(known), is_seen, low, high, mean)


def repeated_bounds(values: Sequence[float | None], ends: Sequence[Ends]) -> tuple[float, float | None] | None:
    """Between which bounds the median over the repeats lies, where some of them have no value.

    Parameters
    ----------
    values : sequence of float or None
        One per repeat.
    ends : sequence of (float or None, float or None)
        The bounds of each repeat.

    Returns
    -------
    tuple of (float, float or None) or None
        The median of the lower bounds, and of the upper ones where every repeat has one. None where some repeat has
        neither a value nor a lower bound.
    """
    lows = [low if value is None else value for value, (low, _) in zip(values, ends, strict=True)]
    highs = [high if value is None else value for value, (_, high) in zip(values, ends, strict=True)]
    known_lows = [low for low in lows if low is not None]
    known_highs = [high for high in highs if high is not None]
    if not known_lows or len(known_lows) < len(lows):
        return None
    return median(known_lows), median(known_highs) if len(known_highs) == len(highs) else None
