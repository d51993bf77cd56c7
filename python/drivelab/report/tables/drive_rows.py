"""The drives of several result sets as rows of one table: the same drive once, and no two under one name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from drivelab.model.names import names_apart
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet

_SERIAL_END = 6


# without slots: the places of the observations are looked up again and again, and found once
@dataclass(frozen=True)
class DriveRow:
    """A drive on a machine, with everything that was measured there.

    Attributes
    ----------
    name : str
        What the row is called: no other row of the table has the name.
    drive : MeasuredDrive
        As the first of the sets tells it.
    sets : tuple of ResultSet
        Where the observations come from.
    """

    name: str
    drive: MeasuredDrive
    machine: str
    sets: tuple[ResultSet, ...]
    observations: tuple[Observation, ...]

    @property
    def is_reference(self) -> bool:
        """Whether somebody else published its numbers."""
        return self.sets[0].is_reference

    @cached_property
    def places(self) -> dict[tuple[str, int | None], list[int]]:
        """Where the observations of each workload and size of a write stand."""
        found: dict[tuple[str, int | None], list[int]] = defaultdict(list)
        for place, one in enumerate(self.observations):
            found[one.workload, one.block_size_bytes].append(place)
        return found


def published_name(one: ResultSet, name: str, *, is_mixed: bool) -> str:
    """A name from a result set; that of a published page says so where it stands among others."""
    if not is_mixed or not one.is_reference:
        return name
    return f"published {one.measured[:4]}: {name}" if one.measured else f"published: {name}"


def drive_identity(one: ResultSet, drive: MeasuredDrive) -> tuple[str, ...]:
    """What is the same for the same drive in two runs, and never for two drives."""
    if one.is_reference:
        return (one.key, drive.name)
    return ("", drive.serial, drive.model) if drive.serial else ("", drive.name, drive.model, drive.machine)


def serial_end(drive: MeasuredDrive) -> str:
    """The end of a serial, by which people tell two drives of one model apart."""
    return f" ({drive.serial[-_SERIAL_END:]})" if drive.serial else ""


def drive_rows(sets: Sequence[ResultSet]) -> tuple[DriveRow, ...]:
    """One row per drive and machine, in the order of the sets.

    Parameters
    ----------
    sets : sequence of ResultSet
        Runs and published pages. Runs of the same drive on the same machine
        share a row, unless they measured the same combination: then each has its own.
    """
    is_mixed = len(sets) > 1
    groups: dict[tuple[str, ...], list[DriveRow]] = defaultdict(list)
    for one in sets:
        for drive in one.drives:
            own = [each for each in one.observations if each.drive == drive.name]
            for machine in dict.fromkeys(each.machine for each in own) or {drive.machine: None}:
                found = tuple(each for each in own if each.machine == machine)
                row = DriveRow(published_name(one, drive.name, is_mixed=is_mixed), drive, machine, (one,), found)
                groups[(*drive_identity(one, drive), drive.firmware, machine)].append(row)
    rows = [row for members in groups.values() for row in _merged(members)]
    endings = [
        [serial_end(row.drive) for row in rows],
        [f" on {row.machine}" if row.machine else "" for row in rows],
        [f", firmware {row.drive.firmware}" if row.drive.firmware else "" for row in rows],
        [f" ({row.sets[0].title if row.is_reference else f'run {row.sets[0].key}'})" for row in rows],
        [f" [{row.sets[0].key}]" for row in rows],
    ]
    names = names_apart([row.name for row in rows], *endings)
    return tuple(replace(row, name=name) for row, name in zip(rows, names, strict=True))


def _merged(members: Sequence[DriveRow]) -> list[DriveRow]:
    """The rows of one drive as one, unless some combination would be in it twice."""
    measured = [{_combination(each) for each in row.observations} for row in members]
    # a report tells the same drive apart by the names of its runs where something else changed between them
    is_told_apart = len({row.drive.name for row in members}) > 1
    if is_told_apart or len(members) == 1 or len(set().union(*measured)) < sum(map(len, measured)):
        return list(members)
    first = members[0]
    observations = tuple(each for row in members for each in row.observations)
    sets = tuple(one for row in members for one in row.sets)
    return [DriveRow(first.name, first.drive, first.machine, sets, observations)]


def _combination(one: Observation) -> tuple[object, ...]:
    return (one.workload, one.operation, one.metric, one.block_size_bytes, *sorted(one.levels.items()))
