"""What the runs of many drives come to: spreads, drives that stand apart, and what explains the differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from drivelab.analyse.drive_spread import drive_medians, number_spread
from drivelab.analyse.drives_apart import RATIO_MIN, Distance, distances, standard_error
from drivelab.analyse.factor_shares import bounded, explained, levels_beside
from drivelab.analyse.factor_tangles import tangle
from drivelab.model.drive_values import (
    FIRMWARE,
    HOST,
    MODEL,
    SIGNIFICANCE,
    DriveApart,
    FactorLevel,
    FactorShare,
    FleetAnswerOfRuns,
    FleetDrive,
    FleetNumber,
    FleetNumbers,
    NumberExplained,
    NumberKey,
)
from drivelab.model.holm import holm
from drivelab.model.metric import metric_of

_Drives = Mapping[str, FleetDrive]


@dataclass(frozen=True, slots=True)
class _Held:
    """One drive in one number, held against its peers: those of its model, and of a level of a factor."""

    key: NumberKey
    value: float
    distance: Distance
    peers: tuple[tuple[str, str], ...] = ()
    # whether these peers are all that is to be like it
    is_settled: bool = True

    @property
    def ratio(self) -> float:
        return float(np.exp(self.distance.log_ratio))

    def told(self, drives: _Drives, p_value: float) -> DriveApart:
        """With the chance of so large a difference, corrected for all."""
        return DriveApart(
            drive=self.distance.drive,
            key=self.key,
            value=self.value,
            peers_value=self.value / self.ratio,
            ratio=self.ratio,
            is_worse=(self.ratio > 1) == (metric_of(self.key.metric).better == "low"),
            peer_count=self.distance.peer_count,
            peers=self.peers,
            p_value=p_value,
            run_count=drives[self.distance.drive].run_count,
        )


def compare_drives(found: FleetNumbers) -> FleetAnswerOfRuns:
    """What the runs of many drives come to.

    Parameters
    ----------
    found : FleetNumbers
        At least one number.
    """
    drives = {drive.key: drive for drive in found.drives}
    tags = sorted({key for drive in found.drives for key in drive.tags})
    factors = (MODEL, FIRMWARE, HOST, *tags)
    spreads = {number.key: number_spread(number) for number in found.numbers}
    numbers = sorted(
        found.numbers,
        key=lambda one: (-len(one.values), not one.is_judged, -(spreads[one.key].between or 0.0), one.key),
    )
    held: list[_Held] = []
    first: dict[NumberKey, NumberExplained] = {}
    for number in numbers:
        values = drive_medians(number)
        first[number.key] = _explained(number.key, values, drives, factors)
        held += _held_of(number, values, drives, _parting(first[number.key].shares))
    told = [
        one.told(drives, p_value)
        for one, p_value in zip(held, holm([one.distance.p_value for one in held]), strict=True)
    ]
    apart = _apart(told)
    settled = {(one.key, one.distance.drive) for one in held if one.is_settled}
    left_out: dict[NumberKey, set[str]] = defaultdict(set)
    for one in apart:
        if (one.key, one.drive) in settled:
            left_out[one.key].add(one.drive)
    for number in (each for each in numbers if left_out[each.key]):
        values = {name: value for name, value in drive_medians(number).items() if name not in left_out[number.key]}
        first[number.key] = _explained(number.key, values, drives, factors)
    odd = {one.drive for one in apart}
    lead = [one for one in held if one.key == numbers[0].key and one.distance.drive not in odd]
    rest = [one for one in told if one.key == numbers[0].key and one.drive not in odd and one.is_worse]
    unknown = [one.distance.shown_ratio(len(held)) for one in lead if not one.distance.is_alike]
    judged_count = len({one.distance.drive for one in held})
    return FleetAnswerOfRuns(
        drives=found.drives,
        spreads=tuple(spreads[number.key] for number in numbers),
        apart=tuple(apart),
        explained=tuple(first[number.key] for number in numbers),
        comparison_count=len(held),
        judged_count=judged_count,
        alike_ratio=max((abs(one.ratio - 1) for one in lead if one.distance.is_alike), default=None),
        unknown_count=len(unknown),
        shown_ratio=max(unknown, default=None),
        notes=found.notes,
        alone_count=found.alone_count,
        numberless=found.numberless,
        alike_count=judged_count - len(odd) - len(unknown),
        worst=max(rest, key=_badness, default=None),
        same_model_count=max(
            len(names) for number in numbers for names in _grouped(number.values, lambda name: drives[name].model)
        ),
    )


def _parting(shares: Iterable[FactorShare]) -> str:
    """The factor that explains most within models, so that drives of one level are like each other; empty for none.

    Hosts do not count: one has few drives, and one of them alone may be what makes it differ.
    """
    return next((one.factor for one in shares if one.is_shown and one.factor not in (MODEL, HOST)), "")


def _held_of(number: FleetNumber, values: Mapping[str, float], drives: _Drives, parting: str) -> list[_Held]:
    """Each drive against those of its model, and, where enough have it, of its level of what parts the model."""
    logs = {name: float(np.log(value)) for name, value in values.items()}
    errors = {name: standard_error(number.values[name]) for name in values}
    found: dict[str, _Held] = {}
    for names in _grouped(values, lambda name: drives[name].model):
        for one in distances({name: logs[name] for name in names}, errors):
            found[one.drive] = _Held(number.key, values[one.drive], one, is_settled=not parting)
        for alike in _grouped(names, lambda name: drives[name].level(parting)) if parting else ():
            level = drives[alike[0]].level(parting)
            for one in distances({name: logs[name] for name in alike}, errors) if level else ():
                found[one.drive] = _Held(number.key, values[one.drive], one, ((parting, level),))
    return list(found.values())


def _grouped(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    return list(groups.values())


def _apart(told: Iterable[DriveApart]) -> list[DriveApart]:
    """Those that stand apart, corrected for every drive and number: the worst drive first, of each its worst number."""
    found = [one for one in told if one.p_value <= SIGNIFICANCE and max(one.ratio, 1 / one.ratio) >= RATIO_MIN]
    worst: dict[str, tuple[bool, float]] = {}
    for one in found:
        worst[one.drive] = max(worst.get(one.drive, (False, 0.0)), _badness(one))
    return sorted(found, key=lambda one: (worst[one.drive], one.drive, _badness(one)), reverse=True)


def _badness(one: DriveApart) -> tuple[bool, float]:
    return one.is_worse, max(one.ratio, 1 / one.ratio)


def _explained(key: NumberKey, values: Mapping[str, float], drives: _Drives, factors: Sequence[str]) -> NumberExplained:
    """What explains the differences between drives in one number."""
    its = [drives[name] for name in values]
    models = [drive.model for drive in its]
    raw = np.log(list(values.values()))
    within = bounded(raw, models)
    of_all = bounded(raw, [""] * len(its))
    shares = [_share(factor, its, of_all if factor == MODEL else within) for factor in factors]
    adjusted = iter(holm([one.p_value for one in shares if one.p_value is not None]))
    shares = [one if one.p_value is None else replace(one, p_value=next(adjusted)) for one in shares]
    shares = [replace(one, levels=_levels(one, its, raw)) for one in shares]
    # the model comes first: what the others explain is of what it leaves
    shares.sort(key=lambda one: (one.factor != MODEL, one.share is None, -(one.share or 0.0)))
    shown = [one.factor for one in shares if one.is_shown and one.factor != MODEL]
    tangled = []
    for pair in combinations(shown, 2):
        rows = [row for row, drive in enumerate(its) if all(map(drive.level, pair))]
        first, second = ((factor, [its[row].level(factor) for row in rows]) for factor in pair)
        tangled.append(tangle(within[rows], first, second, [models[row] for row in rows]))
    return NumberExplained(key, tuple(shares), tuple(tangled))


def _share(factor: str, drives: Sequence[FleetDrive], logs: np.ndarray) -> FactorShare:
    rows = [row for row, drive in enumerate(drives) if drive.level(factor)]
    levels = [drives[row].level(factor) for row in rows]
    groups = [""] * len(rows) if factor == MODEL else [drives[row].model for row in rows]
    level_count = len(set(levels))
    found = explained(logs[rows], levels, groups) if level_count > 1 else None
    if found is None:
        return FactorShare(factor, None, None, level_count, len(rows), _why_not(levels, groups, len(drives)))
    return FactorShare(factor, found.share, found.p_value, level_count, len(rows))


def _levels(share: FactorShare, drives: Sequence[FleetDrive], logs: np.ndarray) -> tuple[FactorLevel, ...]:
    """What each level of a factor shows beside the others; none of one that explains nothing."""
    if not share.is_shown:
        return ()
    rows = [row for row, drive in enumerate(drives) if drive.level(share.factor)]
    models = [drives[row].model if share.factor != MODEL else "" for row in rows]
    return levels_beside(logs[rows], [drives[row].level(share.factor) for row in rows], models)


def _why_not(levels: Sequence[str], groups: Sequence[str], drive_count: int) -> str:
    """Why nothing can be told of a factor, of which a level is known of some drives."""
    level_count = len(set(levels))
    if level_count == 1 and len(levels) < drive_count:
        return f"one level, known of {len(levels)} of {drive_count}"
    if level_count < 2:
        return "the same for all" if level_count else "not known of any drive"
    if level_count == len(levels):
        return "another one for each drive"
    if len(set(zip(groups, levels, strict=True))) == len(set(groups)):
        return "one for each model"
    return "too few drives of one model"
