"""What a plan says about its targets: their labels, and what a run would destroy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from drivelab.model.drive import BlockUse
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import PaceName, PlannedTarget
from drivelab.model.raid import RaidFacts
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes

_MEMBERS_NAMED_MAX = 4


def planned_targets(
    targets: Sequence[TargetFacts],
    *,
    overwrites_devices: bool,
    purges: bool = False,
    labels: Sequence[str] = (),
) -> tuple[PlannedTarget, ...]:
    """The targets with unique labels.

    Parameters
    ----------
    targets : sequence of TargetFacts
        As resolved, in the order in which they were named.
    overwrites_devices : bool
        Whether the experiment writes to block devices themselves.
    purges : bool
        Whether it purges drives.
    labels : sequence of str
        What the user calls them, in the same order; fewer are completed.

    Raises
    ------
    DrivelabError
        P709: two targets would have one label, or more labels than targets were given.
    """
    _refuse_labels(labels, targets)
    planned: list[PlannedTarget] = []
    for place, facts in enumerate(targets):
        taken = {*labels, *(target.label for target in planned)}
        label = labels[place] if place < len(labels) else _free_label(_label(facts), taken)
        loses = overwrites_devices and facts.kind == "block_device"
        # making a set erases its members, whatever is measured on it
        lost = facts.raid.erased_members if facts.raid is not None else (facts,) if loses else ()
        planned.append(
            PlannedTarget(
                label=label,
                text=facts.text,
                kind=facts.kind,
                size_bytes=_room(facts),
                logical_block_size_bytes=facts.logical_block_size_bytes,
                destroys=tuple(_destroyed(each) for each in lost),
                erase_argument=_erase_argument(facts) if loses else "",
                pace=_pace(facts),
                purge_argument=_erase_argument(facts) if loses and purges else "",
                member_erase_arguments=tuple(_erase_argument(each) for each in lost) if facts.raid else (),
                scratch_bytes=_scratch_bytes(facts),
                free_inodes=facts.filesystem.free_inodes if facts.filesystem else None,
            )
        )
    return tuple(planned)


def target_notes(targets: Sequence[TargetFacts]) -> tuple[str, ...]:
    """What the numbers of targets mean that are made by the run, each sentence once."""
    sets = [facts.raid for facts in targets if facts.raid is not None]
    return tuple(dict.fromkeys(note for raid in sets for note in raid.notes))


def _scratch_bytes(facts: TargetFacts) -> int:
    """Bytes of the scratch drives that are filled when the target is made."""
    if facts.raid is not None:
        return facts.raid.scratch_bytes
    return facts.size_bytes if facts.kind == "scratch" else 0


def _pace(facts: TargetFacts) -> PaceName:
    if facts.raid is not None:
        # a set is as slow as its slowest member
        paces = {_pace(member) for member in facts.raid.members}
        return next(pace for pace in ("disk", "virtual", "loop", "flash") if pace in paces)
    if facts.kind == "scratch" or (facts.devices and facts.devices[-1].kind == "loop"):
        return "loop"
    if facts.drive is not None and facts.drive.virtual:
        # it claims to turn, or not, whatever lies behind it
        return "virtual"
    return "disk" if any(layer.is_rotational for layer in facts.devices[:1]) else "flash"


def _refuse_labels(labels: Sequence[str], targets: Sequence[TargetFacts]) -> None:
    if len(labels) > len(targets):
        what = f"{len(labels)} of --label for {len(targets)} target{'s' * (len(targets) > 1)}"
        raise DrivelabError("P709", what, do="give one --label for each target, in the same order")
    for label in labels:
        if not label.strip() or labels.count(label) > 1:
            raise DrivelabError("P709", f"two targets cannot both be called '{label}'", do="give each its own --label")


def _free_label(label: str, taken: set[str]) -> str:
    candidates = (label if number == 1 else f"{label}-{number}" for number in itertools.count(1))
    return next(candidate for candidate in candidates if candidate not in taken)


def changes_text(facts: TargetFacts, settings: Sequence[str]) -> str:
    """Which settings a run changes meanwhile and what else lies on that drive, in words; empty when it changes none."""
    if not settings:
        return ""
    what = ", ".join(settings) + (f" of {facts.drive.path}" if facts.drive is not None else "")
    uses = facts.drive.use.walk() if facts.drive is not None else ()
    places = [place for layer in uses for place in layer.mount_points]
    return f"{what}, which also holds {', '.join(places)}" if places else what


def _room(facts: TargetFacts) -> int:
    # a file that exists has its own size, however much is free beside it
    if facts.filesystem is not None and facts.kind != "file":
        return facts.filesystem.available_bytes
    return facts.size_bytes


def _label(facts: TargetFacts) -> str:
    if facts.kind == "scratch":
        return f"scratch-{format_bytes(facts.size_bytes).replace(' ', '')}"
    if facts.raid is not None:
        return _set_label(facts.raid)
    if facts.kind != "block_device":
        return facts.text if facts.simulated is not None else facts.path
    layer = facts.devices[-1]
    drive = facts.drive
    if drive is None or not drive.model or drive.virtual or layer.name != drive.name:
        return layer.name
    return f"{drive.model} {drive.serial[-4:]}" if drive.serial else drive.model


def _set_label(raid: RaidFacts) -> str:
    """``raid5-sdb-sdc-sdd``, ``raid1-2x1GiB`` of scratch drives, and ``raid6-8-drives`` where names are too many."""
    names = [member.devices[-1].name for member in raid.erased_members]
    sizes = {format_bytes(member.size_bytes).replace(" ", "") for member in raid.members}
    if not names and len(sizes) == 1:
        return f"{raid.level}-{len(raid.members)}x{sizes.pop()}"
    is_told = 0 < len(names) == len(raid.members) <= _MEMBERS_NAMED_MAX
    return "-".join([raid.level, *(names if is_told else [str(len(raid.members)), "drives"])])


def _erase_argument(facts: TargetFacts) -> str:
    layer, drive = facts.devices[-1], facts.drive
    if layer.kind == "dm":
        # a volume goes by its own name, which ends its description
        return layer.detail.rpartition(" ")[2] or layer.name
    if drive is None or layer.kind not in ("disk", "part"):
        return layer.name
    if layer.kind != "part":
        return drive.touch.erase_argument or drive.erase_name
    use = _use_of(facts)
    partition = f"{drive.erase_name}-part{layer.name.removeprefix(drive.name).lstrip('p')}"
    return f"{partition}+contents" if use is not None and use.contents else partition


def _destroyed(facts: TargetFacts) -> str:
    layer = facts.devices[-1]
    drive = facts.drive
    is_of_drive = layer.kind in ("disk", "part")
    model = f", {drive.model}" if drive and drive.model and is_of_drive else ""
    serial = f", serial {drive.serial}" if drive and drive.serial and is_of_drive else ""
    what = f"everything on {layer.path} ({format_bytes(layer.size_bytes)}{model}{serial})"
    use = _use_of(facts)
    held = [_contents(part) for part in use.walk() if part.contents] if use else []
    return f"{what}: {', '.join(held)}" if held else what


def _use_of(facts: TargetFacts) -> BlockUse | None:
    """What sits on the target itself."""
    if facts.drive is None:
        return None
    return next((use for use in facts.drive.use.walk() if use.name == facts.devices[-1].name), None)


def _contents(use: BlockUse) -> str:
    return f"{use.contents} on {use.name}" + (f" ({use.label})" if use.label else "")
