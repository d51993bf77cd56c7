"""A target: what I/O is sent to, and everything between it and the drive."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from drivelab.model.drive import DriveFacts, DriveIdentity
from drivelab.model.plain import Plain
from drivelab.model.raid import RaidFacts
from drivelab.model.simulated import SimulatedModel

TargetKind = Literal["directory", "file", "missing_file", "block_device", "scratch", "raid", "simulated"]
# not there yet: a run makes them, and takes them away when it ends
MADE_KINDS: tuple[TargetKind, ...] = ("scratch", "raid")
# block devices by the time that I/O goes to them
DEVICE_KINDS: tuple[TargetKind, ...] = ("block_device", "simulated", *MADE_KINDS)
# files beneath the scratch drives that drivelab makes
SCRATCH_FILE_PATTERN = "drivelab-scratch-*.img"
LayerKind = Literal["disk", "part", "dm", "md", "loop"]


def is_scratch_file(path: str) -> bool:
    """Whether a file goes by the name of those beneath drivelab's scratch drives."""
    return fnmatchcase(path.rpartition("/")[2], SCRATCH_FILE_PATTERN)


@dataclass(frozen=True, slots=True)
class FilesystemFacts:
    """The mounted file system that a path lies on.

    Attributes
    ----------
    type, source, mount_point : str
        As the kernel reports them (``ext4``, ``/dev/sda1``, ``/home``).
    options : tuple of str
        Options of the mount and of the file system, each once.
    device_number : str
        ``major:minor`` as in mountinfo; major 0 has no block device of its own.
    total_bytes, free_bytes, available_bytes : int
        Size, free space, and the part of it that this user may fill.
    block_size_bytes : int
        Size of its blocks.
    is_read_only, is_network, is_memory, is_fuse : bool
        Mounted read-only; on another machine; in memory; run by a user-space program.
    no_device_reason : str
        Why no block device was found beneath; empty when one was.
    free_inodes : int or None
        Files that may still be made; None where inodes are made as they are needed.
    """

    type: str
    source: str
    mount_point: str
    options: tuple[str, ...]
    device_number: str
    total_bytes: int
    free_bytes: int
    available_bytes: int
    block_size_bytes: int
    is_read_only: bool
    is_network: bool = False
    is_memory: bool = False
    is_fuse: bool = False
    no_device_reason: str = ""
    free_inodes: int | None = None


@dataclass(frozen=True, slots=True)
class BlockLayer(Plain):
    """One block device on the way from the drive to the target.

    Attributes
    ----------
    name, path, device_number : str
        Kernel name, device node, ``major:minor``.
    kind : str
        disk, part, dm, md or loop.
    size_bytes, start_bytes : int
        Size, and where a partition begins on its disk (0 otherwise).
    logical_block_size_bytes, physical_block_size_bytes : int
        As the kernel sees them at this layer.
    write_cache : str or None
        ``write back`` or ``write through``, the kernel's view.
    uses_fua : bool or None
        Whether the kernel sends FUA writes to it.
    is_rotational, is_read_only : bool
        As the kernel believes.
    scheduler : str or None
        The I/O scheduler in use.
    detail : str
        ``LVM volume vg-home``, ``raid1``, ``/images/a.img``; empty for disks and partitions.
    """

    name: str
    path: str
    device_number: str
    kind: LayerKind
    size_bytes: int
    start_bytes: int
    logical_block_size_bytes: int
    physical_block_size_bytes: int
    write_cache: str | None
    uses_fua: bool | None
    is_rotational: bool
    is_read_only: bool
    scheduler: str | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TargetFacts(Plain):
    """A target as resolved.

    Attributes
    ----------
    text : str
        What was typed.
    kind : str
        directory, file, missing_file (in an existing directory), block_device,
        scratch (``scratch:SIZE``) or raid (``raid5:A,B,C``), which are not made yet, or simulated (``sim:NAME``).
    path : str
        The path with links followed; empty for what is not made yet.
    exists : bool
        Whether something is there now.
    filesystem : FilesystemFacts or None
        The file system a directory or file lies on; None for block devices and scratch.
    devices : tuple of BlockLayer
        From the drives up to the layer the target sits on; for a block device
        the last one is the target itself. Empty where there is no device.
    drives : tuple of DriveFacts
        The drives beneath; several under an array or a striped volume.
    size_bytes : int
        Size of the file, the block device or the scratch drive; 0 for a directory;
        a guess for a RAID set that is not made yet.
    logical_block_size_bytes : int
        Largest logical block size of the layers beneath; 512 where there are none.
    is_read_only : bool
        Whether writing is impossible: file system or device read-only, or no permission.
    identity : DriveIdentity or None
        Of the block device itself, compared again before it is written to.
    raid : RaidFacts or None
        The RAID set that drivelab makes, or has made, of its members; None for everything else.
    inode : int or None
        Of a directory or file that exists: by which its file system knows it.
    simulated : SimulatedModel or None
        What a simulated drive is made of; None for everything real.
    """

    TOLD = ("no_device_reason",)

    text: str
    kind: TargetKind
    path: str
    exists: bool
    filesystem: FilesystemFacts | None
    devices: tuple[BlockLayer, ...]
    drives: tuple[DriveFacts, ...]
    size_bytes: int
    logical_block_size_bytes: int
    is_read_only: bool
    identity: DriveIdentity | None = None
    raid: RaidFacts | None = None
    inode: int | None = None
    simulated: SimulatedModel | None = None

    @property
    def place(self) -> str:
        """Where it is, for somebody who stands elsewhere: the whole path, or a device as it was typed."""
        return self.text if self.kind in ("block_device", "simulated") else self.path or self.text

    @property
    def drive(self) -> DriveFacts | None:
        """The drive beneath when there is exactly one."""
        return self.drives[0] if len(self.drives) == 1 else None

    @property
    def no_device_reason(self) -> str:
        """Why no drive is known beneath; empty when one is."""
        return self.filesystem.no_device_reason if self.filesystem else ""
