"""Tells virtual drives from physical ones, so that nobody draws conclusions about hardware from them."""

from __future__ import annotations

_BY_TRANSPORT = {
    "loop": "loop device",
    "zram": "compressed memory (zram)",
    "ram": "memory (brd)",
    "virtio": "virtio drive of a virtual machine",
    "xen": "Xen virtual drive",
    "nbd": "network block device",
    "null_blk": "null block device, made by the kernel",
    "scsi_debug": "scsi_debug drive, made by the kernel",
    "rbd": "Ceph block device",
    "drbd": "replicated block device (drbd)",
    "iscsi": "iSCSI drive of another machine",
    "nvme-tcp": "NVMe drive of another machine (tcp)",
    "nvme-rdma": "NVMe drive of another machine (rdma)",
    "nvme-fc": "NVMe drive of another machine (fc)",
    "nvme-loop": "NVMe drive made by the kernel (nvmet)",
}
# the names that hypervisors and clouds give their drives, lower case, anywhere in vendor or model
_BY_NAME = (
    ("qemu", "QEMU"),
    ("vmware", "VMware"),
    ("vbox", "VirtualBox"),
    ("msft virtual", "Hyper-V"),
    ("virtual disk", "Hyper-V"),
    ("google persistentdisk", "Google Cloud"),
    ("nvme_card-pd", "Google Cloud"),
    ("amazon elastic block store", "Amazon EBS"),
    ("msft nvme accelerator", "Azure"),
    ("scsi_debug", "scsi_debug"),
)


def virtual_kind(transport: str, vendor: str | None, model: str | None) -> str:
    """What kind of virtual drive it is, in a few words; empty for one that looks physical.

    Parameters
    ----------
    transport : str
        As `transport_of` tells it.
    vendor, model : str or None
        Of the drive.
    """
    named = f"{vendor or ''} {model or ''}".lower()
    maker = next((maker for text, maker in _BY_NAME if text in named), "")
    kind = _BY_TRANSPORT.get(transport, "")
    if kind:
        return f"{kind} ({maker})" if maker else kind
    return f"virtual drive of {maker}" if maker else ""
