"""Two sides of made-up runs with a known difference, compared as stored ones are.

What scatters, and how, is decided here, and nothing here knows by which rule the comparison judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.comparison import Compared, ComparedTrial, compare_sides
from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import RunTrial
from drivelab.model.comparison import MetricComparison
from drivelab.model.estimate import Unit

Floats = NDArray[np.float64]
# logarithms of each workload (row) in each run (column) of BASE and of NEW
Sides = tuple[Floats, Floats]
Law = Callable[[np.random.Generator, int, int, int], Sides]

WORKLOADS = 12
CHANGED = "w0"
UNITS: Mapping[str, Unit] = {"total_latency_ns_p50": "ns", "total_latency_ns_p99": "ns", "iops": "1/s"}
_WAITED_FOR = TrialKind(4096, 1, is_durable=True)


def scatter(of_base: float, of_new: float | None = None, *, spread: float = 0.0) -> Law:
    """Normal scatter between runs of each side; workloads scatter alike, or by factors that are spread themselves."""

    def law(random: np.random.Generator, rows: int, base: int, new: int) -> Sides:
        of_rows = np.exp(random.normal(0, spread, (rows, 1)))
        sizes = of_base, of_base if of_new is None else of_new
        return tuple(size * of_rows * random.normal(0, 1, (rows, n)) for size, n in zip(sizes, (base, new)))  # type: ignore[return-value]  # noqa: B905

    return law


def whole_runs(of_base: float, of_new: float, own: float = 0.01) -> Law:
    """What a run has is in all its workloads alike: a hot afternoon, a neighbour, a kernel that was just booted."""

    def law(random: np.random.Generator, rows: int, base: int, new: int) -> Sides:
        parts = [
            size * random.normal(0, 1, (1, n)) + own * random.normal(0, 1, (rows, n))
            for size, n in ((of_base, base), (of_new, new))
        ]
        return parts[0], parts[1]

    return law


def some_scatter_more(times: float, share: float = 1 / 3, size: float = 0.01) -> Law:
    """Some of the workloads scatter several times as far as the others, on both sides."""

    def law(random: np.random.Generator, rows: int, base: int, new: int) -> Sides:
        of_rows = np.where(np.arange(rows) < share * rows, times * size, size)[:, None]
        return of_rows * random.normal(0, 1, (rows, base)), of_rows * random.normal(0, 1, (rows, new))

    return law


def two_modes(apart: float = 0.12, share: float = 0.25, own: float = 0.01, *, of_runs: bool = False) -> Law:
    """Each run is in one of two modes: each of its workloads for itself, or all of them alike."""

    def law(random: np.random.Generator, rows: int, base: int, new: int) -> Sides:
        parts = [
            math.log1p(apart) * (random.random((1 if of_runs else rows, n)) < share)
            + own * random.normal(0, 1, (rows, n))
            for n in (base, new)
        ]
        return parts[0], parts[1]

    return law


def heavy_tails(size: float = 0.03) -> Law:
    """Student's t with three degrees of freedom."""
    return lambda random, rows, base, new: (
        size * random.standard_t(3, (rows, base)),
        size * random.standard_t(3, (rows, new)),
    )


def skewed(size: float = 0.03) -> Law:
    """Exponential."""
    return lambda random, rows, base, new: (
        size * random.exponential(1, (rows, base)),
        size * random.exponential(1, (rows, new)),
    )


def in_turns(step: float = 0.02, slope: float = 0.0) -> Law:
    """Runs in turns (BASE, NEW, NEW, BASE ...) on a drive that drifts: a random walk, a straight line, or both."""

    def law(random: np.random.Generator, rows: int, base: int, new: int) -> Sides:
        places = _turns(base, new)
        walk = np.cumsum(step * random.normal(0, 1, (rows, base + new)), axis=1) + slope * np.arange(base + new)
        walk += 0.005 * random.normal(0, 1, walk.shape)
        is_new = np.array(places)
        return walk[:, ~is_new], walk[:, is_new]

    return law


def _turns(base: int, new: int) -> list[bool]:
    """Whether each run is one of NEW, the two sides in turns as far as both last."""
    order: list[bool] = []
    for number in range(max(base, new)):
        pair = [False] * (number < base) + [True] * (number < new)
        order += pair if number % 2 == 0 else pair[::-1]
    return order


def compared_sides(
    sides: Sides, random: np.random.Generator, *, effect: float = 0.0, is_judged_only: bool = False
) -> Compared:
    """The comparison of such sides; `effect` is added to one workload of NEW.

    Three numbers of each workload, or only the one that it is judged by, which is sooner done.
    """
    changed = sides[1].copy()
    changed[0] += effect
    trials = [
        [
            _trial(run, row, float(values[row, run]), random, is_judged_only=is_judged_only)
            for run in range(values.shape[1])
            for row in range(len(values))
        ]
        for values in (sides[0], changed)
    ]
    return compare_sides(trials[0], trials[1], UNITS)


def _trial(run: int, row: int, logarithm: float, random: np.random.Generator, *, is_judged_only: bool) -> ComparedTrial:
    median_ns = 3e5 * math.exp(logarithm)
    values = {"total_latency_ns_p50": median_ns}
    if not is_judged_only:
        values["total_latency_ns_p99"] = 3 * median_ns * math.exp(0.03 * random.normal())
        values["iops"] = 1e9 / median_ns * math.exp(0.005 * random.normal())
    return ComparedTrial(run, "", RunTrial(f"{run}-{row}", "sdb", f"w{row}", 1, {}, {}, _WAITED_FOR, values))


def alarms(found: Compared) -> list[MetricComparison]:
    """Numbers that are said to be slower or faster."""
    return [row for row in found.rows if row.verdict in ("slower", "faster")]


def share_of_false_alarms(law: Law, counts: tuple[int, int], repeats: int, rows: int = WORKLOADS) -> float:
    """In how many comparisons of sides that are alike some number is said to be slower or faster."""
    random = np.random.default_rng(1)
    made = (law(random, rows, *counts) for _ in range(repeats))
    return sum(bool(alarms(compared_sides(one, random, is_judged_only=True))) for one in made) / repeats


def share_found(law: Law, counts: tuple[int, int], ratio: float, repeats: int, rows: int = WORKLOADS) -> float:
    """How often a workload that takes `ratio` times as long is said to be slower."""
    random = np.random.default_rng(2)
    hits = 0
    for _ in range(repeats):
        found = compared_sides(law(random, rows, *counts), random, effect=math.log(ratio), is_judged_only=True)
        hits += any(row.workload == CHANGED and row.verdict == "slower" for row in found.rows)
    return hits / repeats
