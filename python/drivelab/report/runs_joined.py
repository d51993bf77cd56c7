"""Several runs of each drive as one result, where a report is about the drives and not about their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from drivelab.model.estimate import Estimate
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.sentences.contest import Subject
from drivelab.report.sentences.drive_names import DriveOfRun

# one drive, and what was measured of it
_Kind = tuple[object, ...]


def runs_joined(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun]) -> tuple[ResultSet, ...]:
    """The result sets, those of runs as a single one where runs of several drives ask the same question.

    A number that several runs of a drive have is then the median of what they give,
    from the lowest to the highest of them, each run one trial of it: what
    changes from run to run is in its range.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs, and of published pages behind them.
    drives : mapping of Subject to DriveOfRun
        The drive behind each name in the sets of runs.

    Returns
    -------
    tuple of ResultSet
        As they are where there is a single drive, where no drive has several runs, and where drives of two runs
        are not the same any more: another firmware, another kernel.
    """
    own = [one for one in sets if not one.is_reference]
    placed = [(drive, drives.get((drive.name, drive.machine))) for one in own for drive in one.drives]
    if len({one.question for one in own}) > 1 or any(of is None for _, of in placed):
        return tuple(sets)
    members: dict[tuple[str, ...], list[MeasuredDrive]] = defaultdict(list)
    for drive, of in placed:
        if of is not None:
            members[of.identity].append(replace(drive, name=of.name))
    shown = {identity: _joined_drive(found) for identity, found in members.items()}
    is_alike = all(one == found[0] for found in members.values() for one in found)
    is_apart = len({(one.name, one.machine) for one in shown.values()}) == len(shown)
    if not (1 < len(members) < len(placed) and is_alike and is_apart):
        return tuple(sets)
    kinds: dict[_Kind, list[Observation]] = defaultdict(list)
    for run in own:
        of_run = {drive.name: shown[drives[drive.name, drive.machine].identity] for drive in run.drives}
        for one in run.observations:
            drive = of_run[one.drive]
            kinds[_kind(one, drive)].append(replace(one, drive=drive.name))
    machines = {machine.name: machine for one in own for machine in one.machines}
    joined = replace(
        own[0],
        machines=tuple(machines.values()),
        drives=tuple(shown.values()),
        observations=tuple(map(_joined_number, kinds.values())),
    )
    return (joined, *(one for one in sets if one.is_reference))


def _joined_drive(runs: Sequence[MeasuredDrive]) -> MeasuredDrive:
    first = runs[0]
    return replace(first, name=f"{first.name} ({len(runs)} runs)") if len(runs) > 1 else first


def _kind(one: Observation, drive: MeasuredDrive) -> _Kind:
    levels = tuple(sorted(one.levels.items()))
    return (
        drive.name,
        one.machine,
        one.workload,
        one.operation,
        one.metric,
        one.block_size_bytes,
        one.queue_depth,
        levels,
    )


def _joined_number(runs: Sequence[Observation]) -> Observation:
    """One number of one drive in each of its runs: their median, and from the lowest to the highest."""
    first = runs[0]
    if len(runs) == 1:
        return first
    estimates = [one.estimate for one in runs]
    known = [value for one in estimates if (value := one.observed if one.value is None else one.value) is not None]
    is_known = all(one.value is not None for one in estimates)
    estimate = Estimate(
        value=median(known) if is_known else None,
        low=min(known) if is_known else min((one.low for one in estimates if one.low is not None), default=None),
        high=max(known) if is_known else None,
        unit=first.estimate.unit,
        sample_count=sum(one.sample_count for one in estimates),
        effective_sample_count=float(len(runs)),
        method=f"median of {len(runs)} runs, lowest to highest",
        observed=None if is_known or not known else median(known),
    )
    # a run with a trial that does not describe the drive is none of it
    invalid = sum(one.invalid_trials > 0 for one in runs)
    notes = " ".join(dict.fromkeys(one.note for one in runs if one.note))
    return replace(first, estimate=estimate, trial_count=len(runs), invalid_trials=invalid, note=notes, run="")
