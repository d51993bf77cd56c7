"""Which numbers of many drives are of the same workload, and so one number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from drivelab.analyse.comparability import are_asked_alike
from drivelab.model.drive_values import FleetNumber, NumberKey

# of each number, by drive and run, the repeats
Values = Mapping[NumberKey, Mapping[str, Mapping[str, list[float]]]]


def like_numbers(values: Values, judged: Collection[NumberKey]) -> list[FleetNumber]:
    """The numbers, those of one workload together, as a comparison of two runs decides it.

    Parameters
    ----------
    values : mapping
        Of each number, by drive and run, the repeats.
    judged : collection of NumberKey
        Those that their workload is judged by.

    Notes
    -----
    What is not told of a workload, as of one that was imported, is held against no other. Where it may so be one of
    several workloads that differ, it stands apart from all.
    """
    places: dict[NumberKey, list[NumberKey]] = defaultdict(list)
    for key in values:
        places[key.place].append(key)
    return [_number(alike, values, judged) for keys in places.values() for alike in _alike(keys)]


def _alike(keys: Collection[NumberKey]) -> list[list[NumberKey]]:
    """The keys by workload; the first of each tells most of it."""
    found: list[list[NumberKey]] = []
    for key in sorted(keys, key=lambda one: (-len(one.asked), one)):
        fitting = [its for its in found if are_asked_alike(dict(its[0].asked), dict(key.asked))]
        if len(fitting) == 1:
            fitting[0].append(key)
        else:
            found.append([key])
    return found


def _number(keys: Collection[NumberKey], values: Values, judged: Collection[NumberKey]) -> FleetNumber:
    runs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key in keys:
        for drive, its in values[key].items():
            for run, repeats in its.items():
                runs[drive][run] += repeats
    first = next(iter(keys))
    is_judged = any(key in judged for key in keys)
    return FleetNumber(first, is_judged, {drive: tuple(map(tuple, its.values())) for drive, its in runs.items()})
