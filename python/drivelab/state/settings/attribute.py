"""One attribute of the kernel's about a drive: read, set, read back, put back.

Writing some attributes makes the kernel change others as well: another
scheduler resets ``nr_requests``, and new queue limits raise a lowered
``read_ahead_kb``. What comes along unasked is put back.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.link import nvme_controller
from drivelab.inventory.sysfs import chosen, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal
from drivelab.state.settings.drive_reference import Reference, find_queue, reference_to

KIND = "drive_attribute"
# what the kernel is known to change by itself when another attribute is written
_MOVED_ALONG = ("queue/nr_requests", "queue/read_ahead_kb", "queue/wbt_lat_usec")
# the kernel does not answer for a throttling that it never began
_UNREADABLE = {"queue/wbt_lat_usec": "0"}
# what belongs to a level: a scheduler brings its own number of requests
_CONSEQUENCES = {"queue/scheduler": ("queue/nr_requests", "queue/wbt_lat_usec")}


def attribute_path(name: str, attribute: str, paths: SystemPaths = SYSTEM) -> Path | None:
    """File of an attribute; None where the drive hangs on nothing that has such an attribute.

    Parameters
    ----------
    name : str
        Kernel name of the drive.
    attribute : str
        Below the drive's own directory (``queue/scheduler``, ``cache_type``),
        ``scsi_host/...`` of the SCSI host that it hangs on, or
        ``nvme/...`` of its NVMe controller.
    """
    owner, _, rest = attribute.partition("/")
    block = directory_of(name, paths)
    if owner == "scsi_host":
        host = next((part for part in block.parts if re.fullmatch(r"host\d+", part)), None)
        return paths.sys / "class" / "scsi_host" / host / rest if host else None
    if owner == "nvme":
        controller = nvme_controller(name, paths)
        return paths.sys / "class" / "nvme" / controller / rest if controller else None
    return block / attribute


def has_attribute(name: str, attribute: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether the kernel has the attribute for this drive."""
    path = attribute_path(name, attribute, paths)
    return path is not None and path.exists()


def is_settable(name: str, attribute: str, paths: SystemPaths = SYSTEM) -> bool:
    """Whether the kernel has the attribute and lets root write it."""
    path = attribute_path(name, attribute, paths)
    try:
        return path is not None and bool(path.stat().st_mode & stat.S_IWUSR)
    except OSError:
        return False


def read_attribute(name: str, attribute: str, paths: SystemPaths = SYSTEM) -> str | None:
    """Value in effect; None where the kernel has no such attribute or cannot tell."""
    path = attribute_path(name, attribute, paths)
    text = read_text(path) if path is not None else None
    if text is None and path is not None and path.exists():
        return _UNREADABLE.get(attribute)
    return chosen(text) if text and "[" in text else text


def set_attribute(name: str, attribute: str, value: str, journal: Journal, paths: SystemPaths = SYSTEM) -> None:
    """Set an attribute, and read it back; nothing happens when it has the value already.

    Raises
    ------
    DrivelabError
        R404: the kernel has no such attribute, refuses the value, or keeps
        another one; then it is as it was.
    """
    old = read_attribute(name, attribute, paths)
    if old == value:
        return
    if not has_attribute(name, attribute, paths):
        raise DrivelabError("R404", f"there is no {attribute}", where=_node(name))
    before = _moved_along(name, attribute, paths)
    change = journal.will_change(
        KIND, drive=reference_to(name, paths), attribute=attribute, old=old, new=value, others=before
    )
    write_attribute(name, attribute, value, paths)
    unasked = {other: text for other, text in before.items() if other not in _CONSEQUENCES.get(attribute, ())}
    _put_back_moved(name, unasked, paths)
    now = read_attribute(name, attribute, paths)
    if now != value:
        if now != old and old is not None:
            write_attribute(name, attribute, old, paths)
        journal.was_undone(change)
        raise DrivelabError("R404", f"{attribute} was set to {value} and is {now}", where=_node(name))


def undo_attribute(
    drive: Reference,
    attribute: str,
    old: str | None,
    new: str,
    others: Mapping[str, str],
    *,
    paths: SystemPaths = SYSTEM,
) -> str:
    """Put an attribute back; what was done, in words, or nothing.

    A value that is not the one that drivelab set was changed by someone else,
    and stays; with a queue that the kernel has no more it is gone.

    Raises
    ------
    DrivelabError
        R404: the kernel refuses. R406: there are two drives of that name.
    """
    name = find_queue(drive, paths)
    if name is None or old is None or read_attribute(name, attribute, paths) != new:
        return ""
    before = _moved_along(name, attribute, paths)
    write_attribute(name, attribute, old, paths)
    now = read_attribute(name, attribute, paths)
    if now != old:
        raise DrivelabError("R404", f"{attribute} was set back to {old} and is {now}", where=_node(name))
    changed = [other for other, text in before.items() if read_attribute(name, other, paths) != text]
    _put_back_moved(name, {other: others.get(other, before[other]) for other in changed}, paths)
    return f"set {attribute} of {_node(name)} back to {old}"


def write_attribute(name: str, attribute: str, value: str, paths: SystemPaths = SYSTEM) -> None:
    """Write an attribute, and nothing else: no journal, no reading back.

    Raises
    ------
    DrivelabError
        R404: the kernel refuses.
    """
    path = attribute_path(name, attribute, paths)
    if path is None:
        raise DrivelabError("R404", f"there is no {attribute}", where=_node(name))
    write_kernel_file(path, value, f"{attribute} does not take {value}", _node(name))


def write_kernel_file(path: Path, value: str, refusal: str, where: str) -> None:
    """Write a value with the line end that old kernels insist on.

    Raises
    ------
    DrivelabError
        R404: the kernel refuses; `refusal` says what that means.
    """
    try:
        # emptied first, which the kernel's files ignore, so that a plain file holds the value only
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, f"{value}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise DrivelabError("R404", f"{refusal}: {error.strerror}", where=where) from error


def _moved_along(name: str, attribute: str, paths: SystemPaths) -> dict[str, str]:
    found = {other: read_attribute(name, other, paths) for other in _MOVED_ALONG if other != attribute}
    return {other: text for other, text in found.items() if text is not None}


def _put_back_moved(name: str, before: Mapping[str, str], paths: SystemPaths) -> None:
    for other, text in before.items():
        if read_attribute(name, other, paths) != text:
            write_attribute(name, other, text, paths)


def _node(name: str) -> str:
    return f"/dev/{name.replace('!', '/')}"
