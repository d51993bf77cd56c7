"""Whether the newest run of a drive differs from the earlier ones by more than they scatter.

A run is one observation, as in a comparison of two sides (`drivelab.analyse.comparison_interval`). The newest is one
alone, so that only the scatter between earlier ones tells how far it may lie off by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.comparability import reasons_against
from drivelab.analyse.compared_metrics import shown_metrics
from drivelab.analyse.comparison import ComparedTrial, Key, compared_row, judged_together
from drivelab.analyse.moderation import moderated
from drivelab.model.comparison import MetricComparison
from drivelab.model.distributions import student_t, two_sided_p
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.history import EARLIER_MIN, JudgedRun
from drivelab.model.holm import holm

Floats = NDArray[np.float64]
# a history is looked at again and again: of drives that stay as they are hardly one look may be an alarm
SIGNIFICANCE = 0.005
_METHOD = "newest over the geometric mean of the earlier runs, with the 99.5 % prediction interval of one more run"


@dataclass(frozen=True, slots=True)
class RunOfHistory:
    """A run as far as it can be held against others.

    Attributes
    ----------
    kind : tuple of str
        What like runs have in common: the experiment, whether it was shortened, the file system.
    left_out : str
        Why it tells nothing of the drive: ``busy machine``; empty where it does.
    """

    name: str
    kind: tuple[str, ...]
    left_out: str
    trials: Sequence[ComparedTrial]


@dataclass(frozen=True, slots=True)
class _Number:
    """One number: its row before it is judged, and logarithms of the earlier runs and of the newest."""

    row: MetricComparison
    earlier: Floats
    newest: float


@dataclass(frozen=True, slots=True)
class NewestRun:
    """The newest run of a kind and the earlier ones, before it is judged.

    Attributes
    ----------
    kind : tuple of str
        As of `RunOfHistory`.
    earlier_count, missing_count : int
        Earlier runs that it is held against, and how many more it takes.
    numbers : tuple
        Those that have enough earlier runs.
    """

    run: str
    kind: tuple[str, ...]
    earlier_count: int
    missing_count: int
    numbers: tuple[_Number, ...]


@dataclass(frozen=True, slots=True)
class _Shift:
    """How far a number is from the earlier ones: its logarithm, the standard error of that, and the chance of it."""

    row: MetricComparison
    value: float
    error: float
    count: float
    degrees: float
    p_value: float


def judge_newest(runs: Sequence[RunOfHistory], units: Mapping[str, Unit]) -> tuple[JudgedRun, ...]:
    """Of each kind of run the newest one beside the earlier ones like it.

    Parameters
    ----------
    runs : sequence of RunOfHistory
        Of one drive, the oldest first; those that are left out are passed over.

    Returns
    -------
    tuple of JudgedRun
        The kind that was measured last first.

    Notes
    -----
    The number that each combination of workload and levels is judged by is one logarithm a run, the median of its
    repeats. The newest is *slower* or *faster* where it lies outside the interval in which one more run is
    expected, mean ± t s √(1 + 1/n), at 0.5 %, and its p-value, corrected for all numbers of the run (Holm), is at most
    0.5 % as well. Variances are moderated over the numbers; the p-value has the degrees of freedom that this lends, the
    interval has not, since what disturbs a run disturbs all of its numbers alike.
    """
    return tuple(told for one in newest_of(runs, units) for told in judged_runs([one]))


def newest_of(runs: Sequence[RunOfHistory], units: Mapping[str, Unit]) -> tuple[NewestRun, ...]:
    """Of each kind of run the newest one, before it is judged: the kind that was measured last first."""
    kinds: dict[tuple[str, ...], list[RunOfHistory]] = {}
    for run in runs:
        if not run.left_out:
            kinds.setdefault(run.kind, []).append(run)
    place = {run.name: number for number, run in enumerate(runs)}
    found = [_newest(alike[:-1], alike[-1], units) for alike in kinds.values()]
    return tuple(sorted(found, key=lambda one: -place[one.run]))


def judged_runs(runs: Sequence[NewestRun]) -> list[JudgedRun]:
    """Newest runs judged together, of one drive or of many: each number is corrected for those of all of them.

    Numbers lend each other their scatter only within a run.
    """
    shifts = [_shifts(one.numbers) for one in runs]
    every = [shift for its in shifts for shift in its]
    adjusted = iter(holm([shift.p_value for shift in every]))
    return [
        JudgedRun(
            one.run, one.kind, one.earlier_count, one.missing_count, tuple(_rows(its, adjusted, count=len(every)))
        )
        for one, its in zip(runs, shifts, strict=True)
    ]


def _newest(earlier: Sequence[RunOfHistory], newest: RunOfHistory, units: Mapping[str, Unit]) -> NewestRun:
    numbers = list(_numbers(earlier, newest, units))
    known = tuple(number for number in numbers if len(number.earlier) >= EARLIER_MIN)
    most = max((len(number.earlier) for number in numbers), default=0)
    return NewestRun(newest.name, newest.kind, most, max(0, EARLIER_MIN - most), known)


def _numbers(earlier: Sequence[RunOfHistory], newest: RunOfHistory, units: Mapping[str, Unit]) -> Iterator[_Number]:
    cells = [_cells(run) for run in (*earlier, newest)]
    together = judged_together(cells[-1], cells[-1:])
    for key, trials in cells[-1].items():
        alike = [
            found
            for one in cells[:-1]
            if (found := one.get(key))
            and not reasons_against([each.conduct for each in found], [each.conduct for each in trials])
        ]
        metric = shown_metrics(trials, together[key])[0]
        values = [_value(one, metric) for one in (*alike, trials)]
        if values[-1] is None or metric not in units:
            continue
        logarithms = np.array([value for value in values[:-1] if value is not None])
        before = [replace(each, run=number) for number, one in enumerate(alike) for each in one]
        row = compared_row(key, metric, units[metric], (before or trials, trials))
        yield _Number(replace(row, is_judged=True), logarithms, values[-1])


def _cells(run: RunOfHistory) -> dict[Key, list[ComparedTrial]]:
    found: dict[Key, list[ComparedTrial]] = {}
    for one in run.trials:
        if not one.trial.is_reference and not one.conduct.invalid:
            found.setdefault(("", one.workload, tuple(sorted(one.trial.levels.items()))), []).append(one)
    return found


def _value(trials: Sequence[ComparedTrial], metric: str) -> float | None:
    """The logarithm of the median repeat; None where one of them has no value: the others alone would be biased."""
    found = [one.trial.values.get(metric) for one in trials]
    known = [value for value in found if value is not None and 0 < value < math.inf]
    return math.log(median(known)) if len(known) == len(found) else None


def _shifts(numbers: Sequence[_Number]) -> list[_Shift]:
    """How far each number of the newest run is from the earlier ones."""
    if not numbers:
        return []
    counts = np.array([float(len(number.earlier)) for number in numbers])
    scatter = moderated(np.array([number.earlier.var(ddof=1) for number in numbers]), counts - 1)
    errors = np.sqrt(scatter.variances * (1 + 1 / counts)).tolist()
    found = []
    for number, error, count in zip(numbers, errors, counts.tolist(), strict=True):
        value, degrees = number.newest - float(number.earlier.mean()), count - 1 + scatter.prior_degrees
        found.append(_Shift(number.row, value, error, count, degrees, two_sided_p(value, error, degrees)))
    return found


def _rows(shifts: Sequence[_Shift], adjusted_p_values: Iterator[float], *, count: int) -> list[MetricComparison]:
    """The numbers of a run judged, what changed first, the largest change at the top; `count` are corrected for."""
    found: list[MetricComparison] = []
    for shift in shifts:
        adjusted = next(adjusted_p_values)
        half = student_t(shift.count - 1, SIGNIFICANCE / 2) * shift.error
        least = max(half, student_t(shift.degrees, SIGNIFICANCE / 2 / count) * shift.error)
        low, high = math.exp(shift.value - half), math.exp(shift.value + half)
        ratio = Estimate(math.exp(shift.value), low, high, "1", int(shift.count) + 1, shift.count + 1, _METHOD)
        row = replace(shift.row, ratio=ratio, p_value=shift.p_value, adjusted_p_value=adjusted)
        if abs(shift.value) > half and adjusted <= SIGNIFICANCE:
            row = replace(row, verdict="slower" if (row.slowdown or 1) > 1 else "faster")
        found.append(replace(row, detectable_ratio=math.exp(least)))
    return sorted(found, key=lambda row: (row.verdict == "no difference shown", -abs(math.log(row.ratio.value or 1))))
