"""The history of many drives: their stored runs by drive, and the newest of each held against its earlier ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from drivelab.analyse.newest_run import NewestRun, judged_runs, newest_of
from drivelab.answers.drive_of_run import drive_names, facts_before
from drivelab.answers.drive_values import drives_of_run
from drivelab.answers.history import read_history
from drivelab.answers.measured_on import as_text
from drivelab.model.drive_values import FleetDrive
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_history import DriveHistory, FleetHistory
from drivelab.model.history import HistoryRow
from drivelab.model.names import counted
from drivelab.store.read import StoredRun, open_run

_Unjudged = tuple[FleetDrive, tuple[HistoryRow, ...], tuple[NewestRun, ...], bool]


@dataclass(slots=True)
class _Runs:
    """The names of one drive, and of each of its runs when it began and where it lies."""

    names: set[str] = field(default_factory=set)
    places: list[tuple[str, Path]] = field(default_factory=list)


def fleet_history(directories: Iterable[Path], hosts: Mapping[Path, str]) -> FleetHistory:
    """The history of every drive that has runs.

    Parameters
    ----------
    directories : iterable of Path
        Runs of any drives and hosts; those of one drive are read after those of another. One that cannot be read is
        named in the notes, and one of several targets is counted there.
    hosts : mapping of Path to str
        What whoever asked calls the host of a run.

    Notes
    -----
    Runs are of one drive where serial or WWN is the same, in whichever host it was; without either where host and
    target are. Each newest run is judged as `drivelab.analyse.newest_run` does, but for Holm's correction, which is
    for the numbers of all drives.
    """
    unreadable: list[str] = []
    runs, beside_others = _by_drive(directories, hosts, unreadable)
    found: list[_Unjudged] = []
    moved = 0
    for own in runs:
        last = max(own.places)[1]
        try:
            read = {place: open_run(place) for _, place in sorted(own.places)}
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
    return FleetHistory(tuple(sorted(drives, key=_order)), tuple(_notes(unreadable, beside_others, moved)))


def _by_drive(directories: Iterable[Path], hosts: Mapping[Path, str], unreadable: list[str]) -> tuple[list[_Runs], int]:
    """The runs of each drive, and how many there are of several targets."""
    known: dict[str, _Runs] = {}
    beside_others = 0
    for directory in directories:
        try:
            run = open_run(directory)
        except DrivelabError as error:
            unreadable.append(f"{directory.name}: {error.what}")
            continue
        if len(run.record.targets) != 1:
            beside_others += 1
            continue
        names = drive_names(run.record) or {_name_of_target(run, hosts.get(directory, ""))}
        together = _Runs(set(names), [(run.record.started_utc, directory)])
        # this run may show that two names are of one drive
        for own in {id(known[name]): known[name] for name in names if name in known}.values():
            together.names |= own.names
            together.places += own.places
        known |= dict.fromkeys(together.names, together)
    return list({id(own): own for own in known.values()}.values()), beside_others


def _name_of_target(run: StoredRun, host: str) -> str:
    """What stands for a drive that tells no name of its own: host and target."""
    drive = next(iter(drives_of_run(run.record, host=host).values()))
    return f"{drive.key}/{facts_before(run.record).get('simulated') or ''}"


def _read(runs: Sequence[StoredRun], host: str) -> _Unjudged:
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


def _notes(unreadable: Sequence[str], beside_others: int, moved: int) -> Iterator[str]:
    if moved:
        count = "counts" if moved == 1 else "count"
        yield f"{counted(moved, 'drive')} with runs in several hosts {count} once over time"
    if unreadable:
        yield f"left out: {counted(len(unreadable), 'run')} that cannot be read: {unreadable[0]}"
    if beside_others:
        yield f"left out: {counted(beside_others, 'run')} of several targets together"
