"""The numbers of one run as a comparison takes them, so that any two runs are compared without reading them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.analyse.comparability import WRITE_CACHE, TrialConduct
from drivelab.analyse.comparison import ComparedTrial, Levels, compare_sides
from drivelab.model.comparison import MetricComparison, SideValues
from drivelab.model.estimate import Unit
from drivelab.model.metric import FLUSHES, FUA_WRITES
from drivelab.model.plain import Plain
from drivelab.model.setting import AS_FOUND


@dataclass(frozen=True, slots=True)
class CombinationNumbers(Plain):
    """What one run has of one combination of workload and levels.

    Attributes
    ----------
    judged : str
        The metric that it is judged by.
    values : mapping of str to SideValues
        By metric, in the internal unit.
    conducts : tuple of TrialConduct
        How its trials were carried out, each way once, as far as that decides what may be compared.
    trial_counts : tuple of int
        How many trials were carried out in each of these ways.
    """

    workload: str
    label: str
    levels: Levels
    judged: str
    values: Mapping[str, SideValues]
    conducts: tuple[TrialConduct, ...]
    trial_counts: tuple[int, ...]

    @property
    def decisive_conducts(self) -> tuple[TrialConduct, ...]:
        """The conducts; of every trial where one does not describe the drive, since it is told how many do not."""
        if not any(one.invalid for one in self.conducts):
            return self.conducts
        return tuple(one for one, count in zip(self.conducts, self.trial_counts, strict=True) for _ in range(count))

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> CombinationNumbers:
        """What `to_json` made."""
        conducts = [
            TrialConduct(**one | {"commands": {name: tuple(bounds) for name, bounds in one["commands"].items()}})
            for one in found["conducts"]
        ]
        return CombinationNumbers(
            workload=found["workload"],
            label=found["label"],
            levels=tuple((name, level) for name, level in found["levels"]),
            judged=found["judged"],
            values={metric: SideValues(**one) for metric, one in found["values"].items()},
            conducts=tuple(conducts),
            trial_counts=tuple(found["trial_counts"]),
        )


def numbers_of(trials: Sequence[ComparedTrial], units: Mapping[str, Unit]) -> list[CombinationNumbers]:
    """Every number of every combination, the same ones that a comparison with a run like it tells.

    Parameters
    ----------
    trials : sequence of ComparedTrial
        Of one run on one target.
    """
    conducts: dict[tuple[str, Levels], dict[str, list[TrialConduct]]] = {}
    for one in trials:
        key = one.workload, tuple(sorted(one.trial.levels.items()))
        decisive = _decisive(one.conduct)
        conducts.setdefault(key, {}).setdefault(repr(decisive), []).append(decisive)
    rows: dict[tuple[str, Levels], list[MetricComparison]] = {}
    # a run beside itself has all that it has in common with another
    for row in compare_sides(trials, trials, units).rows:
        rows.setdefault((row.workload, tuple(row.levels.items())), []).append(row)
    return [
        CombinationNumbers(
            workload=workload,
            label=rows[workload, levels][0].label,
            levels=levels,
            judged=next(row.metric for row in rows[workload, levels] if row.is_judged),
            values={row.metric: row.base for row in rows[workload, levels] if row.base is not None},
            conducts=tuple(alike[0] for alike in ways.values()),
            trial_counts=tuple(map(len, ways.values())),
        )
        for (workload, levels), ways in conducts.items()
        if any(row.is_judged for row in rows.get((workload, levels), ()))
    ]


def _decisive(conduct: TrialConduct) -> TrialConduct:
    """What of a trial decides whether it may be compared, so rounded that like trials are the same."""
    depth = conduct.queue_depth
    return TrialConduct(
        asked=dict(sorted(conduct.asked.items())),
        backend=conduct.backend,
        is_direct=conduct.is_direct,
        queue_depth=None if depth is None else float(f"{depth:.2g}"),
        levels=dict(sorted(conduct.levels.items())),
        achieved={name: conduct.achieved[name] for name in sorted(conduct.achieved) if _is_asked(name, conduct)},
        commands={
            name: (round(low, 2), round(high, 2))
            for name in (FLUSHES, FUA_WRITES)
            if name in conduct.commands
            for low, high in [conduct.commands[name]]
        },
        invalid=sorted(conduct.invalid),
    )


def _is_asked(name: str, conduct: TrialConduct) -> bool:
    # of a write cache that was left alone it is still told what it was
    return name == WRITE_CACHE or conduct.levels.get(name, AS_FOUND) != AS_FOUND
