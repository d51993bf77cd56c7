"""What becomes of trials that end when their number is known: series whose truth is known, looked at as trials are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import simulated_throughput as made
from drivelab.analyse.precision import WIDENED, is_known_well, looks_ns
from drivelab.analyse.ratio import rate_estimate_from_intervals
from drivelab.model.estimate import Estimate
from drivelab.model.workload import Limits, TargetRange, Workload

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]
INTERVAL_NS = 100_000_000
RUNTIME_S = 60
# what forgets within a twentieth of the time before the first look, or is rare
WITHIN_REACH: dict[str, Noise] = {
    "independent, 2 %": lambda random, n: made.iid(random, n, 0.02),
    "independent, 10 %": lambda random, n: made.iid(random, n, 0.1),
    "independent, 20 %": lambda random, n: made.iid(random, n, 0.2),
    # the mean of what is not cut off is infinite
    "heavy tails": lambda random, n: made.heavy_tails(random, n).clip(-1, 1),
    "wanders within 0.2 s": lambda random, n: made.wandering(random, n, 2, 0.05),
    "wanders within 0.5 s": lambda random, n: made.wandering(random, n, 5),
    "stalls": made.stalls,
    "collections": made.collections,
    "two levels of 0.5 s": lambda random, n: made.two_levels(random, n, 5),
}
# slower: what is covered is told, and not promised
BEYOND: dict[str, Noise] = {
    "wanders within 1 s": lambda random, n: made.wandering(random, n, 10, 0.05),
    "wanders within 3 s": lambda random, n: made.wandering(random, n, 30, 0.05),
    "wanders within 5 s": lambda random, n: made.wandering(random, n, 50, 0.05),
    "two levels of 2 s": lambda random, n: made.two_levels(random, n, 20),
    "two levels of 5 s": lambda random, n: made.two_levels(random, n, 50),
}


@dataclass(frozen=True)
class Stopped:
    """What became of many trials.

    Attributes
    ----------
    covered, covered_early, covered_fixed : float
        How often the interval that is told held the truth: of all trials, of those that ended early, and of the same
        trials when each takes all its time.
    early : float
        Share of the trials that ended early.
    seconds : float
        Mean length.
    """

    covered: float
    covered_early: float
    covered_fixed: float
    early: float
    seconds: float

    def __str__(self) -> str:
        early = f"{self.early:.2f} ended early" + (f" ({self.covered_early:.3f})" if self.early else "")
        times = RUNTIME_S / self.seconds
        return f"covers {self.covered:.3f}, fixed {self.covered_fixed:.3f}; {early}; {times:.1f} times sooner"


def stopped(noise: Noise, asked: float, trials: int, seed: int = 1) -> Stopped:
    """What a precision does to so many trials of a rate, of 60 s at most."""
    random = np.random.default_rng(seed)
    truth = float(np.mean([np.exp(noise(np.random.default_rng(10_000 + n), 20_000)).mean() for n in range(10)]))
    workload = Workload(
        target=TargetRange(path=""),
        limits=Limits(runtime_ns=RUNTIME_S * 10**9, precision=asked),
        interval_ns=INTERVAL_NS,
    )
    looks = [look // INTERVAL_NS for look in looks_ns(workload)]
    rows = [_one(np.exp(noise(random, 10 * RUNTIME_S)), truth, looks, asked) for _ in range(trials)]
    covered, fixed, early, seconds = np.array(rows, dtype=np.float64).T
    covered_early = float(covered[early > 0].mean()) if early.any() else 1.0
    return Stopped(covered.mean(), covered_early, fixed.mean(), early.mean(), seconds.mean())


def _one(rate: Floats, truth: float, looks: list[int], asked: float) -> tuple[bool, bool, bool, float]:
    for look in looks:
        found = _estimate(rate[:look])
        if is_known_well(found, asked):
            return _holds(found, truth, WIDENED), _holds(_estimate(rate), truth), True, look / 10
    whole = _holds(_estimate(rate), truth)
    return whole, whole, False, len(rate) / 10


def _estimate(rate: Floats) -> Estimate:
    return rate_estimate_from_intervals(rate * 0.1, np.full(len(rate), float(INTERVAL_NS)))


def _holds(found: Estimate, truth: float, wider: float = 1.0) -> bool:
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    low, high = (found.value + wider * (end - found.value) for end in (found.low, found.high))
    return low <= truth <= high
