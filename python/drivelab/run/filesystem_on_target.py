"""The file system on a target while a run goes on: made when another one is needed, mounted when other options are."""

from __future__ import annotations

from drivelab.model.factor import FileSystemLevel
from drivelab.state.filesystem import MountedFileSystem, make_filesystem, mount_filesystem
from drivelab.state.journal import Change, Journal
from drivelab.state.undo import undo


class FileSystemOnTarget:
    """At most one file system, made and mounted by this run.

    Attributes
    ----------
    mounted : MountedFileSystem or None
        As read back from the kernel.
    """

    def __init__(self, journal: Journal) -> None:
        self.mounted: MountedFileSystem | None = None
        self._journal = journal
        self._made: Change | None = None
        self._level: FileSystemLevel | None = None

    def can_stay(self, level: FileSystemLevel | None) -> bool:
        """Whether what is there need not be made afresh for a level, but mounted at most."""
        if level is None or level.type == "raw" or self._level is None:
            return self._level is None
        return (self._level.type, self._level.mkfs_options) == (level.type, level.mkfs_options)

    def is_mounted_as(self, level: FileSystemLevel) -> bool:
        """Whether it is there with all options of a level, so that nothing needs to be done."""
        return self.mounted is not None and self._level == level

    def bring(self, device: str, level: FileSystemLevel) -> MountedFileSystem:
        """Have a file system of that level on a device, mounted with its options.

        Raises
        ------
        DrivelabError
            R402, R403: a program is not installed, or failed. R404: the kernel mounted something else.
        """
        if self._made is None:
            self._made = make_filesystem(device, level, self._journal)
            self._level = level
        if not self.is_mounted_as(level):
            self.unmount()
        if self.mounted is None:
            self.mounted = mount_filesystem(device, level, self._journal)
            self._level = level
        return self.mounted

    def unmount(self) -> None:
        """Unmount, and leave the file system on the target.

        Raises
        ------
        DrivelabError
            R406: something still uses it.
        """
        if self.mounted is not None:
            undo(self.mounted.change, self._journal)
            self.mounted = None

    def take_away(self) -> None:
        """Unmount, and wipe the signatures of the file system.

        Raises
        ------
        DrivelabError
            R406: something still uses it.
        """
        self.unmount()
        made, self._made, self._level = self._made, None, None
        if made is not None:
            undo(made, self._journal)
