"""How many commands a durable write must cost the drive, by file system, file state and sync call.

Counted with the block layer's trace events: 4 KiB operations, on Linux 6.18
(loop devices, volatile cache without FUA) and on 6.1 (an emulated NVMe drive
with FUA). Rows that are predicted from the kernel's source instead are marked.
What decides is in block/blk-flush.c, block/fops.c, fs/iomap/direct-io.c,
fs/ext4/fsync.c, fs/jbd2/commit.c and fs/xfs/xfs_file.c.

A range stands where the count depends on speed: an fsync of an overwrite
commits the journal only when the file's time stamp moved since the last one,
which it does once per tick of the kernel (4 ms at HZ=250).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload

CacheKind = Literal["write_back", "write_back_fua", "write_through"]
Call = Literal["fdatasync", "fsync", "dsync", "o_sync"]
Range = tuple[float, float]

# From this size on one operation becomes several requests, whose number depends on the drive.
BLOCK_BYTES_MAX = 64 * 1024
_MEASURED = "counted: Linux 6.18 on loop devices, 6.1 on NVMe"
_PREDICTED = "from the kernel's source, not counted"
_CALLS: dict[str, Call] = {
    "fdatasync": "fdatasync",
    "fsync": "fsync",
    "o_dsync": "dsync",
    "rwf_dsync": "dsync",
    "o_sync": "o_sync",
}


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands for one durable operation; each a range from..to.

    Attributes
    ----------
    writes : tuple of float
        Writes with data, those of a journal, log or tree included.
    fua_writes : tuple of float
        The part of the writes that carries Force Unit Access.
    """

    writes: Range
    flushes: Range
    fua_writes: Range = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ExpectedCommands:
    """One row of the table.

    Attributes
    ----------
    filesystem : str
        ext4, xfs, btrfs, or raw for a block device.
    states : tuple of str
        States of the file (overwrite, append, preallocated); empty for any.
    calls : tuple of str
        fdatasync, fsync, dsync (O_DSYNC, RWF_DSYNC), o_sync.
    direct, asynchronous : bool or None
        Direct I/O; io_uring or libaio; None for either.
    by_cache : dict of str to Commands
        By what the kernel believes about the drive's cache.
    """

    filesystem: str
    states: tuple[str, ...]
    calls: tuple[Call, ...]
    direct: bool | None
    asynchronous: bool | None
    by_cache: dict[CacheKind, Commands]
    source: str = _MEASURED


def _one(write_count: float, flush_count: float, fua_count: float = 0) -> Commands:
    return Commands((write_count, write_count), (flush_count, flush_count), (fua_count, fua_count))


def _caches(back: Commands, back_fua: Commands, through: Commands) -> dict[CacheKind, Commands]:
    return {"write_back": back, "write_back_fua": back_fua, "write_through": through}


_SYNC_CALLS: tuple[Call, ...] = ("fdatasync", "fsync")
_ANY_CALL: tuple[Call, ...] = ("fdatasync", "fsync", "dsync", "o_sync")
_PLAIN = _caches(_one(1, 1), _one(1, 1), _one(1, 0))
_FUA_ALONE = _caches(_one(1, 1), _one(1, 0, 1), _one(1, 0))
_TICK_EXT4 = _caches(Commands((1, 3), (1, 2)), Commands((1, 3), (1, 1), (0, 1)), Commands((1, 3), (0, 0)))
_TICK_XFS = _caches(Commands((1, 2), (1, 2)), Commands((1, 2), (1, 1), (0, 1)), Commands((1, 2), (0, 0)))
# One write of journal descriptor and metadata, one commit block. With fast_commit there is a single
# journal write, without a journal a single flush; neither can be told from the mount options.
_COMMIT_EXT4 = _caches(Commands((1, 3), (1, 2)), Commands((1, 3), (1, 1), (0, 1)), Commands((1, 3), (0, 0)))
_COMMIT_XFS = _caches(_one(2, 2), _one(2, 1, 1), _one(2, 0))
# copy on write: tree blocks twice (DUP metadata) or once, then the superblock
_BTRFS = _caches(Commands((3, 12), (2, 4)), Commands((3, 12), (1, 2), (1, 2)), Commands((3, 12), (0, 0)))

EXPECTED_COMMANDS: tuple[ExpectedCommands, ...] = (
    ExpectedCommands("raw", (), _SYNC_CALLS, None, None, _PLAIN),
    ExpectedCommands("raw", (), ("dsync", "o_sync"), True, False, _caches(_one(1, 2), _one(1, 1, 1), _one(1, 0))),
    ExpectedCommands("raw", (), ("dsync", "o_sync"), True, True, _FUA_ALONE),
    ExpectedCommands("raw", (), ("dsync", "o_sync"), False, None, _PLAIN),
    ExpectedCommands("ext4", ("overwrite",), ("fdatasync",), None, None, _PLAIN),
    ExpectedCommands("ext4", ("overwrite",), ("dsync",), True, None, _FUA_ALONE),
    ExpectedCommands("ext4", ("overwrite",), ("dsync",), False, None, _PLAIN),
    ExpectedCommands("ext4", ("overwrite",), ("fsync", "o_sync"), None, None, _TICK_EXT4),
    ExpectedCommands("ext4", ("append", "preallocated"), _ANY_CALL, None, None, _COMMIT_EXT4),
    ExpectedCommands("xfs", ("overwrite",), ("fdatasync",), None, None, _PLAIN),
    ExpectedCommands("xfs", ("overwrite",), ("dsync",), True, None, _FUA_ALONE),
    ExpectedCommands("xfs", ("overwrite",), ("dsync",), False, None, _PLAIN, _PREDICTED),
    ExpectedCommands("xfs", ("overwrite",), ("fsync", "o_sync"), None, None, _TICK_XFS),
    ExpectedCommands("xfs", ("append", "preallocated"), _ANY_CALL, None, None, _COMMIT_XFS),
    ExpectedCommands("btrfs", (), _ANY_CALL, None, None, _BTRFS),
)


def expected_commands(
    workload: Workload, backend: str, direct: bool, target: TargetFacts
) -> tuple[Commands, ExpectedCommands] | None:
    """What one durable write of a workload must cost; None where nothing is known."""
    return expected_commands_on(workload, backend, direct, filesystem_name(target), cache_kind(target))


def expected_commands_on(
    workload: Workload, backend: str, direct: bool, filesystem: str, cache: CacheKind | None
) -> tuple[Commands, ExpectedCommands] | None:
    """What one durable write of a workload must cost on a file system and a kind of cache; None where nothing is known.

    Parameters
    ----------
    filesystem : str
        Its type, or ``raw`` for a block device.
    cache : str or None
        What the kernel believes about the drive's cache; None when that is not known.

    Returns
    -------
    tuple of Commands and ExpectedCommands, or None
        Nothing is said of writes larger than `BLOCK_BYTES_MAX`, of several at a
        time (their flushes merge), of arrays, and of file systems that were not counted.
    """
    call = _CALLS.get(workload.durability.method)
    if call is None or cache is None or workload.durability.covers_several_writes or workload.tree is not None:
        return None
    if max(share.bytes for share in workload.block_sizes) > BLOCK_BYTES_MAX or concurrency(workload, backend) > 1:
        return None
    for row in EXPECTED_COMMANDS:
        if row.filesystem == filesystem and call in row.calls and _fits(row, workload, backend, direct):
            return _first_pass_only(row, row.by_cache[cache], workload), row
    return None


def cache_kind(target: TargetFacts) -> CacheKind | None:
    """What the kernel believes about the cache of the only drive; None when it is not known."""
    drive = target.drive
    return None if drive is None else cache_kind_of(drive.write_cache.kernel_mode, drive.write_cache.kernel_uses_fua)


def cache_kind_of(kernel_mode: str | None, kernel_uses_fua: bool | None) -> CacheKind | None:
    """The kind of a cache from ``queue/write_cache`` and ``queue/fua``; None when the former is not known."""
    if kernel_mode is None:
        return None
    if kernel_mode == "write through":
        return "write_through"
    return "write_back_fua" if kernel_uses_fua else "write_back"


def filesystem_name(target: TargetFacts) -> str:
    """The file system's type, or ``raw`` for a block device."""
    return target.filesystem.type if target.filesystem else "raw"


def concurrency(workload: Workload, backend: str) -> int:
    """I/Os that may be outstanding at once: some backends let the kernel have one per job."""
    return workload.job_count * (1 if backend in ("sync", "posixaio") else workload.queue_depth)


def _fits(row: ExpectedCommands, workload: Workload, backend: str, direct: bool) -> bool:
    right_state = not row.states or workload.file_state in row.states
    right_path = row.direct is None or row.direct == direct
    right_way = row.asynchronous is None or row.asynchronous == (backend in ("uring", "aio"))
    return right_state and right_path and right_way


def _first_pass_only(row: ExpectedCommands, commands: Commands, workload: Workload) -> Commands:
    """Writes into preallocated space cost a commit only the first time each block is written."""
    small = min(share.bytes for share in workload.block_sizes) < 4096
    if workload.file_state != "preallocated" or not row.states or not small:
        return commands
    fua_low = 0.0
    flush_low = min(commands.flushes[0], 1.0)
    return Commands((1.0, commands.writes[1]), (flush_low, commands.flushes[1]), (fua_low, commands.fua_writes[1]))


def append_commands(filesystem: str, *, has_cache: bool) -> tuple[float, float] | None:
    """Writes and flushes of one small synchronous append (``dd oflag=direct,sync``), where nobody counted them.

    Parameters
    ----------
    filesystem : str
        ext4, xfs, or raw for a block device.
    has_cache : bool
        Whether the drive's write cache was on.

    Returns
    -------
    tuple of float, or None
        What every append costs that commits the journal; None for a file system that has no such fixed number.

    Notes
    -----
    On the bare drive one flush: kernels of that time sent none after the write itself.
    """
    cache: CacheKind = "write_back" if has_cache else "write_through"
    tables = {"raw": _PLAIN, "ext4": _COMMIT_EXT4, "xfs": _COMMIT_XFS}
    if filesystem not in tables:
        return None
    commands = tables[filesystem][cache]
    return commands.writes[1], commands.flushes[1]
