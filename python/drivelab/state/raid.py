"""RAID sets that drivelab makes with mdadm: make one, find it again by its identifier, take it apart."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from drivelab.inventory.block_devices import (
    device_exists,
    device_node,
    directory_of,
    holders_of,
    name_of_node,
    slaves_of,
)
from drivelab.inventory.raid import raid_reason
from drivelab.inventory.sysfs import entries, read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.errors import DrivelabError
from drivelab.model.raid import RaidFacts, RaidLevel
from drivelab.state.held_device import look_before_writing
from drivelab.state.journal import Journal
from drivelab.state.programs import require_program, require_root, run_program
from drivelab.state.settings.drive_reference import boot_identifier

KIND = "raid_set"
# Documentation/md: version 1.2 keeps its superblock 4 KiB from the start, the magic first, the identifier at 16
_SUPERBLOCK_OFFSET_BYTES, _MAGIC, _UUID_AT = 4096, bytes.fromhex("fc4e2ba9"), slice(16, 32)
# a stop waits for whoever still looks at a device that has just changed, udev above all
_PATIENCE_S = 10.0
_PAUSE_S = 0.1
_MAKE_TIMEOUT_S = 60.0
# how the kernel counts the ways of parity and copies (md_p.h, raid5.h, raid10.c); others go by their number
_LAYOUTS = {"raid5": {2: "left-symmetric"}, "raid6": {2: "left-symmetric"}, "raid10": {0x102: "near=2"}}
_BUSY_ACTIONS = ("resync", "recover", "check", "repair", "reshape")


@dataclass(frozen=True, slots=True)
class MadeRaid:
    """A RAID set that is there."""

    path: str
    facts: RaidFacts


def require_raid(level: RaidLevel, paths: SystemPaths = SYSTEM) -> None:
    """Return only if a RAID set of a level can be made here, as far as can be told.

    Raises
    ------
    DrivelabError
        R401: not root. R402: mdadm is not installed. R450: this kernel has no such RAID.
    """
    require_root("a RAID set")
    reason = raid_reason(level, paths)
    if reason:
        do = "run it on a kernel that has it, Debian's own for one; modprobe md_mod says more"
        raise DrivelabError("R450", reason, where=level, do=do)
    for program in ("mdadm", "wipefs"):
        require_program(program)


def make_raid(wanted: RaidFacts, devices: Sequence[str], journal: Journal, paths: SystemPaths = SYSTEM) -> MadeRaid:
    """A new RAID set; what its members held is lost.

    Parameters
    ----------
    wanted : RaidFacts
        Level, chunk and bitmap.
    devices : sequence of str
        Device nodes of the members, in their order; consent was asked for before.
    journal : Journal
        Learns of the change before it is made; undoing it takes the set apart.

    Raises
    ------
    DrivelabError
        C201 to C209: a member may not be written to any more. R401, R402, R450: as for
        `require_raid`. R455: mdadm did not make it. R456: what the kernel has is something else.
    """
    require_raid(wanted.level, paths)
    identifier, name = uuid.uuid4(), f"drivelab-{secrets.token_hex(4)}"
    journal.will_change(KIND, uuid=str(identifier), name=name, members=list(devices), boot=boot_identifier(paths))
    where = f"{wanted.level} of {', '.join(devices)}"
    try:
        for device in devices:
            look_before_writing(device)
            # an old file system would shine through, and mdadm would ask about it
            run_program(["wipefs", "--all", "--quiet", device], journal)
        for device in devices:
            look_before_writing(device)
        run_program(_create_command(wanted, name, identifier, devices), journal, timeout_s=_MAKE_TIMEOUT_S)
    except DrivelabError as error:
        if error.code.startswith("C"):
            raise
        raise DrivelabError("R455", error.what, where=where, do="see also: dmesg") from error
    made = _by_identifier(str(identifier), paths)
    if not made:
        raise DrivelabError("R456", "mdadm made a set that the kernel does not show", where=where)
    _require_as_wanted(made[0], wanted, devices, identifier, paths)
    return MadeRaid(str(device_node(made[0], paths)), _read_back(made[0], wanted, name, str(identifier), paths))


def require_whole(device: str, paths: SystemPaths = SYSTEM) -> None:
    """Return only if no member of a RAID set has failed, and nothing is copied or checked in it.

    Raises
    ------
    DrivelabError
        R457: what would be measured now is not the set as it was made.
    """
    name = _name_of(device, paths)
    reason = _why_not_whole(name, paths)
    if reason:
        raise DrivelabError(
            "R457", f"{name} {reason}: what is measured now is not the set as it was made", where=device
        )


def undo_raid(uuid: str, name: str, members: Sequence[str], boot: str = "", paths: SystemPaths = SYSTEM) -> str:
    """Stop a RAID set and clear its members; what was done, in words, or nothing.

    It is found by its identifier, wherever it is now: a set that was put
    together again by udev, under another name, or half made, is ours too, and
    one of others never is.

    Raises
    ------
    DrivelabError
        R402: mdadm is not installed. R406: something still uses it.
    """
    searches_all = boot != boot_identifier(paths)
    stopped: dict[str, None] = {}
    cleared: dict[str, None] = {}
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        failure = None
        for command, target, done in _left(uuid, members, searches_all, paths):
            try:
                run_program(["mdadm", command, target])
                (stopped if done == "stopped" else cleared).setdefault(target)
            except DrivelabError as error:
                if error.code == "R402":
                    raise
                # members of a set that runs are busy, which explains nothing
                failure = failure or error
        # udev may have put it together again between the stop and the clearing
        if not any(True for _ in _left(uuid, members, searches_all, paths)):
            break
        if time.monotonic() > deadline:
            what = failure.what if failure else "it is put together again each time that it is stopped"
            do = "end what uses it (fuser -vm /dev/mdN; cat /proc/mdstat), then run: drivelab restore"
            raise DrivelabError("R406", f"the RAID set {name} is still there: {what}", where=name, do=do)
        time.sleep(_PAUSE_S)
    with suppress(OSError):
        # without udev nobody else does
        (paths.dev / "md" / name).unlink()
    if not stopped and not cleared:
        return ""
    return f"took the RAID set {name} apart ({', '.join(stopped) or 'not running'}; members: {', '.join(cleared)})"


def superblock_uuid(device: Path) -> str:
    """The identifier in the RAID superblock of a member; empty when it has none."""
    try:
        with device.open("rb", buffering=0) as member:
            member.seek(_SUPERBLOCK_OFFSET_BYTES)
            content = member.read(_UUID_AT.stop)
    except OSError:
        return ""
    return str(uuid.UUID(bytes=content[_UUID_AT])) if content[:4] == _MAGIC and len(content) == _UUID_AT.stop else ""


def _create_command(wanted: RaidFacts, name: str, identifier: uuid.UUID, devices: Sequence[str]) -> list[str]:
    command = [
        "mdadm",
        "--create",
        f"/dev/md/{name}",
        "--run",
        "--quiet",
        f"--level={wanted.level.removeprefix('raid')}",
    ]
    command += [f"--raid-devices={len(devices)}", f"--metadata={wanted.metadata}", f"--name={name}"]
    words = identifier.hex
    command.append(f"--uuid={':'.join(words[at : at + 8] for at in range(0, len(words), 8))}")
    if wanted.chunk_bytes:
        command.append(f"--chunk={wanted.chunk_bytes // 1024}K")
    if wanted.level != "raid0":
        # told either way: what mdadm does when it is not told differs from version to version
        command.append(f"--bitmap={wanted.bitmap}")
    if wanted.is_assumed_clean:
        command.append("--assume-clean")
    return [*command, *devices]


def _require_as_wanted(
    name: str, wanted: RaidFacts, devices: Sequence[str], identifier: uuid.UUID, paths: SystemPaths
) -> None:
    """Refuse a set that is not what was asked for, in the words of kernel and mdadm."""
    directory = directory_of(name, paths) / "md"
    told = dict(line.partition("=")[::2] for line in _detail(name, paths).splitlines())
    asked = {
        "level": wanted.level,
        "number of members": str(len(devices)),
        "members": " ".join(sorted(_name_of(device, paths) for device in devices)),
        "identifier": identifier.hex,
    }
    found = {
        "level": read_text(directory / "level") or "unknown",
        "number of members": read_text(directory / "raid_disks") or "unknown",
        "members": " ".join(sorted(slaves_of(name, paths))),
        "identifier": told.get("MD_UUID", "").replace(":", ""),
    }
    wrong = [f"{what} is {found[what]}, not {text}" for what, text in asked.items() if found[what] != text]
    state = _why_not_whole(name, paths)
    if wrong or state:
        raise DrivelabError("R456", f"{name} was made: {'; '.join([*wrong, *([state] if state else [])])}", where=name)


def _read_back(name: str, wanted: RaidFacts, label: str, identifier: str, paths: SystemPaths) -> RaidFacts:
    directory = directory_of(name, paths) / "md"
    number = read_int(directory / "layout", -1)
    has_layout = wanted.level in _LAYOUTS
    bitmap = read_text(directory / "bitmap" / "location") or "none"
    cache = read_text(directory / "stripe_cache_size")
    return replace(
        wanted,
        chunk_bytes=read_int(directory / "chunk_size") if wanted.level != "raid1" else 0,
        layout=_LAYOUTS[wanted.level].get(number, str(number)) if has_layout else "",
        bitmap="none" if bitmap == "none" else "internal",
        metadata=read_text(directory / "metadata_version") or wanted.metadata,
        consistency=read_text(directory / "consistency_policy") or "",
        stripe_cache_pages=int(cache) if cache and cache.isdecimal() else None,
        name=label,
        uuid=identifier,
    )


def _why_not_whole(name: str, paths: SystemPaths) -> str:
    """What is wrong with a set that is there; empty when it is whole and at rest."""
    directory = directory_of(name, paths) / "md"
    state = read_text(directory / "array_state") or "gone"
    if state in ("gone", "clear", "inactive", "suspended", "broken", "readonly"):
        return f"is {state}"
    missing = read_int(directory / "degraded")
    if missing:
        return f"has lost {missing} of {read_text(directory / 'raid_disks')} members"
    action = read_text(directory / "sync_action") or "idle"
    return f"is busy with a {action}" if action in _BUSY_ACTIONS else ""


def _left(
    identifier: str, members: Sequence[str], searches_all: bool, paths: SystemPaths
) -> Iterator[tuple[str, str, str]]:
    """What is still to be done: option of mdadm, device, and the word for it; sets first."""
    ours = list(_our_members(identifier, members, searches_all, paths))
    holding = [holder for name in ours for holder in holders_of(name, paths) if _is_array(holder, paths)]
    for array in dict.fromkeys((*_by_identifier(identifier, paths), *holding)):
        yield "--stop", str(device_node(array, paths)), "stopped"
    for member in ours:
        yield "--zero-superblock", str(device_node(member, paths)), "cleared"


def _our_members(identifier: str, members: Sequence[str], searches_all: bool, paths: SystemPaths) -> Iterator[str]:
    """Kernel names of the devices whose superblock is that of the set."""
    names = [name for name in (_name_of(member, paths) for member in members) if device_exists(name, paths)]
    if searches_all or len(names) < len(members):
        # the computer has started again, or a drive was plugged in elsewhere: it may go by another name now
        names += entries(paths.sys / "class" / "block")
    for name in dict.fromkeys(names):
        if _may_be_member(name, paths) and superblock_uuid(device_node(name, paths)) == identifier:
            yield name


def _may_be_member(name: str, paths: SystemPaths) -> bool:
    # a set is no member of itself, and a CD would have to spin up
    return read_int(directory_of(name, paths) / "size") > 0 and not name.startswith("sr") and not _is_array(name, paths)


def _by_identifier(identifier: str, paths: SystemPaths) -> list[str]:
    names = [name for name in entries(paths.sys / "class" / "block") if _is_array(name, paths)]
    return [name for name in names if read_text(directory_of(name, paths) / "md" / "uuid") == identifier]


def _name_of(device: str, paths: SystemPaths) -> str:
    """Kernel name of a device node, also where the node is gone."""
    return name_of_node(device, paths) or Path(device).name


def _is_array(name: str, paths: SystemPaths) -> bool:
    return (directory_of(name, paths) / "md").is_dir()


def _detail(name: str, paths: SystemPaths) -> str:
    return run_program(["mdadm", "--detail", "--export", str(device_node(name, paths))])
