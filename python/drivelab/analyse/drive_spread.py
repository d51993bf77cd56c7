"""How one number is spread: over the drives, and within a drive over its repeats and runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from drivelab.analyse.level_noise import NORMAL_MEDIAN
from drivelab.model.drive_values import FleetNumber, NumberSpread
from drivelab.model.metric import metric_of

_DRIVES_MIN = 3


def drive_medians(number: FleetNumber) -> dict[str, float]:
    """The number of each drive: the median over its runs of the median over the repeats."""
    return {drive: float(median(float(median(run)) for run in runs)) for drive, runs in number.values.items()}


def number_spread(number: FleetNumber) -> NumberSpread:
    """How the number is spread; shares are of logarithms, so that half and double are equally far."""
    values = drive_medians(number)
    logs = np.log(list(values.values()))
    best, worst = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    if metric_of(number.key.metric).better == "low":
        best, worst = worst, best
    return NumberSpread(
        key=number.key,
        is_judged=number.is_judged,
        drive_count=len(values),
        median=float(np.exp(np.median(logs))),
        between=_share(robust_deviation(logs)) if len(logs) >= _DRIVES_MIN else None,
        within=None if (within := within_deviation(number.values)) is None else _share(within),
        has_runs_apart=any(len(runs) > 1 for runs in number.values.values()),
        best=best,
        best_value=values[best],
        worst=worst,
        worst_value=values[worst],
    )


def robust_deviation(logs: Sequence[float] | np.ndarray) -> float:
    """Standard deviation of normal values from the median of their distances to their median."""
    array = np.asarray(logs, dtype=float)
    return NORMAL_MEDIAN * float(np.median(np.abs(array - np.median(array))))


def within_deviation(values: Mapping[str, Sequence[Sequence[float]]]) -> float | None:
    """Standard deviation of the logarithms within a drive: the root of the variances, by their degrees of freedom.

    Returns
    -------
    float or None
        As the mean square within groups of an analysis of variance; None where no drive has two values.
    """
    squares, freedom = 0.0, 0
    for runs in values.values():
        logs = [math.log(value) for run in runs for value in run]
        mean = math.fsum(logs) / len(logs)
        squares += math.fsum((one - mean) ** 2 for one in logs)
        freedom += len(logs) - 1
    return math.sqrt(squares / freedom) if freedom else None


def _share(deviation: float) -> float:
    """A deviation of logarithms as a share of the number."""
    return math.expm1(deviation)
