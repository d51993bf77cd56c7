"""The frequency governor of the processors: how fast they run while drivelab waits for a drive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from drivelab.inventory.sysfs import entries, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SettingFacts
from drivelab.state.journal import Journal
from drivelab.state.programs import require_root
from drivelab.state.settings.drive_reference import boot_identifier
from drivelab.state.settings.kernel_attribute import write_kernel_file

_KIND = "governor"


class Governor:
    """One level for all processors; each group of them is put back to what it had."""

    name = "governor"
    is_of_host = True

    def __init__(self, paths: SystemPaths = SYSTEM) -> None:
        self._paths = paths
        self.undo: dict[str, Callable[..., str]] = {_KIND: partial(undo_governor, paths=paths)}

    def read(self, drive: DriveFacts | None = None) -> SettingFacts:
        """The governor of every group of processors; the value names all that are in use."""
        groups = _groups(self._paths)
        views = {group: _governor(group, self._paths) or "unknown" for group in groups}
        if not views:
            reason = "the kernel does not control the frequency of the processors here"
            return SettingFacts(self.name, reason=reason)
        offered = [set(_offered(group, self._paths)) for group in groups]
        levels = tuple(level for level in _offered(groups[0], self._paths) if all(level in some for some in offered))
        return SettingFacts(self.name, ", ".join(sorted(set(views.values()))), views, levels)

    def set(self, drive: DriveFacts | None, level: str, journal: Journal) -> str:
        """Bring all processors to one governor; the governor as read back."""
        require_root(f"setting {self.name}")
        found = self.read()
        refusal = "" if found.value == level else found.refusal(level)
        if refusal:
            raise DrivelabError("R404", f"{self.name} cannot be {level}: {refusal}", where="cpufreq")
        for group, old in found.views.items():
            if old != level:
                boot = boot_identifier(self._paths)
                journal.will_change(_KIND, group=group, old=old, new=level, boot=boot)
                _write(group, level, self._paths)
        achieved = self.read().value
        if achieved != level:
            raise DrivelabError("R404", f"{self.name} was set to {level} and is {achieved}", where="cpufreq")
        return level


def undo_governor(group: str, old: str, new: str, boot: str, *, paths: SystemPaths = SYSTEM) -> str:
    """Put the governor of a group of processors back; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R404: the kernel refuses.
    """
    if boot != boot_identifier(paths) or _governor(group, paths) != new:
        return ""
    _write(group, old, paths)
    return f"set the governor of {group} back to {old}"


def _directory(paths: SystemPaths) -> Path:
    return paths.sys / "devices" / "system" / "cpu" / "cpufreq"


def _groups(paths: SystemPaths) -> list[str]:
    found = [entry for entry in entries(_directory(paths)) if entry.startswith("policy")]
    return sorted(found, key=lambda entry: int(entry.removeprefix("policy")))


def _governor(group: str, paths: SystemPaths) -> str | None:
    return read_text(_directory(paths) / group / "scaling_governor")


def _offered(group: str, paths: SystemPaths) -> list[str]:
    return (read_text(_directory(paths) / group / "scaling_available_governors") or "").split()


def _write(group: str, governor: str, paths: SystemPaths) -> None:
    path = _directory(paths) / group / "scaling_governor"
    write_kernel_file(path, governor, f"the governor of {group} does not become {governor}", group)
