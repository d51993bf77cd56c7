"""The throughput went up and down in one and the same period."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.byte_bins import IntervalBytes
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.long_run_variance import add_up_groups, autocovariance
from drivelab.analyse.trial_course import interval_bytes, writes_until_one_sync
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns, format_percent, format_rate_bytes_per_s

Floats = NDArray[np.float64]

INTERVALS_MIN = 40
PERIOD_INTERVALS_MIN = 4
# so many periods at least
PERIODS_MIN = 3
# of the throughput and itself one period later, and two: noise that wanders may come back once
LIKENESS_MIN, LIKENESS_OF_SECOND_MIN = 0.6, 0.5
# smaller swings matter to nobody
FACTOR_MIN = 1.25
# a crest this much lower than the highest is as good, and the first of those is the period and no multiple of it
_AS_HIGH = 0.15
# medians of intervals in which now one I/O more completes and now one less differ by one; a little is left for noise
_WHOLE = 1.1
# noise of single intervals hides a slow swing: sums of neighbours are looked at too, as long as so many are left
_SUMS_MIN = 100
_ELEMENTS_MAX = 4096
CODE = "throughput-swings"


def find(evidence: TrialEvidence) -> list[Finding]:
    """A throughput that repeats itself at least three times, with its period and its two levels."""
    swing = _swing_of_trial(evidence)
    if swing is None:
        return []
    low, high = (format_rate_bytes_per_s(rate) for rate in (swing.low_bytes_per_s, swing.high_bytes_per_s))
    text = (
        f"the throughput swings between {high} and {low} with a period of {format_duration_ns(swing.period_ns)}, "
        f"{format_percent(swing.low_share)} of it at the lower: {_cause(evidence)}; the mean is a mixture of both"
    )
    facts = {
        "period_ns": swing.period_ns,
        "period_count": swing.period_count,
        "high_bytes_per_s": swing.high_bytes_per_s,
        "low_bytes_per_s": swing.low_bytes_per_s,
        "high_over_low_ratio": swing.factor if swing.low_bytes_per_s else None,
        "low_time_share": swing.low_share,
    }
    advice = "look at the drive's temperature, and measure many periods: both levels are what it does for long"
    return [Finding(CODE, "warning", text, evidence.name, facts, advice)]


def _swing_of_trial(evidence: TrialEvidence) -> Swing | None:
    """How the throughput of a trial swings; None where it does not, or nothing of the kind can be told."""
    if evidence.is_null or writes_until_one_sync(evidence.measured):
        return None
    series = interval_bytes(evidence.measured.intervals, int(evidence.measured.engine.get("measured_ns", 0)))
    workload = evidence.measured.workload
    outstanding = workload.queue_depth * workload.job_count
    return None if series is None or not series.total_bytes else throughput_swing(series, outstanding)


def _cause(evidence: TrialEvidence) -> str:
    """What makes a throughput swing, as far as the workload tells."""
    if not evidence.operations("write"):
        return "a drive that is throttled now and then (heat, a limit set for it), or work of others that repeats"
    if not evidence.is_direct and not evidence.is_durable:
        return "memory that fills and is written out again and again, or a drive that is throttled"
    return "a drive that is throttled now and then (heat, a limit set for it), or that makes room now and then"


@dataclass(frozen=True, slots=True)
class Swing:
    """A throughput that repeats itself.

    Attributes
    ----------
    period_ns : float
        From one crest to the next.
    period_count : float
        So many of them fit into the trial.
    high_bytes_per_s, low_bytes_per_s : float
        Median throughput of the faster intervals and of the slower ones.
    low_share : float
        Part of the time in the slower ones.
    """

    period_ns: float
    period_count: float
    high_bytes_per_s: float
    low_bytes_per_s: float
    low_share: float

    @property
    def factor(self) -> float:
        """The high throughput over the low one; infinite where nothing moves by turns."""
        return self.high_bytes_per_s / self.low_bytes_per_s if self.low_bytes_per_s else math.inf


def throughput_swing(series: IntervalBytes, outstanding: int = 1) -> Swing | None:
    """The swing of a trial's throughput; None where it has none.

    Parameters
    ----------
    series : IntervalBytes
        What was moved in each interval, of equal lengths but for the last.
    outstanding : int
        I/Os that may complete together.

    Notes
    -----
    A period is the first high crest of the autocorrelation behind its first
    crossing of zero, a third of the trial at most, and the autocorrelation is high
    at twice that period too. The crests of noise that wanders are lower, or do not
    come back at the same distance. I/Os are whole: of an even stream now one more and now one less falls into an
    interval, or all that are outstanding. What swings by no more is looked at in sums of neighbours, where that is
    little.
    """
    rates = series.moved[:-1] / (series.duration_ns[:-1] / 1e9)
    if rates.size < INTERVALS_MIN:
        return None
    whole_bytes_per_s = _WHOLE * outstanding * series.operation_bytes / (float(series.duration_ns[0]) / 1e9)
    group = -(-rates.size // _ELEMENTS_MAX)
    while True:
        means = add_up_groups(rates, group) / group
        period = _repeating_period(means)
        swing = _swing(means, period, group * float(series.duration_ns[0])) if period else None
        if swing and (swing.high_bytes_per_s - swing.low_bytes_per_s) * group > whole_bytes_per_s:
            return swing if swing.factor >= FACTOR_MIN else None
        group *= 2
        if rates.size // group < _SUMS_MIN:
            return None


def _repeating_period(series: Floats) -> float:
    """After how many elements a series repeats itself; 0 where it does not."""
    n = series.shape[0]
    covariance = autocovariance(series)
    if covariance[0] <= 1e-18 * float(series.mean()) ** 2:
        return 0.0
    # of the pairs that exist, so that a long period is not taken for a weak one
    likeness = covariance * n / np.arange(n, 0, -1) / covariance[0]
    longest = n // PERIODS_MIN
    below = np.flatnonzero(likeness[: longest + 1] < 0)
    if not below.size:
        return 0.0
    period = _first_crest(likeness[: longest + 1], int(below[0]))
    if period < PERIOD_INTERVALS_MIN or likeness[period] < LIKENESS_MIN:
        return 0.0
    # periods are no whole numbers of intervals, nor all alike
    reach = max(1, period // 4)
    second = _crest_near(likeness, 2 * period, reach)
    if likeness[second] < LIKENESS_OF_SECOND_MIN:
        return 0.0
    # the further crests are, the better their distance is known
    many = 2
    refined = second / many
    while 2 * many * refined < n / 2:
        many *= 2
        refined = _crest_near(likeness, round(many * refined), reach) / many
    return refined


def _first_crest(likeness: Floats, begin: int) -> int:
    """The first crest from a place on that is about as high as the highest."""
    highest = float(likeness[begin:].max())
    place = begin + int(np.flatnonzero(likeness[begin:] >= highest - _AS_HIGH)[0])
    while place + 1 < likeness.shape[0] and likeness[place + 1] > likeness[place]:
        place += 1
    return place


def _crest_near(likeness: Floats, place: int, reach: int) -> int:
    begin = max(0, place - reach)
    return begin + int(np.argmax(likeness[begin : place + reach + 1]))


def _swing(rates: Floats, period: float, step_ns: float) -> Swing:
    ordered = np.sort(rates)
    slow = _slower_count(ordered)
    low, high = float(np.median(ordered[:slow])), float(np.median(ordered[slow:]))
    return Swing(period * step_ns, rates.size / period, high, low, slow / rates.size)


def _slower_count(ordered: Floats) -> int:
    """How many values belong to the lower of two groups that explain most of the scatter (Otsu 1979)."""
    sizes = np.arange(1, ordered.size)
    sums = np.cumsum(ordered - ordered.mean())[:-1]
    return 1 + int(np.argmax(sums**2 / (sizes * (ordered.size - sizes))))
