"""Carries out a check: makes the working files, measures trial after trial, and leaves nothing behind.

A failed trial ends itself and nothing else; what was measured is kept. When
the layout of the working file was cut short by its time limit, the trials that
follow use what was written of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.plan.check import MIB, CheckPlan, CheckTrial
from drivelab.run.counting_pass import changed_count, command_counts
from drivelab.run.engine import Progress, RecordListener, StopRequest, prepare_target
from drivelab.run.measure import measure
from drivelab.run.page_cache import drop_from_page_cache
from drivelab.run.work_area import WorkArea, can_preallocate, direct_io_refusal, work_area
from drivelab.state.held_device import held_if_device

# the target itself is gone or refuses: no later trial could go better
_ENDS_THE_CHECK = ("E302", "E303", "E305")


class CheckListener(Protocol):
    """Who wants to hear how a check goes."""

    def trial_begins(self, number: int) -> None:
        """A trial is about to begin; numbers are from 1."""

    def records_of(self, trial: CheckTrial) -> AbstractContextManager[RecordListener | None]:
        """What takes the trial's single I/Os while it runs; without it they are kept in the measurement."""
        ...

    def trial_goes_on(self, progress: Progress) -> None:
        """About every 0.1 s."""

    def trial_does(self, what: str) -> None:
        """Something is being done for the trial that is not measured."""

    def trial_done(self, measured: Measurement) -> None:
        """A trial has ended, with what it measured; whoever wants to keep that stores it now."""

    def trial_failed(self, trial: CheckTrial, error: DrivelabError) -> None:
        """A trial could not be measured."""


@dataclass(slots=True)
class CheckOutcome:
    """What became of a check.

    Attributes
    ----------
    failures : dict of str to DrivelabError
        Why trials could not be measured, by name.
    removed_leftovers : tuple of str
        Working files of killed checks that were found and removed.
    direct_reason : str
        Why direct I/O was not used; empty when it was.
    is_interrupted : bool
        Whether the user asked for the end.
    """

    failures: dict[str, DrivelabError] = field(default_factory=dict)
    removed_leftovers: tuple[str, ...] = ()
    direct_reason: str = ""
    is_interrupted: bool = False


def run_check(
    plan: CheckPlan,
    target: TargetFacts,
    listener: CheckListener,
    *,
    stop: StopRequest,
    erase: Sequence[str] = (),
) -> CheckOutcome:
    """What became of every trial of a check; the measurements go to `listener`.

    Parameters
    ----------
    plan : CheckPlan
        What to do.
    target : TargetFacts
        The target that the plan was made for.
    listener : CheckListener
        Told how it goes, and given every measurement.
    stop : StopRequest
        Ends the check within an interval; the trial in flight is kept.
    erase : sequence of str
        What the owner typed after ``--erase``; needed when the plan writes to a block device.

    Raises
    ------
    DrivelabError
        C201 to C209: the device may not be written to, or not any more. R451: no working file
        can be made. T107: the target vanished. Others when not a single trial could be measured.
    """
    outcome = CheckOutcome()
    if target.kind == "block_device" or not plan.may_write:
        with held_if_device(target, erase=erase if plan.may_write else None):
            _run_trials(plan, _InPlace(target, outcome), target, listener, stop, outcome)
        return outcome
    with work_area(Path(target.path)) as area:
        outcome.removed_leftovers = area.removed_leftovers
        _run_trials(plan, _InWorkingFiles(area, outcome), target, listener, stop, outcome)
    return outcome


class _Place(Protocol):
    """Where the trials of a check find their bytes."""

    def workload(self, trial: CheckTrial) -> Workload:
        """The trial's workload on its path."""

    def require_unchanged(self, workload: Workload) -> None:
        """Return only if what was measured still bears its name."""

    def done(self, trial: CheckTrial, measured: Measurement | None) -> None:
        """The trial has ended; None when it failed."""


class _InPlace:
    """The target itself: an existing file, or a block device."""

    def __init__(self, target: TargetFacts, outcome: CheckOutcome) -> None:
        self._target = target
        self._outcome = outcome
        self._written_bytes = 0
        outcome.direct_reason = direct_io_refusal(Path(target.path))

    def workload(self, trial: CheckTrial) -> Workload:
        if not trial.writes and self._outcome.direct_reason:
            drop_from_page_cache(self._target.path)
        length = 0 if trial.lays_out or trial.counts_commands else self._written_bytes
        return trial.at(self._target.path, length_bytes=length, direct=not self._outcome.direct_reason)

    def require_unchanged(self, workload: Workload) -> None:
        """The target is its owner's, who may call it what they like."""

    def done(self, trial: CheckTrial, measured: Measurement | None) -> None:
        if trial.lays_out and measured is not None:
            self._written_bytes = laid_out_bytes(trial, measured)


class _InWorkingFiles:
    """Working files in a directory."""

    def __init__(self, area: WorkArea, outcome: CheckOutcome) -> None:
        self._area = area
        self._outcome = outcome
        self._current: Path | None = None
        self._laid_out: Path | None = None
        self._written_bytes = 0

    def workload(self, trial: CheckTrial) -> Workload:
        if trial.workload.tree is not None:
            return trial.at(str(self._area.directory)).held_by(self._area.held_for_tree())
        if trial.needs_own_file:
            self._current = self._area.new_file()
            found = direct_io_refusal(self._area.file(self._current).reopened)
            self._outcome.direct_reason = self._outcome.direct_reason or found
        path = self._current if trial.needs_own_file else self._laid_out
        if path is None:
            raise DrivelabError("R454", f"{trial.name} has no data to work on", where=str(self._area.directory))
        direct = not self._outcome.direct_reason
        file = self._area.file(path)
        if not direct and not trial.writes:
            drop_from_page_cache(str(file.reopened))
        workload = trial.at(str(path), length_bytes=0 if trial.needs_own_file else self._written_bytes, direct=direct)
        workload = workload.held_by(file.target)
        if workload.file_state == "preallocated" and not can_preallocate(file.reopened):
            return workload.model_copy(update={"file_state": "sparse"})
        return workload

    def require_unchanged(self, workload: Workload) -> None:
        if workload.tree is None:
            self._area.file(Path(workload.target.path))

    def done(self, trial: CheckTrial, measured: Measurement | None) -> None:
        if trial.workload.tree is not None:
            self._area.remove_tree()
        current, self._current = self._current, None
        if trial.lays_out and measured is not None:
            self._written_bytes = laid_out_bytes(trial, measured)
            if self._written_bytes:
                self._laid_out, current = current, None
        if current is not None:
            self._area.remove(current)


def laid_out_bytes(trial: CheckTrial, measured: Measurement) -> int:
    """How much of the range a sequential write without gaps has covered, in whole MiB.

    Ramp and drain count, too: what was written is written.
    """
    moved = int(measured.engine["all_phases"].get("write", {}).get("bytes", 0))
    return min(moved, trial.workload.target.size_bytes) // MIB * MIB


def _run_trials(
    plan: CheckPlan,
    place: _Place,
    target: TargetFacts,
    listener: CheckListener,
    stop: StopRequest,
    outcome: CheckOutcome,
) -> None:
    measured_count = 0
    for number, trial in enumerate(plan.trials, start=1):
        if stop.is_set():
            break
        listener.trial_begins(number)
        measured = None
        try:
            workload = place.workload(trial)
            found = _measure_trial(trial, workload, target, listener, stop, outcome)
            place.require_unchanged(workload)
            measured, measured_count = found, measured_count + 1
        except (DrivelabError, FileNotFoundError) as failed:
            error = _gone(target) or _as_failure(failed)
            # somebody else has the drive: nothing that was measured says that it is fit
            if error.code == "T107" or error.code.startswith("C"):
                raise error from failed
            outcome.failures[trial.name] = error
            listener.trial_failed(trial, error)
            if error.code.startswith(_ENDS_THE_CHECK):
                break
        finally:
            place.done(trial, measured)
        if measured is not None:
            listener.trial_done(measured)
    outcome.is_interrupted = stop.is_set()
    if not measured_count and outcome.failures:
        raise next(iter(outcome.failures.values()))


def _gone(target: TargetFacts) -> DrivelabError | None:
    """The error that the target itself is no longer there; None when it is."""
    if Path(target.path).exists():
        return None
    do = "check a target that stays" if target.kind == "directory" else ""
    return DrivelabError("T107", f"{target.path} vanished during the check", where=target.text, do=do)


def _as_failure(error: DrivelabError | FileNotFoundError) -> DrivelabError:
    if isinstance(error, DrivelabError):
        return error
    return DrivelabError("E302", f"a working file vanished: {error.filename}", do="let nothing remove files there")


def _measure_trial(
    trial: CheckTrial,
    workload: Workload,
    target: TargetFacts,
    listener: CheckListener,
    stop: StopRequest,
    outcome: CheckOutcome,
) -> Measurement:
    goes_on = _stopping_rule(trial, workload, listener)
    if workload.tree is not None:
        listener.trial_does("making its files")
        prepare_target(workload, stop=stop)
    with listener.records_of(trial) as records:
        measured = measure(trial.name, workload, target, stop=stop, progress=goes_on, on_records=records)
    context: dict[str, Any] = measured.context | {"label": trial.label, "direct_reason": ""}
    if trial.workload.direct and not workload.direct:
        context["direct_reason"] = outcome.direct_reason
    if trial.counts_commands and not stop.is_set():
        listener.trial_does("counting its commands")
        operations = changed_count(workload, measured.engine)
        context |= command_counts(
            workload, target, timed_operations=operations, timed_devices=measured.devices, stop=stop
        )
    return replace(measured, context=context)


def _stopping_rule(trial: CheckTrial, workload: Workload, listener: CheckListener) -> Callable[[Progress], bool]:
    def goes_on(progress: Progress) -> bool:
        listener.trial_goes_on(progress)
        if progress.is_ramping:
            return True
        return not trial.is_enough(
            measured_ns=progress.elapsed_ns - workload.ramp_ns,
            moved_bytes=progress.byte_count(),
        )

    return goes_on
