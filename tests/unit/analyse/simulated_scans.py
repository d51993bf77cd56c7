"""Scans of settings with a known truth: one baseline and levels beside it, block by block, as level_effects reads them.

Nothing here knows by which rule the effects are judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from drivelab.analyse.effects import level_effects
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.run_answer import LevelEffect

METRICS = {"small": "total_latency_ns_p50"}
LEVELS = 13


@dataclass(frozen=True)
class Scan:
    """How the trials of a scan come about.

    Attributes
    ----------
    blocks, levels : int
        Repeats of everything, and levels beside the baseline.
    noise : float
        Standard deviation of the logarithm of a trial.
    times : mapping of int to float
        Levels (0 is the baseline) that scatter so many times as far.
    effects : mapping of int to float
        Ratio of a level to the baseline; others have none.
    missing : float
        Probability that a trial is missing.
    tails : bool
        Whether the scatter is Student's t with three degrees of freedom.
    has_reference : bool
        Whether the reference stands in for a baseline that is missing.
    """

    blocks: int = 3
    levels: int = LEVELS
    noise: float = 0.03
    times: Mapping[int, float] = field(default_factory=dict)
    effects: Mapping[int, float] = field(default_factory=dict)
    missing: float = 0.0
    tails: bool = False
    has_reference: bool = False

    def trials(self, random: np.random.Generator) -> list[TrialValue]:
        """One scan; every block has a speed of its own."""
        made = []
        for block in range(1, self.blocks + 1):
            speed = random.normal(13, 0.3)
            for level in range(self.levels + 1):
                drawn = random.standard_t(3) if self.tails else random.normal()
                value = speed + math.log(self.effects.get(level, 1.0)) + self.noise * self.times.get(level, 1.0) * drawn
                is_there = random.random() >= self.missing or (self.has_reference and not level)
                if is_there:
                    made.append(TrialValue("sda", "small", block, {"scheduler": str(level)}, math.exp(value)))
        return made

    def effects_of(self, random: np.random.Generator) -> dict[str, LevelEffect]:
        """What the analysis says of one scan, by level."""
        return effects_by_level(self.trials(random), self.levels)


def effects_by_level(trials: Sequence[TrialValue], levels: int = LEVELS) -> dict[str, LevelEffect]:
    """The effects of a scan, by level."""
    factors = {"scheduler": tuple(map(str, range(levels + 1)))}
    return {effect.level: effect for effect in level_effects(trials, factors, METRICS)}


def share_of_false(scan: Scan, verdicts: tuple[str, ...], repeats: int) -> float:
    """In how many scans without any effect some level has such a verdict."""
    random = np.random.default_rng(1)
    found = [any(one.verdict in verdicts for one in scan.effects_of(random).values()) for _ in range(repeats)]
    return sum(found) / repeats


def share_that_matters(scan: Scan, level: int, repeats: int, verdicts: tuple[str, ...] = ("matters",)) -> float:
    """In how many scans a level is said to matter, or has another such verdict."""
    random = np.random.default_rng(2)
    found = [scan.effects_of(random).get(str(level)) for _ in range(repeats)]
    return sum(one is not None and one.verdict in verdicts for one in found) / repeats
