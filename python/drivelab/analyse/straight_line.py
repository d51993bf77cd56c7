"""A straight line through a series in time, and whether its noise could have made it rise or fall as much."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.long_run_variance import autocovariance, long_run_variance
from drivelab.model.distributions import student_t

Floats = NDArray[np.float64]

_CORRELATION_MAX = 0.98


@dataclass(frozen=True, slots=True)
class StraightLine:
    """The least-squares line through a series.

    Attributes
    ----------
    first, last : float
        Its value at the first and at the last element.
    half_width : float
        Of the 95 % interval of `change`.
    """

    first: float
    last: float
    half_width: float

    @property
    def change(self) -> float:
        """What the line changes by, from the first element to the last."""
        return self.last - self.first

    @property
    def is_level(self) -> bool:
        """Whether the 95 % interval of the change has no change in it."""
        return abs(self.change) <= self.half_width


def straight_line(series: Floats) -> StraightLine:
    """The least-squares line through a series, with the noise that is left around it.

    Parameters
    ----------
    series : ndarray of float64, shape (n,), n >= 4
        In order of time, at equal distances.

    Notes
    -----
    The variance of the slope is the long-run variance of the residuals over the
    sum of squares of the places. Of the series itself it would take the line for
    noise: the steeper, the less it would be seen. A line that was taken out takes
    some of a slow noise with it, so at least the variance of an autoregressive
    residual is taken, with the correlation of neighbours corrected for that
    (Kendall 1954) and one standard error above what is seen.
    """
    n = int(series.shape[0])
    places = np.arange(n) - (n - 1) / 2
    squares = float(places @ places)
    slope = float(places @ series) / squares
    mean = float(series.mean())
    variance, freedom = _variance_of_noise(series - mean - slope * places)
    reach = slope * (n - 1)
    half_width = student_t(freedom) * math.sqrt(variance / squares) * (n - 1)
    return StraightLine(mean - reach / 2, mean + reach / 2, half_width)


def _variance_of_noise(residual: Floats) -> tuple[float, float]:
    """Long-run variance of what is left around a line, and its degrees of freedom."""
    n = residual.shape[0]
    seen = long_run_variance(residual)
    covariance = autocovariance(residual)
    if covariance[0] <= 0:
        return 0.0, float(n - 2)
    neighbours = max(0.0, float(covariance[1] / covariance[0]))
    error = math.sqrt((1 - neighbours**2) / n)
    correlation = min(_CORRELATION_MAX, neighbours + (2 + 4 * neighbours) / n + error)
    spread = (1 + correlation) / (1 - correlation)
    wandering = float(residual @ residual) / (n - 2) * spread
    by_lags = seen.per_element * (n - 1) / (n - 2)
    freedom = max(1.0, seen.degrees_of_freedom - 1)
    if wandering <= by_lags:
        return by_lags, freedom
    return wandering, max(1.0, min(freedom, n / spread - 2))
