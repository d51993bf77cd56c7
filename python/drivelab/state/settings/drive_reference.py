"""How the journal names a drive, and how the drive is found again: names move between boots, serials do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.inventory.block_devices import device_exists, directory_of
from drivelab.inventory.drives import drive_names
from drivelab.inventory.identity import read_identity
from drivelab.inventory.sysfs import read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError

Reference = Mapping[str, Any]


def boot_identifier(paths: SystemPaths = SYSTEM) -> str:
    """What the kernel calls this boot; the next one is called something else."""
    return read_text(paths.proc / "sys" / "kernel" / "random" / "boot_id") or ""


def reference_to(name: str, paths: SystemPaths = SYSTEM) -> dict[str, Any]:
    """Plain data from which a drive can be found again, also after a reboot and under another name."""
    identity = read_identity(name, paths)
    return {
        "name": name,
        "serials": list(identity.serials),
        "wwn": identity.wwn,
        "diskseq": identity.diskseq,
        "queue": _queue_number(name, paths),
        "boot": boot_identifier(paths),
    }


def is_same_reference(one: Reference, other: Reference) -> bool:
    """Whether two changes of one journal were made to one drive."""
    return all(one[key] == other[key] for key in ("name", "serials", "wwn"))


def require_same_drive(drive: DriveFacts, paths: SystemPaths = SYSTEM) -> None:
    """Return only if the kernel name of a drive still means that drive.

    Raises
    ------
    DrivelabError
        C207: another drive goes by that name now, or none.
    """
    if not device_exists(drive.name, paths):
        raise DrivelabError("C207", f"{drive.path} is gone", where=drive.path)
    now, before = read_identity(drive.name, paths), drive.identity
    if (now.serials, now.wwn, now.diskseq) != (before.serials, before.wwn, before.diskseq):
        what = f"{drive.path} is another drive than the one that was looked at ({drive.erase_name})"
        raise DrivelabError("C207", what, where=drive.path)


def find_queue(reference: Reference, paths: SystemPaths = SYSTEM) -> str | None:
    """Kernel name of the drive whose queue the kernel still has; None when that queue is gone.

    What was set in the kernel ended with the boot, and with the drive's being
    there: a drive that comes back gets a new queue with the kernel's defaults.

    Notes
    -----
    A loop device keeps its queue, and all that was set there, when its file is
    exchanged for another: whoever has it next would measure what was set.
    """
    if reference["boot"] != boot_identifier(paths):
        return None
    if _is_nameless(reference):
        return reference["name"] if _is_same_queue(reference, paths) else None
    return _find_named(reference, paths)


def find_drive(reference: Reference, paths: SystemPaths = SYSTEM) -> str | None:
    """Kernel name of the drive itself, which may remember across boots what was set in it.

    Returns
    -------
    str or None
        None for a drive without serial and WWN that is gone, or cannot be
        known again since the machine was started again.

    Raises
    ------
    DrivelabError
        R406: a drive with a serial or WWN is not connected now, or there are two of it.
    """
    if _is_nameless(reference):
        same_boot = reference["boot"] == boot_identifier(paths)
        return reference["name"] if same_boot and _is_same_device(reference, paths) else None
    name = _find_named(reference, paths)
    if name is None:
        called = " or ".join([*reference["serials"], *filter(None, [reference["wwn"]])])
        do = "connect it, then run: drivelab restore (if it is gone for good, delete the journal)"
        raise DrivelabError("R406", f"the drive {called} is not connected", where=reference["name"], do=do)
    return name


def _is_nameless(reference: Reference) -> bool:
    return not reference["serials"] and not reference["wwn"]


def _is_same_device(reference: Reference, paths: SystemPaths) -> bool:
    """Whether the device of that name still is the one that was named, within one boot.

    A loop device gets a new count with every file that is attached to it.
    """
    name = reference["name"]
    return device_exists(name, paths) and read_identity(name, paths).diskseq == reference["diskseq"]


def _is_same_queue(reference: Reference, paths: SystemPaths) -> bool:
    """Whether the device of that name still has the queue that it had."""
    number = reference.get("queue")
    # a journal of an older drivelab has no number
    return _is_same_device(reference, paths) if number is None else _queue_number(reference["name"], paths) == number


def _queue_number(name: str, paths: SystemPaths) -> int | None:
    """Inode of the directory of a queue: the kernel makes a new one, of another number, with every new queue."""
    try:
        return (directory_of(name, paths) / "queue").stat().st_ino
    except OSError:
        return None


def _find_named(reference: Reference, paths: SystemPaths) -> str | None:
    found = []
    for name in drive_names(paths):
        identity = read_identity(name, paths)
        if list(identity.serials) == reference["serials"] and identity.wwn == reference["wwn"]:
            found.append(name)
    if len(found) > 1 and reference["name"] not in found:
        what = f"{' and '.join(found)} both go by the name {(reference['serials'] or [reference['wwn']])[0]}"
        raise DrivelabError(
            "R406", what, where=reference["name"], do="unplug the other one, then run: drivelab restore"
        )
    return reference["name"] if reference["name"] in found else next(iter(found), None)
