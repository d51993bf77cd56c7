"""Puts the trials of two sides of runs beside each other: which belong together, and what became of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, geometric_mean, median

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.command_changes import command_changes
from drivelab.analyse.comparability import TrialConduct, pattern_words, reasons_against
from drivelab.analyse.compared_metrics import told_metrics
from drivelab.analyse.comparison_interval import Shift, shifts_between
from drivelab.analyse.effects import SIGNIFICANCE
from drivelab.analyse.run_answer import RunTrial
from drivelab.model.apart import too_few_runs
from drivelab.model.comparison import VERDICTS, ComparisonVerdict, MetricComparison, SideValues
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.holm import holm
from drivelab.model.level_words import level_phrase, level_size

Floats = NDArray[np.float64]
Levels = tuple[tuple[str, str], ...]
# place of the target, workload, levels that are the same on both sides
Key = tuple[str, str, Levels]


@dataclass(frozen=True, slots=True)
class ComparedTrial:
    """A trial of one side.

    Attributes
    ----------
    run : int
        Which run of its side it belongs to, from 0.
    place : str
        What stands for its target on both sides.
    is_lasting : bool
        Whether its rates are what lasts, not what a cache took at first.
    is_round : bool
        Whether it is a round of a measurement window: their mean counts.
    """

    run: int
    place: str
    trial: RunTrial
    conduct: TrialConduct = field(default_factory=TrialConduct)
    label: str = ""
    is_lasting: bool = False
    is_round: bool = False

    @property
    def workload(self) -> str:
        """What it measured: trials without an experiment are workloads of their own."""
        return self.trial.workload or self.trial.name


@dataclass(frozen=True, slots=True)
class Compared:
    """What two sides come to.

    Attributes
    ----------
    rows : tuple of MetricComparison
        The worst first.
    factors : mapping of str to (str, str)
        Factors with one level on each side, and not the same: they are what is compared.
    only_base, only_new : tuple of str
        Combinations that the other side does not have.
    left_out : mapping of str to int
        Of metrics that some repeat has no value of: in how many combinations.
    pairs : tuple of (sequence of ComparedTrial, sequence of ComparedTrial)
        The trials of every combination that can be compared, in the order of `rows`.
    """

    rows: tuple[MetricComparison, ...]
    factors: Mapping[str, tuple[str, str]]
    only_base: tuple[str, ...]
    only_new: tuple[str, ...]
    left_out: Mapping[str, int]
    pairs: tuple[tuple[Sequence[ComparedTrial], Sequence[ComparedTrial]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A row before it is judged: logarithms of each run of both sides."""

    row: MetricComparison
    pair: tuple[Floats, Floats]
    trials: tuple[Sequence[ComparedTrial], Sequence[ComparedTrial]]

    @property
    def is_durable(self) -> bool:
        """Whether it is about writes that survive a power cut."""
        return self.trials[0][0].trial.kind.is_durable

    @property
    def family(self) -> str:
        """What it lends its scatter to: judged numbers to each other, others to those of their name."""
        return "" if self.row.is_judged else self.row.metric


def compare_sides(
    base: Sequence[ComparedTrial],
    new: Sequence[ComparedTrial],
    units: Mapping[str, Unit],
    *,
    margin: float = 0.05,
    metrics: Sequence[str] = (),
) -> Compared:
    """Every metric of every combination that both sides have.

    Parameters
    ----------
    base, new : sequence of ComparedTrial
        All trials of each side; those of the reference are passed over.
    margin : float
        What still counts as the same: 0.05 is 5 %.
    metrics : sequence of str
        Which to judge; otherwise the one that the workload is judged by at all its levels, and
        beside it, told only, p99 of its latency, and the operations per second beside a median.

    Notes
    -----
    *equivalent*: the 90 % interval lies within the margin (two one-sided tests
    at 5 %). Otherwise *slower* or *faster*: no difference at all is refused at
    5 %, corrected for all judged numbers (Holm 1979), and the 95 % interval
    leaves out 1. Otherwise *no difference shown*, which says nothing about
    equality. *seen only*: fewer runs of a side than it takes, or a number that
    is told beside the judged one.
    """
    sides = [[one for one in side if not one.trial.is_reference] for side in (base, new)]
    factors = _compared_factors(*sides)
    unmatched = _unmatched_factors(*sides)
    cells = _paired([_cells(side, factors, unmatched) for side in sides])
    common = [key for key in cells[0] if key in cells[1]]
    drafts: list[_Draft] = []
    left_out: dict[str, int] = {}
    # all levels of a workload are compared by one metric, as its own table has them
    together = judged_together(common, cells)
    for key in common:
        both = cells[0][key], cells[1][key]
        reasons = reasons_against([one.conduct for one in both[0]], [one.conduct for one in both[1]], factors)
        for place, metric in enumerate(list(metrics) or told_metrics(*both, together[key])):
            pair = _by_run(both[0], metric), _by_run(both[1], metric)
            if not all(map(len, pair)):
                left_out[metric] = left_out.get(metric, 0) + 1
                continue
            row = compared_row(key, metric, units[metric], both)
            is_judged = place == 0 or bool(metrics)
            drafts.append(_Draft(replace(row, margin=margin, why=reasons, is_judged=is_judged), pair, both))
    rows = _judged(drafts, margin)
    workloads = list(dict.fromkeys(row.workload for row in rows))
    order = sorted(
        range(len(rows)),
        key=lambda at: _place(rows[at], (not drafts[at].is_durable, workloads.index(rows[at].workload))),
    )
    pairs = {id(drafts[place].trials[0]): drafts[place].trials for place in order if not drafts[place].row.why}
    return Compared(
        rows=tuple(rows[place] for place in order),
        factors={**_told_unmatched(sides, unmatched), **factors},
        only_base=tuple(_name(key, own) for key, own in cells[0].items() if key not in cells[1]),
        only_new=tuple(_name(key, own) for key, own in cells[1].items() if key not in cells[0]),
        left_out=left_out,
        pairs=tuple(pairs.values()),
    )


def _compared_factors(base: Sequence[ComparedTrial], new: Sequence[ComparedTrial]) -> dict[str, tuple[str, str]]:
    """Factors that each side has at one level only, and not at the same; a level that a side lacks is empty."""
    names = dict.fromkeys(name for one in (*base, *new) for name in one.trial.levels)
    found = {}
    for name in names:
        ours, theirs = ({one.trial.levels.get(name, "") for one in side} for side in (base, new))
        if len(ours) == len(theirs) == 1 and ours != theirs:
            found[name] = (*ours, *theirs)
    return {name: (pair[0], pair[1]) for name, pair in found.items()}


def _unmatched_factors(base: Sequence[ComparedTrial], new: Sequence[ComparedTrial]) -> dict[str, set[str]]:
    """Of each workload, the factors that one side does not have, and of which the other has one level only."""
    found: dict[str, set[str]] = {}
    for workload in dict.fromkeys(one.workload for one in base):
        sides = [[one.trial.levels for one in side if one.workload == workload] for side in (base, new)]
        for name in dict.fromkeys(name for side in sides for levels in side for name in levels):
            levels = [{one.get(name) for one in side} for side in sides]
            if all(len(one) == 1 for one in levels) and {None} in levels:
                found.setdefault(workload, set()).add(name)
    return found


def _told_unmatched(
    sides: Sequence[Sequence[ComparedTrial]], unmatched: Mapping[str, set[str]]
) -> dict[str, tuple[str, str]]:
    """The levels of such factors on both sides; those of several workloads together."""
    found: dict[str, tuple[str, str]] = {}
    for name in sorted({name for names in unmatched.values() for name in names}):
        ours, theirs = (
            sorted(
                {
                    one.trial.levels[name]
                    for one in side
                    if name in unmatched.get(one.workload, ()) and name in one.trial.levels
                }
            )
            for side in sides
        )
        found[name] = (" and ".join(ours), " and ".join(theirs))
    return found


def _cells(
    side: Sequence[ComparedTrial], factors: Mapping[str, object], unmatched: Mapping[str, set[str]]
) -> dict[Key, list[ComparedTrial]]:
    found: dict[Key, list[ComparedTrial]] = {}
    for one in side:
        left_out = {*factors, *unmatched.get(one.workload, ())}
        levels = tuple(sorted((name, level) for name, level in one.trial.levels.items() if name not in left_out))
        found.setdefault((one.place, one.workload, levels), []).append(one)
    return found


def _paired(cells: list[dict[Key, list[ComparedTrial]]]) -> list[dict[Key, list[ComparedTrial]]]:
    """The same, where each side has one combination alone: they are what is meant, whatever they are called."""
    if len(cells[0]) == len(cells[1]) == 1:
        return [dict(zip(cells[0], side.values(), strict=True)) for side in cells]
    return cells


def judged_together(
    keys: Collection[Key], cells: Sequence[Mapping[Key, Sequence[ComparedTrial]]]
) -> dict[Key, list[ComparedTrial]]:
    """Of each combination the trials at all levels of its workload, or of its operation of one that is mixed."""
    found: dict[tuple[str, str], list[ComparedTrial]] = {}
    names = {key: (key[1], dict(key[2]).get("operation", "")) for key in keys}
    for key, name in names.items():
        found.setdefault(name, []).extend(trial for side in cells for trial in side[key])
    return {key: found[name] for key, name in names.items()}


def _name(key: Key, trials: Sequence[ComparedTrial]) -> str:
    place, workload, levels = key
    label = trials[0].label or workload
    # the place of a target may have the name of the other side's
    return ", ".join([label, *(level_phrase(*one) for one in levels), *([trials[0].trial.target] if place else [])])


def _by_run(trials: Sequence[ComparedTrial], metric: str) -> Floats:
    """The logarithm of each run; nothing where a repeat has no value: the others alone would be biased."""
    values = [one.trial.values.get(metric) for one in trials]
    known = [value for value in values if value is not None and 0 < value < math.inf]
    return np.log(_run_values(trials, known)) if len(known) == len(values) else np.array([])


def _run_values(trials: Sequence[ComparedTrial], values: Sequence[float]) -> list[float]:
    """The median of the repeats of each run; the mean of its rounds, as its own answer has it."""
    runs: dict[int, list[float]] = {}
    for one, value in zip(trials, values, strict=True):
        runs.setdefault(one.run, []).append(value)
    middle = fmean if any(one.is_round for one in trials) else median
    return [middle(of_run) for of_run in runs.values()]


def compared_row(
    key: Key, metric: str, unit: Unit, cells: tuple[Sequence[ComparedTrial], Sequence[ComparedTrial]]
) -> MetricComparison:
    """A row without its ratio."""
    _, workload, levels = key
    base, new = ([float(one.trial.values[metric] or math.nan) for one in side] for side in cells)
    return MetricComparison(
        workload=workload,
        label=" -> ".join(dict.fromkeys(side[0].label or workload for side in cells)),
        target_base=cells[0][0].trial.target,
        target_new=cells[1][0].trial.target,
        levels=dict(levels),
        metric=metric,
        unit=unit,
        is_judged=False,
        base=_values(cells[0], base),
        new=_values(cells[1], new),
        ratio=Estimate(None, None, None, "1", 0, 0.0, ""),
        commands=command_changes(*([one.conduct.commands for one in side] for side in cells)),
        pattern=pattern_words(cells[1][0].conduct.asked, is_durable=cells[1][0].trial.kind.is_durable),
    )


def _values(trials: Sequence[ComparedTrial], values: Sequence[float]) -> SideValues:
    """What the ratio is made of: the geometric mean of the runs, each the middle of its repeats or rounds."""
    of_runs = _run_values(trials, values)
    middle = geometric_mean(of_runs) if min(values) > 0 else median(values)
    return SideValues(middle, min(values), max(values), len(of_runs), len(values))


def _judged(drafts: Sequence[_Draft], margin: float) -> list[MetricComparison]:
    """The rows with their ratios and verdicts, the judged ones corrected for how many they are."""
    shifts = _shifts(drafts)
    p_values = {
        place: shift.p_value
        for place, (draft, shift) in enumerate(zip(drafts, shifts, strict=True))
        if draft.row.is_judged and not draft.row.why and shift.p_value is not None
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    significance = SIGNIFICANCE / max(1, len(p_values))
    found = []
    for place, (draft, shift) in enumerate(zip(drafts, shifts, strict=True)):
        row = _with_ratio(draft.row, shift)
        verdict, why = _verdict(row, shift, adjusted.get(place), margin)
        detectable = shift.detectable(significance) if place in adjusted else None
        found.append(
            replace(
                row,
                verdict=verdict,
                why=why,
                p_value=p_values.get(place),
                adjusted_p_value=adjusted.get(place),
                detectable_ratio=None if detectable is None else math.exp(detectable),
            )
        )
    return found


def _shifts(drafts: Sequence[_Draft]) -> list[Shift]:
    """The shift of each row; what means different things on both sides lends nothing to the others."""
    families: dict[tuple[str, bool], list[int]] = {}
    for place, draft in enumerate(drafts):
        families.setdefault((draft.family, bool(draft.row.why)), []).append(place)
    found: dict[int, Shift] = {}
    for places in families.values():
        found |= dict(zip(places, shifts_between([drafts[place].pair for place in places]), strict=True))
    return [found[place] for place in range(len(drafts))]


def _with_ratio(row: MetricComparison, shift: Shift) -> MetricComparison:
    low, high = map(math.exp, shift.ends) if shift.ends else (None, None)
    count, inner = sum(shift.run_counts), shift.inner_ends
    return replace(
        row,
        ratio=Estimate(math.exp(shift.value), low, high, "1", count, float(count), shift.method),
        equivalence=(math.exp(inner[0]), math.exp(inner[1])) if inner else None,
    )


def _verdict(
    row: MetricComparison, shift: Shift, adjusted: float | None, margin: float
) -> tuple[ComparisonVerdict, tuple[str, ...]]:
    if row.why:
        return "not comparable", row.why
    if shift.ends is None or shift.inner_ends is None:
        return "seen only", (too_few_runs(shift.run_counts),)
    if adjusted is None:
        return "seen only", ()
    bound = math.log1p(margin)
    if -bound < shift.inner_ends[0] and shift.inner_ends[1] < bound:
        return "equivalent", ()
    if adjusted <= SIGNIFICANCE and not shift.ends[0] <= 0 <= shift.ends[1]:
        return ("slower" if (row.slowdown or 1) > 1 else "faster"), ()
    return "no difference shown", ()


def _place(row: MetricComparison, as_seen: tuple[float, ...]) -> tuple[object, ...]:
    """What became worse beyond the margin first, then by verdict, judged numbers first, the largest change first.

    Where no change was shown the largest one is the loudest noise: there workloads stand as in `as_seen`, which puts
    durable writes first, and their levels by size.
    """
    is_changed = row.verdict in ("slower", "faster")
    change = abs(math.log(row.ratio.value or 1.0))
    last = (-change,) if is_changed else (*as_seen, *map(level_size, row.levels.values()))
    return not row.is_regression, VERDICTS.index(row.verdict), not row.is_judged, last
