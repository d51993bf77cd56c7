"""What a page needs to compare any two runs of many, or all runs of two drives.

A thousand drives have 499,500 pairs, so none of them is compared here. A page has the numbers of each run, and why some
of them must not be compared; what `drivelab.analyse.comparison` does with two sides it does itself, by the rules that
are handed to it (`report/templates/two_sides.js`; tests/browser holds it to this).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drivelab.analyse.comparability import TrialConduct, reasons_against
from drivelab.analyse.effects import SIGNIFICANCE
from drivelab.analyse.moderation import LEFT_OUT, NUMBERS_A_DEGREE, PRIOR_MAX, VARIANCE_MIN
from drivelab.analyse.paired_ratios import ERROR_MIN
from drivelab.analyse.run_numbers import CombinationNumbers
from drivelab.model.apart import RUNS_MIN
from drivelab.model.comparison import VERDICTS, SideValues
from drivelab.model.distributions import student_t
from drivelab.model.level_words import level_phrase
from drivelab.model.metric import metric_of

MARGIN = 0.05
# ways in which one combination was carried out, of which each is held against each
_WAYS_MAX = 40
_TOO_MANY_WAYS = "it was carried out in more ways than are kept here: compare them by the command"
_Place = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class RunOfDrive:
    """A run on one of its targets.

    Attributes
    ----------
    experiment : str
        What runs have in common that are compared.
    """

    experiment: str
    drive: str
    numbers: Sequence[CombinationNumbers]


@dataclass(slots=True)
class _Experiment:
    """What its runs have, by places that are numbered as they are met."""

    name: str
    combinations: dict[_Place, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    numbers: dict[tuple[int, str, bool], int] = field(default_factory=dict)
    runs: list[tuple[dict[int, SideValues], dict[int, tuple[TrialConduct, ...]]]] = field(default_factory=list)
    drives: dict[str, int] = field(default_factory=dict)
    runs_of_drives: list[list[int]] = field(default_factory=list)
    # of each combination the ways in which it was carried out, by what tells them apart
    ways: dict[int, dict[str, tuple[TrialConduct, ...]]] = field(default_factory=dict)


def pairwise_data(runs: Sequence[RunOfDrive]) -> tuple[dict[str, Any], list[tuple[int, int, int]]]:
    """What a page compares with, and where in it each run stands.

    Parameters
    ----------
    runs : sequence of RunOfDrive
        All of them, those of a drive the oldest first.

    Returns
    -------
    dict
        Plain data for JSON.
    list of (int, int, int)
        Of each run the places of its experiment, of itself and of its drive in that data.
    """
    experiments: list[_Experiment] = []
    known: dict[str, int] = {}
    places: list[tuple[int, int, int]] = []
    for run in runs:
        experiment = known.setdefault(run.experiment, len(known))
        if experiment == len(experiments):
            experiments.append(_Experiment(run.experiment))
        of = experiments[experiment]
        drive = of.drives.setdefault(run.drive, len(of.drives))
        if drive == len(of.runs_of_drives):
            of.runs_of_drives.append([])
        of.runs_of_drives[drive].append(len(of.runs))
        places.append((experiment, len(of.runs), drive))
        _add(of, run.numbers)
    most = max((len(own) for of in experiments for own in of.runs_of_drives), default=0)
    data = {
        "rules": {
            "runs_min": RUNS_MIN,
            "significance": SIGNIFICANCE,
            "margin": MARGIN,
            "error_min": ERROR_MIN,
            "variance_min": VARIANCE_MIN,
            "prior_max": PRIOR_MAX,
            "numbers_a_degree": NUMBERS_A_DEGREE,
            "left_out": LEFT_OUT,
            "ways_max": _WAYS_MAX,
            "verdicts": VERDICTS,
            # by degrees of freedom: for the 95 % interval, and for the 90 % interval that equivalence is judged by
            "t": {
                str(one): [student_t(float(one), tail) for tail in (0.025, 0.05)] for one in range(RUNS_MIN - 1, most)
            },
        },
        "experiments": [_experiment_data(of) for of in experiments],
    }
    return data, places


def _add(of: _Experiment, numbers: Sequence[CombinationNumbers]) -> None:
    values: dict[int, SideValues] = {}
    conducts: dict[int, tuple[TrialConduct, ...]] = {}
    for one in numbers:
        place = of.combinations.setdefault((one.workload, one.levels), len(of.labels))
        if place == len(of.labels):
            of.labels.append(one.label)
        conducts[place] = one.decisive_conducts
        for metric, value in one.values.items():
            key = place, metric, metric == one.judged
            values[of.numbers.setdefault(key, len(of.numbers))] = value
    of.runs.append((values, conducts))


def _experiment_data(of: _Experiment) -> dict[str, Any]:
    runs = [_run_data(of, *one) for one in of.runs]
    drives = [_drive_data(of, own) for own in of.runs_of_drives]
    return {
        "name": of.name,
        "combinations": _words(of),
        "numbers": [_number_data(*key) for key in of.numbers],
        "runs": runs,
        "drives": drives,
        "reasons": {str(place): _reasons(list(ways.values())) for place, ways in of.ways.items()},
    }


def _words(of: _Experiment) -> list[str]:
    """Each combination in words, without levels that are the same in all."""
    levels: dict[str, set[str]] = {}
    for _, own in of.combinations:
        for name, level in own:
            levels.setdefault(name, set()).add(level)
    return [
        ", ".join([label, *(level_phrase(name, level) for name, level in own if len(levels[name]) > 1)])
        for (_, own), label in zip(of.combinations, of.labels, strict=True)
    ]


def _number_data(place: int, metric: str, is_judged: bool) -> list[Any]:
    known = metric_of(metric)
    return [place, metric, known.title, known.unit, known.better == "low", is_judged]


def _run_data(
    of: _Experiment, values: Mapping[int, SideValues], conducts: Mapping[int, tuple[TrialConduct, ...]]
) -> dict[str, Any]:
    """Columns over all numbers, and the ways over all combinations: null where the run has none."""
    every = [values.get(place) for place in range(len(of.numbers))]
    return {
        "value": [None if one is None else _digits(one.value, 7) for one in every],
        "lowest": [None if one is None or one.repeat_count == 1 else _digits(one.lowest, 4) for one in every],
        "highest": [None if one is None or one.repeat_count == 1 else _digits(one.highest, 4) for one in every],
        "repeats": [None if one is None else one.repeat_count for one in every],
        "way": _ways(of, conducts),
    }


def _digits(value: float, count: int) -> float:
    return float(f"{value:.{count}g}")


def _ways(of: _Experiment, conducts: Mapping[int, tuple[TrialConduct, ...]]) -> list[int | None]:
    """Of each combination the number of the way in which it was carried out."""
    found: list[int | None] = []
    for place in range(len(of.combinations)):
        if place not in conducts:
            found.append(None)
            continue
        ways = of.ways.setdefault(place, {})
        # one set of conducts is one way, in whichever order its trials ran
        ordered = tuple(sorted(conducts[place], key=repr))
        if repr(ordered) not in ways and len(ways) == _WAYS_MAX:
            found.append(_WAYS_MAX)
            continue
        ways.setdefault(repr(ordered), ordered)
        found.append(list(ways).index(repr(ordered)))
    return found


def _drive_data(of: _Experiment, own: Sequence[int]) -> dict[str, Any]:
    """Its runs, and the ways of all of them together."""
    if len(own) == 1:
        return {"runs": list(own)}
    together: dict[int, tuple[TrialConduct, ...]] = {}
    for place in own:
        for combination, conducts in of.runs[place][1].items():
            every = *together.get(combination, ()), *conducts
            is_sound = not any(one.invalid for one in every)
            together[combination] = tuple({repr(one): one for one in every}.values()) if is_sound else every
    return {"runs": list(own), "way": _ways(of, together)}


def _reasons(ways: Sequence[tuple[TrialConduct, ...]]) -> dict[str, Any]:
    """Why one way may not be compared with another, by the two numbers of the ways; those that may are left out."""
    found: dict[str, Any] = {
        f"{base},{new}": reasons
        for base, ours in enumerate(ways)
        for new, theirs in enumerate(ways)
        if (reasons := reasons_against(ours, theirs))
    }
    return found | {"beyond": [_TOO_MANY_WAYS]} if len(ways) == _WAYS_MAX else found
