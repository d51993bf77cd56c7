"""What a target cannot have, told before anything is done: settings, trims, purges."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.model.plan import PlannedTarget
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.cells import Cell

KnownSettings = Mapping[str, SettingFacts]
_ON_A_FILE = "the target is no block device"


def action_facts(target: TargetFacts) -> dict[str, SettingFacts]:
    """What can be done to a target before a trial, in the form of settings.

    Parameters
    ----------
    target : TargetFacts
        As resolved; a scratch drive can be trimmed.
    """
    is_device = target.kind in ("block_device", "scratch")
    drive = target.drive
    can_discard = target.kind == "scratch" or (drive is not None and drive.discard.is_supported)
    trim = ["none"]
    if can_discard:
        trim += ["device", "fstrim"] if is_device else ["fstrim"]
    purge = ["none"]
    if drive is not None and is_device and target.devices[-1].kind == "disk":
        purge += {"nvme": ["nvme-format", "nvme-sanitize"], "sata": ["ata-secure-erase"]}.get(drive.transport, [])
    return {
        "trim": SettingFacts("trim", levels=tuple(trim)),
        "purge": SettingFacts("purge", levels=tuple(purge)),
        "page-cache": SettingFacts("page-cache", levels=("keep", "drop")),
    }


def refusals(cell: Cell, target: PlannedTarget, known: KnownSettings) -> list[str]:
    """Why a target cannot have a cell's settings and actions; empty when it can.

    Parameters
    ----------
    known : mapping of str to SettingFacts
        What is known about the target's settings and about what can be done to it.
    """
    found = []
    for name, level in (*cell.settings.items(), *cell.actions.items()):
        facts = known.get(name)
        reason = facts.refusal(level) if facts is not None else ""
        if reason:
            found.append(f"{name} {level} on {target.label}: {_why(name, level, reason, target)}")
    return found


def _why(name: str, level: str, reason: str, target: PlannedTarget) -> str:
    if name == "trim" and level == "device" and target.kind not in ("block_device", "scratch"):
        return _ON_A_FILE
    if name in ("trim", "purge"):
        return f"this target cannot be {'trimmed' if name == 'trim' else 'purged'} that way"
    return reason
