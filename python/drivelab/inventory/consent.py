"""The only place that decides whether a block device may be written to.

A drive is destroyed only when its owner typed its name, and never while
anything uses it. Whatever cannot be found out counts against writing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from drivelab.inventory.block_devices import (
    backing_file_of,
    detail_of,
    device_exists,
    disk_of,
    kind_of,
    name_of_node,
)
from drivelab.inventory.contents import all_signatures
from drivelab.inventory.drives import drive_names
from drivelab.inventory.identity import kernel_identity, read_identity
from drivelab.inventory.loop_extent import devices_sharing
from drivelab.inventory.openers import WAIT, Opener, is_claimed, openers_of, openers_that_stay
from drivelab.inventory.owned_loop import is_owned_loop
from drivelab.inventory.seen import Seen, look_at
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.touch import CONTENTS_SUFFIX
from drivelab.inventory.usage import read_users, usage_of
from drivelab.model.drive import BlockUse, DriveIdentity
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts


@dataclass(frozen=True, slots=True)
class Probes:
    """How a device is looked at right before it is written to; replaced in tests of made-up systems."""

    is_claimed: Callable[[str, SystemPaths], bool] = is_claimed
    openers: Callable[[str, SystemPaths], list[Opener]] = openers_of
    signatures: Callable[[str, SystemPaths], tuple[str, ...]] = all_signatures


PROBES = Probes()
_SYSTEM = frozenset({"/", "/boot", "/usr", "/var"})


@dataclass(frozen=True, slots=True)
class Consent:
    """What the owners of drives and files typed.

    Attributes
    ----------
    erase, purge : tuple of str
        After ``--erase`` and after ``--purge``.
    overwrite_files : bool
        Whether ``--overwrite-file`` was.
    """

    erase: tuple[str, ...] = ()
    purge: tuple[str, ...] = ()
    overwrite_files: bool = False


NO_CONSENT = Consent()


def require_erase_consent(
    target: TargetFacts, erase: Sequence[str], paths: SystemPaths = SYSTEM, probes: Probes = PROBES
) -> None:
    """Return only if the target may be written to now; targets that are no block devices always may.

    Parameters
    ----------
    target : TargetFacts
        As resolved.
    erase : sequence of str
        What the owner typed after ``--erase``: the serial of the drive, or the
        serial followed by ``+contents`` when it holds something. The WWN is as
        good as the serial; ``-partN`` names a partition; a device without a
        serial is named by its kernel name (``loop3``).

    Raises
    ------
    DrivelabError
        C201: its owner did not name it. C202: mounted. C203: swap. C204: held
        by another device or a file system of several. C205: open elsewhere.
        C206: it holds something that was not consented to. C207: it is not the
        device that was resolved. C208: two drives go by that name. C209: it
        could not be looked at. C211: drivelab measures it already.

    Notes
    -----
    The scratch drives that this process made need no name, but must be unused
    too. A loop device is used when another one over the same file is. From the
    first write on the contents are drivelab's own, and `HeldDevice` looks
    before each of the others: `require_still_ours`.
    """
    if target.kind != "block_device":
        return
    name = require_same_identity(target, paths)
    use = usage_of(name, {}, read_users(paths), paths)
    _refuse_used(target, use, name, paths)
    _refuse_open(target, use, name, paths, probes)
    if is_owned_loop(name, paths):
        return
    names = erase_names(name, paths)
    consent = _matching_consent(target, erase, names)
    _refuse_ambiguous(target, consent, name, paths)
    if not consent.endswith(CONTENTS_SUFFIX):
        _refuse_contents(target, use, names[0], paths, probes)


def require_purge_consent(target: TargetFacts, purge: Sequence[str], paths: SystemPaths = SYSTEM) -> None:
    """Return only if the owner of a drive named it after ``--purge`` too.

    A purge reaches what no write does: spare blocks, other namespaces, parts
    that are hidden. So naming the drive after ``--erase`` is not enough.

    Raises
    ------
    DrivelabError
        C207: it is not the device that was resolved. C210: its owner did not name it.
    """
    names = erase_names(require_same_identity(target, paths), paths)
    typed = [text.strip() for text in purge]
    if not set(typed) & set(names):
        what = f"{target.path} would be purged, and its owner has not named it"
        what += f": --purge {', '.join(typed)} is not its name" if typed else ""
        raise _refusal("C210", target, what, f"if nothing of it need ever be found again: --purge {names[0]}")


def require_still_ours(target: TargetFacts, before: Seen, paths: SystemPaths = SYSTEM) -> Seen:
    """What is recognised now on a device that its owner gave up, after making sure that it is nobody else's.

    Parameters
    ----------
    target : TargetFacts
        A block device that its owner has given up.
    before : Seen
        What was recognised at the last look; anything else was made by somebody since.

    Raises
    ------
    DrivelabError
        C202 to C206: somebody mounted it, uses it, or made something on it.
        C207: it is not the device that was resolved. C209: it cannot be read.
    """
    name = require_same_identity(target, paths)
    _refuse_used(target, usage_of(name, {}, read_users(paths), paths), name, paths)
    try:
        claimed = is_claimed(name, paths)
        now = look_at(name, paths)
    except OSError as error:
        raise _refusal("C209", target, f"{name} cannot be read: {error.strerror}", "") from error
    if claimed:
        raise _refusal("C205", target, f"{name} is claimed for exclusive use", "find out who claims it")
    if now.start_bytes != before.start_bytes:
        what = f"{name} begins at byte {now.start_bytes} of its disk, and began at {before.start_bytes}"
        raise _refusal("C207", target, what, "look again: drivelab drives")
    made = now.made_since(before)
    if now.table != before.table:
        made.append(f"something before {name} on its disk: a partition table, or a file system of the whole disk")
    if made:
        do = "it stopped here, and what they made is still there"
        raise _refusal("C206", target, f"somebody made {'; '.join(made)} meanwhile", do)
    return now


def seen_on(target: TargetFacts, paths: SystemPaths = SYSTEM) -> Seen:
    """What is recognised on a block device target now.

    Raises
    ------
    DrivelabError
        C207: it is not the device that was resolved. C209: it cannot be read.
    """
    name = require_same_identity(target, paths)
    try:
        return look_at(name, paths)
    except OSError as error:
        raise _refusal("C209", target, f"{name} cannot be read: {error.strerror}", "") from error


def require_unused(text: str, paths: SystemPaths = SYSTEM) -> None:
    """Return only if the block device of that path is not used; other paths always may be.

    Nothing is opened for it: a device that is mounted may refuse that, and the
    reason to be told is the mount.

    Raises
    ------
    DrivelabError
        C202: mounted. C203: swap. C204: held by another device.
    """
    path = os.path.realpath(text)
    name = name_of_node(path, paths)
    if name is None or not device_exists(name, paths):
        return
    target = TargetFacts(text, "block_device", path, True, None, (), (), 0, 512, False)
    _refuse_used(target, usage_of(name, {}, read_users(paths), paths), name, paths)


def require_same_identity(target: TargetFacts, paths: SystemPaths = SYSTEM) -> str:
    """Kernel name of a block device target, after making sure that it still is the device that was resolved.

    Raises
    ------
    DrivelabError
        C207: another device is there now, or none.
    """
    name = name_of_node(target.path, paths)
    before = target.identity
    if name is None or not device_exists(name, paths):
        raise DrivelabError("C207", f"{target.path} is gone", where=target.text)
    if before is not None:
        now = read_identity(name, paths)
        changed = ", ".join(_differences(before, now))
        if changed:
            raise DrivelabError("C207", f"{target.path} is not the device that it was: {changed}", where=target.text)
    return name


def erase_names(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Every name by which the owner may call a block device, the preferred one first.

    A volume or an array goes by its own name; a partition by the name of its
    drive and ``-partN``, so that naming the one never erases the other.
    """
    kind = kind_of(name, paths)
    if kind in ("dm", "md"):
        return [detail_of(name, paths).rpartition(" ")[2] if kind == "dm" else name]
    disk = disk_of(name, paths)
    known = kernel_identity(disk, paths)
    names = [*known.serials, *([known.wwn] if known.wwn else [])] or [disk]
    if kind != "part":
        return names
    number = name.removeprefix(disk).lstrip("p")
    return [f"{drive}-part{number}" for drive in names]


def _differences(before: DriveIdentity, now: DriveIdentity) -> Iterator[str]:
    for field in ("device_number", "size_bytes", "serials", "wwn", "diskseq"):
        old, new = getattr(before, field), getattr(now, field)
        if old != new:
            yield f"{field.replace('_', ' ')} was {old}, is {new}"


def _refuse_used(target: TargetFacts, use: BlockUse, name: str, paths: SystemPaths) -> None:
    for layer in use.walk():
        _refuse_used_layer(target, layer)
    _refuse_used_through_file(target, name, paths)
    disk = disk_of(name, paths)
    if disk != name:
        _refuse_used_whole(target, disk, name, paths)


def _refuse_used_layer(target: TargetFacts, layer: BlockUse, alias: str = "") -> None:
    """Refuse what uses a device itself; `alias` says how it is the target though it is another device."""
    called = layer.name + alias
    if layer.mount_points:
        place = layer.mount_points[0]
        # nobody unmounts what the system itself runs from
        do = "choose another drive" if _SYSTEM & set(layer.mount_points) else f"umount {place}, or choose another"
        raise _refusal("C202", target, f"{called} is mounted on {place}", do)
    for user in layer.used_by:
        if user == "swap":
            do = f"swapoff {layer.path}, or choose another drive"
            raise _refusal("C203", target, f"{called} is swap space", do)
        raise _refusal("C204" if "btrfs" in user else "C202", target, f"{called} is {user}", "")
    for child in layer.children:
        if child.kind != "part":
            detail = f" ({child.detail})" if child.detail else ""
            raise _refusal("C204", target, f"{called} is held by {child.name}{detail}", _how_to_release(child))


def _refuse_used_through_file(target: TargetFacts, name: str, paths: SystemPaths) -> None:
    """Refuse a loop device whose file, or the device that it lies on, is used in another way."""
    users = read_users(paths)
    for other in devices_sharing(name, paths):
        alias = f", which lies on the same file as {name},"
        # partitions that have bytes in common are on the list themselves
        _refuse_used_layer(target, usage_of(other, {}, users, paths), alias)
    backing = backing_file_of(disk_of(name, paths), paths)
    beneath = name_of_node(backing, paths) if backing else None
    if beneath is None:
        return
    use = usage_of(beneath, {}, users, paths)
    # loop devices over the whole of it were looked at above, and one of them is the target
    others = tuple(child for child in use.children if child.kind != "loop")
    for layer in replace(use, children=others).walk():
        _refuse_used_layer(target, layer, f", beneath {name},")


def _refuse_used_whole(target: TargetFacts, disk: str, partition: str, paths: SystemPaths) -> None:
    """Refuse a partition whose disk is used as a whole beside its partitions."""
    whole = usage_of(disk, {}, read_users(paths), paths)
    users = [*whole.mount_points, *whole.used_by, *(child.name for child in whole.children if child.kind != "part")]
    if users:
        raise _refusal("C204", target, f"{disk}, the disk of {partition}, is itself used: {', '.join(users)}", "")


def _refuse_open(target: TargetFacts, use: BlockUse, name: str, paths: SystemPaths, probes: Probes) -> None:
    """Refuse a device that is claimed or open, itself, through a partition, its disk, or a loop over the same file."""
    # dict: a disk is looked at once even when it is the target itself
    devices = dict.fromkeys((*(layer.name for layer in use.walk()), disk_of(name, paths)), "")
    devices |= dict.fromkeys(devices_sharing(name, paths), f", which lies on the same file as {name},")
    for device, alias in devices.items():
        try:
            claimed = probes.is_claimed(device, paths)
        except OSError as error:
            what = f"{device} cannot be opened to see whether it is in use: {error.strerror}"
            raise _refusal("C209", target, what, "run as root") from error
        openers = openers_that_stay(partial(probes.openers, device, paths))
        if measures := next((opener.measures for opener in openers if opener.measures), ""):
            raise _refusal("C211", target, f"{device}{alias} is being measured by drivelab ({measures})", WAIT)
        if openers:
            listed = ", ".join(f"{opener.command} (process {opener.process_id})" for opener in openers)
            what = f"{device}{alias} is open in {listed}"
            raise _refusal("C205", target, what, "end that program, or choose another drive")
        # a disk with a claimed partition is claimed too, and only the target's own part counts then
        if claimed and (device == name or device != disk_of(name, paths)):
            do = "find out who claims it (a mount in a container, ZFS, another program), or choose another drive"
            raise _refusal("C205", target, f"{device}{alias} is claimed for exclusive use", do)


def _matching_consent(target: TargetFacts, erase: Iterable[str], names: Sequence[str]) -> str:
    accepted = {spelling for name in names for spelling in (name, name + CONTENTS_SUFFIX)}
    typed = [text.strip() for text in erase]
    # the longer consent wins when both were typed
    matching = sorted((text for text in typed if text in accepted), key=len)
    if matching:
        return matching[-1]
    what = f"{target.path} would be overwritten, and its owner has not named it"
    if typed:
        what += f": --erase {', '.join(typed)} is not its name"
    raise _refusal("C201", target, what, f"if all that is on it may be lost: --erase {names[0]}")


def _refuse_ambiguous(target: TargetFacts, consent: str, name: str, paths: SystemPaths) -> None:
    disk = disk_of(name, paths)
    if kind_of(name, paths) in ("dm", "md"):
        return
    typed = consent.removesuffix(CONTENTS_SUFFIX)
    others = [other for other in drive_names(paths) if other != disk and _goes_by(other, typed, name, disk, paths)]
    if others:
        do = "name it by its WWN (drivelab drives), or unplug the other one"
        raise _refusal("C208", target, f"{disk} and {', '.join(others)} both go by the name {typed}", do)


def _goes_by(other: str, typed: str, name: str, disk: str, paths: SystemPaths) -> bool:
    suffix = f"-part{name.removeprefix(disk).lstrip('p')}" if name != disk else ""
    return typed.removesuffix(suffix) in erase_names(other, paths)


def _refuse_contents(target: TargetFacts, use: BlockUse, name: str, paths: SystemPaths, probes: Probes) -> None:
    held = []
    for layer in use.walk():
        try:
            signatures = probes.signatures(layer.name, paths)
        except OSError as error:
            what = f"{layer.name} cannot be read to see what it holds: {error.strerror}"
            raise _refusal("C209", target, what, "run as root") from error
        if signatures:
            held.append(f"{layer.name}: {', '.join(signatures)}")
        elif layer.kind == "part" and layer is not use:
            held.append(f"{layer.name}: a partition")
    if held:
        do = f"if that may be lost too: --erase {name}{CONTENTS_SUFFIX}"
        raise _refusal("C206", target, f"{target.path} is not empty ({'; '.join(held)})", do)


def _how_to_release(holder: BlockUse) -> str:
    commands = {"dm": "dmsetup remove", "md": "mdadm --stop", "loop": "losetup --detach"}
    command = commands.get(holder.kind)
    return f"{command} {holder.path}, or choose another drive" if command else ""


def _refusal(code: str, target: TargetFacts, what: str, do: str) -> DrivelabError:
    return DrivelabError(code, what, where=f"{place_of(target)}; nothing was written", do=do)


def place_of(target: TargetFacts) -> str:
    """A target as its owner typed it, and what that led to."""
    return target.text if target.text == target.path else f"{target.text} ({target.path})"
