"""The file that the trials of a file system or directory use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from drivelab.model.plan import PlannedStep
from drivelab.model.units import format_bytes
from drivelab.model.workload import TargetRange
from drivelab.run.engine import StopRequest, prepare_target
from drivelab.run.page_cache import drop_from_page_cache
from drivelab.run.prepared_trial import StoppedError
from drivelab.run.progress import RunProgress

TRIAL_FILE_NAME = "trial.data"


class TrialFile:
    """One file in a directory, made for a trial and removed after it; one that is only read stays for the next.

    Parameters
    ----------
    directory : str
        A directory that is drivelab's own.
    progress : RunProgress
        Told when a file is being written.
    stop : StopRequest
        Ends that once it is set.
    name : str
        What it is called.
    """

    def __init__(self, directory: str, progress: RunProgress, stop: StopRequest, name: str = TRIAL_FILE_NAME) -> None:
        self.path = Path(directory) / name
        self._progress = progress
        self._stop = stop
        self._holds: object = None

    def make_ready(self, step: PlannedStep, target: TargetRange) -> None:
        """Have the file in the state that a step begins with; what writes brings it into its state itself.

        Raises
        ------
        DrivelabError
            E301 to E315: it cannot be written.
        StoppedError
            The user asked for the end meanwhile.
        """
        pattern = step.pattern
        wanted = (target.size_bytes, pattern.contents)
        if pattern.writes or wanted != self._holds:
            self.remove()
        if pattern.writes:
            return
        if self._holds == wanted:
            # as cold as when it had just been written
            drop_from_page_cache(str(self.path))
            return
        self._write(step, target)
        self._holds = wanted

    def make_present(self, step: PlannedStep, target: TargetRange) -> None:
        """Have a file of that size which a step can use, as large as it is or as it was left by another step.

        Raises
        ------
        DrivelabError
            E301 to E315: it cannot be written.
        StoppedError
            The user asked for the end meanwhile.
        """
        needed = step.pattern.offset + target.size_bytes
        is_there = self.path.exists() and self.path.stat().st_size >= needed
        # what is written first is brought into its state by the engine
        if not is_there and not step.pattern.writes:
            self._write(step, target)

    def _write(self, step: PlannedStep, target: TargetRange) -> None:
        pattern = step.pattern
        self._progress.preparing(f"writing {format_bytes(target.size_bytes)} that are going to be read")
        writing = pattern.changed(operation="write", operations=(), read_fraction=None, direct=False, durability="none")
        prepare_target(writing.on(target, seed=step.seed), stop=self._stop)
        if self._stop.is_set():
            raise StoppedError

    def tidy(self, *, was_written: bool) -> None:
        """Remove the file after a trial that wrote to it."""
        if was_written:
            self.remove()

    def remove(self) -> None:
        """Remove the file, and let the file system finish with it."""
        self._holds = None
        # a target that fails now is told of by the next step; what is left goes with the file system or directory
        with suppress(OSError):
            self.path.unlink()
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
