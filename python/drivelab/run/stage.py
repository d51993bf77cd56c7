"""A target while a plan runs: what a step needs is made, and taken away again when it is not needed any more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from drivelab.inventory.consent import (
    Consent,
    found_signatures,
    require_erase_consent,
    require_same_identity,
    require_still_ours,
)
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import PlannedStep, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.run.actions import purge_target, trim_device, trim_filesystem
from drivelab.run.applied_settings import AppliedSettings
from drivelab.run.engine import Progress, StopRequest
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.run.precondition import write_once
from drivelab.run.prepared_trial import PreparedTrial, StoppedError
from drivelab.run.progress import RunProgress
from drivelab.run.settle import settle
from drivelab.run.trial_file import TrialFile
from drivelab.state.data_directory import make_data_directory
from drivelab.state.filesystem import MountedFileSystem
from drivelab.state.held_device import HeldDevice
from drivelab.state.journal import Journal
from drivelab.state.scratch import make_scratch


class TargetStage:
    """One target, from its first step to its last.

    Parameters
    ----------
    planned : PlannedTarget
        The target in the plan.
    facts : TargetFacts
        As resolved.
    journal : Journal
        Learns of every change before it is made.
    settings : AppliedSettings
        Of the whole run: some settings belong to all targets.
    consent : Consent
        What the owner typed after ``--erase`` and ``--purge``.
    progress : RunProgress
        Told what is being done.
    stop : StopRequest
        Ends what takes long once it is set.

    Attributes
    ----------
    facts : TargetFacts
        As resolved; for a scratch drive as soon as it was made.
    notes : tuple of str
        What its numbers mean.
    """

    def __init__(
        self,
        planned: PlannedTarget,
        facts: TargetFacts,
        journal: Journal,
        *,
        settings: AppliedSettings,
        consent: Consent,
        progress: RunProgress,
        stop: StopRequest,
    ) -> None:
        self.planned = planned
        self.notes: tuple[str, ...] = ()
        self.facts = facts
        self._journal = journal
        self._settings = settings
        self._consent = consent
        self._progress = progress
        self._stop = stop
        self._drives = None if facts.kind == "scratch" else [drive.identity for drive in facts.drives]
        self._is_ready = False
        self._held: HeldDevice | None = None
        # what was on the device when its owner gave it up; None until then
        self._signatures: frozenset[str] | None = None
        self._filesystem = FileSystemOnTarget(journal)
        self._file: TrialFile | None = None
        self._place: TargetFacts | None = None
        self._block = 0
        # a scratch drive is filled when it is made
        self._is_filled = facts.kind == "scratch"

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """Make everything that a step needs.

        Raises
        ------
        DrivelabError
            C201 to C210: the target may not be written to. R401 to R406: a scratch
            drive, a file system or a directory could not be made, a setting was not taken.
        StoppedError
            The user asked for the end meanwhile.
        """
        if not self._is_ready:
            self._make_ready()
        if step.block != self._block or not self._filesystem.can_stay(step.filesystem):
            self.clear()
            self._block = step.block
        # a purge resets what was set in the drive: it comes before the settings, and they come before the file system
        context = self._cleared(step)
        if self._settings.bring(self.facts, step.settings):
            self._look_again()
        if step.actions.get("precondition") == "sequential":
            context |= self._preconditioned(step)
        place = self._brought(step)
        if step.actions.get("trim") == "fstrim":
            context["trim"] = trim_filesystem(place)
        trial = self._on_device(step, place) if place.kind == "block_device" else self._in_file(step, place)
        # making a file system may have changed a setting: a rule of udev answers to every device that was written
        self._settings.ensure(self.facts, step.settings)
        levels, views = self._settings.achieved(self.facts, step.settings)
        return replace(
            trial,
            achieved=trial.achieved | levels | dict(step.actions),
            context=context | ({"settings": views} if views else {}),
            drops_page_cache=step.actions.get("page-cache") == "drop",
        )

    def changed_settings(self, step: PlannedStep, *, ask_drive: bool) -> dict[str, str]:
        """Settings that are not any more what they were brought to, and what they are."""
        return self._settings.changed_by_others(self.facts, step.settings, ask_drive=ask_drive)

    def tidy(self, trial: PreparedTrial) -> None:
        """Remove the trial's file, and let the file system finish with it."""
        if self._file is None or trial.facts.kind != "missing_file":
            return
        self._file.tidy(was_written=trial.workload.writes)
        if trial.facts.filesystem is not None and "discard" in trial.facts.filesystem.options:
            settle([layer.name for layer in trial.facts.devices[-1:]])

    def release(self) -> None:
        """Let go of the device: nothing follows."""
        if self._held is not None:
            self._held.release()
            self._held = None

    def clear(self) -> None:
        """Take away the file system that was made, if one was."""
        self._file = self._place = None
        self._filesystem.take_away()

    def _make_ready(self) -> None:
        if self.facts.kind == "scratch":
            self._progress.preparing(f"filling {self.planned.text} with random data")
            scratch = make_scratch(self.facts.size_bytes, self._journal, self._filled)
            self.notes = scratch.notes
            self.facts = replace(resolve_measured(scratch.path), text=self.facts.text)
        elif self.facts.kind == "directory":
            directory, _change = make_data_directory(Path(self.facts.path), self._journal)
            self.facts = replace(resolve_measured(str(directory)), text=self.facts.text)
        self._require_same_drives(self.facts)
        if self.planned.kind == "block_device":
            self._held = HeldDevice(self.facts)
        self._is_ready = True

    def _filled(self, filled_bytes: int, size_bytes: int) -> None:
        """Some more of a scratch drive is filled."""
        if self._stop.is_set():
            raise StoppedError
        self._progress.preparing_goes_on(filled_bytes / size_bytes)

    def _brought(self, step: PlannedStep) -> TargetFacts:
        """Where the step's I/O goes: the target itself, or a file system made on it."""
        level = step.filesystem
        if level is None or level.type == "raw":
            self._place = self.facts
            return self.facts
        before = self._filesystem.mounted
        if before is None:
            self._require_consent()
            self._progress.preparing(f"making {level.name} on {self.planned.label}")
            self._is_filled = False
        mounted = self._filesystem.bring(self.facts.path, level)
        if self._place is None or mounted is not before:
            self._place, self._file = self._in_mounted(mounted), None
        return self._place

    def _cleared(self, step: PlannedStep) -> dict[str, Any]:
        """What was purged and trimmed of the whole device; a file system that was on it is gone then."""
        purges, trims = step.actions.get("purge", "none") != "none", step.actions.get("trim") == "device"
        if not (purges or trims):
            return {}
        self.clear()
        self._require_consent()
        self._is_filled = False
        done: dict[str, Any] = {}
        if purges:
            self._settings.put_back(self.facts)
            self._progress.preparing(f"purging {self.planned.label}: {step.actions['purge']}")
            method, goes_on = step.actions["purge"], self._progress.preparing_goes_on
            done["purge"] = purge_target(self.facts, method, self._consent, self._journal, goes_on)
        if trims:
            done["trim"] = trim_device(self.facts, self._journal)
        return done

    def _preconditioned(self, step: PlannedStep) -> dict[str, Any]:
        """What was written so that every block of the device holds something; nothing when it does already."""
        if self._is_filled or self.facts.kind not in ("block_device", "scratch"):
            return {}
        if step.filesystem is not None and step.filesystem.type != "raw":
            # the files of a file system are written before they are read
            return {}
        self._require_consent()
        self._progress.preparing(f"writing all of {self.planned.label} once")
        written = write_once(self.facts, seed=step.seed, stop=self._stop, progress=self._written)
        if self._stop.is_set():
            raise StoppedError
        self._is_filled = True
        return {"precondition": {"kind": "sequential", "bytes_written": written}}

    def _written(self, progress: Progress) -> bool:
        self._progress.preparing_goes_on(min(1.0, progress.byte_count() / max(1, self.facts.size_bytes)))
        return not self._stop.is_set()

    def _look_again(self) -> None:
        """A setting was changed: the kernel's view of the drive may be another now."""
        self.facts = self._looked_at(self.facts)
        if self._filesystem.mounted is not None:
            self._place = self._in_mounted(self._filesystem.mounted)

    def _looked_at(self, facts: TargetFacts) -> TargetFacts:
        """The target as it is now; its identity stays what it was, so that another drive in its place is noticed."""
        if facts.kind == "block_device":
            require_same_identity(facts)
        now = replace(resolve_measured(facts.path), text=facts.text, identity=facts.identity)
        self._require_same_drives(now)
        return now

    def _require_same_drives(self, facts: TargetFacts) -> None:
        """Return only if the drives beneath are those that the plan was made for; a scratch drive is a new one."""
        if self.planned.kind == "scratch" and self._drives is None:
            self._drives = [drive.identity for drive in facts.drives]
        now = [drive.identity for drive in facts.drives]
        if now != self._drives:
            names = [", ".join(identity.name for identity in found) or "none" for found in (self._drives or [], now)]
            what = (
                f"{self.planned.text} does not lie on the drive that it lay on: {names[0]} was beneath, now {names[1]}"
            )
            raise DrivelabError("C207", what, where=self.planned.text)

    def _in_mounted(self, mounted: MountedFileSystem) -> TargetFacts:
        place = replace(resolve_target(str(mounted.mount_point)), text=self.facts.text)
        return replace(place, drives=self.facts.drives)

    def _require_consent(self) -> None:
        """Right before data are destroyed; from then on the contents are our own."""
        if self.planned.kind == "scratch":
            return
        if self._signatures is not None:
            require_still_ours(self.facts, self._signatures)
            return
        require_erase_consent(self.facts, self._consent.erase)
        self._signatures = found_signatures(self.facts)

    def _on_device(self, step: PlannedStep, place: TargetFacts) -> PreparedTrial:
        if step.pattern.writes:
            self._require_consent()
        else:
            require_same_identity(place)
        size = step.pattern.used_bytes(place.size_bytes, place.logical_block_size_bytes)
        target = TargetRange(path=place.path, size_bytes=size, exclusive=step.pattern.writes)
        achieved = {"filesystem": "raw"} if step.filesystem is not None else {}
        return PreparedTrial(step.pattern.on(target, seed=step.seed), place, achieved)

    def _in_file(self, step: PlannedStep, place: TargetFacts) -> PreparedTrial:
        mounted = self._filesystem.mounted
        achieved = {"filesystem": mounted.text} if mounted else {}
        if mounted and "mount" in step.levels:
            achieved["mount"] = ",".join(mounted.options)
        size = step.pattern.used_bytes(step.pattern.file_size, place.logical_block_size_bytes)
        if place.kind == "file":
            target = TargetRange(path=place.path, size_bytes=size)
            return PreparedTrial(step.pattern.on(target, seed=step.seed), place, achieved)
        if self._file is None:
            self._file = TrialFile(place.path, self._progress, self._stop)
        path = str(self._file.path)
        target = TargetRange(path=path, size_bytes=size, create=True)
        self._file.make_ready(step, target)
        facts = replace(place, kind="missing_file", path=path, exists=False, size_bytes=0)
        return PreparedTrial(step.pattern.on(target, seed=step.seed), facts, achieved)
