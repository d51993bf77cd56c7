"""The disk that is traced: its number, its partitions, and whether it is a disk at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.block_devices import device_exists, directory_of, disk_of, kind_of, partitions_of
from drivelab.inventory.sysfs import read_text
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError


@dataclass(frozen=True, slots=True)
class TracedDisk:
    """A whole disk and its partitions, with the kernel's own numbers: ``major << 20 | minor``.

    Attributes
    ----------
    name : str
        Kernel name.
    number : int
        Of the disk.
    partitions : tuple of int
        Of its partitions: bios are traced under the name that they were sent to.
    """

    name: str
    number: int
    partitions: tuple[int, ...]

    @property
    def filter(self) -> str:
        """What the kernel should keep of the events of all devices."""
        return " || ".join(f"dev == {number}" for number in (self.number, *self.partitions))


def traced_disk(name: str) -> TracedDisk:
    """The disk of a kernel name.

    Raises
    ------
    DrivelabError
        R433: there is none, or it is a partition.
    """
    if "/" in name or not device_exists(name):
        raise DrivelabError("R433", f"there is no disk of the name {name}", where=name, do="see: drivelab drives")
    if kind_of(name) == "part":
        do = f"trace the disk that it is on: {disk_of(name)}"
        raise DrivelabError("R433", f"{name} is a partition, and only whole disks are traced", where=name, do=do)
    return TracedDisk(name, _number(name), tuple(_number(part) for part in partitions_of(name)))


def require_other_disk(directory: Path, disk: TracedDisk) -> None:
    """Make sure that what is written to a directory does not go to the traced disk.

    Raises
    ------
    DrivelabError
        R435: it does.
    """
    if any(layer.name == disk.name for layer in resolve_target(str(directory)).devices):
        raise DrivelabError("R435", f"the directory lies on {disk.name}, which is traced", where=str(directory))


def _number(name: str) -> int:
    major, _, minor = (read_text(directory_of(name) / "dev") or "0:0").partition(":")
    # the kernel's own dev_t has 20 bits of minor, unlike that of user space
    return int(major) << 20 | int(minor)
