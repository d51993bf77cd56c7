"""Brings the repeats of one combination of factors together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.histogram import EMPTY, Histogram

# fewest values between whose ranks a two-sided 95 % interval of the quantile exists: 1 - at**n - (1 - at)**n >= 0.95
_FEWEST = {"p50": (0.5, 6), "p90": (0.9, 36), "p99": (0.99, 368), "p999": (0.999, 3688)}


@dataclass(frozen=True, slots=True)
class RepeatedMetric:
    """One metric over the repeats of a trial.

    Attributes
    ----------
    median, lowest, highest : float
        Over the repeats. The range of n repeats holds the true median with a
        confidence of 1 - 2**(1 - n): 75 % for 3, 94 % for 5.
    unit : str
        As in `Estimate`.
    repeat_count : int
        Repeats that had a value.
    """

    median: float
    lowest: float
    highest: float
    unit: Unit
    repeat_count: int


def repeatable(estimates: dict[str, Estimate], histogram: Histogram = EMPTY) -> dict[str, Estimate]:
    """The estimates of one repeat as values to compare with its other repeats.

    Parameters
    ----------
    estimates : dict of str to Estimate
        Of one trial.
    histogram : Histogram
        Its total latencies.

    Returns
    -------
    dict of str to Estimate
        Quantiles of the total latency have a value exactly when the trial has
        enough I/Os for them, also where their own interval is open because the
        trial drifted: between repeats their spread says how sure they are.
    """
    found = dict(estimates)
    for name, (at, fewest) in _FEWEST.items():
        key = f"total_latency_ns_{name}"
        if key in found:
            is_enough = histogram.total_count >= fewest
            found[key] = replace(found[key], value=histogram.quantile_ns(at) if is_enough else None)
    return found


def over_repeats(repeats: Sequence[dict[str, Estimate]]) -> dict[str, RepeatedMetric]:
    """Every metric over the repeats of one combination of factors.

    Parameters
    ----------
    repeats : sequence of dict of str to Estimate
        The estimates of each repeat.

    Returns
    -------
    dict of str to RepeatedMetric
        A metric without a value in some repeat is left out: the others alone
        would be biased.
    """
    combined = {}
    for metric in dict.fromkeys(name for estimates in repeats for name in estimates):
        found = [estimates[metric] for estimates in repeats if metric in estimates]
        values = [estimate.value for estimate in found if estimate.value is not None]
        if len(values) == len(repeats):
            combined[metric] = RepeatedMetric(median(values), min(values), max(values), found[0].unit, len(values))
    return combined
