"""Finds the process that keeps a journal locked after the one that began it has ended."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.sysfs import entries, read_bytes, read_text

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class JournalHolder:
    """A process that holds the lock of a journal.

    Attributes
    ----------
    process_id : int
        Its number.
    command : str
        What the kernel calls it: ``mkfs.ext4``.
    device : str
        The last block device on its command line; empty when there is none.
    puts_back : bool
        Whether it took the lock itself, as only drivelab does, and did not inherit it.
    """

    process_id: int
    command: str
    device: str
    puts_back: bool


def journal_holder(path: Path) -> JournalHolder | None:
    """The process that holds the lock of a journal; None when there is none, or none that this user may see."""
    try:
        status = path.stat()
    except OSError:
        return None
    for process_id in (int(entry) for entry in entries(_PROC) if entry.isdigit()):
        owner = _lock_owner(process_id, os.path.realpath(path), status.st_ino)
        if owner is not None:
            process = _PROC / str(process_id)
            return JournalHolder(
                process_id, read_text(process / "comm") or "?", _device_named(process), puts_back=owner == process_id
            )
    return None


def _lock_owner(process_id: int, path: str, inode: int) -> int | None:
    """Number of the process that took the lock which a process holds on a journal; None when it holds none."""
    process = _PROC / str(process_id)
    for entry in entries(process / "fd"):
        try:
            if os.readlink(process / "fd" / entry) != path:
                continue
        except OSError:
            continue
        # only what was locked through this opening is listed: "lock: 1: FLOCK ADVISORY WRITE 77 fe:00:12 0 EOF"
        for line in (read_text(process / "fdinfo" / entry) or "").splitlines():
            words = line.split()
            if words[:1] == ["lock:"] and words[2] == "FLOCK" and words[6].endswith(f":{inode}"):
                return int(words[5])
    return None


def _device_named(process: Path) -> str:
    arguments = [os.fsdecode(part) for part in (read_bytes(process / "cmdline") or b"").split(b"\0")]
    return next((argument for argument in reversed(arguments) if _is_block_device(argument)), "")


def _is_block_device(path: str) -> bool:
    try:
        return path.startswith("/dev/") and stat.S_ISBLK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
