"""Several runs of one drive: they are no two drives, and what they gave is told run by run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from drivelab.model.apart import MAY_DIFFER, RUNS_MIN, too_few_runs
from drivelab.model.result_set import SIMULATED, MeasuredDrive, Observation, ResultSet
from drivelab.report.sentences.contest import Contest, Subject

# what a comparison says of the same runs
ONE_RUN_EACH = f"{too_few_runs((1, 1))}, so {MAY_DIFFER}"
_RUNS_NAMED_MAX = 2


@dataclass(frozen=True, slots=True)
class DriveOfRun:
    """Which drive a subject of a report is, and which run measured it.

    Attributes
    ----------
    identity : tuple of str
        The same for the same drive: its model and serial; without a serial, the target on its machine.
    name : str
        What the run itself calls it.
    run : str
        Name of the run.
    place : int
        Of the run, in the order of the report.
    """

    identity: tuple[str, ...]
    name: str
    run: str
    place: int


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
    return (drive.model, drive.serial) if drive.serial else ("", drive.name, drive.kind, drive.machine)


def one_drive_sentence(
    contest: Contest, drives: Mapping[Subject, DriveOfRun], number: Callable[[Observation], str]
) -> str:
    """What one drive gave in several runs: ``the same drive, A, gave 1 ms in monday and 2 ms in friday``.

    Parameters
    ----------
    contest : Contest
        Of which the runs of the best drive are told.
    drives : mapping of Subject to DriveOfRun
        The drive and the run of each subject.
    number : callable
        Writes a number with its interval.
    """
    own = contest.of_best_drive
    in_order = sorted(own, key=lambda item: drives[item[0]].place)
    best, worst = own[0], own[-1]
    gave = " and ".join(f"{number(one)} in {_line(drives[subject].run)}" for subject, one in in_order)
    if len(own) > _RUNS_NAMED_MAX:
        ends = [f"{number(one)} in {_line(drives[subject].run)}" for subject, one in (best, worst)]
        gave = f"from {ends[0]} to {ends[1]}, over {len(own)} runs"
    if len({number(one) for _, one in own}) == 1:
        gave = f"the same in {'both' if len(own) == 2 else f'all {len(own)}'} runs: {number(best[1])}"
    unknown = "" if best[1].run == SIMULATED else f"; {ONE_RUN_EACH}"
    return f"the same drive, {_line(drives[best[0]].name)}, gave {gave}{unknown}"


def compare_sentence(contests: Iterable[Contest], drives: Mapping[Subject, DriveOfRun]) -> str:
    """Which command judges whether a drive changed, or which is faster; empty where one run measured all of them."""
    apart = ""
    for contest in contests:
        if all(one.run == SIMULATED for _, one in contest.ranked):
            continue
        by_drive: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for subject, _ in contest.ranked:
            if subject in drives:
                by_drive.setdefault(drives[subject].identity, []).append((drives[subject].place, drives[subject].run))
        several = next((sorted(runs) for runs in by_drive.values() if len(runs) > 1), [])
        if several:
            names = " ".join(shlex.quote(_line(run)) for _, run in (several[0], several[-1]))
            return f"Whether the drive changed from one run to another: drivelab compare {names}."
        first = [runs[0][1] for runs in by_drive.values()][:2]
        if len(dict.fromkeys(first)) > 1 and not apart:
            names = " ".join(shlex.quote(_line(run)) for run in first)
            more = "--base RUN --new RUN"
            apart = f"Which is faster takes {RUNS_MIN} runs of each at least: drivelab compare {names} {more}."
    return apart


def _line(text: str) -> str:
    return " ".join(text.split())
