"""The guest's drives: each is a shaped drive of this machine behind the interface of a kind of real drive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from shaped_drive.process import MIB, ShapedDrive

KINDS = ("nvme", "sata", "scsi", "uas", "usb-storage", "virtio")


class ShownDrive(Protocol):
    """What QEMU needs to know of a drive that it shows to the guest."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    @property
    def serial(self) -> str:
        """Different for each drive of a guest."""

    @property
    def socket_path(self) -> Path:
        """Where its NBD server listens."""

    @property
    def limits(self) -> Mapping[str, int]:
        """QEMU's throttling, ``{"iops-total": 100}``; empty for none."""


class GuestDrive(ShapedDrive):
    """A drive of the guest; counts, latencies and failures as for every `ShapedDrive`.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    serial : str
        Different for each drive of a guest.
    path : str
        Its block device in the guest as of the last boot, ``/dev/sda``.
    limits : mapping of str to int
        QEMU's throttling.
    """

    def __init__(self, kind: str, number: int, size_bytes: int, limits: Mapping[str, int] | None = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"{kind} is no kind of drive: {', '.join(KINDS)}")
        super().__init__(size_bytes)
        self.kind = kind
        self.serial = f"vm-{kind}-{number}"
        self.path = ""
        self.limits = dict(limits or {})

    @property
    def name(self) -> str:
        """Kernel name in the guest, ``sda``."""
        return self.path.removeprefix("/dev/")


def make_drives(kinds: Sequence[str], size_bytes: int = 256 * MIB) -> list[GuestDrive]:
    """One drive of each kind that is named; the second of a kind has number 2."""
    made: list[GuestDrive] = []
    try:
        for at, kind in enumerate(kinds):
            made.append(GuestDrive(kind, kinds[: at + 1].count(kind), size_bytes))
    except BaseException:
        for drive in made:
            drive.close()
        raise
    return made


def asking_about_cache(drive: GuestDrive) -> str:
    """The command that prints a drive's own cache setting in the guest; empty for a kind that has none to ask."""
    if drive.kind == "nvme":
        return f"nvme get-feature {drive.path} -f 6"
    if drive.kind == "sata":
        return f"hdparm -W {drive.path}"
    return f"sdparm --quiet --get=WCE {drive.path}" if drive.name.startswith("sd") else ""


def qemu_arguments(drives: Iterable[ShownDrive]) -> list[str]:
    """What makes QEMU show the drives to the guest."""
    drives = list(drives)
    kinds = {drive.kind for drive in drives}
    arguments = []
    if "scsi" in kinds:
        arguments += ["-device", "virtio-scsi-pci,id=scsi"]
    if kinds & {"uas", "usb-storage"}:
        arguments += ["-device", "qemu-xhci,id=usb"]
    sata_port = 0
    for drive in drives:
        node = f"node-{drive.serial}"
        blockdev = {
            "driver": "nbd",
            "node-name": node,
            "server": {"type": "unix", "path": str(drive.socket_path)},
            "discard": "unmap",
        }
        arguments += ["-blockdev", json.dumps(blockdev)]
        if drive.limits:
            group, limited = f"limits-{drive.serial}", f"limited-{drive.serial}"
            arguments += ["-object", json.dumps({"qom-type": "throttle-group", "id": group, "limits": drive.limits})]
            throttle = {"driver": "throttle", "node-name": limited, "throttle-group": group, "file": node}
            arguments += ["-blockdev", json.dumps(throttle)]
            node = limited
        for device in _devices(drive, node, sata_port):
            arguments += ["-device", device]
        sata_port += drive.kind == "sata"
    return arguments


def _devices(drive: ShownDrive, node: str, sata_port: int) -> list[str]:
    common = f"serial={drive.serial},drive={node}"
    solid_state = "rotation_rate=1"
    if drive.kind == "nvme":
        return [f"nvme,{common}"]
    if drive.kind == "sata":
        return [f"ide-hd,bus=ide.{sata_port},{common},{solid_state}"]
    if drive.kind == "scsi":
        return [f"scsi-hd,bus=scsi.0,{common},{solid_state},dpofua=on"]
    if drive.kind == "uas":
        bus = f"bus-{drive.serial}"
        return [
            f"usb-uas,id={bus},bus=usb.0,serial={drive.serial}",
            f"scsi-hd,bus={bus}.0,{common},{solid_state},dpofua=on",
        ]
    if drive.kind == "usb-storage":
        return [f"usb-storage,bus=usb.0,{common}"]
    return [f"virtio-blk-pci,{common}"]
