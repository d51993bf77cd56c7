"""The history of many drives: their stored runs by drive, and the newest of each held against its earlier ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from drivelab.analyse.newest_run import NewestRun, judged_runs, newest_of
from drivelab.answers.drive_of_run import drive_names, facts_before
from drivelab.answers.drive_values import drives_of_run
from drivelab.answers.history import RunOfDrive, read_history
from drivelab.answers.measured_on import as_text
from drivelab.model.drive_values import FleetDrive
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_history import DriveHistory, FleetHistory
from drivelab.model.history import HistoryRow
from drivelab.model.names import counted
from drivelab.store.read import StoredRun, open_run
from drivelab.store.run_record import RunRecord

_Unjudged = tuple[FleetDrive, tuple[HistoryRow, ...], tuple[NewestRun, ...], bool]


@dataclass(slots=True)
class _Runs:
    """The names of one drive, and of each of its runs when it began and where it lies, with the drive's targets."""

    names: set[str]
    places: dict[tuple[str, Path], list[str]]


def fleet_history(directories: Iterable[Path], hosts: Mapping[Path, str]) -> FleetHistory:
    """The history of every drive that has runs.

    Parameters
    ----------
    directories : iterable of Path
        Runs of any drives and hosts; those of one drive are read after those of another. One that cannot be read is
        named in the notes; one of several targets is a run of the drive of each.
    hosts : mapping of Path to str
        What whoever asked calls the host of a run.

    Notes
    -----
    Runs are of one drive where serial or WWN is the same, in whichever host it was; without either where host and
    target are. Each newest run is judged as `drivelab.analyse.newest_run` does, but for Holm's correction, which is
    for the numbers of all drives.
    """
    unreadable: list[str] = []
    runs, in_turn = _by_drive(directories, hosts, unreadable)
    found: list[_Unjudged] = []
    moved = 0
    for own in runs:
        last = max(own.places)[1]
        try:
            read = {place: _of_drive(open_run(place), labels) for (_, place), labels in sorted(own.places.items())}
            found.append(_read(list(read.values()), hosts.get(last, "")))
            its = {hosts.get(place) or as_text(one.record.host.get("hostname")) for place, one in read.items()}
            moved += len(its) > 1
        except DrivelabError as error:
            unreadable.append(f"{last.name}, or one of its drive: {error.what}")
    judged = iter(judged_runs([newest for _, _, its, _ in found for newest in its]))
    drives = [
        DriveHistory(drive, rows, tuple(islice(judged, len(its))), is_simulated)
        for drive, rows, its, is_simulated in found
    ]
    return FleetHistory(tuple(sorted(drives, key=_order)), tuple(_notes(unreadable, in_turn, moved)))


def _by_drive(directories: Iterable[Path], hosts: Mapping[Path, str], unreadable: list[str]) -> tuple[list[_Runs], int]:
    """The runs of each drive, and how many of several targets there are."""
    known: dict[str, _Runs] = {}
    in_turn = 0
    for directory in directories:
        try:
            run = open_run(directory)
        except DrivelabError as error:
            unreadable.append(f"{directory.name}: {error.what}")
            continue
        in_turn += len(run.record.targets) > 1
        for target in run.record.targets:
            record = replace(run.record, targets=[target])
            names = drive_names(record) or {_name_of_target(record, hosts.get(directory, ""))}
            together = _Runs(set(names), {(record.started_utc, directory): [as_text(target.get("label"))]})
            # this run may show that two names are of one drive
            for own in {id(known[name]): known[name] for name in names if name in known}.values():
                together.names |= own.names
                for place, labels in own.places.items():
                    together.places[place] = [*labels, *together.places.get(place, ())]
            known |= dict.fromkeys(together.names, together)
    return list({id(own): own for own in known.values()}.values()), in_turn


def _name_of_target(record: RunRecord, host: str) -> str:
    """What stands for a drive that tells no name of its own: host and target."""
    drive = next(iter(drives_of_run(record, host=host).values()))
    return f"{drive.key}/{facts_before(record).get('simulated') or ''}"


def _of_drive(run: StoredRun, labels: Sequence[str]) -> RunOfDrive:
    """A run as far as it is of the drive on which these targets are."""
    targets = [target for target in run.record.targets if as_text(target.get("label")) in labels]
    return RunOfDrive(run, replace(run.record, targets=targets[:1]), frozenset(labels))


def _read(runs: Sequence[RunOfDrive], host: str) -> _Unjudged:
    newest = runs[-1].record
    drive = replace(
        next(iter(drives_of_run(newest, host=host).values())),
        run_count=len(runs),
        first_utc=runs[0].record.started_utc,
        last_utc=newest.started_utc,
    )
    rows, of_history, units = read_history(runs)
    # a model has no scatter to hold a run against
    is_simulated = bool(facts_before(newest).get("simulated"))
    return drive, rows, () if is_simulated else newest_of(of_history, units), is_simulated


def _order(one: DriveHistory) -> tuple[bool, bool, float, bool, float, str]:
    change = max((abs(math.log(row.ratio.value or 1.0)) for _, row in one.changed), default=0.0)
    return (not one.is_slower, not one.changed, -change, not one.firmware_changes, -one.wear_grown, one.drive.key)


def _notes(unreadable: Sequence[str], in_turn: int, moved: int) -> Iterator[str]:
    if moved:
        count = "counts" if moved == 1 else "count"
        yield f"{counted(moved, 'drive')} with runs in several hosts {count} once over time"
    if unreadable:
        yield f"left out: {counted(len(unreadable), 'run')} that cannot be read: {unreadable[0]}"
    if in_turn:
        count = "counts" if in_turn == 1 else "count"
        idle = "it was idle while the others were measured"
        yield f"{counted(in_turn, 'run')} of several targets {count} for the drive of each: {idle}"
