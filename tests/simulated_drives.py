"""Latencies of made-up drives whose truth is known, many windows at once.

They are made in time, not in the order of operations, and know nothing of how anything is estimated from them: a level
that moves, multiplied with noise that does not, cut by a window that begins anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal, stats

Floats = NDArray[np.float64]
# windows, operations in each, length of the window in seconds
Draw = Callable[[np.random.Generator, int, int, float], Floats]

_BASE_NS = 500_000.0
_GRID = np.linspace(-5, 5, 401)


@dataclass(frozen=True)
class SimulatedDrive:
    """How to draw the latencies of windows in ns, and the true quantiles of what they were drawn from."""

    name: str
    draw: Draw
    quantile_ns: Callable[[float], float]


def of_levels(name: str, level: Draw, levels: Floats, weights: Floats, noise: float) -> SimulatedDrive:
    """A level that moves, times lognormal noise; `levels` and `weights` say how often it has which value."""

    def draw(random: np.random.Generator, windows: int, operations: int, window_s: float) -> Floats:
        moved = level(random, windows, operations, window_s)
        return _BASE_NS * moved * np.exp(noise * random.standard_normal((windows, operations)))

    logs, shares = np.log(levels), weights / weights.sum()

    def quantile_ns(at: float) -> float:
        def excess(log: float) -> float:
            return float((shares * stats.norm.cdf((log - logs) / noise)).sum()) - at

        return _BASE_NS * float(np.exp(optimize.brentq(excess, logs.min() - 9 * noise, logs.max() + 9 * noise)))

    return SimulatedDrive(name, draw, quantile_ns)


def independent(noise: float = 0.3) -> SimulatedDrive:
    """Nothing moves."""
    return of_levels("independent", lambda *_: np.float64(1.0), np.ones(1), np.ones(1), noise)  # type: ignore[return-value]


def wandering(seconds: float, spread: float = 0.2, noise: float = 0.3) -> SimulatedDrive:
    """The logarithm of the level is an Ornstein-Uhlenbeck process that forgets in so many seconds."""

    def level(random: np.random.Generator, windows: int, operations: int, window_s: float) -> Floats:
        kept = np.exp(-window_s / operations / seconds)
        pushes = random.standard_normal((windows, operations))
        pushes[:, 0] /= np.sqrt(1 - kept**2)
        return np.exp(spread * signal.lfilter([np.sqrt(1 - kept**2)], [1, -kept], pushes, axis=1))

    name = f"wanders within {1000 * seconds:g} ms, noise {noise:g}"
    return of_levels(name, level, np.exp(spread * _GRID), stats.norm.pdf(_GRID), noise)


def two_states(name: str, stay_s: tuple[float, float], states: tuple[float, float], noise: float) -> SimulatedDrive:
    """Two levels that take turns; each stay is of random (exponential) length."""
    share = stay_s[0] / sum(stay_s)

    def level(random: np.random.Generator, windows: int, operations: int, window_s: float) -> Floats:
        turns = int(6 * window_s / min(stay_s)) + 40
        begins_first = random.random((windows, 1)) < share
        is_first = (np.arange(turns) % 2 == 0) == begins_first
        ends = np.cumsum(random.exponential(1.0, (windows, turns)) * np.where(is_first, *stay_s), axis=1)
        moments = np.arange(operations) * window_s / operations
        at = np.stack([np.searchsorted(each, moments, side="right") for each in ends])
        return np.where(np.take_along_axis(is_first, at, axis=1), *states)

    return of_levels(name, level, np.array(states), np.array([share, 1 - share]), noise)


def mixed(name: str, share: float, factor: float, noise: float) -> SimulatedDrive:
    """Each operation for itself is, with some probability, so many times as slow."""

    def level(random: np.random.Generator, windows: int, operations: int, _: float) -> Floats:
        return np.where(random.random((windows, operations)) < share, factor, 1.0)

    return of_levels(name, level, np.array([factor, 1.0]), np.array([share, 1 - share]), noise)


def clockwork(name: str, period_s: float, share: float, factor: float, noise: float = 0.3) -> SimulatedDrive:
    """Slow for the same share of each period, as a clock would have it; the window begins anywhere."""

    def level(random: np.random.Generator, windows: int, operations: int, window_s: float) -> Floats:
        phase = np.arange(operations) * window_s / operations / period_s + random.random((windows, 1))
        return np.where(phase % 1 < share, factor, 1.0)

    return of_levels(name, level, np.array([factor, 1.0]), np.array([share, 1 - share]), noise)


def pareto(exponent: float) -> SimulatedDrive:
    """Heavy tails."""
    return SimulatedDrive(
        f"Pareto {exponent}",
        lambda random, windows, operations, _: _BASE_NS * random.random((windows, operations)) ** (-1 / exponent),
        lambda at: _BASE_NS * (1 - at) ** (-1 / exponent),
    )


def quantised(step_ns: float = 20_000.0) -> SimulatedDrive:
    """Independent latencies told by a coarse clock."""
    fine = independent()

    def draw(random: np.random.Generator, windows: int, operations: int, window_s: float) -> Floats:
        return np.round(fine.draw(random, windows, operations, window_s) / step_ns) * step_ns

    return SimulatedDrive("quantised", draw, lambda at: round(fine.quantile_ns(at) / step_ns) * step_ns)


def drifting(most: float = 0.15, noise: float = 0.1) -> SimulatedDrive:
    """The level moves evenly from one end of the window to the other, up or down."""

    def level(random: np.random.Generator, windows: int, operations: int, _: float) -> Floats:
        return 1 + random.choice([-1.0, 1.0], (windows, 1)) * np.linspace(-most, most, operations)

    return of_levels("drifts", level, np.linspace(1 - most, 1 + most, 401), np.ones(401), noise)


INDEPENDENT = independent()
WANDERS_20_MS = wandering(0.02, noise=0.2)
WANDERS_200_MS = wandering(0.2)
# the same with less noise to hide in
WANDERS_200_MS_CLEARLY = wandering(0.2, noise=0.2)
TWO_LEVELS = two_states("two levels of 0.5 s", (0.5, 0.5), (1.12, 0.88), 0.1)
BURSTS = two_states("bursts of 2 ms, 2 % of the time", (0.002, 0.098), (10.0, 1.0), 0.3)
RARE_BURSTS = two_states("bursts of 2 ms, 0.5 % of the time", (0.002, 0.398), (10.0, 1.0), 0.3)
BIMODAL = mixed("bimodal, 45 and 55 %", 0.45, 4.0, 0.15)
TICKS = clockwork("a tick every 4 ms", 0.00413, 0.03, 8.0)
SLOW_TICKS = clockwork("a tick every 0.2 s", 0.2, 0.03, 8.0)
STALLS = mixed("one stall in 10 000", 1e-4, 100.0, 0.3)
DRIFTS = drifting()
THROTTLES = clockwork("throttled for 0.2 s of every 0.7 s", 0.7, 0.3, 2.5, 0.1)
THROTTLES_SLOWLY = clockwork("throttled for 1.5 s of every 5 s", 5.0, 0.3, 2.5, 0.1)
HEAVY_TAILS = tuple(map(pareto, (1.5, 2.2)))
QUANTISED = quantised()
ALL = (
    *(INDEPENDENT, WANDERS_20_MS, WANDERS_200_MS, WANDERS_200_MS_CLEARLY, TWO_LEVELS, BURSTS, RARE_BURSTS, BIMODAL),
    *(TICKS, SLOW_TICKS, STALLS, *HEAVY_TAILS, QUANTISED, DRIFTS, THROTTLES, THROTTLES_SLOWLY),
)


def hits_at_least(share: float, of: int) -> int:
    """How many of so many intervals cover, in all but one of a thousand tries, when that share of them does."""
    return int(stats.binom.ppf(0.001, of, share))
