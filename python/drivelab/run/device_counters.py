"""The kernel's own counters of a block device, and what they say happened between two readings.

``/sys/class/block/DEVICE/stat`` has 17 fields (Documentation/block/stat.rst).
Two things about it are not obvious. An empty flush request, which fsync sends
when no data are left to write, counts as a write of zero bytes (field 5) and
as a flush (field 16); so the writes that carried data can only be bounded.
And flushes are counted for whole disks only, never for partitions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drivelab.model.measurement import DeviceCounts
from drivelab.model.target import BlockLayer

SYSFS_BLOCK = Path("/sys/class/block")
_SECTOR_BYTES = 512
# fields of the stat file, from 0
_READS, _READ_MERGES, _READ_SECTORS, _READ_MS = 0, 1, 2, 3
_WRITES, _WRITE_MERGES, _WRITE_SECTORS, _WRITE_MS = 4, 5, 6, 7
_BUSY_MS = 9
_DISCARDS, _FLUSHES, _FLUSH_MS = 11, 15, 16
_FIELD_COUNT = 17


@dataclass(frozen=True, slots=True)
class CounterReading:
    """The counters of several devices at one moment.

    Attributes
    ----------
    fields : dict of str to tuple of int
        The 17 fields of each device's stat file; fields that an old kernel
        does not have are 0.
    """

    read_at_ns: int
    fields: dict[str, tuple[int, ...]]


# backends of which the block layer sees nothing, and so counts nothing
_NOT_COUNTED = {"null": "null backend", "uring-cmd": "commands that go past the block layer are not in its counters"}


def counted_devices(layers: Sequence[BlockLayer], backend: str = "auto") -> tuple[tuple[str, ...], str]:
    """Names of the layers whose counters can be used, and why others cannot.

    Parameters
    ----------
    layers : sequence of BlockLayer
        The drive first, then each layer above it.
    backend : str, optional
        How I/O is issued.

    Returns
    -------
    names : tuple of str
        The drive first, then each layer above it.
    reason : str
        Why there is none; empty when there is one.
    """
    if backend in _NOT_COUNTED:
        return (), _NOT_COUNTED[backend]
    if not layers:
        return (), "no block device is known beneath the target"
    names, reasons = [], []
    for layer in layers:
        directory = SYSFS_BLOCK / layer.name
        if not (directory / "stat").is_file():
            reasons.append(f"{layer.name} has no counters")
        elif _is_accounting_off(directory):
            reasons.append(f"the kernel does not count I/O of {layer.name} (queue/iostats is 0)")
        else:
            names.append(layer.name)
    return tuple(names), "" if names else "; ".join(reasons)


def counted_device(layers: Sequence[BlockLayer]) -> str:
    """Name of the device that commands per operation are about: the uppermost whole disk; empty when there is none.

    A partition and a volume pass requests on, and flushes are counted for
    whole disks only. A loop device is a disk of its own: what reaches the disk
    below its file is another matter. Over several disks or loop devices it is
    the array or volume that joins them, although its flushes are not counted.
    """
    disks = [layer for layer in layers if layer.kind in ("disk", "loop")]
    if disks and disks[-1].kind == "loop":
        # an array below the file of a loop device comes before it, and one of loop devices after them
        above = [layer.name for layer in layers[layers.index(disks[-1]) :] if layer.kind == "md"]
        return above[0] if above else disks[-1].name
    if len(disks) > 1 and disks[-1].kind == "disk":
        joining = [layer.name for layer in layers if layer.kind in ("md", "dm")]
        return joining[0] if joining else disks[-1].name
    return disks[-1].name if disks else ""


def _is_accounting_off(directory: Path) -> bool:
    try:
        return (directory / "queue" / "iostats").read_text().strip() == "0"
    except OSError:
        # a partition has no queue of its own; its disk decides
        return False


def read_counters(names: Sequence[str]) -> CounterReading:
    """The counters of some devices now; a device that has vanished is left out."""
    fields = {}
    for name in names:
        try:
            numbers = [int(word) for word in (SYSFS_BLOCK / name / "stat").read_text().split()]
        except OSError:
            continue
        fields[name] = tuple(numbers + [0] * (_FIELD_COUNT - len(numbers)))
    return CounterReading(time.monotonic_ns(), fields)


def has_outstanding(name: str) -> bool:
    """Whether a device has a read or a write in flight now; one that has vanished has none."""
    try:
        reads_and_writes = (SYSFS_BLOCK / name / "inflight").read_text().split()
    except OSError:
        return False
    return any(count != "0" for count in reads_and_writes)


def counts_between(
    before: CounterReading, after: CounterReading, *, sync_calls: int | None = None
) -> tuple[DeviceCounts, ...]:
    """What each device did between two readings.

    Parameters
    ----------
    sync_calls : int, optional
        How many fsync or fdatasync calls were made meanwhile; each sends at
        most one empty flush request. Without it as many as there were flushes
        are assumed.

    Returns
    -------
    tuple of DeviceCounts
        In the order of `before`. ``data_writes_high`` is every request counted
        as a write; ``data_writes_low`` leaves out one for each possible empty
        flush, but keeps the requests that the bytes need at least.
    """
    return tuple(
        _device_counts(name, before.fields[name], after.fields[name], sync_calls)
        for name in before.fields
        if name in after.fields
    )


def _device_counts(name: str, before: tuple[int, ...], after: tuple[int, ...], sync_calls: int | None) -> DeviceCounts:
    moved = [later - earlier for earlier, later in zip(before, after, strict=True)]
    writes, flushes = moved[_WRITES], moved[_FLUSHES]
    bytes_written = moved[_WRITE_SECTORS] * _SECTOR_BYTES
    # several empty flush requests may share one flush, so the calls may outnumber the flushes
    empty_flushes_max = max(flushes, sync_calls or 0)
    needed = -(-bytes_written // max_request_bytes(name))
    return DeviceCounts(
        device=name,
        reads=moved[_READS],
        writes=writes,
        discards=moved[_DISCARDS],
        flushes=flushes,
        bytes_read=moved[_READ_SECTORS] * _SECTOR_BYTES,
        bytes_written=bytes_written,
        read_merges=moved[_READ_MERGES],
        write_merges=moved[_WRITE_MERGES],
        read_ns=moved[_READ_MS] * 1_000_000,
        write_ns=moved[_WRITE_MS] * 1_000_000,
        flush_ns=moved[_FLUSH_MS] * 1_000_000,
        busy_ns=moved[_BUSY_MS] * 1_000_000,
        data_writes_low=min(writes, max(needed, writes - empty_flushes_max)),
        data_writes_high=writes,
    )


def max_request_bytes(name: str) -> int:
    """Largest request that the kernel sends to a device, in bytes."""
    directory = SYSFS_BLOCK / name
    for queue in (directory / "queue", directory.resolve().parent / "queue"):
        try:
            return max(1, int((queue / "max_sectors_kb").read_text())) * 1024
        except (OSError, ValueError):
            continue
    return 1 << 30
