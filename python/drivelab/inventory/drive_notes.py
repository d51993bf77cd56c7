"""What the owner of a drive should know before believing a number that it produced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.drive import DriveFacts, LinkFacts
from drivelab.model.units import format_rate_bytes_per_s


def notes_on(drive: DriveFacts, all_drives: Sequence[DriveFacts]) -> Iterator[str]:
    """Sentences about a drive, the gravest first.

    Parameters
    ----------
    all_drives : sequence of DriveFacts
        All drives, to notice one that is seen twice.
    """
    cache = drive.write_cache
    if cache.loses_acknowledged_writes:
        yield "the drive's write cache is on and the kernel sends it no flushes: power loss loses synced data"
    if cache.drive_enabled is False and cache.kernel_mode == "write back":
        yield "the drive's write cache is off and the kernel flushes it all the same"
    if drive.link is not None and drive.link.is_below_maximum:
        yield f"its link runs below its maximum: {describe_link(drive.link)}"
    if drive.link is not None and drive.link.driver == "usb-storage":
        yield "usb-storage sends one command at a time: queue depths above 1 change nothing"
    for layer in drive.use.walk():
        if layer.kind == "part" and layer.start_bytes % max(drive.physical_block_size_bytes, 4096):
            yield f"{layer.name} starts at byte {layer.start_bytes}, not on a boundary of 4 KiB: writes get split"
    twins = [other.name for other in all_drives if other.name != drive.name and _is_same(other, drive)]
    if twins:
        yield f"{' and '.join(twins)} report the same identity: several paths to one drive, or a copied serial"


def describe_link(link: LinkFacts) -> str:
    """A link for people: ``PCIe 8 GT/s x2 of 16 GT/s x4, at most 1.97 GB/s``."""
    names = {"pcie": "PCIe", "sata": "SATA", "sas": "SAS", "usb": "USB"}
    text = f"{names[link.kind]} {_lanes(link, link.rate_bits_per_s, link.lanes)}"
    if link.is_below_maximum:
        most = _lanes(link, link.rate_bits_per_s_max or link.rate_bits_per_s, link.lanes_max or link.lanes)
        text += f" of {most}"
    driver = f" ({link.driver})" if link.driver else ""
    return f"{text}{driver}, at most {format_rate_bytes_per_s(link.ceiling_bytes_per_s)}"


def _lanes(link: LinkFacts, rate_bits_per_s: int, lanes: int) -> str:
    if link.kind == "pcie":
        return f"{rate_bits_per_s / 1e9:g} GT/s x{lanes}"
    if rate_bits_per_s < 1_000_000_000:
        return f"{rate_bits_per_s / 1e6:g} Mbit/s"
    return f"{rate_bits_per_s / 1e9:g} Gbit/s"


def _is_same(one: DriveFacts, other: DriveFacts) -> bool:
    if one.wwn and other.wwn:
        return one.wwn == other.wwn and one.identity.device_number != other.identity.device_number
    # the namespaces of one NVMe controller share its serial and are not the same drive
    share_controller = one.transport == "nvme" and other.transport == "nvme"
    return bool(one.serial) and one.serial == other.serial and not share_controller
