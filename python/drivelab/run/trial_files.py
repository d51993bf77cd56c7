"""The files of a directory that trials use: one for all, one for each of those at the same time, or by name."""

from __future__ import annotations

from pathlib import Path

from drivelab.held_directory import HeldDirectory
from drivelab.model.plan import PlannedStep
from drivelab.model.workload import TargetRange
from drivelab.run.engine import StopRequest
from drivelab.run.progress import RunProgress
from drivelab.run.trial_file import TRIAL_FILE_NAME, TrialFile
from drivelab.run.user_files import UserFiles


class TrialFiles:
    """Files in a directory that is drivelab's own.

    A trial that runs alone uses one file, which is removed after it if it was
    written to. Each of several at the same time has a file of its own, removed
    after them. A file that the plan names stays until the next repeat: what
    one step wrote, the next one finds.

    Parameters
    ----------
    stop : StopRequest
        Ends that once it is set.
    users : UserFiles, optional
        Those that steps keep.
    """

    def __init__(
        self, directory: HeldDirectory, progress: RunProgress, stop: StopRequest, users: UserFiles | None = None
    ) -> None:
        self._users = users
        self._directory = directory
        self._progress = progress
        self._stop = stop
        self._files: dict[str, TrialFile] = {}
        self._named: set[str] = set()

    def path(self, step: PlannedStep, place: int) -> Path:
        """The file of a step.

        Parameters
        ----------
        step : PlannedStep
            The step.
        place : int
            Which of those it is that run at the same time on this target, from 0.
        """
        return self._directory.path / self._name(step, place)

    def make_ready(self, step: PlannedStep, place: int, target: TargetRange) -> TargetRange:
        """The target of a step, held open, with its file in the state that the step begins with.

        Raises
        ------
        DrivelabError
            E301 to E315: it cannot be written. C204, C220: it was there before, and may not be.
        StoppedError
            The user asked for the end meanwhile.
        """
        name = self._name(step, place)
        users = self._users if step.keeps_file else None
        file = self._files.setdefault(name, TrialFile(self._directory, self._progress, self._stop, name, users))
        if step.file_name:
            self._named.add(name)
            return file.make_present(step, target)
        return file.make_ready(step, target)

    def tidy(self, path: str, *, was_written: bool) -> None:
        """Remove a file after its trial, if it does not stay."""
        name = Path(path).name
        if name in self._named or name not in self._files:
            return
        self._files[name].tidy(was_written=was_written or name != TRIAL_FILE_NAME)

    def forget_named(self) -> None:
        """Remove the files that the plan names: another repeat begins."""
        for name in self._named:
            self._files.pop(name).remove()
        self._named.clear()

    def leave(self) -> tuple[str, ...]:
        """Leave those that steps keep where their user named them; what could not be left there, in words."""
        left = tuple(why for file in self._files.values() for why in file.leave())
        if self._users is not None:
            self._users.close()
        return left

    def remove(self) -> None:
        """Remove all of them: nothing follows."""
        for file in self._files.values():
            file.remove()
        self._files.clear()
        self._named.clear()

    def close(self) -> None:
        """Let go of all of them, which go with their file system: it could not be unmounted otherwise."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._named.clear()

    @staticmethod
    def _name(step: PlannedStep, place: int) -> str:
        if step.file_name:
            return step.file_names[0]
        return TRIAL_FILE_NAME if not place else f"trial-{place + 1}.data"
