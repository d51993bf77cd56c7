"""Throughput over time, made from what is said to happen to a drive, and from nothing that the analysis knows.

A series is what a drive did in intervals of equal length: a level for each moment (flat, a fall, a line, a square
wave) times noise of one of several kinds. Whoever judges it must find what was put in, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Random = np.random.Generator

MB = 1e6


@dataclass(frozen=True, slots=True)
class Made:
    """A series with what is true of it.

    Attributes
    ----------
    rate : ndarray of float64, shape (n,)
        Throughput in each interval, in B/s.
    step_s : float
        Length of an interval.
    """

    rate: Floats
    step_s: float

    @property
    def moved(self) -> Floats:
        """Bytes of each interval."""
        return self.rate * self.step_s

    @property
    def duration_ns(self) -> Floats:
        """Length of each interval."""
        return np.full(self.rate.size, self.step_s * 1e9)


def made(level: Floats, noise: Floats, duration_s: float) -> Made:
    """A level in B/s under noise of the logarithm."""
    return Made(level * np.exp(noise), duration_s / level.size)


# ---- noise of the logarithm of the throughput, one value for each interval ----


def no_noise(random: Random, count: int) -> Floats:
    """None at all."""
    return np.zeros(count)


def iid(random: Random, count: int, scale: float = 0.05) -> Floats:
    """Each interval by itself."""
    return scale * random.standard_normal(count)


def heavy_tails(random: Random, count: int, scale: float = 0.05) -> Floats:
    """Student's t with 3 degrees of freedom."""
    return scale * random.standard_t(3, count)


def wandering(random: Random, count: int, intervals: float, scale: float = 0.1) -> Floats:
    """Ornstein-Uhlenbeck: forgets its place after so many intervals."""
    kept = np.exp(-1 / intervals)
    drawn = random.standard_normal(count) * np.sqrt(1 - kept**2)
    value, values = random.standard_normal(), np.empty(count)
    for number in range(count):
        value = kept * value + drawn[number]
        values[number] = value
    return scale * values + iid(random, count, 0.02)


def pink(random: Random, count: int, scale: float = 0.1) -> Floats:
    """1/f: as much in every octave of time, up to ten times what is seen."""
    long = 16 * count
    frequency = np.fft.rfftfreq(long)
    frequency[0] = np.inf
    spectrum = (random.standard_normal(frequency.size) + 1j * random.standard_normal(frequency.size)) / frequency**0.5
    spectrum[frequency < 1 / (10 * count)] = 0
    values = np.fft.irfft(spectrum, long)
    begin = int(random.integers(0, long - count))
    return scale * values[begin : begin + count] / values.std() + iid(random, count, 0.02)


def stalls(random: Random, count: int, share: float = 0.01) -> Floats:
    """Now and then an interval in which hardly anything moves."""
    values = iid(random, count)
    hit = random.random(count) < share
    return np.where(hit, np.log(random.uniform(0.02, 0.5, count)), values)


def collections(random: Random, count: int, every: float = 12.0, length: float = 2.0, loss: float = 0.35) -> Floats:
    """Garbage collection at random moments: some intervals at a lower rate, then as before."""
    values, at = iid(random, count), random.exponential(every)
    while at < count:
        end = at + 1 + random.exponential(length)
        values[int(at) : int(np.ceil(end))] += np.log(1 - loss * random.uniform(0.5, 1))
        at = end + random.exponential(every)
    return values


def two_levels(random: Random, count: int, stay: float, ratio: float = 0.75) -> Floats:
    """Jumps between two levels, staying for so many intervals on average."""
    values, at, low = iid(random, count, 0.03), 0.0, bool(random.integers(2))
    while at < count:
        end = at + random.exponential(stay)
        if low:
            values[int(at) : int(end)] += np.log(ratio)
        at, low = end, not low
    return values


# ---- levels in B/s ----


def flat(count: int, rate: float = 500 * MB) -> Floats:
    """Always the same."""
    return np.full(count, rate)


def falling(
    count: int, duration_s: float, at_s: float, within_s: float, before: float = 500 * MB, after: float = 150 * MB
) -> Floats:
    """A fall from one level to another that begins at a moment and takes some time, in a straight line."""
    ends = np.arange(count + 1) * duration_s / count
    moments = np.linspace(ends[:-1], ends[1:], 51)
    way = np.clip((moments - at_s) / max(within_s, 1e-9), 0, 1)
    return (before + (after - before) * way).mean(axis=0)


def line(count: int, last_over_first: float, rate: float = 500 * MB) -> Floats:
    """A straight line over the whole time."""
    return rate * np.linspace(1, last_over_first, count)


def square_wave(
    random: Random,
    count: int,
    period: float,
    *,
    low: float = 0.4,
    low_share: float = 0.3,
    jitter: float = 0.0,
    rate: float = 500 * MB,
) -> Floats:
    """Throttled for a part of each period (in intervals), beginning anywhere in it; lengths may differ a little."""
    fine = 40
    values = np.ones(count * fine)
    at = -random.uniform(0, period)
    while at < count:
        length = period * (1 + jitter * random.uniform(-1, 1))
        begin, end = (max(0, round(fine * moment)) for moment in (at, at + low_share * length))
        values[begin:end] = low
        at += length
    return rate * values.reshape(count, fine).mean(axis=1)
