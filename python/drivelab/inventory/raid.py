"""Turns ``raid5:/dev/sdb,/dev/sdc,/dev/sdd`` into a target: its members, and what is wrong with them."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from drivelab.inventory.block_devices import disk_of, slaves_of
from drivelab.inventory.drives import read_drives
from drivelab.inventory.sysfs import read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import find_tool
from drivelab.model.errors import DrivelabError
from drivelab.model.names import in_number
from drivelab.model.raid import (
    MEMBERS_MIN,
    METADATA,
    RAID_LEVELS,
    RaidFacts,
    RaidLevel,
    bitmap_of,
    chunk_bytes_of,
    expected_bytes,
)
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes

Resolve = Callable[[str], TargetFacts]
_SET = re.compile(r"(raid\d*):(.*)", re.DOTALL)
_SEVERAL = re.compile(r"([^*/]*)\*(.*)", re.DOTALL)
_SCRATCH_PREFIX = "scratch:"
_MEMBERS_MAX = 64
_MODULES = {"raid0": "raid0", "raid1": "raid1", "raid5": "raid456", "raid6": "raid456", "raid10": "raid10"}
_COUNTED = (
    "commands per operation are those of all members together: the kernel counts no flushes at the set itself, "
    "which hands each on to its members"
)
_ASSUMED_CLEAN = "the set is made with --assume-clean: {what} in advance, so that no resync disturbs a trial"
_MAY_BE_EMPTY = (
    "the times of the set are those of one that was built, once its blocks were written; before that, flash may answer "
    "for blocks that hold nothing sooner than for others (precondition = sequential writes all of them first)"
)
_ON_ONE_DISK = (
    "{count} members are files (scratch drives, loop devices) that share a disk: they show what the set does to each "
    "operation, not how fast so many drives are"
)


def is_raid_text(text: str) -> bool:
    """Whether a target as typed is a RAID set; a file of such a name goes by ``./raid5:...``."""
    return _SET.fullmatch(text) is not None


def resolve_raid(text: str, resolve: Resolve) -> TargetFacts:
    """Facts about a RAID set that is not made yet; nothing is written.

    Parameters
    ----------
    text : str
        Level and members: ``raid5:/dev/sdb,/dev/sdc,/dev/sdd``, ``raid1:2*scratch:1GiB``.

    Raises
    ------
    DrivelabError
        U040: no such level, or a member without a name. U041: too few members.
        U042: a member that is neither a block device nor a scratch drive. U043: two members on one drive.
        U044: a number of members that makes no sense. Others as for each member alone.
    """
    level, names = _parsed(text)
    members = tuple(_member(text, name, resolve) for name in names)
    _refuse_one_drive_twice(text, members)
    sizes = [member.size_bytes for member in members]
    raid = RaidFacts(
        level=level,
        members=members,
        chunk_bytes=chunk_bytes_of(level),
        bitmap=bitmap_of(level, sizes),
        metadata=METADATA,
        is_assumed_clean=level != "raid0",
    )
    return TargetFacts(
        text=text,
        kind="raid",
        path="",
        exists=False,
        filesystem=None,
        devices=(),
        drives=tuple(drive for member in members for drive in member.drives),
        size_bytes=expected_bytes(level, sizes),
        logical_block_size_bytes=max(member.logical_block_size_bytes for member in members),
        is_read_only=any(member.is_read_only for member in members),
        raid=replace(raid, notes=tuple(_notes(raid))),
    )


def with_members(target: TargetFacts, members: Sequence[TargetFacts]) -> TargetFacts:
    """The same RAID set of members that were looked at again; their drives are its drives."""
    assert target.raid is not None, "only a RAID set has members"
    drives = tuple(drive for member in members for drive in member.drives)
    return replace(target, drives=drives, raid=replace(target.raid, members=tuple(members)))


def member_drives(target: TargetFacts, paths: SystemPaths = SYSTEM) -> TargetFacts:
    """A RAID set that is there, with the disks that its members are or lie on as its drives, loop devices included."""
    names = dict.fromkeys(disk_of(slave, paths) for slave in slaves_of(target.devices[-1].name, paths))
    if set(names) == {drive.name for drive in target.drives}:
        return target
    return replace(target, drives=tuple(read_drives(list(names), paths, ask_tools=paths == SYSTEM)))


def raid_reason(level: RaidLevel, paths: SystemPaths = SYSTEM) -> str:
    """Why this kernel cannot have a RAID set of a level; empty when it can, be it by loading a module."""
    release = platform.uname().release
    modules = paths.root / "lib" / "modules" / release
    # a module that is built in, or loaded, has a directory; one that can be loaded is listed
    listed = (read_text(modules / "modules.dep") or "") + "\n" + (read_text(modules / "modules.builtin") or "")
    personality = _MODULES[level]
    for module, option in (("md-mod", "CONFIG_BLK_DEV_MD"), (personality, f"CONFIG_MD_{personality.upper()}")):
        is_there = (paths.sys / "module" / module.replace("-", "_")).is_dir()
        if not is_there and f"/{module}.ko" not in listed:
            return f"this kernel ({release}) has no {module}: it was built without {option}, or its modules are missing"
    return ""


def why_not_here(level: RaidLevel, paths: SystemPaths = SYSTEM) -> str:
    """Why no RAID set of a level can be made on this computer; empty when one can."""
    return raid_reason(level, paths) or ("" if find_tool("mdadm") else "mdadm is not installed (apt-get install mdadm)")


def _parsed(text: str) -> tuple[RaidLevel, list[str]]:
    """The level and the members as typed, each once for each time that it is meant.

    Raises
    ------
    DrivelabError
        U040, U041, U044.
    """
    match = _SET.fullmatch(text)
    level = next((level for level in RAID_LEVELS if match and level == match[1]), None)
    if match is None or level is None:
        named = match[1] if match else text
        raise DrivelabError("U040", f"{named} is no level of RAID; there are {', '.join(RAID_LEVELS)}", where=text)
    members = [name for part in match[2].split(",") for name in _repeated(text, part.strip())]
    least = MEMBERS_MIN[level]
    if len(members) < least:
        found = f"{len(members)} {in_number(len(members), 'are')} named"
        raise DrivelabError("U041", f"{level} needs at least {least} members, and {found}", where=text)
    return level, members


def _repeated(text: str, part: str) -> list[str]:
    """What ``3*scratch:1GiB`` stands for; anything else is one member."""
    if not part:
        do = "take out the comma that is too much, or name the member"
        raise DrivelabError("U040", "a member of the RAID set has no name", where=text, do=do)
    match = _SEVERAL.fullmatch(part)
    if match is None:
        return [part]
    count, name = match[1].strip(), match[2].strip()
    if not count.isdecimal() or not 1 <= int(count) <= _MEMBERS_MAX:
        raise DrivelabError("U044", f"'{count}' is no number from 1 to {_MEMBERS_MAX}", where=text)
    if not name.startswith(_SCRATCH_PREFIX):
        what = f"{part}: only scratch drives can be had several times"
        raise DrivelabError("U044", what, where=text, do="name each drive by itself")
    return [name] * int(count)


def _member(text: str, name: str, resolve: Resolve) -> TargetFacts:
    if is_raid_text(name):
        raise DrivelabError("U042", f"{name} is a RAID set, and a set is made of drives", where=text)
    member = resolve(name)
    if member.kind not in ("block_device", "scratch"):
        kind = member.kind.replace("_", " ")
        raise DrivelabError("U042", f"{name} is a {kind}, and a RAID set is made of drives", where=text)
    return member


def _refuse_one_drive_twice(text: str, members: Sequence[TargetFacts]) -> None:
    """Refuse members that are one drive, or parts of one: each would wait for the other.

    Raises
    ------
    DrivelabError
        U043: two members lie on one drive.
    """
    seen: dict[str, str] = {}
    for member in members:
        for key in set(_places(member)):
            if key in seen:
                same = member.path == seen[key]
                both = f"{member.path} is named twice" if same else f"{seen[key]} and {member.path} lie on one drive"
                raise DrivelabError("U043", f"{both}: it would wait for itself", where=text)
            seen[key] = member.path


def _places(member: TargetFacts) -> Iterator[str]:
    """By what a member is known to lie on the same drive as another: names of devices, or the worldwide name."""
    loops = [layer.name for layer in member.devices if layer.kind == "loop"]
    if loops:
        # what lies below its file may carry others too, as with scratch drives
        yield loops[-1]
        return
    for drive in member.drives:
        yield drive.name
        if drive.wwn:
            yield drive.wwn


def _notes(raid: RaidFacts) -> Iterator[str]:
    if raid.is_assumed_clean:
        built = "no parity is computed" if raid.level in ("raid5", "raid6") else "nothing is copied"
        yield _ASSUMED_CLEAN.format(what=built)
    if raid.erased_members:
        yield _MAY_BE_EMPTY
    yield _COUNTED
    sizes = [member.size_bytes for member in raid.members]
    least, most = format_bytes(min(sizes)), format_bytes(max(sizes))
    if min(sizes) != max(sizes):
        if raid.level == "raid0":
            yield f"the members have {least} to {most}: the end of the set lies on the larger ones alone, and is slower"
        else:
            yield f"the members have {least} to {most}: of each no more than {least} is used"
    scratch = sum(_is_on_file(member) for member in raid.members)
    if scratch:
        yield _ON_ONE_DISK.format(count=scratch)


def _is_on_file(member: TargetFacts) -> bool:
    return member.kind == "scratch" or any(layer.kind == "loop" for layer in member.devices)
