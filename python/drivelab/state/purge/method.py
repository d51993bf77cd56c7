"""What every way to purge a drive can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.state.journal import Journal

# called with the part that is done, 0 to 1, by ways that know it
PurgeProgress = Callable[[float], None]


class PurgeMethod(Protocol):
    """One way to purge; there is one file per way, and one object of it in `drivelab.state.purge.catalogue`."""

    name: str

    def reason(self, drive: DriveFacts, paths: SystemPaths) -> str:
        """Why the drive cannot be purged that way; empty when it can."""
        ...

    def purge(self, name: str, journal: Journal, progress: PurgeProgress, paths: SystemPaths) -> None:
        """Purge the drive of that kernel name, and return when it is done.

        Raises
        ------
        DrivelabError
            R402, R403: the tool is not installed, or failed. R406: the drive kept its password. R411: the drive says
            that it did not do it, or did not end in time.
        """
        ...
