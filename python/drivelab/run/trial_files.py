"""The files of a directory that trials use: one for all, one for each of those at the same time, or by name."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from drivelab.held_directory import HeldDirectory, HeldFile
from drivelab.model.errors import DrivelabError
from drivelab.model.job_files import name_of_file
from drivelab.model.plan import PlannedStep
from drivelab.model.units import format_bytes
from drivelab.model.workload import TargetRange
from drivelab.run.engine import StopRequest, prepare_target
from drivelab.run.page_cache import drop_from_page_cache
from drivelab.run.prepared_trial import StoppedError
from drivelab.run.progress import RunProgress
from drivelab.run.user_files import UserFiles
from drivelab.state.made_file import FileInPlace

TRIAL_FILE_NAME = "trial.data"


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


class TrialFile:
    """One file in a directory, made for a trial and removed after it; one that is only read stays for the next.

    A trial whose jobs have several files, or their own, has all of them, which are made and removed together.

    Parameters
    ----------
    directory : HeldDirectory
        A directory that is drivelab's own.
    stop : StopRequest
        Ends that once it is set.
    name : str
        What it is called.
    users : UserFiles, optional
        Of a file that a user named: it may be there already, and stays when the run has ended.
    """

    def __init__(
        self,
        directory: HeldDirectory,
        progress: RunProgress,
        stop: StopRequest,
        name: str = TRIAL_FILE_NAME,
        users: UserFiles | None = None,
    ) -> None:
        self._directory = directory
        self._name = name
        self._users = users
        self._files: list[HeldFile | FileInPlace] = []
        self._progress = progress
        self._stop = stop
        self._holds: object = None

    def make_ready(self, step: PlannedStep, target: TargetRange) -> TargetRange:
        """Have the file in the state that a step begins with; what writes brings it into its state itself.

        Returns
        -------
        TargetRange
            The target, held open: the engine uses this very file.

        Raises
        ------
        DrivelabError
            E301 to E315: it cannot be written.
        StoppedError
            The user asked for the end meanwhile.
        """
        pattern = step.pattern
        wanted = (target.size_bytes, pattern.contents, pattern.own_file_count)
        if pattern.writes or wanted != self._holds:
            self.remove()
        target = self._held(target, step)
        if pattern.writes:
            return target
        if self._holds == wanted:
            # as cold as when it had just been written
            for opened in target.all_opened_by:
                drop_from_page_cache(opened)
            return target
        self._write(step, target)
        self._holds = wanted
        return target

    def make_present(self, step: PlannedStep, target: TargetRange) -> TargetRange:
        """Have a file of that size which a step can use, as large as it is or as it was left by another step.

        Raises
        ------
        DrivelabError
            E301 to E315: it cannot be written. C204, C220: it was there before, and may not be.
        StoppedError
            The user asked for the end meanwhile.
        """
        needed = step.pattern.offset + target.size_bytes
        target = self._held(target, step)
        is_there = all(os.stat(opened).st_size >= needed for opened in target.all_opened_by)
        # what is written first is brought into its state by the engine
        if not is_there and not step.pattern.writes:
            self._write(step, target)
        return target

    def _held(self, target: TargetRange, step: PlannedStep) -> TargetRange:
        """The target with its files, which are made unless they are there: opened once, and never again by name."""
        pattern = step.pattern
        count, name_format = pattern.own_file_count, step.file_name or self._name
        while len(self._files) < count:
            name = name_of_file(name_format, len(self._files), pattern.job_files.count)
            self._files.append(self._opened(name, pattern.offset + target.size_bytes))
        files = self._files[:count]
        for file in files:
            if pattern.writes and self._users is not None:
                self._users.give_up(file)
        first, *others = (file.target for file in files)
        return target.model_copy(update={"path": str(files[0].path), "held": first, "others": tuple(others)})

    def _opened(self, name: str, needed_bytes: int) -> HeldFile | FileInPlace:
        try:
            return self._users.open(name, needed_bytes) if self._users else HeldFile(self._directory, name)
        except OSError as error:
            where = str(self._directory.path / name)
            raise DrivelabError("E314", f"cannot make the file: {error.strerror}", where=where) from error

    def _write(self, step: PlannedStep, target: TargetRange) -> None:
        pattern = step.pattern
        self._progress.doing(f"writing {format_bytes(target.size_bytes)} to be read")
        writing = pattern.changed(operation="write", operations=(), read_fraction=None, direct=False, durability="none")
        prepare_target(writing.on(target, seed=step.seed), stop=self._stop)
        if self._stop.is_set():
            raise StoppedError

    def tidy(self, *, was_written: bool) -> None:
        """Remove the file after a trial that wrote to it."""
        if was_written:
            self.remove()

    def leave(self) -> tuple[str, ...]:
        """Leave the file where its user named it; why what was made could not be left there, in words."""
        if self._users is None:
            return ()
        files, self._files = self._files, []
        return tuple(filter(None, map(self._users.leave, files)))

    def remove(self) -> None:
        """Remove the file, unless it was there before, and let the file system finish with it."""
        self._holds = None
        # a target that fails now is reported by the next step; what is left goes with the file system or directory
        files, self._files = self._files, []
        for file in files:
            with suppress(OSError):
                file.remove()
        with suppress(OSError):
            if files:
                self._directory.sync()

    def close(self) -> None:
        """Let go of the file, which goes with its file system."""
        for file in self._files:
            file.close()
