"""What differs between two sides of runs: computer, drives, file systems, versions, amounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.answers.measured_on import MeasuredTarget, as_mapping, as_text, measured_targets, targets_of
from drivelab.answers.trial_notes import TrialNotes
from drivelab.model.comparison import SideDifference
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


def facts_of_side(runs: Sequence[StoredRun], notes: Sequence[Mapping[str, TrialNotes]]) -> Facts:
    """Every fact of a side's runs that may differ, with its values, each once.

    Parameters
    ----------
    runs : sequence of StoredRun
        The runs of the side.
    notes : sequence of mapping
        Of the trials of each: a run that was resumed may have seen two kernels.
    """
    found: Facts = {}
    for run, of_trials in zip(runs, notes, strict=True):
        for name, value in _of_run(run, of_trials):
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


def _of_run(run: StoredRun, notes: Mapping[str, TrialNotes]) -> Iterator[tuple[str, str]]:
    facts = run.run_json
    host, experiment = as_mapping(facts.get("host")), as_mapping(facts.get("experiment"))
    kernels = {note.system["kernel_release"] for note in notes.values() if "kernel_release" in note.system}
    for kernel in sorted(kernels) or [as_text(host.get("kernel_release"))]:
        yield "kernel", kernel
    for name, key in _HOST.items():
        yield name, as_text(host.get(key))
    programs = as_mapping(facts.get("imported")).get("programs")
    yield "measured by", ", ".join(map(as_text, programs)) if isinstance(programs, list | tuple) else "drivelab"
    yield "drivelab", as_text(facts.get("drivelab_version") or host.get("drivelab_version"))
    yield "engine", as_text(as_mapping(facts.get("engine")).get("version"))
    yield "experiment", as_text(experiment.get("name"))
    yield "scale", "quick" if as_mapping(facts.get("plan")).get("quick") else "full"
    for target in targets_of(facts):
        yield from _of_target(target)
    for measured in measured_targets(facts).values():
        yield from _of_drive(measured)


def _of_target(target: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    before = as_mapping(target.get("facts_before"))
    filesystem = as_mapping(before.get("filesystem"))
    yield "file system of the target", as_text(filesystem.get("type"))
    options = filesystem.get("options")
    if isinstance(options, list | tuple):
        yield "mount options of the target", ",".join(map(str, options))


def _of_drive(measured: MeasuredTarget) -> Iterator[tuple[str, str]]:
    drive = measured.drive
    if drive.serial:
        yield "drive", f"{drive.name} ({drive.serial})"
    else:
        yield "drive", drive.name
    for name, key in _OF_DRIVE.items():
        yield name, getattr(drive, key)
    yield "write cache before the run", measured.levels.get("write-cache", "")
