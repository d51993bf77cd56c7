"""Advanced power management of an ATA drive: how readily it parks its heads and stops its motor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from drivelab.inventory import hdparm
from drivelab.inventory.block_devices import device_node
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import ask_drive
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SettingFacts
from drivelab.state.journal import Journal
from drivelab.state.programs import require_root, run_program
from drivelab.state.settings.drive_kind import kind_of_drive
from drivelab.state.settings.drive_reference import Reference, find_drive, reference_to, require_same_drive

_KIND = "apm"
_OFF = "off"
_RAW_OFF = "255"
_LEAST, _MOST = 1, 254


class Apm:
    """Levels are 1 (saves most) to 254 (fastest), and ``off``."""

    name = "apm"
    is_of_host = False

    def __init__(self, paths: SystemPaths = SYSTEM) -> None:
        self._paths = paths
        self.undo: dict[str, Callable[..., str]] = {_KIND: partial(undo_apm, paths=paths)}

    def read(self, drive: DriveFacts) -> SettingFacts:
        """The level as the drive says; no other layer knows of it."""
        if drive.transport != "sata":
            reason = f"{kind_of_drive(drive)} has no ATA power management"
            return SettingFacts(self.name, reason=reason)
        value, reason = _ask(drive.name, self._paths)
        if value is None:
            return SettingFacts(self.name, reason=reason)
        views = {"hdparm": value}
        return SettingFacts(self.name, value, views, levels=(_OFF,), minimum=_LEAST, maximum=_MOST)

    def set(self, drive: DriveFacts, level: str, journal: Journal) -> str:
        """Bring the drive to a level; the level as read back."""
        require_root(f"setting {self.name}")
        require_same_drive(drive, self._paths)
        found = self.read(drive)
        if found.value == level:
            return level
        refusal = found.refusal(level)
        if refusal:
            raise DrivelabError("R404", f"{self.name} cannot be {level}: {refusal}", where=drive.path)
        reference = reference_to(drive.name, self._paths)
        journal.will_change(_KIND, drive=reference, old=found.value, new=level)
        _tell(drive.name, level, self._paths, journal)
        achieved = self.read(drive).value
        if achieved != level:
            raise DrivelabError("R404", f"{self.name} was set to {level} and is {achieved}", where=drive.path)
        return level


def undo_apm(drive: Reference, old: str, new: str, *, paths: SystemPaths = SYSTEM) -> str:
    """Put the level back; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R402, R403: hdparm is not installed, or failed. R404: the drive has
        another level then. R406: the drive is not connected, or does not answer.
    """
    name = find_drive(drive, paths)
    if name is None:
        return ""
    node = device_node(name, paths)
    present, reason = _ask(name, paths)
    if present is None:
        do = "see to that, then run: drivelab restore"
        raise DrivelabError("R406", f"apm may still be {new}: {reason}", where=str(node), do=do)
    if present != new:
        return ""
    _tell(name, old, paths)
    now, _ = _ask(name, paths)
    if now != old:
        raise DrivelabError("R404", f"apm was set back to {old} and is {now}", where=str(node))
    return f"set apm of {node} back to {old}"


def _ask(name: str, paths: SystemPaths) -> tuple[str | None, str]:
    """The level, and why there is none."""
    node = device_node(name, paths)
    answer = ask_drive(hdparm.apm_command(node), node)
    if answer.reason:
        return None, answer.reason
    value = hdparm.parse_apm(answer.text)
    return value, "" if value is not None else "the drive has no advanced power management"


def _tell(name: str, level: str, paths: SystemPaths, journal: Journal | None = None) -> None:
    raw = _RAW_OFF if level == _OFF else level
    if not (raw.isascii() and raw.isdecimal()):
        # hdparm would read on in the same word: -B254Y puts the drive to sleep
        raise DrivelabError("R404", f"'{level}' is no level of power management", where=str(device_node(name, paths)))
    run_program(hdparm.apm_command(device_node(name, paths), raw), journal)
