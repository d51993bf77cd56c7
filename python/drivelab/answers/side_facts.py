"""What differs between two sides of runs: computer, drives, file systems, versions, amounts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from drivelab.answers.measured_on import MeasuredTarget, as_text, measured_targets
from drivelab.answers.trial_notes import TrialNotes
from drivelab.model.comparison import SideDifference
from drivelab.model.result_set import SIMULATED
from drivelab.store.read import StoredRun

Facts = dict[str, dict[str, None]]
_HOST = {
    "distribution": "distribution",
    "machine": "hostname",
    "processor": "cpu_model",
    "frequency governor": "cpu_governor",
    "hypervisor": "hypervisor",
}
_OF_DRIVE = {"firmware": "firmware", "link": "link", "kind of target": "kind"}


def facts_of_side(
    runs: Sequence[StoredRun], notes: Sequence[Mapping[str, TrialNotes]], left_out: Collection[str]
) -> Facts:
    """Every fact of a side's runs that may differ, with its values, each once.

    Parameters
    ----------
    notes : sequence of mapping
        Of the trials of each: a run that was resumed may have seen two kernels.
    left_out : collection of str
        Labels of targets that nothing is compared of.
    """
    found: Facts = {}
    for run, of_trials in zip(runs, notes, strict=True):
        for name, value in _of_run(run, of_trials, left_out):
            if value:
                found.setdefault(name, {})[value] = None
    return found


def differences(base: Facts, new: Facts) -> list[SideDifference]:
    """The facts that are known on both sides and not the same."""
    return [
        SideDifference(name, tuple(base[name]), tuple(new[name]))
        for name in base
        if name in new and set(base[name]) != set(new[name])
    ]


def _of_run(run: StoredRun, notes: Mapping[str, TrialNotes], left_out: Collection[str]) -> Iterator[tuple[str, str]]:
    record = run.record
    host = record.host
    kernels = {note.system["kernel_release"] for note in notes.values() if "kernel_release" in note.system}
    for kernel in sorted(kernels) or [as_text(host.get("kernel_release"))]:
        yield "kernel", kernel
    for name, key in _HOST.items():
        yield name, as_text(host.get(key))
    yield "measured by", ", ".join(record.imported.get("programs", ("drivelab",)))
    yield "drivelab", record.drivelab_version
    yield "engine", as_text(record.engine.get("version"))
    yield "experiment", as_text(record.experiment.get("name"))
    yield "scale", "quick" if record.is_quick else "full"
    for target in record.targets:
        yield from _of_target(target) if target.get("label") not in left_out else ()
    for label, measured in measured_targets(record).items():
        yield from _of_drive(measured) if label not in left_out else ()


def _of_target(target: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    before = target.get("facts_before") or {}
    filesystem = before.get("filesystem") or {}
    yield "file system of the target", as_text(filesystem.get("type"))
    yield "mount options of the target", ",".join(filesystem.get("options") or ())


def _of_drive(measured: MeasuredTarget) -> Iterator[tuple[str, str]]:
    drive = measured.drive
    if drive.kind == SIMULATED:
        # one label may be given to two models
        yield "drive", drive.model
        yield "label", drive.label if drive.label != drive.model else ""
    elif drive.serial:
        yield "drive", f"{drive.name} ({drive.serial})"
    else:
        yield "drive", drive.name
    for name, key in _OF_DRIVE.items():
        yield name, getattr(drive, key)
    yield "write cache before the run", measured.levels.get("write-cache", "")


def imported_notes(runs: Sequence[StoredRun]) -> Iterator[str]:
    """What is not known of imported runs, once for each program that measured."""
    by_program: dict[str, list[str]] = {}
    for run in runs:
        if run.record.imported:
            programs = run.record.imported.get("programs")
            told = ", ".join(map(as_text, programs)) if isinstance(programs, list | tuple) else "another program"
            by_program.setdefault(told, []).append(run.name)
    for program, names in by_program.items():
        which = f"{names[0]} is" if len(names) == 1 else f"{len(names)} of {len(runs)} runs are"
        which = f"All {len(names)} runs are" if len(names) == len(runs) > 1 else which
        yield (
            f"{which} imported from {program}: what that did not tell of its workloads, and what the drive was told to "
            "do, is not known and not compared."
        )
