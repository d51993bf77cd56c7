"""The link of a drive: which kind, how fast it runs and how fast it could."""

from __future__ import annotations

import re
from pathlib import Path

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.identify import AtaIdentity
from drivelab.inventory.identity import usb_directory
from drivelab.inventory.sysfs import entries, link_target_name, read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import LinkFacts

_RATE = re.compile(r"([\d.]+)\s*(GT/s|Gbps|Gbit|Gb/s)")
# the transports that a component of the sysfs path of a drive gives away
_PATH_TRANSPORTS = (
    (re.compile(r"usb\d+"), "usb"),
    (re.compile(r"end_device-"), "sas"),
    (re.compile(r"session\d+"), "iscsi"),
    (re.compile(r"rport-"), "fc"),
    (re.compile(r"ata\d+"), "sata"),
    (re.compile(r"virtio\d+"), "virtio"),
    (re.compile(r"mmc\d+"), "mmc"),
    (re.compile(r"pseudo_\d+|adapter\d+"), "scsi_debug"),
    (re.compile(r"host\d+"), "scsi"),
)
_NAME_TRANSPORTS = (
    ("loop", "loop"),
    ("zram", "zram"),
    ("ram", "ram"),
    ("nbd", "nbd"),
    ("nullb", "null_blk"),
    ("rbd", "rbd"),
    ("drbd", "drbd"),
    ("xvd", "xen"),
    ("bcache", "bcache"),
    ("dm-", "dm"),
    ("md", "md"),
    ("pmem", "pmem"),
)
_USB_RATE_MAX_BITS_PER_S = {"1": 12_000_000, "2": 480_000_000}


def transport_of(name: str, paths: SystemPaths = SYSTEM) -> str:
    """How a drive is attached: nvme, sata, sas, usb, virtio, loop ...; ``unknown`` when sysfs does not show it."""
    block = directory_of(name, paths)
    if name.startswith("nvme"):
        fabric = next((text for c in _controllers(block) if (text := read_text(c / "transport"))), "pcie")
        return "nvme" if fabric == "pcie" else f"nvme-{fabric}"
    for prefix, transport in _NAME_TRANSPORTS:
        if name.startswith(prefix):
            return transport
    below = block.parts[len(paths.sys.resolve().parts) :]
    return next((kind for pattern, kind in _PATH_TRANSPORTS if any(map(pattern.match, below))), "unknown")


def link_of(name: str, ata: AtaIdentity | None, paths: SystemPaths = SYSTEM) -> LinkFacts | None:
    """The link of a drive as negotiated now; None when sysfs does not tell.

    Parameters
    ----------
    name : str
        Kernel name of the drive.
    ata : AtaIdentity or None
        What an ATA drive says of itself: its own fastest rate.
    """
    block = directory_of(name, paths)
    transport = transport_of(name, paths)
    if transport == "nvme":
        return next((link for c in _controllers(block) if (link := _pcie_link(c / "device"))), None)
    if transport == "sata":
        return _sata_link(block, ata, paths)
    if transport == "sas":
        return _sas_link(block)
    return _usb_link(usb_directory(block)) if transport == "usb" else None


def nvme_controller(name: str, paths: SystemPaths = SYSTEM) -> str | None:
    """Kernel name of the first controller of an NVMe namespace (``nvme0``)."""
    return next((controller.name for controller in _controllers(directory_of(name, paths))), None)


def _controllers(block: Path) -> list[Path]:
    """Directories of the NVMe controllers that lead to a namespace; several under multipath."""
    device = (block / "device").resolve()
    if re.fullmatch(r"nvme\d+", device.name):
        return [device]
    return [(device / entry).resolve() for entry in entries(device) if re.fullmatch(r"nvme\d+", entry)]


def parse_rate(text: str | None) -> int | None:
    """Line rate in bits per second of a text such as ``6.0 Gbps`` or ``8.0 GT/s PCIe``."""
    match = _RATE.search(text or "")
    return round(float(match[1]) * 1e9) if match else None


def _pcie_link(device: Path) -> LinkFacts | None:
    rate = parse_rate(read_text(device / "current_link_speed"))
    lanes = read_int(device / "current_link_width")
    if rate is None or lanes == 0:
        return None
    return LinkFacts(
        kind="pcie",
        rate_bits_per_s=rate,
        rate_bits_per_s_max=parse_rate(read_text(device / "max_link_speed")),
        lanes=lanes,
        lanes_max=read_int(device / "max_link_width") or None,
    )


def _sata_link(block: Path, ata: AtaIdentity | None, paths: SystemPaths) -> LinkFacts | None:
    port = next((part for part in block.parts if re.fullmatch(r"ata\d+", part)), "")
    link = paths.sys / "class" / "ata_link" / port.replace("ata", "link")
    rate = parse_rate(read_text(link / "sata_spd"))
    limits = (parse_rate(read_text(link / "hw_sata_spd_limit")), ata.sata_rate_bits_per_s_max if ata else None)
    known = [limit for limit in limits if limit]
    # the slower of port and drive is what the pair could reach; a drive behind an expander may show neither
    return LinkFacts("sata", rate, max(rate, min(known)) if known else None) if rate else None


def _sas_link(block: Path) -> LinkFacts | None:
    port = next((parent for parent in block.parents if re.match(r"port-[\d:]+$", parent.name)), None)
    for phy in entries(port) if port else []:
        details = (port / phy).resolve() / "sas_phy" / phy if port and phy.startswith("phy-") else None
        rate = parse_rate(read_text(details / "negotiated_linkrate")) if details else None
        if details and rate:
            return LinkFacts("sas", rate, parse_rate(read_text(details / "maximum_linkrate")))
    return None


def _usb_link(usb: Path) -> LinkFacts | None:
    mbit = read_text(usb / "speed")
    if not mbit:
        return None
    version = read_text(usb / "version") or ""
    drivers = [link_target_name(usb / entry / "driver") for entry in entries(usb) if ":" in entry]
    return LinkFacts(
        kind="usb",
        rate_bits_per_s=round(float(mbit) * 1e6),
        rate_bits_per_s_max=_usb_rate_max(version, round(float(mbit) * 1e6)),
        driver=next((driver for driver in drivers if driver in ("uas", "usb-storage")), ""),
    )


def _usb_rate_max(version: str, rate_bits_per_s: int) -> int | None:
    """What the USB version of a device promises at least; version 3 starts at 5 Gbit/s.

    A USB 3 device on a USB 2 link calls itself 2.10 (USB 3.2 specification, 9.6.1).
    """
    is_usb3 = version.startswith("3") or version == "2.10"
    promised = 5_000_000_000 if is_usb3 else _USB_RATE_MAX_BITS_PER_S.get(version[:1])
    return max(promised, rate_bits_per_s) if promised else None
