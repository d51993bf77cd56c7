"""Names that stay apart when the results of several runs stand in one table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.result_set import Machine, Observation, ResultSet

# what a page writes between a drive and the setting of its write cache
_ROW_SEPARATOR = " / "
# how the name of a run's directory begins
_BEGUN = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-")
_DAY_CHARACTERS = len("2026-01-31")


def told_apart(sets: Sequence[ResultSet]) -> tuple[ResultSet, ...]:
    """The same result sets, with names of drives and machines that mean one thing each.

    A drive that was measured in two runs has a name for each, since time, kernel or
    firmware may have changed it: it is told by its date, by the time too, or by
    the run's name where those do not differ. It is one drive where two runs of one day
    and one system measured different things of it. Published names stay as they
    were printed, unless two pages share one.
    """
    drives = _drive_names(sets)
    machines = _machine_names(sets)
    return tuple(_renamed(one, drives[place], machines[place]) for place, one in enumerate(sets))


def with_targets(one: ResultSet) -> ResultSet:
    """The results of one run of several drives, each by its target and name: the answer has the target."""
    if one.is_reference or len(one.drives) < 2:
        return one
    names = {drive.name: f"{drive.label} ({drive.name})" for drive in one.drives if drive.label not in drive.name}
    return _renamed(one, names, {})


def run_words(one: ResultSet) -> str:
    """A result set in a few words: the name of the run, or ``published 2014-03``."""
    if not one.is_reference:
        return one.key
    return f"published {one.measured}" if one.measured else one.key


def _drive_names(sets: Sequence[ResultSet]) -> list[dict[str, str]]:
    """New names of drives, by their old ones, for each set."""
    found: list[dict[str, str]] = [{} for _ in sets]
    for name, places in _shared({place: [drive.name for drive in one.drives] for place, one in enumerate(sets)}):
        if _is_one_drive(name, [sets[place] for place in places]):
            continue
        renamed = [place for place in places if not sets[place].is_reference]
        if len(renamed) + 1 < len(places):
            renamed = list(places)
        words = _apart([_choices(sets[place]) for place in renamed])
        for place, word in zip(renamed, words, strict=True):
            found[place][name] = f"{name} ({word})"
    return found


def _is_one_drive(name: str, sets: Sequence[ResultSet]) -> bool:
    """Whether some runs of one day and one system measured different things of the same drive."""
    own = [next(drive for drive in one.drives if drive.name == name) for one in sets]
    serials = {(drive.serial, drive.model, drive.firmware, drive.machine) for drive in own}
    systems = {(one.measured[:10], *(_system(machine) for machine in one.machines)) for one in sets}
    if any(one.is_reference for one in sets) or len(serials) > 1 or len(systems) > 1 or not own[0].serial:
        return False
    measured = [{_combination(each) for each in one.observations if each.drive == name} for one in sets]
    return len(set().union(*measured)) == sum(map(len, measured))


def _combination(one: Observation) -> tuple[object, ...]:
    return one.workload, one.operation, one.metric, one.block_size_bytes, *sorted(one.levels.items())


def _machine_names(sets: Sequence[ResultSet]) -> list[dict[str, str]]:
    """New names of machines that go by the same name and are not the same, for each set."""
    found: list[dict[str, str]] = [{} for _ in sets]
    by_place = {place: {machine.name: machine for machine in one.machines} for place, one in enumerate(sets)}
    for name, places in _shared({place: list(machines) for place, machines in by_place.items()}):
        known = [by_place[place][name] for place in places]
        if len({_system(machine) for machine in known}) == 1:
            continue
        has_kernels = len({machine.kernel for machine in known}) > 1
        for place, machine in zip(places, known, strict=True):
            word = f"Linux {machine.kernel}" if has_kernels and machine.kernel else run_words(sets[place])
            if not sets[place].is_reference:
                found[place][name] = f"{name} ({word})"
    return found


def _system(machine: Machine) -> tuple[str, ...]:
    """What makes it another computer, or the same one with other software; links belong to its drives."""
    return machine.model, machine.distribution, machine.kernel, machine.cpu


def _shared(names: Mapping[int, Sequence[str]]) -> list[tuple[str, list[int]]]:
    """Names that several sets have, each with the places of these sets."""
    places: dict[str, list[int]] = {}
    for place, own in names.items():
        for name in dict.fromkeys(own):
            places.setdefault(name, []).append(place)
    return [(name, found) for name, found in places.items() if len(found) > 1]


def _choices(one: ResultSet) -> tuple[str, ...]:
    """Words for one of several sets, the shortest first: date, minute, second, name."""
    words = run_words(one)
    if one.is_reference:
        return words, words, words, words, one.key
    begun = _BEGUN.match(one.key)
    second = "{}-{}-{} {}:{}:{}".format(*begun.groups()) if begun else ""
    return one.measured[:10], one.measured, second, words, one.key


def _apart(choices: Sequence[tuple[str, ...]]) -> list[str]:
    """The first of the words of each that no other has; otherwise all of them."""
    for column in zip(*choices, strict=True):
        if all(column) and max(Counter(column).values()) == 1:
            # of one day the time is enough
            days = {word[:_DAY_CHARACTERS] for word in column}
            is_time = len(days) == 1 and all(
                word[_DAY_CHARACTERS : _DAY_CHARACTERS + 1] in ("T", " ") for word in column
            )
            return [word[_DAY_CHARACTERS + 1 :] for word in column] if is_time else list(column)
    # two runs of the same name lie in different places
    return [
        f"{' '.join(filter(None, dict.fromkeys(words)))}, run {number}" for number, words in enumerate(choices, start=1)
    ]


def _renamed(one: ResultSet, drives: Mapping[str, str], machines: Mapping[str, str]) -> ResultSet:
    if not drives and not machines:
        return one

    def row(name: str) -> str:
        drive, separator, rest = name.partition(_ROW_SEPARATOR)
        return drives.get(name) or f"{drives.get(drive, drive)}{separator}{rest}"

    def renamed(each: Observation) -> Observation:
        drive, machine = drives.get(each.drive, each.drive), machines.get(each.machine, each.machine)
        return replace(each, drive=drive, machine=machine)

    return replace(
        one,
        machines=tuple(replace(each, name=machines.get(each.name, each.name)) for each in one.machines),
        drives=tuple(
            replace(
                each,
                name=drives.get(each.name, each.name),
                machine=machines.get(each.machine, each.machine),
            )
            for each in one.drives
        ),
        observations=tuple(map(renamed, one.observations)),
        read_off=tuple(map(renamed, one.read_off)),
        cells=tuple(replace(each, row=row(each.row)) for each in one.cells),
    )
