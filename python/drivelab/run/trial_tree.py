"""The tree of files that the trials of a file system or directory use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from drivelab.held_directory import HeldDirectory, held_target
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted
from drivelab.model.units import format_bytes
from drivelab.model.workload import Workload
from drivelab.run.engine import StopRequest, prepare_target, remove_tree
from drivelab.run.prepared_trial import StoppedError
from drivelab.run.progress import RunProgress

TRIAL_TREE_NAME = "trial-tree"


class TrialTrees:
    """Trees in a directory that is drivelab's own: one, and one for each of the trials that run at the same time.

    A tree stays after its trial. The engine knows how the last trial left it:
    what the next one needs is made of it, and nothing is made that is there already.

    Parameters
    ----------
    stop : StopRequest
        Ends that once it is set.
    """

    def __init__(self, directory: HeldDirectory, progress: RunProgress, stop: StopRequest) -> None:
        self._directory = directory
        self._progress = progress
        self._stop = stop
        self._made: dict[str, HeldDirectory] = {}

    def path(self, place: int) -> Path:
        """The directory of a tree.

        Parameters
        ----------
        place : int
            Which of those it is that run at the same time on this target, from 0.
        """
        return self._directory.path / (TRIAL_TREE_NAME if not place else f"{TRIAL_TREE_NAME}-{place + 1}")

    def make_ready(self, workload: Workload) -> Workload:
        """The workload on its tree, held open and in the state that it begins with.

        Raises
        ------
        DrivelabError
            E301 to E318: it cannot be made.
        StoppedError
            The user asked for the end meanwhile.
        """
        assert workload.tree is not None, "only a workload on a tree has one"
        path = Path(workload.target.path)
        size = (workload.tree.file_bytes_min + workload.tree.file_bytes_max) / 2
        self._progress.doing(f"making {counted(workload.tree.file_count, 'file')} of {format_bytes(round(size))}")
        try:
            if path.name not in self._made:
                with suppress(FileExistsError):
                    self._directory.make(path.name, 0o700)
                self._made[path.name] = self._directory.below(path.name)
        except OSError as error:
            raise DrivelabError("E314", f"cannot make the directory: {error.strerror}", where=str(path)) from None
        workload = workload.held_by(held_target(self._made[path.name].descriptor))
        prepare_target(workload, stop=self._stop)
        if self._stop.is_set():
            raise StoppedError
        return workload

    def remove(self) -> None:
        """Remove all trees: something else follows."""
        for name, tree in self._made.items():
            # a target that fails now is reported by the next step; what is left goes with the file system or directory
            with suppress(DrivelabError, OSError):
                remove_tree(str(tree.reopened))
                os.rmdir(name, dir_fd=self._directory.descriptor)
        self.close()

    def close(self) -> None:
        """Let go of all trees, which go with their file system: it could not be unmounted otherwise."""
        for tree in self._made.values():
            tree.close()
        self._made.clear()
