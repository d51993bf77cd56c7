"""The trial was not steady: its end differs from its beginning."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.findings import stall_at_end, throughput_cliff, throughput_swings
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.interval_series import series_from_measurement
from drivelab.analyse.long_run_variance import autocovariance, long_run_variance
from drivelab.model.distributions import student_t
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns

Floats = NDArray[np.float64]

_CORRELATION_MAX = 0.98
CODE = "drift"
INTERVALS_MIN = 18
# smaller differences are real now and then, and matter to nobody
RATIO_MIN = 1.1


def find(evidence: TrialEvidence) -> list[Finding]:
    """A straight line through the mean latencies of the intervals that rises or falls more than noise makes it.

    What a cliff or a swing of the throughput explains, or a stall at the end, is said there and not here.
    """
    if throughput_cliff.find(evidence) or throughput_swings.find(evidence):
        return []
    latency = "response" if evidence.measured.workload.is_open_loop else "total"
    series = series_from_measurement(evidence.measured, evidence.summary.operation, latency)
    if series is None or series.length < INTERVALS_MIN:
        return []
    until = _before_the_stall(evidence) if stall_at_end.find(evidence) else series.length
    has_any = series.count[:until] > 0
    if int(has_any.sum()) < INTERVALS_MIN:
        return []
    line = straight_line(np.log(series.sum_ns[:until][has_any] / series.count[:until][has_any]))
    ratio = math.exp(line.change)
    if line.is_level or max(ratio, 1 / ratio) < RATIO_MIN:
        return []
    first_ns, last_ns = math.exp(line.first), math.exp(line.last)
    text = (
        f"the mean latency {'rose' if ratio > 1 else 'fell'} from {format_duration_ns(first_ns)} to "
        f"{format_duration_ns(last_ns)} during the trial: the numbers are those of neither end"
    )
    facts = {
        "first_latency_ns": first_ns,
        "last_latency_ns": last_ns,
        "last_over_first_ratio": ratio,
        "last_over_first_ratio_low": math.exp(line.change - line.half_width),
        "last_over_first_ratio_high": math.exp(line.change + line.half_width),
    }
    return [Finding(CODE, "warning", text, evidence.name, facts, "measure longer, until it is steady")]


def _before_the_stall(evidence: TrialEvidence) -> int:
    """How many intervals lie before the moment at which the stalled I/O was waited for."""
    workload = evidence.measured.workload
    end_ns = workload.limits.runtime_ns or int(evidence.measured.engine.get("measured_ns", 0))
    return end_ns // int(workload.interval_ns)


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
