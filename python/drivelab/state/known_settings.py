"""What is known, before a plan is made, about everything of a target that an experiment varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from drivelab.model.drive import DriveFacts
from drivelab.model.factor import FileSystemType
from drivelab.model.setting import SETTING_NAMES, SettingFacts
from drivelab.model.simulated import SimulatedModel
from drivelab.model.target import TargetFacts
from drivelab.state.filesystem import missing_filesystems
from drivelab.state.purge.catalogue import ANY_PURGE, PURGES, purge_reason
from drivelab.state.settings.catalogue import SETTINGS, read_settings


def known_settings(target: TargetFacts, varied: Sequence[str]) -> dict[str, SettingFacts]:
    """The settings among the factors of an experiment, whether the drive can be purged, what file systems can be made.

    Parameters
    ----------
    target : TargetFacts
        As resolved; of a scratch drive that is not made yet another loop device tells.
    varied : sequence of str
        Names of the factors that the experiment varies.
    """
    names = [name for name in varied if name in SETTING_NAMES]
    if target.simulated is not None:
        return _of_simulated(target.simulated, names, varied)
    found = _settings(target, names)
    if "purge" in varied and target.drive is not None:
        found["purge"] = _purge(target.drive)
    if "filesystem" in varied:
        found["filesystem"] = SettingFacts("filesystem", views=missing_filesystems())
    return found


def _of_simulated(model: SimulatedModel, names: Sequence[str], varied: Sequence[str]) -> dict[str, SettingFacts]:
    """A simulated drive has nothing that could be set: what it can do is in its model."""
    reason = "a simulated drive has no settings: what it does is in its model"
    found = {name: SettingFacts(name, reason=reason) for name in names}
    if "write-cache" in found:
        is_on = model.cache.volatile and model.cache.size > 0
        found["write-cache"] = SettingFacts("write-cache", "on" if is_on else "off", reason=reason)
    if "purge" in varied:
        found["purge"] = SettingFacts("purge", "none", levels=("none", *PURGES, ANY_PURGE))
    if "filesystem" in varied:
        types = get_args(FileSystemType)
        views = {name: "a simulated drive holds no file system" for name in types if name != "raw"}
        found["filesystem"] = SettingFacts("filesystem", views=views)
    return found


def _settings(target: TargetFacts, names: Sequence[str]) -> dict[str, SettingFacts]:
    if target.kind == "scratch" or target.drive is not None:
        return read_settings(target.drive, names)
    count = len(target.raid.members) if target.raid is not None else len(target.drives)
    reason = f"{count or 'no'} drives lie beneath"
    if target.raid is not None:
        reason = f"a RAID set has no settings of a drive, and {reason}"
    of_host = [name for name in names if SETTINGS[name].is_of_host]
    return {name: SettingFacts(name, reason=reason) for name in names} | read_settings(None, of_host)


def _purge(drive: DriveFacts) -> SettingFacts:
    reasons = {method: purge_reason(drive, method) for method in PURGES}
    possible = [method for method, reason in reasons.items() if not reason]
    return SettingFacts("purge", "none", reasons, levels=("none", *possible, *((ANY_PURGE,) if possible else ())))
