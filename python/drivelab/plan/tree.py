"""Operations on files in a plan: where they can be, what they need, what they write and how long they take."""

from __future__ import annotations

import re

from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import PlannedTarget
from drivelab.model.target import DEVICE_KINDS
from drivelab.model.units import format_bytes
from drivelab.model.workload import FILE_WRITING_OPERATIONS
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.cells import Cell

_KIB, _MIB = 2**10, 2**20
_BLOCK_BYTES = 4 * _KIB
# mke2fs 1.47: an inode for every 16 KiB, and for every 4 KiB of a file system below 512 MiB
_BYTES_PER_INODE, _BYTES_PER_INODE_SMALL, _SMALL_BYTES = 16 * _KIB, 4 * _KIB, 512 * _MIB
_INODES_TAKEN = 16
# of an operation on a file that stays in memory, and of one file that is made and written out later
CALL_NS, MAKE_FILE_NS = 15_000, 40_000


def refuse_tree(cell: Cell, target: PlannedTarget, room_bytes: int) -> None:
    """Return only if the files of a cell can be made on the target.

    Raises
    ------
    DrivelabError
        P706: it has no file system. P705: it has too little room, or too few inodes, for them.
    """
    pattern = cell.pattern
    has_filesystem = cell.filesystem is not None and cell.filesystem.type != "raw"
    if target.kind == "file" or (target.kind in DEVICE_KINDS and not has_filesystem):
        what = f"{cell.workload} works on files in directories, and {target.text} is {_kind(target)}"
        do = "name a directory, or let the experiment make a file system: the factor filesystem"
        raise DrivelabError("P706", what, where=target.text, do=do)
    needed = tree_bytes(pattern)
    if needed > room_bytes:
        what = (
            f"{cell.workload} needs {format_bytes(needed)} for {pattern.file_count} files, the target has room for "
            f"{format_bytes(room_bytes)}"
        )
        raise DrivelabError("P705", what, where=target.text, do="use a larger target, or fewer or smaller files")
    inodes = _free_inodes(cell.filesystem, target)
    if inodes is not None and _inodes(pattern) > inodes:
        what = f"{cell.workload} needs {_inodes(pattern)} inodes for its files and directories, there are {inodes}"
        do = "use fewer files, a larger target, or more inodes: mkfs option -N"
        raise DrivelabError("P705", what, where=target.text, do=do)


def _kind(target: PlannedTarget) -> str:
    return "a file" if target.kind == "file" else "a drive without a file system"


def _inodes(pattern: WorkloadPattern) -> int:
    # a link has none of its own, a symbolic one has
    names = 2 if "symlink" in pattern.operation_names else 1
    return names * pattern.file_count + max(pattern.directory_count, pattern.job_count)


def _free_inodes(level: FileSystemLevel | None, target: PlannedTarget) -> int | None:
    """Inodes that files can have; None where they are made as they are needed."""
    if level is None:
        return target.free_inodes
    if level.type not in ("ext2", "ext3", "ext4"):
        return None
    options = " ".join(level.mkfs_options)
    told = re.search(r"-N\s*(\d+)", options)
    if told:
        return int(told[1]) - _INODES_TAKEN
    ratio = re.search(r"-i\s*(\d+)", options)
    usual = _BYTES_PER_INODE_SMALL if target.size_bytes < _SMALL_BYTES else _BYTES_PER_INODE
    return target.size_bytes // (int(ratio[1]) if ratio else usual) - _INODES_TAKEN


def tree_bytes(pattern: WorkloadPattern) -> int:
    """Bytes that all files and directories take in blocks of 4 KiB."""
    blocks = -(-round(_mean_file_bytes(pattern)) // _BLOCK_BYTES)
    # a directory made for each file, and a symbolic link, take a block at most
    per_file = max(blocks, 1) if {"make_directory", "remove_directory"} & set(pattern.operation_names) else blocks
    return _BLOCK_BYTES * (pattern.file_count * per_file + max(pattern.directory_count, pattern.job_count))


def _mean_file_bytes(pattern: WorkloadPattern) -> float:
    least = pattern.file_size if pattern.file_size_min is None else pattern.file_size_min
    return (least + pattern.file_size) / 2


def makes_files(pattern: WorkloadPattern) -> bool:
    """Whether there must be files before the workload begins."""
    return not set(pattern.operation_names) <= {"create", "make_directory"}


def tree_operations(pattern: WorkloadPattern, per_operation_ns: float) -> float:
    """Operations of a workload on files, at most: by its limits, and once for each file without any."""
    limits = [float(pattern.count)] if pattern.count else []
    if pattern.runtime:
        limits.append((pattern.runtime + pattern.ramp) / per_operation_ns * pattern.job_count)
    if pattern.bytes and _mean_file_bytes(pattern):
        limits.append(pattern.bytes / _mean_file_bytes(pattern))
    return min(limits, default=float(pattern.file_count))


def tree_operation_ns(pattern: WorkloadPattern, durable_ns: float, bytes_per_s: float) -> float:
    """Guessed time of one operation.

    Parameters
    ----------
    durable_ns : float
        What it takes to make one file or directory durable.
    bytes_per_s : float
        How fast contents are written and read.
    """
    found = float(CALL_NS)
    if set(pattern.operation_names) & {*FILE_WRITING_OPERATIONS, "read_file"}:
        found += _mean_file_bytes(pattern) / bytes_per_s * 1e9
    if pattern.is_durable:
        found += durable_ns
    return found


def written_share(pattern: WorkloadPattern) -> float:
    """Part of the operations that write a file's contents."""
    mix = pattern.operations
    if not mix:
        return float(pattern.operation_names[0] in FILE_WRITING_OPERATIONS)
    weights = sum(share.weight for share in mix)
    return sum(share.weight for share in mix if share.operation in FILE_WRITING_OPERATIONS) / weights


def tree_written_bytes(pattern: WorkloadPattern, operations: float) -> int:
    """Contents that so many operations write."""
    return round(operations * written_share(pattern) * _mean_file_bytes(pattern))
