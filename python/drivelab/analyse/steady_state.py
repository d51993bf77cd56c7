"""Whether the throughput of a trial had become steady by its end, judged in rounds of bytes and never of seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.byte_bins import ByteBins, IntervalBytes, byte_bins
from drivelab.analyse.long_run_variance import autocovariance
from drivelab.analyse.reference_drift import inversion_counts, theil_sen
from drivelab.model.estimate import Estimate
from drivelab.model.phase import WINDOW_ROUNDS
from drivelab.model.rounds import RANGE_MAX, SLOPE_MAX, FiveRounds
from drivelab.model.throughput_course import SteadyState
from drivelab.model.units import format_decimal_bytes

Floats = NDArray[np.float64]

# what the test of this name does; it is like SNIA's performance test specification, and no claim to comply with it
PROFILE = "pts-like"
ROUND_CAPACITY_SHARE = 0.05
# of what a round is to be: rounds are whole intervals, and longer ones make a capacity of too few of them
ROUND_BYTES_AT_MOST = 1.5
TREND_P_MIN = 0.05
DRIFT_MAX = 0.05
PERIODS_MIN = 3
# a swing that explains less of the scatter is none to be averaged over
PERIODICITY_MIN = 0.5
_PERIOD_BINS = 500
_PERIOD_BINS_MIN = 40
# above this many values the normal distribution gives the same as counting out
_COUNTED_OUT_TO = 40


def passes_five_rounds(rounds: Sequence[float] | Floats) -> bool:
    """Whether five rounds pass the criterion of SNIA's specification.

    Parameters
    ----------
    rounds : sequence of float, length 5
        The tracked number of each round, in order.

    Returns
    -------
    bool
        Range at most 20 % of the mean, and the least-squares line rises or
        falls by at most 10 % of the mean from the first to the last round.
    """
    return five_rounds(rounds).is_steady


def five_rounds(rounds: Sequence[float] | Floats) -> FiveRounds:
    """What the criterion of SNIA's specification says of five rounds."""
    values = np.asarray(rounds, np.float64)
    count, mean = values.shape[0], float(values.mean())
    places = np.arange(count) - (count - 1) / 2
    slope = float(places @ values / (places @ places))
    spread, excursion = float(values.max() - values.min()), abs(slope) * (count - 1)
    # numbers that meet a bound exactly must not fail by the last digit of a float
    room = 1e-9 * abs(mean)
    return FiveRounds(
        average=mean,
        range_share=spread / mean if mean else 0.0,
        slope_share=excursion / mean if mean else 0.0,
        slope=slope,
        is_steady=spread <= RANGE_MAX * mean + room and excursion <= SLOPE_MAX * mean + room,
    )


def steady_state(series: IntervalBytes, capacity_bytes: float) -> SteadyState:
    """Whether the last five rounds of a trial are steady (profile `PROFILE`).

    Parameters
    ----------
    capacity_bytes : float
        Of the drive, or of the range that was used; above 0. A round is 5 % of it.

    Returns
    -------
    SteadyState
        steady where the five rounds pass `passes_five_rounds` and nothing
        stricter speaks against it: over the rounds of the last capacity there is
        no trend (Mann-Kendall, p > 0.05) or one of at most 5 % (Theil-Sen), and
        the window holds at least three periods of a swing. not steady where one
        of them fails. undecided where there are fewer than five rounds,
        intervals are too long for them, less than one capacity was moved, or the
        window holds too few periods.

    Notes
    -----
    The criterion of five rounds by itself takes a drive for steady that still
    approaches its level: with a time constant of 2, 4, 6, 10 and 20 rounds, 6,
    11, 18, 33 and 100 % above that level. Hence the trend over a whole capacity.
    """
    round_bytes = ROUND_CAPACITY_SHARE * capacity_bytes
    rounds = byte_bins(series, round_bytes, keep_rest=False)
    if rounds.count < WINDOW_ROUNDS:
        return _undecided(round_bytes, rounds.count, _too_few(round_bytes, rounds.count, series.total_bytes))
    mean_bytes = float(rounds.end_bytes[-1]) / rounds.count
    if mean_bytes > ROUND_BYTES_AT_MOST * round_bytes:
        return _undecided(round_bytes, rounds.count, _too_coarse(round_bytes, mean_bytes))
    begin = rounds.count - WINDOW_ROUNDS
    rates = rounds.bytes_per_s
    found = SteadyState(
        verdict="undecided",
        why="",
        round_bytes=round(round_bytes),
        round_count=rounds.count,
        window_begin_bytes=round(float(rounds.end_bytes[begin])),
        window_end_bytes=round(float(rounds.end_bytes[-1])),
        window_begin_ns=round(float(rounds.end_ns[begin])),
        window_end_ns=round(float(rounds.end_ns[-1])),
        bytes_per_s=series.rate(int(rounds.edge[begin]), int(rounds.edge[-1])),
        passes_five_rounds=passes_five_rounds(rates[begin:]),
    )
    first = int(np.searchsorted(rounds.end_bytes, rounds.end_bytes[-1] - capacity_bytes - 0.5))
    last_rates = [float(rate) for rate in rates[first:]]
    drift = math.exp(theil_sen([math.log(rate) for rate in last_rates]).slope * (len(last_rates) - 1))
    found = replace(found, drift_ratio=drift, trend_p_value=mann_kendall_p_value(last_rates))
    if not found.passes_five_rounds:
        return replace(found, verdict="not steady", why=_why_not(rates[begin:]))
    return _held_against_stricter(found, series, rounds, capacity_bytes)


def _held_against_stricter(
    found: SteadyState, series: IntervalBytes, rounds: ByteBins, capacity_bytes: float
) -> SteadyState:
    """The verdict once the criterion of five rounds has passed."""
    first = int(np.searchsorted(rounds.end_bytes, rounds.end_bytes[-1] - capacity_bytes - 0.5))
    # a round is a little longer than asked, so as many as make up a capacity may be one fewer than twenty
    if rounds.end_bytes[-1] - rounds.end_bytes[0] < capacity_bytes * (1 - ROUND_CAPACITY_SHARE / 2):
        why = (
            f"the last five rounds pass, but only {format_decimal_bytes(float(rounds.end_bytes[-1]))} were moved, "
            f"and a slow fall shows over {format_decimal_bytes(capacity_bytes)}, the whole capacity"
        )
        return replace(found, why=why)
    drift, p_value = found.drift_ratio or 1.0, found.trend_p_value or 0.0
    if p_value <= TREND_P_MIN and max(drift, 1 / drift) > 1 + DRIFT_MAX:
        word = "falls" if drift < 1 else "rises"
        why = f"the last five rounds pass, but over the last capacity it still {word} by {100 * abs(drift - 1):.0f} %"
        return replace(found, verdict="not steady", why=why)
    period = swing_period_bytes(series, float(rounds.end_bytes[first]))
    if period and PERIODS_MIN * period > found.window_end_bytes - found.window_begin_bytes:
        why = (
            f"it swings with a period of {format_decimal_bytes(period)}, and the last five rounds "
            f"hold fewer than {PERIODS_MIN} of them"
        )
        return replace(found, why=why)
    why = "the last five rounds agree, and nothing drifts over the last capacity"
    return replace(found, verdict="steady", why=why, bytes_until_steady=_bytes_until(rounds))


def _bytes_until(rounds: ByteBins) -> int:
    """Bytes before the first window from which on every window passes."""
    rates = rounds.bytes_per_s
    begin = rounds.count - WINDOW_ROUNDS
    while begin > 0 and passes_five_rounds(rates[begin - 1 : begin - 1 + WINDOW_ROUNDS]):
        begin -= 1
    return round(float(rounds.end_bytes[begin]))


def swing_period_bytes(series: IntervalBytes, from_bytes: float) -> float:
    """Bytes from one crest of the throughput to the next, by the strongest peak of its autocorrelation; 0 without one.

    Parameters
    ----------
    from_bytes : float
        What was moved before is left out.
    """
    first = int(np.searchsorted(np.cumsum(series.moved), from_bytes + 0.5))
    part = replace(series, moved=series.moved[first:], duration_ns=series.duration_ns[first:])
    if part.total_bytes <= 0:
        return 0.0
    bins = byte_bins(part, max(part.total_bytes / _PERIOD_BINS, 1.0))
    if bins.count < _PERIOD_BINS_MIN:
        return 0.0
    covariance = autocovariance(bins.bytes_per_s)[: bins.count // 2]
    if covariance[0] <= 0:
        return 0.0
    correlation = covariance / covariance[0]
    below = np.flatnonzero(correlation < 0)
    if not below.size:
        return 0.0
    crest = int(below[0]) + int(np.argmax(correlation[below[0] :]))
    return crest * part.total_bytes / bins.count if correlation[crest] >= PERIODICITY_MIN else 0.0


def _why_not(window: Floats) -> str:
    mean = float(window.mean())
    spread = float(window.max() - window.min()) / mean
    if spread > RANGE_MAX:
        return f"the last five rounds lie {100 * spread:.0f} % of their mean apart; {100 * RANGE_MAX:.0f} % is the most"
    return f"the line through the last five rounds changes by more than {100 * SLOPE_MAX:.0f} % of their mean"


def _too_few(round_bytes: float, count: int, moved_bytes: float) -> str:
    return (
        f"{format_decimal_bytes(moved_bytes)} were moved, which makes {count} whole rounds of 5 % of the capacity "
        f"({format_decimal_bytes(round_bytes)}); {WINDOW_ROUNDS} are needed"
    )


def _too_coarse(round_bytes: float, mean_bytes: float) -> str:
    return (
        f"a round of 5 % of the capacity is {format_decimal_bytes(round_bytes)}, and with whole intervals it came to "
        f"{format_decimal_bytes(mean_bytes)}; shorter intervals are needed"
    )


def _undecided(round_bytes: float, count: int, why: str) -> SteadyState:
    nothing = Estimate(None, None, None, "B/s", 0, 0.0, "no five rounds")
    return SteadyState("undecided", why, round(round_bytes), count, 0, 0, 0, 0, nothing)


def mann_kendall_p_value(values: Sequence[float]) -> float:
    """The two-sided p-value of there being no trend.

    Returns
    -------
    float
        Counted out for up to 40 different values, otherwise by the normal
        distribution with the variance that equal values leave. 1 below three values.

    References
    ----------
    Mann (1945), Nonparametric tests against trend, Econometrica 13; Kendall
    (1975), Rank correlation methods, for equal values.
    """
    n = len(values)
    if n < 3:
        return 1.0
    numbers = [float(value) for value in values]
    score = sum((after > before) - (after < before) for before, after in combinations(numbers, 2))
    ties = [count for count in Counter(numbers).values() if count > 1]
    if not ties and n <= _COUNTED_OUT_TO:
        orders = inversion_counts(n)
        wrong = (n * (n - 1) // 2 - abs(score)) // 2
        return min(1.0, 2 * sum(orders[: wrong + 1]) / sum(orders))
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    return math.erfc(abs(score) / math.sqrt(2 * variance)) if variance > 0 else 1.0
