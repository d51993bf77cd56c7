"""Trials of full designs with a known truth, as tests make them up, and their analysis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from drivelab.analyse.factorial import factorials
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.factorial import Factorial

METRICS = {"small": "total_latency_ns_p50"}
FACTORS = {"filesystem": ("raw", "ext4", "xfs"), "write-cache": ("on", "off"), "block_size": ("4KiB", "16KiB")}


def factorial_of(
    trials: Sequence[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str] = METRICS
) -> Factorial:
    """The analysis of the only workload on the only target."""
    (found,) = factorials(trials, factors, metrics)
    return found


def trial(block: int, logarithm: float, levels: Mapping[str, str], **facts: object) -> TrialValue:
    """A trial with its logarithm."""
    return replace(TrialValue("sda", "small", block, levels, math.exp(logarithm)), **facts)  # type: ignore[arg-type]


def split_plot(
    factors: Mapping[str, Sequence[str]],
    blocks: int,
    truth: Mapping[tuple[str, ...], float],
    seed: int | np.random.Generator = 1,
    *,
    of_plots: float = 0.0,
    of_trials: float = 0.02,
    times: Mapping[str, float] | None = None,
) -> list[TrialValue]:
    """Trials of a full design; every making of the first factor's level adds a scatter of its own.

    The truth names what is added to the logarithm where all of some levels are there; `times` how much more than the
    others levels of the first factor scatter.
    """
    random = np.random.default_rng(seed)
    names = list(factors)
    trials = []
    for block in range(1, blocks + 1):
        speed = random.normal(13, 0.3)
        more = {level: (times or {}).get(level, 1.0) for level in factors[names[0]]}
        plots = {level: more[level] * random.normal(0, of_plots) for level in factors[names[0]]}
        for cell in itertools.product(*factors.values()):
            added = sum(size for levels, size in truth.items() if set(levels) <= set(cell))
            scatter = plots[cell[0]] + more[cell[0]] * random.normal(0, of_trials)
            trials.append(trial(block, speed + added + scatter, dict(zip(names, cell, strict=True))))
    return trials
