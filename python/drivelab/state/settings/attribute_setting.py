"""What settings have in common that are one attribute of the kernel's about a drive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SettingFacts
from drivelab.state.journal import Journal
from drivelab.state.programs import require_root
from drivelab.state.settings.attribute import KIND, set_attribute, undo_attribute
from drivelab.state.settings.drive_kind import kind_of_drive
from drivelab.state.settings.drive_reference import require_same_drive
from drivelab.state.settings.kernel_attribute import has_attribute, is_settable, read_attribute


class AttributeSetting:
    """A setting that is one attribute of the kernel's; a subclass says which, and what its levels are."""

    name: str
    attribute: str
    # follows the kind of drive: "a loop device has ..."
    absent = "has no such attribute in the kernel"
    is_of_host = False

    def __init__(self, paths: SystemPaths = SYSTEM) -> None:
        self._paths = paths
        self.undo: dict[str, Callable[..., str]] = {KIND: partial(undo_attribute, paths=paths)}

    def level_of(self, raw: str) -> str:
        """The level that the kernel's text stands for."""
        return raw

    def raw_of(self, level: str) -> str:
        """What the kernel wants to be written for a level."""
        return level

    def levels(self, drive: DriveFacts) -> tuple[str, ...]:
        """Levels that have names."""
        return ()

    def bounds(self, drive: DriveFacts) -> tuple[int | None, int | None]:
        """Least and most that a number can be."""
        return None, None

    def reason(self, drive: DriveFacts) -> str:
        """Why it cannot be set here; empty when it can."""
        if not has_attribute(drive.name, self.attribute, self._paths):
            return f"{kind_of_drive(drive)} {self.absent}"
        if not is_settable(drive.name, self.attribute, self._paths):
            return "its driver lets nobody change it"
        return ""

    def read(self, drive: DriveFacts) -> SettingFacts:
        """The setting as the kernel has it, and what it can be."""
        raw = read_attribute(drive.name, self.attribute, self._paths)
        reason = self.reason(drive)
        least, most = (None, None) if reason else self.bounds(drive)
        return SettingFacts(
            name=self.name,
            value=None if raw is None else self.level_of(raw),
            views={} if raw is None else {self.attribute: raw} | self.further_views(drive),
            levels=() if reason else self.levels(drive),
            minimum=least,
            maximum=most,
            reason=reason,
        )

    def further_views(self, drive: DriveFacts) -> dict[str, str]:
        """What other layers say, by layer."""
        return {}

    def set(self, drive: DriveFacts, level: str, journal: Journal) -> str:
        """Bring the attribute to a level; the level as read back."""
        require_root(f"setting {self.name}")
        require_same_drive(drive, self._paths)
        found = self.read(drive)
        if found.value == level:
            return level
        refusal = found.refusal(level)
        if refusal:
            raise DrivelabError("R404", f"{self.name} cannot be {level}: {refusal}", where=drive.path)
        set_attribute(drive.name, self.attribute, self.raw_of(level), journal, self._paths)
        achieved = self.read(drive).value
        if achieved != level:
            raise DrivelabError("R404", f"{self.name} was set to {level} and is {achieved}", where=drive.path)
        return level

    def _number(self, drive: DriveFacts, attribute: str) -> int | None:
        """The number that another attribute of the drive holds; None when it holds none."""
        raw = read_attribute(drive.name, attribute, self._paths)
        return int(raw) if raw and raw.isdecimal() else None

    def _has_queue(self, drive: DriveFacts) -> bool:
        return (directory_of(drive.name, self._paths) / "mq").is_dir()
