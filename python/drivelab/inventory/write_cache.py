"""The volatile write cache: what the drive says, what the kernel believes, and who was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from drivelab.inventory import hdparm, nvme, sdparm
from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.sysfs import entries, read_flag, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.inventory.tools import ToolOutput, ask_drive
from drivelab.model.drive import WriteCacheFacts

Parser = Callable[[str], bool | None]
_SCSI_TRANSPORTS = ("scsi", "sas", "usb", "iscsi", "fc", "virtio", "scsi_debug")
_NO_CACHE_OF_ITS_OWN = {
    "loop": "a loop device has none of its own: a flush becomes an fsync of its backing file",
    "zram": "memory has none",
    "ram": "memory has none",
}


def question(transport: str, node: Path, controller: Path | None) -> tuple[tuple[str, ...], Parser] | None:
    """The command that asks a drive about its cache, with the parser of its answer; None when no tool fits."""
    if transport == "nvme" and controller is not None:
        # some firmware, and QEMU, answer for the controller only and not for the namespace
        return nvme.feature_command(controller), nvme.parse_write_cache
    if transport == "sata":
        return hdparm.command(node), hdparm.parse_write_cache
    if transport in _SCSI_TRANSPORTS and node.name.startswith("sd"):
        return sdparm.command(node), sdparm.parse_write_cache
    return None


def ask(transport: str, node: Path, controller: Path | None) -> tuple[str, bool | None, str]:
    """Who was asked about the cache, the answer, and why there is none."""
    asked = question(transport, node, controller)
    if asked is None:
        return "", None, _NO_CACHE_OF_ITS_OWN.get(transport, "no tool asks this kind of drive")
    command, parse = asked
    output: ToolOutput = ask_drive(command, controller or node)
    who = " ".join(command[:2] if command[0] == "nvme" else command[:1])
    if output.reason:
        return who, None, output.reason
    answer = parse(output.text)
    return who, answer, "" if answer is not None else f"the drive did not answer {command[0]}"


def write_cache_facts(name: str, answers: Mapping[str, bool | None], paths: SystemPaths = SYSTEM) -> WriteCacheFacts:
    """Both views of a drive's cache put together.

    Parameters
    ----------
    name : str
        Kernel name of the drive.
    answers : mapping of str to bool or None
        Who was asked, the most direct first, and whether the drive called its cache on.

    Notes
    -----
    sysfs knows the drive's own setting as of the last scan only; it counts as
    the drive's view when nobody could ask the drive now.
    """
    block = directory_of(name, paths)
    views = {who: "on" if answer else "off" for who, answer in answers.items() if who and answer is not None}
    scanned = _scanned_cache_type(block)
    if scanned:
        views["sysfs cache_type"] = scanned
    direct = next(((answer, who) for who, answer in answers.items() if who and answer is not None), None)
    if direct is None and scanned:
        direct = (scanned.startswith("write back"), "sysfs cache_type, as of the last scan")
    kernel_mode = read_text(block / "queue" / "write_cache")
    if kernel_mode:
        views["queue/write_cache"] = kernel_mode
    return WriteCacheFacts(
        drive_enabled=direct[0] if direct else None,
        drive_source=direct[1] if direct else "",
        kernel_mode=kernel_mode,
        kernel_uses_fua=read_flag(block / "queue" / "fua"),
        views=views,
    )


def _scanned_cache_type(block: Path) -> str | None:
    """``cache_type`` of a SCSI disk or of a virtio drive; None for others."""
    virtio = read_text(block / "cache_type")
    if virtio:
        return virtio
    disks = block / "device" / "scsi_disk"
    return next((text for entry in entries(disks) if (text := read_text(disks / entry / "cache_type"))), None)
