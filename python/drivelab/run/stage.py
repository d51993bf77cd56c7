"""A target while a plan runs: what a step needs is made, and taken away again when it is not needed any more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from drivelab.inventory.consent import require_erase_consent, require_same_identity
from drivelab.inventory.drives import read_drives
from drivelab.inventory.target import resolve_target
from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import PlannedStep, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange, Workload
from drivelab.run.engine import StopRequest
from drivelab.run.progress import RunProgress
from drivelab.state.data_directory import make_data_directory
from drivelab.state.filesystem import MountedFileSystem, make_and_mount
from drivelab.state.journal import Journal
from drivelab.state.scratch import make_scratch
from drivelab.state.undo import undo

_DATA_FILE = "trial.data"


class StoppedError(Exception):
    """The user asked for the end while something was being made."""


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    """Where a trial's I/O goes.

    Attributes
    ----------
    workload : Workload
        What is issued.
    facts : TargetFacts
        What it is issued to.
    achieved : dict of str to str
        Level of every setting, as read back.
    """

    workload: Workload
    facts: TargetFacts
    achieved: dict[str, str]


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
    erase : sequence of str
        What the owner typed after ``--erase``.
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
        erase: Sequence[str],
        progress: RunProgress,
        stop: StopRequest,
    ) -> None:
        self.planned = planned
        self.notes: tuple[str, ...] = ()
        self.facts = facts
        self._journal = journal
        self._erase = erase
        self._progress = progress
        self._stop = stop
        self._is_ready = False
        self._was_written = False
        self._level: FileSystemLevel | None = None
        self._mounted: MountedFileSystem | None = None
        self._place: TargetFacts | None = None
        self._block = 0

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """Make everything that a step needs.

        Raises
        ------
        DrivelabError
            C201 to C209: the target may not be written to. R401 to R405: a scratch
            drive, a file system or a directory could not be made.
        StoppedError
            The user asked for the end meanwhile.
        """
        if not self._is_ready:
            self._make_ready()
        if self._place is None or (step.filesystem, step.block) != (self._level, self._block):
            self.clear()
            self._place = self._make_place(step)
            self._level, self._block = step.filesystem, step.block
        if self._place.kind == "block_device":
            return self._on_device(step, self._place)
        return self._in_file(step, self._place)

    def tidy(self, trial: PreparedTrial) -> None:
        """Remove the trial's file, and let the file system finish with it."""
        if trial.facts.kind != "missing_file":
            return
        path = Path(trial.workload.target.path)
        # a target that fails now is told of by the next step; what is left goes with the file system or directory
        with suppress(OSError):
            path.unlink(missing_ok=True)
            descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def clear(self) -> None:
        """Take away the file system that was made, if one was."""
        mounted, self._mounted, self._place = self._mounted, None, None
        if mounted is not None:
            for change in reversed(mounted.changes):
                undo(change, self._journal)

    def _make_ready(self) -> None:
        if self.facts.kind == "scratch":
            self._progress.preparing(f"filling {self.planned.text} with random data")
            scratch = make_scratch(self.facts.size_bytes, self._journal, self._filled)
            self.notes = scratch.notes
            self.facts = self._seen_from_loop(replace(resolve_target(scratch.path), text=self.facts.text))
        elif self.facts.kind == "directory":
            directory, _change = make_data_directory(Path(self.facts.path), self._journal)
            self.facts = replace(resolve_target(str(directory)), text=self.facts.text)
        elif self.facts.kind == "block_device":
            self.facts = self._seen_from_loop(self.facts)
        self._is_ready = True

    def _filled(self, filled_bytes: int, size_bytes: int) -> None:
        """Some more of a scratch drive is filled."""
        if self._stop.is_set():
            raise StoppedError
        self._progress.preparing_goes_on(filled_bytes / size_bytes)

    def _seen_from_loop(self, facts: TargetFacts) -> TargetFacts:
        """A loop device that is measured is the drive: commands are counted at it, not at the disk below its file."""
        layer = facts.devices[-1]
        return replace(facts, drives=tuple(read_drives([layer.name]))) if layer.kind == "loop" else facts

    def _make_place(self, step: PlannedStep) -> TargetFacts:
        """Where the step's I/O goes: the target itself, or a file system made on it."""
        level = step.filesystem
        if level is None or level.type == "raw":
            return self.facts
        self._require_consent()
        self._progress.preparing(f"making {level.name} on {self.planned.label}")
        self._mounted = make_and_mount(self.facts.path, level, self._journal)
        place = replace(resolve_target(str(self._mounted.mount_point)), text=self.facts.text)
        return replace(place, drives=self.facts.drives)

    def _require_consent(self) -> None:
        """Right before data are destroyed; from then on the contents are our own."""
        if self.planned.kind == "scratch":
            return
        if self._was_written:
            require_same_identity(self.facts)
            return
        require_erase_consent(self.facts, self._erase)
        self._was_written = True

    def _on_device(self, step: PlannedStep, place: TargetFacts) -> PreparedTrial:
        if step.pattern.writes:
            self._require_consent()
        size = step.pattern.file_size if place.kind == "file" else 0
        target = TargetRange(path=place.path, size_bytes=size, exclusive=step.pattern.writes)
        achieved = {"filesystem": "raw"} if step.filesystem is not None else {}
        return PreparedTrial(step.pattern.on(target, seed=step.seed), place, achieved)

    def _in_file(self, step: PlannedStep, place: TargetFacts) -> PreparedTrial:
        achieved = {"filesystem": self._mounted.text} if self._mounted else {}
        if place.kind == "file":
            target = TargetRange(path=place.path, size_bytes=step.pattern.file_size)
            return PreparedTrial(step.pattern.on(target, seed=step.seed), place, achieved)
        path = str(Path(place.path) / _DATA_FILE)
        target = TargetRange(path=path, size_bytes=step.pattern.file_size, create=True)
        facts = replace(place, kind="missing_file", path=path, exists=False, size_bytes=0)
        return PreparedTrial(step.pattern.on(target, seed=step.seed), facts, achieved)
