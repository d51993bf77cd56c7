"""Simulated throughput held before the analysis, and how often it says what: for small sizes and for full ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from drivelab.analyse.byte_bins import IntervalBytes
from drivelab.analyse.change_points import throughput_course
from drivelab.analyse.findings.drift import RATIO_MIN, straight_line
from drivelab.analyse.findings.throughput_swings import Swing, throughput_swing
from drivelab.model.throughput_course import ThroughputChange
from simulated_throughput import Made, Random

CAPACITY = 1e12
OPERATION = 1 << 20
Make = Callable[[Random], Made]


def as_measured(made: Made) -> IntervalBytes:
    """The series as a trial of I/Os of 1 MiB has it."""
    return IntervalBytes(made.moved, made.duration_ns, OPERATION)


def cliff_of(made: Made, capacity: float = CAPACITY) -> ThroughputChange | None:
    """The cliff that is found."""
    return throughput_course(as_measured(made), capacity).cliff


def swing_of(made: Made) -> Swing | None:
    """The swing that is found."""
    return throughput_swing(as_measured(made))


def drifts(made: Made) -> bool:
    """Whether a drift is said of a closed loop, whose latency is the inverse of its throughput."""
    line = straight_line(-np.log(made.rate))
    return not line.is_level and abs(line.change) >= np.log(RATIO_MIN)


def share_of(make: Make, says: Callable[[Made], object], count: int, seed: int = 1) -> float:
    """The part of so many series of which something is said."""
    random = np.random.default_rng(seed)
    return sum(bool(says(make(random))) for _ in range(count)) / count


def shares(makes: Mapping[str, Make], says: Callable[[Made], object], count: int) -> dict[str, float]:
    """The same of several kinds of series, by name."""
    return {name: share_of(make, says, count, seed) for seed, (name, make) in enumerate(makes.items(), 1)}
