"""What kind of drive something is, in the words of a sentence that says why it lacks a setting."""

from __future__ import annotations

from drivelab.model.drive import DriveFacts

_KINDS = {
    "loop": "a loop device",
    "zram": "a drive in memory",
    "ram": "a drive in memory",
    "nbd": "a network block device",
    "null_blk": "a null block device",
    "virtio": "a virtio drive",
    "nvme": "an NVMe drive",
    "sata": "a SATA drive",
    "sas": "a SAS drive",
    "scsi": "a SCSI drive",
    "scsi_debug": "a simulated SCSI drive",
    "iscsi": "an iSCSI drive",
    "fc": "a Fibre Channel drive",
    "usb": "a USB drive",
    "mmc": "a memory card",
    "pmem": "persistent memory",
}


def kind_of_drive(drive: DriveFacts) -> str:
    """The kind of a drive with its article: ``a loop device``."""
    return _KINDS.get(drive.transport, "this kind of drive")
