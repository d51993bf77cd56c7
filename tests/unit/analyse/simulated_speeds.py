"""Checks of drives that change their speed slowly: they are made in time, and know nothing of how they are judged.

A drive has a course of slowdowns over an hour, and its durable writes go one after the other through it. What a check
does between them passes as time. In the long run it is what its slowdowns are, each weighed by how many writes it lets
through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from simulated_trials import measured

from drivelab.analyse.summary import summarise
from drivelab.inventory.target import resolve_target
from drivelab.model.measurement import Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.programs import POSTGRESQL
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import TargetRange
from drivelab.plan.check import plan_check
from drivelab.run.joined_windows import joined_windows

Floats = NDArray[np.float64]
# moments in seconds from which on a slowdown holds, from 0, and the slowdowns
Course = tuple[Floats, Floats]
_HOUR_S = 3600.0
# getting ready for a trial, and what follows the last window of a durable one
_READY_S, _COUNTED_S = 0.05, 0.4


@dataclass(frozen=True)
class ChangingDrive:
    """A drive whose durable writes take `median_ns` times a slowdown, with lognormal noise.

    Attributes
    ----------
    course : callable
        Draws the slowdowns of an hour.
    levels, time_shares : ndarray of float64, shape (n,)
        The slowdowns of the long run, and how much of the time each holds.
    """

    median_ns: float
    noise: float
    course: Callable[[np.random.Generator], Course]
    levels: Floats
    time_shares: Floats

    def quantile_ns(self, at: float) -> float:
        """A quantile of the latencies of the long run."""
        of_writes = self.time_shares / self.levels
        of_writes = of_writes / of_writes.sum()
        logs = np.log(self.median_ns * self.levels)

        def excess(log: float) -> float:
            return float(of_writes @ stats.norm.cdf((log - logs) / self.noise)) - at

        return float(np.exp(optimize.brentq(excess, logs.min() - 9 * self.noise, logs.max() + 9 * self.noise)))


def two_speeds(
    slow_s: float, fast_s: float, *, factor: float = 30.0, median_ns: float = 1e6, noise: float = 0.2
) -> ChangingDrive:
    """Slow and fast in turns, each stay of random (exponential) length: a Markov chain of two states."""

    def course(random: np.random.Generator) -> Course:
        is_slow = random.random() < slow_s / (slow_s + fast_s)
        moments, levels, at_s = [0.0], [factor if is_slow else 1.0], 0.0
        while at_s < _HOUR_S:
            at_s += random.exponential(slow_s if is_slow else fast_s)
            is_slow = not is_slow
            moments.append(at_s)
            levels.append(factor if is_slow else 1.0)
        return np.array(moments), np.array(levels)

    return ChangingDrive(median_ns, noise, course, np.array([factor, 1.0]), np.array([slow_s, fast_s]))


def drifting(factor: float, period_s: float, *, median_ns: float = 1e6, noise: float = 0.2) -> ChangingDrive:
    """Slower by and by, up to a factor, and faster again; the check begins anywhere."""
    levels = factor ** (np.arange(200) / 199)

    def course(random: np.random.Generator) -> Course:
        moments = np.arange(0.0, _HOUR_S, period_s / 400)
        phase = (moments / period_s + random.random()) % 1
        return moments, factor ** (1 - np.abs(2 * phase - 1))

    return ChangingDrive(median_ns, noise, course, levels, np.ones(200))


def steady(median_ns: float = 1e6, noise: float = 0.2) -> ChangingDrive:
    """Always the same."""
    one = np.ones(1)
    return ChangingDrive(median_ns, noise, lambda _: (np.zeros(1), one), one, one)


def check(drive: ChangingDrive, seed: int, *, is_quick: bool = False) -> list[TrialSummary]:
    """What the durable trials of each size come to, in a check that begins at some time."""
    facts = resolve_target("sim:consumer-ssd")
    windows: dict[str, list[Measurement]] = {}
    for step, window in _windows(drive, facts, np.random.default_rng(seed), is_quick=is_quick):
        windows.setdefault(step.trial, []).append(window)
    joined = (joined_windows(found) for name, found in windows.items() if name != POSTGRESQL.write.trial)
    return [summarise(one, facts) for one in joined]


def _windows(
    drive: ChangingDrive, facts: TargetFacts, random: np.random.Generator, *, is_quick: bool
) -> Iterator[tuple[PlannedStep, Measurement]]:
    course, now_s = drive.course(random), 0.0
    for step in plan_check(facts, is_quick=is_quick).plan.steps:
        pattern = step.pattern
        now_s += _READY_S + pattern.ramp / 1e9
        if not pattern.is_durable:
            now_s += (pattern.enough_after or pattern.runtime) / 1e9
            continue
        window = _window(drive, course, step, now_s, random)
        yield step, window
        now_s += window.measured_s + (_COUNTED_S if step.ends_trial else 0.0)


def _window(
    drive: ChangingDrive, course: Course, step: PlannedStep, begin_s: float, random: np.random.Generator
) -> Measurement:
    """The writes of one window, one after the other."""
    pattern = step.pattern
    enough_s, most_s = pattern.enough_after / 1e9, pattern.runtime / 1e9
    latencies: list[Floats] = []
    at_s, count = 0.0, 0
    enough_count = pattern.enough_bytes // pattern.block_size
    while at_s < most_s and (at_s < enough_s or count < enough_count):
        place = int(np.searchsorted(course[0], begin_s + at_s, side="right")) - 1
        until_s = course[0][place + 1] - begin_s if place + 1 < course[0].shape[0] else np.inf
        level_ns = drive.median_ns * course[1][place]
        drawn = level_ns * np.exp(drive.noise * random.standard_normal(64))
        end_s = at_s + np.cumsum(drawn) / 1e9
        taken = max(1, int((end_s < min(until_s, most_s)).sum()))
        latencies.append(np.round(drawn[:taken]))
        at_s, count = float(end_s[taken - 1]), count + taken
    series = np.concatenate(latencies)
    ends_ns = np.cumsum(series)
    asked = pattern.on(TargetRange(path="/x", size_bytes=pattern.file_size), seed=1)
    edges_ns = np.arange(asked.interval_ns, ends_ns[-1], asked.interval_ns)
    return measured(
        asked,
        {"write": series, "durable_write": series},
        name=step.trial,
        intervals=[int(place) for place in np.searchsorted(ends_ns, edges_ns, side="right")],
        started_monotonic_ns=round(begin_s * 1e9),
        measured_ns=int(ends_ns[-1]),
        ramp_ns=int(pattern.ramp),
        stopped_by="runtime" if at_s >= most_s else "caller",
    )
