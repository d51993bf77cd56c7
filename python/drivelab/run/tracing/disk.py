"""The disk that is traced: its number, its partitions, the layers above it, and whether it is a disk at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from drivelab.inventory.block_devices import (
    backing_file_of,
    device_exists,
    directory_of,
    disk_of,
    kind_of,
    partitions_of,
)
from drivelab.inventory.block_stack import devices_below
from drivelab.inventory.device_mapper import target_types
from drivelab.inventory.sysfs import read_int, read_text
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.target import is_scratch_file
from drivelab.trace.recording import device_name

# so many layers are told apart
LAYERS_MAX = 16


@dataclass(frozen=True, slots=True)
class TracedLayer:
    """A device between the program and its drives.

    Attributes
    ----------
    name, title : str
        Kernel name, and what it is for people: ``dm-crypt home``, ``md RAID-1 md0``, ``loop0``.
    number : int
        The kernel's.
    below : tuple of (int, int, int)
        What it lies on directly: number of the whole device, first sector, and the first one after it.
    """

    name: str
    title: str
    number: int
    below: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TracedDisk:
    """A whole disk and its partitions, with the kernel's own numbers: ``major << 20 | minor``.

    Attributes
    ----------
    partitions : tuple of int
        Of its partitions: bios are traced under the name that they were sent to.
    layers : tuple of TracedLayer
        What lies between the program and its drives, each before all that it lies on.
    drives : mapping of str to str
        Kernel names of the drives beneath the layers by ``major:minor``; the disk alone where there are none.
    stack : tuple of (int, int)
        Every device of the layers, their drives, and partitions of these; each with the whole device that it is.
    """

    name: str
    number: int
    partitions: tuple[int, ...]
    layers: tuple[TracedLayer, ...] = ()
    drives: Mapping[str, str] = field(default_factory=dict)
    stack: tuple[tuple[int, int], ...] = ()

    @property
    def top(self) -> int:
        """Number of the device that the program's bios are sent to."""
        return self.layers[0].number if self.layers else self.number

    @property
    def layer_above(self) -> Mapping[str, str]:
        """By ``major:minor`` of each device below a layer, and of its partitions, the title of the lowest one above."""
        titles = {number: layer.title for layer in self.layers for number, _, _ in layer.below}
        return {device_name(number): titles[whole] for number, whole in self.stack if whole in titles}

    @property
    def filter(self) -> str:
        """What the kernel should keep of the events of all devices."""
        numbers = dict.fromkeys((self.number, *self.partitions, *(number for number, _ in self.stack)))
        return " || ".join(f"dev == {number}" for number in numbers)


def traced_disk(name: str, top: str | None = None) -> TracedDisk:
    """The disk of a kernel name, and all layers from a device down to its drives.

    Parameters
    ----------
    name : str
        Of the disk.
    top : str, optional
        Kernel name of the device that I/O is sent to; without it only the disk is traced.

    Raises
    ------
    DrivelabError
        R433: there is none, or it is a partition. R440: more than `LAYERS_MAX` layers lie above its drives.
    """
    if "/" in name or not device_exists(name):
        raise DrivelabError("R433", f"there is no disk of the name {name}", where=name, do="see: drivelab drives")
    if kind_of(name) == "part":
        do = f"trace the disk that it is on: {disk_of(name)}"
        raise DrivelabError("R433", f"{name} is a partition, and only whole disks are traced", where=name, do=do)
    disk = TracedDisk(name, _number(name), _partitions(name), drives={_text(name): name})
    below = _stack_below(top) if top is not None else {}
    layers = tuple(_layer(one, lower) for one, lower in reversed(below.items()) if lower)
    if not layers:
        return disk
    if len(layers) > LAYERS_MAX:
        what = f"{len(layers)} devices lie above each other beneath {top}, and {LAYERS_MAX} are told apart"
        raise DrivelabError("R440", what, where=name)
    stack = [(number, _number(one)) for one in below for number in (_number(one), *_partitions(one))]
    drives = {_text(one): one for one, lower in below.items() if not lower}
    return replace(disk, layers=layers, drives=drives, stack=tuple(stack))


def _stack_below(top: str) -> dict[str, tuple[str, ...]]:
    """Whole devices from the drives up to one, each with what it lies on directly; nothing of a drive."""
    found: dict[str, tuple[str, ...]] = {}

    def visit(name: str) -> None:
        whole = disk_of(name)
        if whole in found:
            return
        lower = devices_below(whole).names if _is_layer(whole) else ()
        for one in lower:
            visit(one)
        found[whole] = lower

    visit(top)
    return found


def _is_layer(name: str) -> bool:
    kind = kind_of(name)
    # what lies below a scratch drive is no part of it: it is a drive of drivelab's own making
    return kind in ("dm", "md") or (kind == "loop" and not is_scratch_file(backing_file_of(name) or ""))


def _layer(name: str, lower: Sequence[str]) -> TracedLayer:
    stretches = []
    for one in lower:
        directory = directory_of(one)
        start = read_int(directory / "start")
        stretches.append((_number(disk_of(one)), start, start + read_int(directory / "size")))
    return TracedLayer(name, _layer_title(name), _number(name), tuple(stretches))


def _layer_title(name: str) -> str:
    """What a layer is, for people: ``dm-crypt home``, ``md RAID-1 md0``, ``loop0``."""
    directory, kind = directory_of(name), kind_of(name)
    if kind == "dm":
        called = read_text(directory / "dm" / "name") or name
        types = "+".join(target_types(called))
        return f"{f'dm-{types}' if types else 'device mapper'} {called}"
    if kind == "md":
        level = read_text(directory / "md" / "level") or "array"
        return f"md {level.replace('raid', 'RAID-')} {name}"
    return name


def require_other_disk(directory: Path, disk: TracedDisk) -> None:
    """Make sure that what is written to a directory does not go to the traced disk.

    Raises
    ------
    DrivelabError
        R435: it does.
    """
    traced = {disk.name, *disk.drives.values(), *(layer.name for layer in disk.layers)}
    if any(layer.name in traced for layer in resolve_target(str(directory)).devices):
        raise DrivelabError("R435", f"the directory lies on {disk.name}, which is traced", where=str(directory))


def _text(name: str) -> str:
    """``major:minor``."""
    return read_text(directory_of(name) / "dev") or "0:0"


def _number(name: str) -> int:
    major, _, minor = _text(name).partition(":")
    # the kernel's own dev_t has 20 bits of minor, unlike that of user space
    return int(major) << 20 | int(minor)


def _partitions(name: str) -> tuple[int, ...]:
    return tuple(_number(part) for part in partitions_of(name))
