"""Trims: tells a drive that it need not keep what its blocks hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from drivelab.inventory.block_devices import device_node, directory_of, disk_of
from drivelab.inventory.consent import require_same_identity
from drivelab.inventory.sysfs import read_flag, read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.state.exclusive import held_alone
from drivelab.state.held_device import look_before_writing
from drivelab.state.journal import Journal
from drivelab.state.programs import run_program

# a large drive may take its time for each of its terabytes
_TIMEOUT_S = 3600.0
_SECTOR_BYTES = 512
# Documentation/block/stat.rst of the kernel, counted from 0
_DISCARDS, _DISCARDED_SECTORS = 11, 13
_TRIMMED = re.compile(r"\((\d+) bytes\)")
_UNSUPPORTED = ("not supported", "Operation not supported")


@dataclass(frozen=True, slots=True)
class Discarded:
    """What a discard of a whole device did, as the kernel counted it.

    Attributes
    ----------
    bytes : int or None
        Bytes that were discarded; None when the kernel does not count for this device.
    commands : int or None
        Discard commands that the drive got.
    """

    bytes: int | None
    commands: int | None


def _discard_reason(name: str, paths: SystemPaths = SYSTEM) -> str:
    """Why a block device cannot be discarded; empty when it can."""
    queue = directory_of(disk_of(name, paths), paths) / "queue"
    if read_int(queue / "discard_max_bytes") > 0:
        return ""
    if read_int(queue / "discard_max_hw_bytes") > 0:
        return "discards are switched off (queue/discard_max_bytes is 0)"
    return "the drive, or what it hangs on, knows no discard"


def discard_device(target: TargetFacts, journal: Journal, paths: SystemPaths = SYSTEM) -> Discarded:
    """Discard every block of a block device; what it held is lost.

    Consent was asked for before; that it still is the same device, and that
    nobody uses it, is made sure of once more.

    Raises
    ------
    DrivelabError
        C201 to C209: the device may not be written to any more. R402, R403: blkdiscard
        is not installed, or failed. R410: the device knows no discard. R411: the kernel
        counted less than the device holds.

    Notes
    -----
    What can be verified is that the drive got the commands: the kernel counts
    them. What a discarded block reads as is up to the drive, and no Linux since
    4.12 promises zeroes, so nothing is read back.
    """
    name = require_same_identity(target, paths)
    reason = _discard_reason(name, paths)
    if reason:
        raise DrivelabError("R410", f"{target.path} cannot be discarded: {reason}", where=target.text)
    node = str(device_node(name, paths))
    before = _counted(name, paths)
    look_before_writing(node)
    with held_alone(node):
        # --force: the signatures on it were consented to, and it is held here already
        run_program(["blkdiscard", "--force", node], journal, timeout_s=_TIMEOUT_S)
    after = _counted(name, paths)
    if before is None or after is None:
        return Discarded(None, None)
    commands, sectors = after[0] - before[0], after[1] - before[1]
    size_bytes = read_int(directory_of(name, paths) / "size") * _SECTOR_BYTES
    if sectors * _SECTOR_BYTES < size_bytes:
        what = f"{sectors * _SECTOR_BYTES} B of {size_bytes} B were discarded, as the kernel counted"
        raise DrivelabError("R411", what, where=node)
    return Discarded(sectors * _SECTOR_BYTES, commands)


def fstrim(mount_point: str) -> int:
    """Trim the free space of a mounted file system; the bytes that the file system says it trimmed.

    A file system may leave out what it has trimmed before and not written to since.

    Raises
    ------
    DrivelabError
        R402, R403: fstrim is not installed, or failed. R410: the file system
        or the drive below knows no discard.
    """
    try:
        answer = run_program(["fstrim", "--verbose", mount_point], timeout_s=_TIMEOUT_S)
    except DrivelabError as error:
        if error.code == "R403" and any(text in error.what for text in _UNSUPPORTED):
            what = "it cannot be trimmed: the file system or the drive below knows no discard"
            raise DrivelabError("R410", what, where=mount_point) from error
        raise
    match = _TRIMMED.search(answer)
    if match is None:
        raise DrivelabError("R403", f"fstrim did not say how much it trimmed: {answer.strip()}", where=mount_point)
    return int(match[1])


def _counted(name: str, paths: SystemPaths) -> tuple[int, int] | None:
    """Discard commands and discarded sectors so far; None when the kernel does not count them."""
    if read_flag(directory_of(disk_of(name, paths), paths) / "queue" / "iostats") is not True:
        return None
    fields = (read_text(directory_of(name, paths) / "stat") or "").split()
    return (int(fields[_DISCARDS]), int(fields[_DISCARDED_SECTORS])) if len(fields) > _DISCARDED_SECTORS else None
