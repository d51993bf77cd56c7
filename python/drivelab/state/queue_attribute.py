"""One attribute of a block device's queue in sysfs: read, set, read back, restore."""

from __future__ import annotations

import os
from pathlib import Path

from drivelab.inventory.sysfs import chosen, read_text
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal

_SYS_BLOCK = Path("/sys/block")


def read_queue_attribute(device: str, attribute: str) -> str | None:
    """Value in effect; None where the kernel has no such attribute."""
    text = read_text(_SYS_BLOCK / device / "queue" / attribute)
    return chosen(text) if text and "[" in text else text


def set_queue_attribute(device: str, attribute: str, value: str, journal: Journal) -> None:
    """Set an attribute, and read it back; nothing happens when it has the value already.

    Raises
    ------
    DrivelabError
        R404: the kernel has no such attribute, refuses the value, or keeps another one.
    """
    old = read_queue_attribute(device, attribute)
    if old == value:
        return
    if old is None:
        raise DrivelabError("R404", f"there is no queue/{attribute}", where=f"/dev/{device}")
    journal.will_change("queue_attribute", device=device, attribute=attribute, old=old, new=value)
    _write(device, attribute, value)
    now = read_queue_attribute(device, attribute)
    if now != value:
        raise DrivelabError("R404", f"queue/{attribute} was set to {value} and is {now}", where=f"/dev/{device}")


def undo_queue_attribute(device: str, attribute: str, old: str, new: str) -> str:
    """Put an attribute back; what was done, in words, or nothing.

    A value that is not the one that drivelab set was changed by someone else, and stays.

    Raises
    ------
    DrivelabError
        R404: the kernel refuses.
    """
    if read_queue_attribute(device, attribute) != new:
        return ""
    _write(device, attribute, old)
    return f"set queue/{attribute} of /dev/{device} back to {old}"


def _write(device: str, attribute: str, value: str) -> None:
    path = _SYS_BLOCK / device / "queue" / attribute
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        what = f"queue/{attribute} does not take {value}: {error.strerror}"
        raise DrivelabError("R404", what, where=f"/dev/{device}") from error
