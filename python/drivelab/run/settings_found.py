"""How settings were found before a run changed the first of them, and whether they are like that again."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.state.settings.catalogue import SETTINGS
from drivelab.state.settings.drive_reference import require_same_drive

AS_THEY_WERE = "every setting was read again, and is as it was found"
# one of them may change the others
_OF_A_QUEUE = ("scheduler", "nr-requests", "read-ahead", "max-sectors", "write-back-throttling")
# a scratch drive begins with one of its own, which goes with it
_OF_THE_MADE = "kernel-write-cache"


class SettingsFound:
    """Values of settings by drive, as they were when each was first about to be changed."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], tuple[DriveFacts | None, str]] = {}

    def remember(self, name: str, drive: DriveFacts | None, target: TargetFacts) -> None:
        """Read a setting that is about to be changed, and those that it may change along with it; only once each."""
        for one in dict.fromkeys((name, *(_OF_A_QUEUE if drive is not None else ()))):
            key = (drive.name if drive is not None else "", one)
            if key in self._values or (one == _OF_THE_MADE and target.text.startswith("scratch:")):
                continue
            value = SETTINGS[one].read(drive).value
            if value is not None:
                self._values[key] = (drive, value)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever about to be changed."""
        return not self._values

    def differences(self) -> list[str]:
        """What is not as it was found, in words; a drive that is gone took its settings along."""
        return list(self._differences())

    def _differences(self) -> Iterator[str]:
        for (_, name), (drive, before) in self._values.items():
            try:
                if drive is not None and drive.transport != "loop":
                    require_same_drive(drive)
                now = SETTINGS[name].read(drive).value
            except (DrivelabError, OSError):
                continue
            if now is not None and now != before:
                yield f"{name}{f' of {drive.path}' if drive is not None else ''} was {before}, and is {now}"
