"""Observations of several result sets in the form that figures draw: numeric factors as numbers, names that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from drivelab.model.errors import DrivelabError
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RESPONSE
from drivelab.model.level_words import level_phrase, level_text
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.model.setting import UNITS
from drivelab.model.units import format_bytes, format_duration_ns, parse_bytes, parse_duration_ns

CACHE = "write-cache"
WORKLOAD = "workload"
BLOCK_SIZE, QUEUE_DEPTH = "block_size", "queue_depth"
# the first of them that a workload has is drawn
TYPICAL_LATENCIES = (RESPONSE, LATENCY, MEAN_LATENCY)
_SIZES = (BLOCK_SIZE, "shift", "offset", "file_size", "record_size", "bytes")
FACTOR_UNITS = {**UNITS, **dict.fromkeys(_SIZES, "B"), "fill_level": "%", "runtime": "ns", "cpu-dma-latency": "us"}
_NOT_APPLICABLE = ("", "-", "n/a")


@dataclass(frozen=True, slots=True)
class Measured:
    """One observation, and whose it is.

    Attributes
    ----------
    source : str
        Key of its result set.
    drive, machine : str
        What figures call them; the drive's name is unique among all result sets.
    is_reference : bool
        Whether somebody else published it.
    numbers : mapping of str to float
        Levels that are numbers, in the unit of `FACTOR_UNITS`, block size and queue depth among them.
    levels : mapping of str to str
        All other levels.
    """

    observation: Observation
    source: str
    drive: str
    machine: str
    is_reference: bool
    numbers: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        """The number; what was seen where the data carry only a bound."""
        estimate = self.observation.estimate
        return estimate.observed if estimate.value is None else estimate.value


@dataclass(frozen=True, slots=True)
class Point:
    """What is drawn at one place of a line: one observation, or several that differ in nothing that is drawn.

    Attributes
    ----------
    x, value : float
        Level of the axis, and the number; the median of several.
    low, high : float or None
        Lowest and highest; None where nobody knows.
    trial_count, invalid_trials, sample_count : int
        Trials behind it, how many of them do not describe the drive, and operations.
    members : tuple of Measured
        What it was made of.
    """

    x: float
    value: float
    low: float | None
    high: float | None
    trial_count: int
    invalid_trials: int
    sample_count: int
    members: tuple[Measured, ...]


def measured(sets: Sequence[ResultSet], *, with_read_off: bool = False) -> list[Measured]:
    """Every observation that has a number; what was read off a published figure only for the figure of its kind."""
    labels = drive_labels(sets)
    found = []
    for one in sets:
        drives = {drive.name: drive for drive in one.drives}
        for observation in one.all_observations if with_read_off else one.observations:
            numbers, levels = _divided(observation)
            machine = observation.machine or _machine_of(drives.get(observation.drive))
            label = labels[one.key, observation.drive]
            item = Measured(observation, one.key, label, machine, one.is_reference, numbers, levels)
            if item.value is not None and item.value > 0:
                found.append(item)
    return found


def drive_labels(sets: Sequence[ResultSet]) -> dict[tuple[str, str], str]:
    """What figures call each drive of each result set: its name, and the set's where two have a drive of that name."""
    names = {(one.key, observation.drive): observation.drive for one in sets for observation in one.observations}
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    keys = {one.key: one.key.removeprefix("reference:") for one in sets}
    return {place: f"{name} ({keys[place[0]]})" if name in several else name for place, name in names.items()}


def _machine_of(drive: MeasuredDrive | None) -> str:
    return drive.machine if drive else ""


def _divided(observation: Observation) -> tuple[dict[str, float], dict[str, str]]:
    """The levels that are numbers, and the others."""
    numbers: dict[str, float] = {}
    levels: dict[str, str] = {}
    for name, level in observation.levels.items():
        number = level_number(level)
        if number is not None:
            numbers[name] = number
        elif level not in _NOT_APPLICABLE:
            levels[name] = level
    if observation.block_size_bytes is not None:
        numbers[BLOCK_SIZE] = float(observation.block_size_bytes)
    if observation.queue_depth is not None:
        numbers[QUEUE_DEPTH] = float(observation.queue_depth)
    return numbers, levels


# thousands of combinations have a few levels
@lru_cache(maxsize=4096)
def level_number(level: str) -> float | None:
    """A level as a number in bytes, ns, % or 1; None when it is none: ``4KiB`` is 4096, ``20%`` is 20."""
    text = level.strip()
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        pass
    for parse in (parse_bytes, parse_duration_ns):
        try:
            return float(parse(text.replace(" ", "")))
        except DrivelabError:
            continue
    return None


@lru_cache(maxsize=4096)
def number_words(factor: str, number: float) -> str:
    """A level that is a number, for people: ``4 KiB``, ``20 %``, ``16``, ``R/W 65/35``."""
    unit = FACTOR_UNITS.get(factor, "")
    if unit == "B":
        return format_bytes(number)
    if unit == "ns":
        return format_duration_ns(number)
    return f"{number:g} {unit}" if unit else level_text(factor, f"{number:g}")


def factor_words(factor: str) -> str:
    """The name of a factor in running text: ``block size``."""
    return factor.replace("_", " ")


def _all_levels(one: Measured, without: Iterable[str] = ()) -> dict[str, str]:
    """Every level as text for people, without those of some factors."""
    left_out = set(without)
    found = {name: level_text(name, level) for name, level in one.levels.items()}
    found |= {name: number_words(name, number) for name, number in one.numbers.items()}
    return {name: level for name, level in found.items() if name not in left_out}


def varying(items: Sequence[Measured], without: Iterable[str] = ()) -> list[str]:
    """Factors that have several levels among the items, the workload among them; absence counts as a level."""
    left_out = set(without)
    levels = [_all_levels(one, left_out) for one in items]
    names = list(dict.fromkeys(name for row in levels for name in row))
    found = [name for name in names if len({row.get(name) for row in levels}) > 1]
    workloads = {(one.source, one.observation.title or one.observation.workload) for one in items}
    sources = {source for source, _ in workloads}
    return [WORKLOAD, *found] if WORKLOAD not in left_out and len(workloads) > len(sources) else found


def level_of(one: Measured, factor: str) -> str:
    """The level of one factor for people; empty when it has none."""
    if factor == WORKLOAD:
        return one.observation.title or one.observation.workload
    return _all_levels(one).get(factor, "")


def levels_words(one: Measured, factors: Iterable[str]) -> str:
    """Levels in words: ``ext4, write-cache off``; a workload is named by itself."""
    pairs = [(factor, level_of(one, factor)) for factor in factors]
    return ", ".join(level if factor == WORKLOAD else level_phrase(factor, level) for factor, level in pairs if level)


def points(items: Sequence[Measured], axis: str) -> list[Point]:
    """The items along an axis; those at the same place become one point."""
    places: dict[float, list[Measured]] = {}
    for one in items:
        if axis in one.numbers:
            places.setdefault(one.numbers[axis], []).append(one)
    return [point_of(members, x) for x, members in sorted(places.items())]


def point_of(members: Sequence[Measured], x: float = 0.0) -> Point:
    """Several observations as one point: the median of their values, and from the lowest to the highest."""
    estimates = [one.observation.estimate for one in members]
    values = [one.value for one in members if one.value is not None]
    ends = [end for e in estimates for end in (e.low, e.high) if end is not None]
    ends += values if len(values) > 1 else []
    return Point(
        x=x,
        value=median(values),
        low=min(ends) if ends else None,
        high=max(ends) if ends else None,
        trial_count=sum(one.observation.trial_count for one in members),
        invalid_trials=sum(one.observation.invalid_trials for one in members),
        sample_count=sum(e.sample_count for e in estimates),
        members=tuple(members),
    )


def sized_workload(name: str) -> str:
    """The name of a workload without its size: workloads that are called alike beside it are one, at several sizes."""
    return re.sub(r"\d+", "", name)


def typical_latencies(items: Sequence[Measured]) -> list[Measured]:
    """Of every workload the latencies of one metric.

    The median where there is one; the mean of all where published pages, which
    print means, are beside them: only like is compared with like.
    """
    has_means = any(one.is_reference and one.observation.metric == MEAN_LATENCY for one in items)
    order = (MEAN_LATENCY, *TYPICAL_LATENCIES) if has_means else TYPICAL_LATENCIES
    found: list[Measured] = []
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for one in items:
        key = (one.source, one.observation.workload, one.observation.operation)
        groups.setdefault(key, []).append(one)
    for members in groups.values():
        metrics = {one.observation.metric for one in members if one.observation.quantity == "latency"}
        known = [metric for metric in order if metric in metrics]
        # a page may have a name of its own for the one latency that it prints
        chosen = known[0] if known else next(iter(sorted(metrics)), None) if len(metrics) == 1 else None
        found += [one for one in members if one.observation.metric == chosen]
    return found
