"""Brings the repeats of one combination of factors together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from drivelab.model.estimate import Unit
from drivelab.model.run_answer import RepeatedMetric

# fewest values that lie all on one side of the quantile with a probability of 2.5 % at most, either side
FEWEST_FOR_QUANTILE = {"p50": (0.5, 6), "p90": (0.9, 36), "p99": (0.99, 368), "p999": (0.999, 3688)}


def repeated_metric(values: Sequence[float | None], unit: Unit) -> RepeatedMetric | None:
    """One metric over the repeats of one combination of factors.

    Parameters
    ----------
    values : sequence of float or None
        One per repeat.
    unit : str
        Of the values.

    Returns
    -------
    RepeatedMetric or None
        None where some repeat has no value: the others alone would be biased.
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return RepeatedMetric(median(known), min(known), max(known), unit, len(known))
