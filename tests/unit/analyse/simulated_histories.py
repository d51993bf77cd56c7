"""Made-up histories of a drive, judged as stored ones are.

What scatters, and how, is decided here, and nothing here knows by which rule the newest run is judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.comparison import ComparedTrial
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.newest_run import RunOfHistory, judge_newest
from drivelab.analyse.run_answer import RunTrial
from drivelab.model.estimate import Unit
from drivelab.model.history import JudgedRun

P50 = "total_latency_ns_p50"
UNITS: dict[str, Unit] = {P50: "ns"}
NUMBERS = 9
FULL, QUICK = ("check", "full", "ext4"), ("check", "quick", "ext4")
# of a run in all its numbers alike, and of each number alone: runs of one drive on a quiet computer
OF_RUN, OF_NUMBER = 0.015, 0.015
Floats = NDArray[np.float64]
Scatter = Callable[[np.random.Generator], Floats]


def normal(random: np.random.Generator) -> Floats:
    return OF_RUN * random.normal() + OF_NUMBER * random.normal(size=NUMBERS)


def heavy(random: np.random.Generator) -> Floats:
    """Some runs lie far off: Student's t with 5 degrees of freedom."""
    return OF_RUN * random.standard_t(5) + OF_NUMBER * random.standard_t(5, size=NUMBERS)


def unequal(random: np.random.Generator) -> Floats:
    """Some numbers scatter six times as far as others."""
    return OF_RUN * random.normal() + np.linspace(0.005, 0.03, NUMBERS) * random.normal(size=NUMBERS)


def two_modes(random: np.random.Generator) -> Floats:
    """A drive that has one of two speeds in each run."""
    return 0.1 * random.integers(0, 2) + OF_NUMBER * random.normal(size=NUMBERS)


def run(number: int, logarithms: Sequence[float], kind: tuple[str, ...] = FULL, left_out: str = "") -> RunOfHistory:
    trials = [
        ComparedTrial(
            number,
            "",
            RunTrial(
                name=f"w{place}",
                target="/srv",
                workload="",
                block=1,
                levels={},
                achieved={},
                kind=TrialKind(4096, 1, is_durable=True),
                values={P50: 300_000 * (1 + place) * math.exp(value)},
            ),
        )
        for place, value in enumerate(logarithms)
    ]
    return RunOfHistory(f"run{number}", kind, left_out, trials)


def history(random: np.random.Generator, earlier: int, scatter: Scatter, change: float = 1.0) -> list[RunOfHistory]:
    """Full runs on a quiet computer, and between them quick ones and such beside others' work, which are far off."""
    runs: list[RunOfHistory] = []
    for number in range(earlier + 1):
        logarithms = scatter(random)
        if random.random() < 0.5:
            runs.append(run(1000 + number, logarithms - 0.4 + 0.1 * random.normal(), QUICK, ""))
        if random.random() < 0.5:
            runs.append(run(2000 + number, logarithms + abs(random.normal()), FULL, "busy machine"))
        if number == earlier:
            logarithms = logarithms + math.log(change) * (np.arange(NUMBERS) == 3)
        runs.append(run(number, logarithms))
    return runs


def full(runs: Sequence[RunOfHistory]) -> JudgedRun:
    (found,) = (one for one in judge_newest(runs, UNITS) if one.kind == FULL)
    return found
