"""Latency series of known law, many at once: the truth that intervals must cover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal, stats

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """How to draw series, and what is true of them."""

    name: str
    draw: Callable[[np.random.Generator, int, int], Floats]
    quantile: Callable[[float], float]
    mean: float


def autoregressive(correlation: float, spread: float = 0.5) -> Law:
    """Lognormal latencies (in ms, say) whose logarithm is an AR(1) process."""

    def draw(random: np.random.Generator, series: int, length: int) -> Floats:
        noise = random.standard_normal((series, length))
        noise[:, 0] /= np.sqrt(1 - correlation**2)
        state = signal.lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], noise, axis=1)
        return np.asarray(np.exp(spread * state))

    name = f"AR(1) {correlation}" if correlation else "independent"
    if spread != 0.5:
        name += f", lognormal sigma {spread}"
    return Law(name, draw, lambda q: float(np.exp(spread * stats.norm.ppf(q))), float(np.exp(spread**2 / 2)))


def bursts(share: float, length_mean: float, factor: float = 10.0) -> Law:
    """Quiet and slow phases of random length (a two-state Markov chain)."""
    leave = 1 / length_mean
    enter = share * leave / (1 - share)

    def draw(random: np.random.Generator, series: int, length: int) -> Floats:
        slow = np.empty((series, length), dtype=bool)
        chance = random.random((length, series))
        state = chance[0] < share
        for t in range(length):
            if t:
                state = np.where(state, chance[t] >= leave, chance[t] < enter)
            slow[:, t] = state
        return np.where(slow, factor, 1.0) * np.exp(0.3 * random.standard_normal((series, length)))

    return Law(
        f"bursts of {length_mean:g}, {share:.0%} of the time",
        draw,
        mixture_quantile(share, factor),
        float(np.exp(0.045)) * (1 - share + share * factor),
    )


def periodic(period: int, slow_count: int, factor: float = 10.0) -> Law:
    """Every so many operations a few are slow, as a clock would have it."""
    share = slow_count / period

    def draw(random: np.random.Generator, series: int, length: int) -> Floats:
        phase = random.integers(0, period, (series, 1))
        slow = (np.arange(length) + phase) % period < slow_count
        return np.where(slow, factor, 1.0) * np.exp(0.3 * random.standard_normal((series, length)))

    return Law(
        f"{slow_count} slow of every {period}",
        draw,
        mixture_quantile(share, factor),
        float(np.exp(0.045)) * (1 - share + share * factor),
    )


def mixture_quantile(share: float, factor: float) -> Callable[[float], float]:
    """Quantiles of lognormal latencies of which a share is `factor` times as long."""

    def below(value: float) -> float:
        quick, slow = stats.norm.cdf(np.log(value) / 0.3), stats.norm.cdf(np.log(value / factor) / 0.3)
        return float((1 - share) * quick + share * slow)

    return lambda q: float(optimize.brentq(lambda value: below(value) - q, 1e-3, 1e3))


def pareto(exponent: float) -> Law:
    """Heavy tails: moments from `exponent` on do not exist."""
    return Law(
        f"Pareto {exponent}",
        lambda random, series, length: random.random((series, length)) ** (-1 / exponent),
        lambda q: float((1 - q) ** (-1 / exponent)),
        exponent / (exponent - 1),
    )


LAWS = (
    autoregressive(0.0),
    autoregressive(0.5),
    autoregressive(0.9),
    autoregressive(0.97),
    bursts(0.05, 20),
    bursts(0.02, 10),
    periodic(100, 3),
    pareto(2.5),
    autoregressive(0.0, spread=1.5),
)
