"""What a target cannot have, told before anything is done: settings, trims, purges, file systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from drivelab.model.factor import ACTION_LEVELS
from drivelab.model.plan import PlannedTarget
from drivelab.model.setting import AS_FOUND, SettingFacts
from drivelab.model.target import DEVICE_KINDS, TargetFacts
from drivelab.plan.cells import Cell

KnownSettings = Mapping[str, SettingFacts]
_DISCARDING = ("raid0", "raid1", "raid10")
_ON_A_FILE = "the target is no block device"
# of one factor, of several
_LEFT = ("; it stays as it was found", "; they stay as they were found")
_NO_FILE_SYSTEM = "no file system is made on it"
# the level of an action that is not done
_NOT_DONE = {"trim": "none", "purge": "none", "precondition": "none", "page-cache": "keep"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A level that a target cannot have.

    Attributes
    ----------
    factor, level : str
        The setting or action, and its level.
    stays : bool
        Whether the others are measured all the same, and this one is left as it was found.
    """

    factor: str
    level: str
    target: str
    reason: str
    stays: bool = False


def in_words(refusals: Iterable[Refusal]) -> tuple[str, ...]:
    """One sentence for all levels of all factors that the same targets refuse for one reason."""
    levels: dict[tuple[str, str, str, bool], dict[str, None]] = {}
    for one in refusals:
        levels.setdefault((one.factor, one.target, one.reason, one.stays), {})[one.level] = None
    targets: dict[tuple[str, str, bool], list[str]] = {}
    for (factor, target, reason, stays), found in levels.items():
        targets.setdefault((f"{factor} {', '.join(found)}", reason, stays), []).append(target)
    factors: dict[tuple[str, str, bool], list[str]] = {}
    for (factor, reason, stays), of in targets.items():
        factors.setdefault((" and ".join(of), reason, stays), []).append(factor)
    return tuple(
        f"{' and '.join(named)} for {of}: {reason}{_LEFT[len(named) > 1] if stays else ''}"
        for (of, reason, stays), named in factors.items()
    )


def action_facts(target: TargetFacts) -> dict[str, SettingFacts]:
    """What can be done to a target before a trial, in the form of settings; whoever knows the drive knows more.

    Parameters
    ----------
    target : TargetFacts
        As resolved; a scratch drive can be trimmed, and a RAID set without parity where all its members can.
    """
    is_device = target.kind in DEVICE_KINDS
    can_discard = _can_discard(target)
    trim = ["none"]
    if can_discard:
        trim += ["device", "fstrim"] if is_device else ["fstrim"]
    return {
        "trim": SettingFacts("trim", levels=tuple(trim)),
        "purge": SettingFacts("purge", levels=("none",)),
        "precondition": SettingFacts("precondition", levels=ACTION_LEVELS["precondition"]),
        "page-cache": SettingFacts("page-cache", levels=("keep", "drop", *(() if target.simulated else ("warm",)))),
    }


def _can_discard(target: TargetFacts) -> bool:
    if target.raid is not None:
        # with parity the kernel discards only where it was told that drives return zeroes then
        return target.raid.level in _DISCARDING and all(map(_can_discard, target.raid.members))
    drive = target.drive
    return target.kind in ("scratch", "simulated") or (drive is not None and drive.discard.is_supported)


def refusals(cell: Cell, target: PlannedTarget, known: KnownSettings) -> list[Refusal]:
    """The settings, actions and the file system of a cell that a target cannot have.

    Parameters
    ----------
    known : mapping of str to SettingFacts
        What is known about the target's settings and about what can be done to it.
    """
    found = [_refusal(cell, name, level, target, known) for name, level in _asked(cell)]
    level = cell.filesystem
    if level is not None and "filesystem" in known and _is_device(target):
        reason = known["filesystem"].views.get(level.type)
        found.append(Refusal("filesystem", level.name, target.label, reason) if reason else None)
    return [refusal for refusal in found if refusal is not None]


def reduced(
    cells: Sequence[Cell], target: PlannedTarget, known: KnownSettings
) -> tuple[tuple[Cell, ...], list[Refusal]]:
    """The cells without the factors of which the target can have no level at all, and why.

    Such a factor stays as it was found: the others can still be measured.
    Where the target lies on a file system already, that one is kept.
    """
    asked = {(name, level) for cell in cells for name, level in _asked(cell)}
    refused = {(one.factor, one.level): one for cell in cells for one in refusals(cell, target, known)}
    gone = {name for name, _level in asked} - {name for name, level in asked if (name, level) not in refused}
    told = [_kept(one) for one in refused.values() if one.factor in gone]
    left: dict[tuple[str, tuple[tuple[str, str], ...]], Cell] = {}
    for cell in cells:
        one = _without(cell, gone)
        if one.filesystem is not None and not _is_device(target):
            told.append(_kept(Refusal("filesystem", one.filesystem.name, target.label, "it lies on one already")))
            one = _on_the_file_system_that_is_there(one)
        left.setdefault((one.workload, tuple(one.levels.items())), one)
    return tuple(left.values()), told


def constant(cells: Sequence[Cell], target: PlannedTarget, known: KnownSettings) -> tuple[tuple[Cell, ...], list[str]]:
    """The cells without what only one level of a factor can be had of, so that nothing is varied, and a note on each.

    That is a file system where the experiment names one and the target lies on one
    already, and a setting that cannot be changed there and has one of its levels.
    """
    notes = []
    left = tuple(cells)
    filesystems = {cell.filesystem for cell in cells}
    level = filesystems.pop() if len(filesystems) == 1 else None
    if level is not None and level.type != "raw" and not _is_device(target):
        notes.append(f"no {level.type} is made: {target.label} is measured on the file system it lies on")
        left = tuple(map(_on_the_file_system_that_is_there, left))
    for name in {name: None for cell in cells for name in cell.settings}:
        facts = known.get(name)
        asked = {cell.settings.get(name, AS_FOUND) for cell in cells}
        if facts is not None and facts.reason and len(asked) > 1 and facts.value in asked - {AS_FOUND}:
            notes.append(f"{name} of {target.label} stays {facts.value}: {facts.reason}")
            left = tuple(cell for cell in left if cell.settings.get(name, AS_FOUND) in (AS_FOUND, facts.value))
    return left, notes


def without_unreadable(cell: Cell, known: KnownSettings) -> Cell:
    """The cell without settings that stay as found and that nobody could read back here."""
    unreadable = {
        name
        for name, level in cell.settings.items()
        if level == AS_FOUND and name in known and known[name].reason and known[name].value is None
    }
    if not unreadable:
        return cell
    return replace(cell, settings={name: level for name, level in cell.settings.items() if name not in unreadable})


def _asked(cell: Cell) -> Iterator[tuple[str, str]]:
    yield from cell.settings.items()
    yield from cell.actions.items()


def _refusal(cell: Cell, name: str, level: str, target: PlannedTarget, known: KnownSettings) -> Refusal | None:
    facts = known.get(name)
    if facts is None or facts.value == level:
        return None
    reason = facts.refusal(level)
    if level == "fstrim" and _is_device(target) and cell.filesystem is None:
        reason = _NO_FILE_SYSTEM
    elif reason and not facts.reason:
        reason = _why(name, level, target) or reason
    return Refusal(name, level, target.label, reason) if reason else None


def _why(name: str, level: str, target: PlannedTarget) -> str:
    """Why an action is not to be had; empty for what tells it itself."""
    if name == "trim" and level == "device" and not _is_device(target):
        return _ON_A_FILE
    return {"trim": "it cannot be trimmed that way", "purge": "it cannot be purged that way"}.get(name, "")


def _is_device(target: PlannedTarget) -> bool:
    return target.kind in DEVICE_KINDS


def _kept(refusal: Refusal) -> Refusal:
    return replace(refusal, stays=True)


def _without(cell: Cell, gone: set[str]) -> Cell:
    """The cell with some settings as they were found, and some actions not done."""
    if not gone & {*cell.settings, *cell.actions}:
        return cell
    settings = {name: AS_FOUND if name in gone else level for name, level in cell.settings.items()}
    actions = {name: _NOT_DONE[name] if name in gone else level for name, level in cell.actions.items()}
    changed = {name: level for name, level in (settings | actions).items() if name in gone}
    return replace(cell, settings=settings, actions=actions, levels={**cell.levels, **changed})


def _on_the_file_system_that_is_there(cell: Cell) -> Cell:
    """The cell with neither a file system of its own nor mount options: both stay as they were found."""
    levels = {name: level for name, level in cell.levels.items() if name != "mount"}
    return replace(cell, filesystem=None, levels=levels | {"filesystem": AS_FOUND})
