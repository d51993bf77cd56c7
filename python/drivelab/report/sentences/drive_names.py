"""What sentences call the drives of one run or several: the drive itself, or as one run measured it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.parts_of_text import shortened
from drivelab.report.sentences.contest import Contest, Subject


@dataclass(frozen=True, slots=True)
class DriveOfRun:
    """Which drive a subject of a report is, and which run measured it.

    Attributes
    ----------
    identity : tuple of str
        The same for the same drive: its model and serial; without a serial, the target on its machine.
    name : str
        What the run itself calls it.
    place : int
        Of the run, in the order of the report.
    """

    identity: tuple[str, ...]
    name: str
    run: str
    place: int


@dataclass(frozen=True, slots=True)
class DriveNames:
    """What sentences call drives.

    Attributes
    ----------
    drives : mapping of Subject to DriveOfRun
        The drive behind each name of a report of several runs, and its run; one that is missing is a drive of its own.
    has_machines : bool
        Whether there are several machines to tell.
    """

    drives: Mapping[Subject, DriveOfRun] = field(default_factory=dict)
    has_machines: bool = False

    def of(self, subject: Subject) -> str:
        """The drive as this run measured it."""
        drive, machine = map(shortened, subject)
        return f"{drive} on {machine}" if self.has_machines and machine and machine not in drive else drive

    def drive(self, subject: Subject) -> str:
        """The drive itself, whichever run; as the report calls it where two drives go by one name."""
        one = self.drives.get(subject)
        if one is None or any(each.name == one.name and each.identity != one.identity for each in self.drives.values()):
            return self.of(subject)
        return shortened(one.name)

    def by_drive(self, measured: Sequence[tuple[Subject, Observation]]) -> dict[str, list[Observation]]:
        """What each drive gave in its runs, in the order of the best of them; one of a single run is named by it."""
        found: dict[str, list[tuple[Subject, Observation]]] = {}
        for subject, one in measured:
            found.setdefault(self.drive(subject), []).append((subject, one))
        return {name if len(of) > 1 else self.of(of[0][0]): [one for _, one in of] for name, of in found.items()}

    def best(self, contest: Contest) -> str:
        """The drive that is first."""
        return next(iter(self.by_drive(contest.of_best_drive)))


def drives_of_runs(sets: Sequence[ResultSet], named_apart: Sequence[ResultSet]) -> dict[Subject, DriveOfRun]:
    """The drive behind each subject that stands for one run.

    Parameters
    ----------
    sets : sequence of ResultSet
        As the runs name their drives.
    named_apart : sequence of ResultSet
        The same ones, as the report names them.
    """
    found: dict[Subject, list[DriveOfRun]] = {}
    for place, (own, renamed) in enumerate(zip(sets, named_apart, strict=True)):
        if own.is_reference:
            continue
        for drive, shown in zip(own.drives, renamed.drives, strict=True):
            one = DriveOfRun(_identity(drive), drive.name, own.key, place)
            found.setdefault((shown.name, shown.machine), []).append(one)
    # a subject that stands for two runs is told by neither of them
    return {subject: drives[0] for subject, drives in found.items() if len(drives) == 1}


def _identity(drive: MeasuredDrive) -> tuple[str, ...]:
    return (drive.model, drive.serial) if drive.serial else ("", drive.name, drive.model, drive.kind, drive.machine)
