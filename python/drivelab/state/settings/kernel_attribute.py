"""One attribute of the kernel's about a drive, as a file: where it is, what it says, and writing it."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.link import nvme_controller
from drivelab.inventory.sysfs import chosen, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.errors import DrivelabError

# the kernel does not answer for a throttling that it never began
_UNREADABLE = {"queue/wbt_lat_usec": "0"}


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


def write_attribute(name: str, attribute: str, value: str, paths: SystemPaths = SYSTEM) -> None:
    """Write an attribute, and nothing else: no journal, no reading back.

    Raises
    ------
    DrivelabError
        R404: the kernel refuses.
    """
    path = attribute_path(name, attribute, paths)
    if path is None:
        raise DrivelabError("R404", f"there is no {attribute}", where=drive_node(name))
    write_kernel_file(path, value, f"{attribute} does not take {value}", drive_node(name))


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


def drive_node(name: str) -> str:
    """Device node of a drive, for messages."""
    return f"/dev/{name.replace('!', '/')}"
