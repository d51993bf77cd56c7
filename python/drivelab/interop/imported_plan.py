"""Puts foreign results in order: on which target, at which levels of which factors, which repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from drivelab.interop.fio.logs import joined_logs
from drivelab.interop.foreign import ForeignFile, ForeignTrial, Kind
from drivelab.model.errors import DrivelabError
from drivelab.model.level_words import is_quantity, level_phrase, level_size, level_text
from drivelab.model.names import free_name
from drivelab.model.setting import SettingName
from drivelab.store import layout

TRIALS_MAX = 20_000
UNKNOWN_DRIVE = "unknown drive"
# what each program is about decides what its report shows
_TABLES: dict[Kind, list[str]] = {"iozone": ["surfaces", "results"], "bonnie": ["phases", "results"]}
_FIGURES: dict[Kind, list[str]] = {
    "iozone": ["surface-maps"],
    "bonnie": ["block-throughput", "metadata-rates", "seeks"],
    "diskbenchmark": ["latency-over-size"],
}
# parameters of a job of fio that tell what it does, as fio calls them; what is in no words of its own has none
_OF_A_JOB = {"rw": "", "block_size": "", "queue_depth": "iodepth", "job_count": "numjobs", "durability": ""}
_UNTOLD = ("1", "none", "")
_NAMED_SETTINGS = (*get_args(SettingName), "filesystem")


@dataclass(frozen=True, slots=True)
class PlacedTrial:
    """A foreign result, and where it stands in the run.

    Attributes
    ----------
    file : ForeignFile
        Where it is from.
    name, target, label : str
        Name of the trial, label of the target, the trial for people.
    repeat : int
        Which one of its combination, from 1.
    together : int
        Trials of the same number ran at the same time; 0 is alone.
    """

    trial: ForeignTrial
    file: ForeignFile
    name: str
    target: str
    label: str
    levels: Mapping[str, str]
    repeat: int
    together: int = 0


@dataclass(frozen=True, slots=True)
class ImportedPlan:
    """Foreign results in order.

    Attributes
    ----------
    targets : mapping of str to (str, str)
        Machine and drive of each target, by its label.
    factors : mapping of str to tuple of str
        Levels of each factor, in order.
    factor_workloads : mapping of str to tuple of str
        Workloads of each factor.
    """

    trials: tuple[PlacedTrial, ...]
    targets: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    factor_workloads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def experiment(self, name: str, question: str, source: str) -> dict[str, Any]:
        """What stands where a run of drivelab's own has its experiment: workloads and factors, in order."""
        kinds: dict[Kind, None] = dict.fromkeys(placed.file.kind for placed in self.trials)
        workloads = {placed.trial.workload: placed.trial.title for placed in self.trials}
        return {
            "format": 1,
            "name": name,
            "question": question,
            "source": source,
            "design": "full",
            "factors": [
                {
                    **({"setting": key} if key in _NAMED_SETTINGS else {"setting": "workload", "key": key}),
                    "levels": list(levels),
                    "workloads": list(self.factor_workloads[key]),
                }
                for key, levels in self.factors.items()
            ],
            "workloads": [{"name": key, "title": title} for key, title in workloads.items()],
            "tables": _joined(kinds, _TABLES, ["results"]),
            "figures": _joined(kinds, _FIGURES, ["latency-histogram"]),
        }

    def steps(self) -> list[dict[str, Any]]:
        """What stands where a run of drivelab's own has the steps of its plan."""
        return [
            {
                "number": number,
                "trial": placed.name,
                "target": placed.target,
                "workload": placed.trial.workload,
                "label": placed.label,
                "levels": dict(placed.levels),
                "block": placed.repeat,
                "repeat": placed.repeat,
                "settings": {},
                "actions": {},
                "is_reference": False,
                "together": placed.together,
            }
            for number, placed in enumerate(self.trials, start=1)
        ]


def _joined(kinds: Mapping[Kind, None], wanted: Mapping[Kind, list[str]], default: list[str]) -> list[str]:
    return list(dict.fromkeys(name for kind in kinds for name in wanted.get(kind, default)))


def plan_import(files: Sequence[ForeignFile], drive: str = "") -> ImportedPlan:
    """Results of foreign files, in order.

    Parameters
    ----------
    drive : str
        What the drive is called, whatever the files say; empty takes what they say.

    Raises
    ------
    DrivelabError
        I508: more results than a run should hold.
    """
    results = joined_logs((file, trial) for file in files for trial in file.trials)
    if len(results) > TRIALS_MAX:
        what = f"the files hold {len(results)} results, and a run at most {TRIALS_MAX}"
        raise DrivelabError("I508", what, where=", ".join(file.source.name for file in files[:3]))
    places = [(trial.machine, drive or trial.drive) for _, trial in results]
    targets = _labels(places)
    factors = _factors([trial for _, trial in results], places)
    levels = [
        {key: trial.parameters[key] for key in factors.get(trial.workload, ()) if key in trial.parameters}
        for _, trial in results
    ]
    results = [(file, _described(trial, factors.get(trial.workload, ()))) for file, trial in results]
    placed = tuple(_placed(results, [targets[place] for place in places], levels))
    known: dict[str, dict[str, None]] = {}
    of_workloads: dict[str, dict[str, None]] = {}
    for one in placed:
        for key, level in one.levels.items():
            known.setdefault(key, {})[level] = None
            of_workloads.setdefault(key, {})[one.trial.workload] = None
    return ImportedPlan(
        trials=placed,
        targets={label: place for place, label in targets.items()},
        factors={key: tuple(_in_order(found)) for key, found in known.items()},
        factor_workloads={key: tuple(found) for key, found in of_workloads.items()},
    )


def _described(trial: ForeignTrial, factors: Sequence[str]) -> ForeignTrial:
    """A job of fio with what it does beside its name, as fio calls it: ``job a (randread, 4 KiB, iodepth 8)``."""
    told = {key: trial.parameters.get(key, "") for key in _OF_A_JOB if key not in factors}
    words = [
        f"{_OF_A_JOB[key]} {level_text(key, level)}".strip() for key, level in told.items() if level not in _UNTOLD
    ]
    return replace(trial, title=f"job {trial.title} ({', '.join(words)})") if "rw" in trial.parameters else trial


def _labels(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A label for each machine and drive: as short as tells them apart."""
    known = list(dict.fromkeys(places))
    several = len({machine for machine, _ in known}) > 1
    labels: dict[tuple[str, str], str] = {}
    for machine, drive in known:
        parts = [drive or (UNKNOWN_DRIVE if not machine else ""), machine if several or not drive else ""]
        text = " on ".join(part for part in parts if part) if drive else " ".join(part for part in parts if part)
        while text in labels.values():
            text += "'"
        labels[machine, drive] = text
    return labels


def _factors(trials: Sequence[ForeignTrial], places: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Of each workload, what varies on one of its targets, and what is a factor in any case."""
    seen: dict[str, dict[str, dict[tuple[str, str], set[str]]]] = {}
    counts: dict[str, dict[tuple[str, str], int]] = {}
    always: dict[str, dict[str, None]] = {}
    for trial, place in zip(trials, places, strict=True):
        of_workload = seen.setdefault(trial.workload, {})
        at_place = counts.setdefault(trial.workload, {})
        at_place[place] = at_place.get(place, 0) + 1
        always.setdefault(trial.workload, {}).update(dict.fromkeys(trial.factors))
        for key in [*trial.parameters, *(key for key in of_workload if key not in trial.parameters)]:
            of_workload.setdefault(key, {}).setdefault(place, set()).add(trial.parameters.get(key, ""))
    return {
        workload: tuple(
            key
            for key, by_place in of_workload.items()
            if key in always[workload] or any(len(found) > 1 for found in by_place.values())
        )
        for workload, of_workload in seen.items()
    }


def _placed(
    results: Sequence[tuple[ForeignFile, ForeignTrial]], targets: Sequence[str], levels: Sequence[Mapping[str, str]]
) -> Iterator[PlacedTrial]:
    repeats: dict[tuple[Any, ...], int] = {}
    groups: dict[tuple[int, str], int] = {}
    names: set[str] = set()
    several = len(set(targets)) > 1
    for (file, trial), target, at in zip(results, targets, levels, strict=True):
        key = (target, trial.workload, tuple(at.items()))
        repeat = repeats[key] = repeats.get(key, 0) + 1
        parts = [trial.workload, *at.values(), *([target] if several else [])]
        slug = "-".join(layout.slug(part) for part in parts)[:150]
        name = free_name(f"{slug}-r{repeat}", names, f"{slug}-n{{1}}-r{repeat}")
        names.add(name)
        group = groups.setdefault((id(file), trial.together), len(groups) + 1) if trial.together else 0
        words = ", ".join([trial.title, *(level_phrase(factor, level) for factor, level in at.items())])
        yield PlacedTrial(trial, file, name, target, words, at, repeat, group)


def _in_order(levels: Mapping[str, None]) -> list[str]:
    """Numbers and sizes by their value, everything else as it came."""
    return sorted(levels, key=level_size) if all(map(is_quantity, levels)) else list(levels)
