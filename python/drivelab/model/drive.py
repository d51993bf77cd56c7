"""What is known about a drive, and what is not known and why.

A drive is a physical or virtual device, known by its serial or WWN and never
by its kernel name alone. A fact that could not be found is None, and
``DriveFacts.unknown`` says why, under the name of the field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from drivelab.model.plain import Plain

LinkKind = Literal["sata", "sas", "pcie", "usb"]
TouchVerdict = Literal["free", "holds_data", "in_use", "unusable", "unknown"]

# Largest line rate of each line code, and the share of the line rate that is payload.
# SATA and SAS specifications; PCIe base specification 6.0; USB 3.2 specification.
_LINE_CODES: dict[LinkKind, tuple[tuple[float, float], ...]] = {
    "sata": ((6e9, 8 / 10),),
    "sas": ((12e9, 8 / 10), (22.5e9, 128 / 150)),
    "pcie": ((5e9, 8 / 10), (32e9, 128 / 130), (64e9, 236 / 256)),
    "usb": ((0.48e9, 1.0), (5e9, 8 / 10), (20e9, 128 / 132)),
}


@dataclass(frozen=True, slots=True)
class LinkFacts(Plain):
    """The link between the drive and the computer, as negotiated now.

    Attributes
    ----------
    kind : str
        sata, sas, pcie or usb.
    rate_bits_per_s : int
        Line rate of one lane (6 Gbit/s SATA is 6 000 000 000; 8 GT/s PCIe likewise).
    rate_bits_per_s_max : int or None
        The most that drive and port can do; None when the system does not say.
    lanes, lanes_max : int or None
        PCIe width in use and possible; 1 for the other kinds.
    driver : str
        ``uas`` or ``usb-storage`` for USB, otherwise empty.
    """

    TOLD = ("is_below_maximum", "ceiling_bytes_per_s")

    kind: LinkKind
    rate_bits_per_s: int
    rate_bits_per_s_max: int | None = None
    lanes: int = 1
    lanes_max: int | None = None
    driver: str = ""

    @property
    def is_below_maximum(self) -> bool:
        """Whether the link runs slower or narrower than it could."""
        slower = self.rate_bits_per_s_max is not None and self.rate_bits_per_s < self.rate_bits_per_s_max
        return slower or (self.lanes_max is not None and self.lanes < self.lanes_max)

    @property
    def ceiling_bytes_per_s(self) -> int:
        """Payload that the line code leaves; no real transfer is faster, protocols make it slower."""
        codes = _LINE_CODES[self.kind]
        share = next((share for rate, share in codes if self.rate_bits_per_s <= rate), codes[-1][1])
        return round(self.rate_bits_per_s * self.lanes * share / 8)


@dataclass(frozen=True, slots=True)
class WriteCacheFacts(Plain):
    """The volatile write cache as the drive sees it and as the kernel sees it.

    Attributes
    ----------
    drive_enabled : bool or None
        Whether the drive says that it acknowledges writes before they are durable.
    drive_source : str
        Who was asked (``nvme get-feature``); empty when nobody answered.
    kernel_mode : str or None
        ``write back``: the kernel sends flushes. ``write through``: it sends none.
    kernel_uses_fua : bool or None
        Whether the kernel sends FUA writes instead of a write and a flush.
    views : dict of str to str
        Every answer, by who gave it.
    """

    TOLD = ("loses_acknowledged_writes",)

    drive_enabled: bool | None
    drive_source: str
    kernel_mode: str | None
    kernel_uses_fua: bool | None
    views: dict[str, str] = field(default_factory=dict)

    @property
    def loses_acknowledged_writes(self) -> bool:
        """Whether the drive caches writes and the kernel sends it no flushes."""
        return self.drive_enabled is True and self.kernel_mode == "write through"


@dataclass(frozen=True, slots=True)
class DiscardFacts(Plain):
    """Whether blocks can be trimmed: the kernel's limits; a maximum of 0 means that they cannot."""

    TOLD = ("is_supported",)

    granularity_bytes: int
    max_bytes: int

    @property
    def is_supported(self) -> bool:
        """Whether the kernel passes discards on to the drive."""
        return self.max_bytes > 0


@dataclass(frozen=True, slots=True)
class BlockUse:
    """What one block device of a stack holds and who uses it; children lie on top of it.

    Attributes
    ----------
    name, path, kind : str
        Kernel name, device node, and disk, part, dm, md, loop ...
    size_bytes, start_bytes : int
        Size, and where a partition begins on its disk (0 otherwise).
    contents : str or None
        Type of the file system or partition table (``ext4``, ``gpt``,
        ``LVM2_member``); empty when nothing was recognised; None when it could not be read.
    label, uuid : str
        Those of the file system; empty when it has none.
    detail : str
        Name of a device mapper volume, level of an array, backing file of a loop device.
    used_by : tuple of str
        Every other use, in words: ``swap``, ``btrfs file system of sdb, sdc``.
    children : tuple of BlockUse
        Partitions, then holders.
    """

    name: str
    path: str
    kind: str
    size_bytes: int
    start_bytes: int = 0
    contents: str | None = None
    label: str = ""
    uuid: str = ""
    detail: str = ""
    mount_points: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    children: tuple[BlockUse, ...] = ()

    def walk(self) -> Iterator[BlockUse]:
        """This device and everything on top of it, bottom up."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class DriveIdentity(Plain):
    """What must stay the same for a device to be still the same drive.

    ``diskseq`` is the kernel's count of disks ever attached: it tells a device
    from another that took its name and number (None before Linux 5.15).
    """

    name: str
    device_number: str
    size_bytes: int
    serials: tuple[str, ...]
    wwn: str | None
    diskseq: int | None


@dataclass(frozen=True, slots=True)
class Touchability(Plain):
    """Whether drivelab may write to a drive once its owner asks for it.

    Attributes
    ----------
    verdict : str
        ``free``: nothing is on it. ``holds_data``: it holds something that
        nobody uses now. ``in_use``, ``unusable``: never. ``unknown``: it could
        not be found out, which counts as never.
    erase_argument : str
        What the owner would have to type after ``--erase``; empty when never.
    """

    TOLD = ("may_be_erased",)

    verdict: TouchVerdict
    reasons: tuple[str, ...]
    erase_argument: str = ""

    @property
    def may_be_erased(self) -> bool:
        """Whether the typed consent of the owner is all that is missing."""
        return bool(self.erase_argument)


NOT_JUDGED = Touchability("unknown", ("not judged yet",))


@dataclass(frozen=True, slots=True)
class DriveFacts(Plain):
    """Everything known about one drive.

    Attributes
    ----------
    name, path : str
        Kernel name and device node, as they are at this moment.
    vendor, model, firmware, wwn : str or None
        As the drive reports them.
    serials : tuple of str
        Every serial it is known by, the preferred one first; a USB bridge and
        the drive behind it may each have their own.
    is_rotational : bool or None
        As the kernel believes; virtual drives often claim to be rotational.
    transport : str
        nvme, sata, sas, scsi, usb, virtio, mmc, loop, zram ...
    virtual : str
        What kind of virtual drive it is; empty for a physical one.
    link : LinkFacts or None
        Speed of its link; None for virtual drives and where it is unknown.
    logical_block_size_bytes, physical_block_size_bytes, optimal_io_size_bytes : int
        As the kernel sees them.
    queue_requests : int or None
        Requests the scheduler may hold (``nr_requests``).
    is_read_only, is_removable : bool
        As the kernel sees them.
    use : BlockUse
        What sits on it.
    identity : DriveIdentity
        What is compared before it is written to.
    touch : Touchability
        Whether it may be written to.
    notes : tuple of str
        What an owner should know: a link below its maximum, views that disagree.
    unknown : dict of str to str
        Why a fact is missing, by field.
    """

    TOLD = ("serial",)

    name: str
    path: str
    vendor: str | None
    model: str | None
    firmware: str | None
    serials: tuple[str, ...]
    wwn: str | None
    size_bytes: int
    is_rotational: bool | None
    transport: str
    virtual: str
    link: LinkFacts | None
    logical_block_size_bytes: int
    physical_block_size_bytes: int
    optimal_io_size_bytes: int
    write_cache: WriteCacheFacts
    scheduler: str | None
    queue_requests: int | None
    discard: DiscardFacts
    is_read_only: bool
    is_removable: bool
    use: BlockUse
    identity: DriveIdentity
    touch: Touchability = NOT_JUDGED
    notes: tuple[str, ...] = ()
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def serial(self) -> str | None:
        """The preferred serial; None when the drive has none or it is unknown."""
        return self.serials[0] if self.serials else None

    @property
    def erase_name(self) -> str:
        """What its owner types to name it: the serial, else the WWN, else the kernel name."""
        return self.serial or self.wwn or self.name
