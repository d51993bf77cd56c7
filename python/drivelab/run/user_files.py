"""Files of a directory that jobs name: used where they are, or made aside and left there when the run ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from drivelab.held_directory import HeldDirectory, HeldFile
from drivelab.inventory.consent import Consent
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.state.made_file import FileInPlace, mark_as_made, require_overwritable


class UserFiles:
    """The files that jobs name, of one directory of the user's.

    A file that is there and large enough is used in place. One that is not is
    made in drivelab's own directory, where a killed run leaves nothing else,
    and is moved to its place when the run ends.

    Parameters
    ----------
    made_in : HeldDirectory
        A directory of drivelab's own in the one that the jobs name.
    consent : Consent
        Says whether files of the user's may be overwritten.
    """

    def __init__(self, made_in: HeldDirectory, consent: Consent) -> None:
        self._place = HeldDirectory.open(made_in.path.parent)
        self._made_in = made_in
        self._may_overwrite = consent.overwrite_files
        self._too_small: dict[str, FileInPlace] = {}

    def open(self, name: str, needed_bytes: int) -> HeldFile | FileInPlace:
        """The file of that name, or a new one that is going to have it.

        Raises
        ------
        DrivelabError
            C204, C220: it is too small, and may not be replaced.
        OSError
            It cannot be opened, or made.
        """
        found = _present(self._place, name)
        if found is not None and found.size_bytes >= needed_bytes:
            return found
        if found is not None:
            self.give_up(found)
            if self._has_room(needed_bytes):
                self._too_small[name] = found
            else:
                # as fio does it: what it takes is needed for what comes in its place
                self._place.remove(name, found.descriptor)
                found.close()
        return HeldFile(self._made_in, name)

    def give_up(self, file: HeldFile | FileInPlace) -> None:
        """Return only if the file may be written to; drivelab's own errors as in `FileInPlace.require_given_up`."""
        if isinstance(file, FileInPlace):
            file.require_given_up(may_overwrite=self._may_overwrite)

    def leave(self, file: HeldFile | FileInPlace) -> str:
        """Let go of a file, and give one that was made its place, durably; why it could not be, in words, or nothing.

        One that nothing was written to, as there was no room, takes nobody's place.
        """
        if isinstance(file, FileInPlace):
            file.close()
            return ""
        name = file.path.name
        if not os.fstat(file.descriptor).st_size:
            file.remove()
            return ""
        try:
            self._make_way(name)
            self._made_in.rename(name, name, into=self._place)
            mark_as_made(file.descriptor)
            self._place.sync()
        except OSError as error:
            return f"{self._place.path / name} is not left behind: {error.strerror}"
        finally:
            file.close()
        return ""

    def close(self) -> None:
        """Let go of everything; what was too small and was not replaced stays."""
        for file in self._too_small.values():
            file.close()
        self._too_small.clear()
        self._place.close()

    def _has_room(self, needed_bytes: int) -> bool:
        room = os.fstatvfs(self._place.descriptor)
        return room.f_bavail * room.f_frsize >= needed_bytes

    def _make_way(self, name: str) -> None:
        """Have something at the name that is given up: the file that was too small, or an empty one of our own."""
        before = self._too_small.get(name)
        if before is None:
            os.close(self._place.new_file(name))
        elif not self._place.leads_to(name, before.descriptor):
            raise OSError(errno.EEXIST, "another program has put a file in its place meanwhile")


def require_files_given_up(
    steps: Iterable[PlannedStep], targets: Mapping[str, TargetFacts], *, may_overwrite: bool
) -> None:
    """Return only if all files that are there, and that steps write to or need larger, may be overwritten.

    Raises
    ------
    DrivelabError
        C204: one is the file of a loop device. C220: one is somebody's, who has not said so.
        E314: one cannot be opened.
    """
    for step in steps:
        facts = targets[step.target]
        if not step.keeps_file or facts.kind != "directory":
            continue
        with HeldDirectory.open(Path(facts.path)) as directory:
            for name in step.file_names:
                try:
                    found = _present(directory, name)
                except OSError as error:
                    where = str(directory.path / name)
                    raise DrivelabError("E314", f"cannot be opened: {error.strerror}", where=where) from error
                if found is None:
                    continue
                with closing(found):
                    if step.pattern.writes or found.size_bytes < step.pattern.file_size:
                        require_overwritable(found.path, found.descriptor, may_overwrite_file=may_overwrite)


def _present(directory: HeldDirectory, name: str) -> FileInPlace | None:
    try:
        return FileInPlace(directory, name)
    except FileNotFoundError:
        return None
