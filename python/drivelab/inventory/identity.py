"""Who a drive is, from what the kernel already knows of it: no root, no tools, no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import SECTOR_BYTES, directory_of, disk_of, kind_of
from drivelab.inventory.identify import AtaIdentity, parse_ata_page, parse_serial_page
from drivelab.inventory.sysfs import read_bytes, read_int, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.drive import DriveIdentity

# "nvme." is put together by the kernel, and the only name that tells two namespaces of a controller apart
_WWN_PREFIXES = ("naa.", "eui.", "uuid.", "nvme.")


@dataclass(frozen=True, slots=True)
class KernelIdentity:
    """Names of a drive as the kernel has them; None or empty where it has none."""

    vendor: str | None
    model: str | None
    firmware: str | None
    serials: tuple[str, ...]
    wwn: str | None
    ata: AtaIdentity | None


def kernel_identity(name: str, paths: SystemPaths = SYSTEM) -> KernelIdentity:
    """Names of the drive `name`, from sysfs.

    Notes
    -----
    The order of serials depends only on sysfs, so that root and other users
    are told to type the same one.
    """
    block = directory_of(name, paths)
    device = block / "device"
    ata = parse_ata_page(read_bytes(device / "vpd_pg89"))
    vendor = read_text(device / "vendor")
    serials = (
        read_text(device / "serial"),  # NVMe, MMC
        read_text(block / "serial"),  # virtio
        parse_serial_page(read_bytes(device / "vpd_pg80")),
        ata.serial if ata else None,
        read_text(usb_directory(block) / "serial") if usb_directory(block) != block else None,
    )
    return KernelIdentity(
        # libata invents the vendor ATA, and virtio has a PCI number there
        vendor=None if not vendor or vendor == "ATA" or vendor.startswith("0x") else vendor,
        model=(ata and ata.model) or read_text(device / "model") or read_text(device / "name"),
        firmware=_firmware(device, ata),
        serials=usable_serials(serials),
        wwn=normal_wwn(read_text(block / "wwid") or read_text(device / "wwid")),
        ata=ata,
    )


def read_identity(name: str, paths: SystemPaths = SYSTEM) -> DriveIdentity:
    """What is compared to be sure that a block device is still the same one.

    For a partition the serials and the count of attached disks are those of its disk.
    """
    directory = directory_of(name, paths)
    disk = disk_of(name, paths)
    known = kernel_identity(disk, paths)
    # a dm or md device is known by its own identifier
    own = read_text(directory / "dm" / "uuid") or read_text(directory / "md" / "uuid")
    return DriveIdentity(
        name=name,
        device_number=read_text(directory / "dev") or "",
        size_bytes=read_int(directory / "size") * SECTOR_BYTES,
        serials=(own,) if own and kind_of(name, paths) in ("dm", "md") else known.serials,
        wwn=known.wwn,
        diskseq=read_int(directory_of(disk, paths) / "diskseq", 0) or None,
    )


def usable_serials(found: tuple[str | None, ...]) -> tuple[str, ...]:
    """Serials worth the name, each once, in the given order; ``0000`` and blanks name nothing."""
    cleaned = [text.strip() for text in found if text]
    return tuple(dict.fromkeys(text for text in cleaned if len(set(text)) > 1))


def normal_wwn(text: str | None) -> str | None:
    """A worldwide name as udev writes it (``0x5002538e...``, ``eui....``); None for names made up from others."""
    if not text:
        return None
    if text.startswith("0x"):
        return text.lower()
    if not text.startswith(_WWN_PREFIXES) or not re.search(r"[1-9a-f]", text.partition(".")[2]):
        return None
    return f"0x{text.removeprefix('naa.')}" if text.startswith("naa.") else text


def usb_directory(block: Path) -> Path:
    """The sysfs directory of the USB device that a block device hangs on; `block` itself when on none."""
    return next((parent for parent in block.parents if (parent / "bcdDevice").exists()), block)


def _firmware(device: Path, ata: AtaIdentity | None) -> str | None:
    if ata is not None and ata.firmware:
        return ata.firmware
    return read_text(device / "firmware_rev") or read_text(device / "rev") or read_text(device / "fwrev")
