"""Variances of a few values each, moderated over many numbers that were measured alike.

Three runs tell a workload's scatter hardly at all: one in twenty such standard
deviations is five times too small. Twelve workloads tell together what scatter
there is, and how much workloads differ in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# the width of a histogram's bucket as a share: no number is known better than that
VARIANCE_MIN = 2.0**-18
# what the others tell is worth so many degrees of freedom at most
PRIOR_MAX = 3.0
# ... and not more than one for three of them, for what disturbs a run disturbs all of them alike
NUMBERS_A_DEGREE = 3.0
# the ones that scatter most tell nothing of the others
LEFT_OUT = 0.25
_SERIES_FROM = 8.0


@dataclass(frozen=True, slots=True)
class Moderated:
    """Moderated variances.

    Attributes
    ----------
    variances : ndarray, shape (numbers,)
        Of a single value.
    pooled : float
        Of the numbers together, those that scatter most left out.
    prior_degrees : float
        How many degrees of freedom are borrowed from the other numbers.
    """

    variances: Floats
    pooled: float
    prior_degrees: float


def moderated(variances: Floats, degrees: Floats) -> Moderated:
    """Each variance drawn towards what all of them come to.

    Parameters
    ----------
    variances : ndarray, shape (numbers,)
        As estimated from the values of each number alone; passed over where it has no degrees of freedom.
    degrees : ndarray, shape (numbers,)
        Their degrees of freedom.

    Notes
    -----
    Smyth's (2004) empirical Bayes variance, (d0 s0² + d s²) / (d0 + d), where d0
    is fitted to how unequal the variances are (`prior_degrees`). Two guards,
    since a number that scatters more than the others must not borrow their
    certainty: none is taken to scatter less than the pooled variance, which
    keeps three values in the same mode of a drive from looking certain; and d0
    is 3 at most, less where there are few numbers.

    References
    ----------
    Smyth (2004), Linear models and empirical Bayes methods for assessing
    differential expression in microarray experiments, SAGMB 3(1).
    """
    known = degrees > 0
    if not known.any():
        return Moderated(np.full(len(variances), math.nan), math.nan, 0.0)
    own = np.where(known, np.maximum(variances, VARIANCE_MIN), 0.0)
    kept = np.argsort(own[known])[: int(known.sum()) - int(LEFT_OUT * known.sum())]
    pooled = float(np.average(own[known][kept], weights=degrees[known][kept]))
    count = int(known.sum())
    prior = min(prior_degrees(own[known], degrees[known]), PRIOR_MAX, (count - 1) / NUMBERS_A_DEGREE)
    weights = np.maximum(degrees + prior, 1e-9)
    return Moderated(np.maximum(pooled, (prior * pooled + degrees * own) / weights), pooled, prior)


def prior_degrees(variances: Floats, degrees: Floats) -> float:
    """Smyth's d0: degrees of freedom that one variance is worth in telling another.

    Parameters
    ----------
    variances, degrees : ndarray, shape (numbers,)
        All above 0.

    Returns
    -------
    float
        Infinite where the variances differ by no more than their degrees of
        freedom let them; 0 for a single one.

    Notes
    -----
    The logarithm of a sample variance has the variance trigamma(d / 2); what
    there is beyond that is trigamma(d0 / 2).
    """
    if len(variances) < 2:
        return 0.0
    halves = degrees / 2
    logarithms = np.log(variances) - np.array([digamma(half) - math.log(half) for half in halves])
    beyond = float(logarithms.var(ddof=1)) - float(np.mean([trigamma(half) for half in halves]))
    return math.inf if beyond <= 0 else 2 * inverse_trigamma(beyond)


def digamma(x: float) -> float:
    """The first derivative of the logarithm of the gamma function, for x above 0."""
    shift = 0.0
    while x < _SERIES_FROM:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return shift + math.log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """The second derivative of the logarithm of the gamma function, for x above 0."""
    shift = 0.0
    while x < _SERIES_FROM:
        shift += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square * (1 / 30 - square * 5 / 66)))
    return shift + 1 / x + square / 2 + square / x * series


def inverse_trigamma(value: float) -> float:
    """The x above 0 at which `trigamma` has this value."""
    low, high = -40.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if trigamma(math.exp(middle)) > value else (low, middle)
    return math.exp((low + high) / 2)
