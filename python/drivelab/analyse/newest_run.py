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
from drivelab.model.history import JudgedRun
from drivelab.model.holm import holm

Floats = NDArray[np.float64]
# a drive that has one of two speeds in each run had one in five runs, and the other in the next, once in 32 times
EARLIER_MIN = 6
# a history is looked at again and again: of drives that stay as they are hardly one look may be an alarm
SIGNIFICANCE = 0.005
_METHOD = "newest over the geometric mean of the earlier runs, with the 99.5 % prediction interval of one more run"


@dataclass(frozen=True, slots=True)
class RunOfHistory:
    """A run as far as it can be held against others.

    Attributes
    ----------
    name : str
        Of the run.
    kind : tuple of str
        What like runs have in common: the experiment, whether it was shortened, the file system.
    left_out : str
        Why it tells nothing of the drive: ``busy machine``; empty where it does.
    trials : sequence of ComparedTrial
        All of it.
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


def judge_newest(runs: Sequence[RunOfHistory], units: Mapping[str, Unit]) -> tuple[JudgedRun, ...]:
    """Of each kind of run the newest one beside the earlier ones like it.

    Parameters
    ----------
    runs : sequence of RunOfHistory
        Of one drive, the oldest first; those that are left out are passed over.
    units : mapping of str to str
        Unit of every metric.

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
    kinds: dict[tuple[str, ...], list[RunOfHistory]] = {}
    for run in runs:
        if not run.left_out:
            kinds.setdefault(run.kind, []).append(run)
    place = {run.name: number for number, run in enumerate(runs)}
    found = [_judged(alike[:-1], alike[-1], units) for alike in kinds.values()]
    return tuple(sorted(found, key=lambda one: -place[one.run]))


def _judged(earlier: Sequence[RunOfHistory], newest: RunOfHistory, units: Mapping[str, Unit]) -> JudgedRun:
    numbers = list(_numbers(earlier, newest, units))
    known = [number for number in numbers if len(number.earlier) >= EARLIER_MIN]
    rows = _rows(known) if known else ()
    most = max((len(number.earlier) for number in numbers), default=0)
    return JudgedRun(newest.name, newest.kind, most, max(0, EARLIER_MIN - most), tuple(rows))


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


def _rows(numbers: Sequence[_Number]) -> list[MetricComparison]:
    """The numbers judged together, what changed first, the largest change before the others."""
    counts = np.array([float(len(number.earlier)) for number in numbers])
    scatter = moderated(np.array([number.earlier.var(ddof=1) for number in numbers]), counts - 1)
    errors = np.sqrt(scatter.variances * (1 + 1 / counts))
    shifts = [number.newest - float(number.earlier.mean()) for number in numbers]
    degrees = counts - 1 + scatter.prior_degrees
    p_values = [two_sided_p(*one) for one in zip(shifts, errors.tolist(), degrees.tolist(), strict=True)]
    found: list[MetricComparison] = []
    for number, shift, error, count, freedom, p_value, adjusted in zip(
        numbers, shifts, errors.tolist(), counts.tolist(), degrees.tolist(), p_values, holm(p_values), strict=True
    ):
        half = student_t(count - 1, SIGNIFICANCE / 2) * error
        least = max(half, student_t(freedom, SIGNIFICANCE / 2 / len(numbers)) * error)
        ends = [math.exp(end) for end in (shift - half, shift + half)]
        ratio = Estimate(math.exp(shift), ends[0], ends[1], "1", int(count) + 1, count + 1, _METHOD)
        row = replace(number.row, ratio=ratio, p_value=p_value, adjusted_p_value=adjusted)
        if abs(shift) > half and adjusted <= SIGNIFICANCE:
            row = replace(row, verdict="slower" if (row.slowdown or 1) > 1 else "faster")
        found.append(replace(row, detectable_ratio=math.exp(least)))
    return sorted(found, key=lambda row: (row.verdict == "no difference shown", -abs(math.log(row.ratio.value or 1))))
