"""Bytes that a drive moved during a trial beyond those that the trial and its file system account for.

Direct I/O reaches the drive byte for byte, so in a trial that only reads every
written byte is somebody else's, and in one that only writes every byte read;
so it is where whole blocks are written through the page cache and made durable.
What a file system does for the trial is allowed for: its journal, its metadata,
and blocks that must be read before a part of them can be written. That can be as
much as the trial itself where every write is made durable; there the kernel's
counters of each program tell what was a neighbour's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drivelab.analyse.expected_commands import filesystem_name
from drivelab.model.measurement import DeviceCounts
from drivelab.model.others_processors import busiest_by

if TYPE_CHECKING:
    from drivelab.analyse.findings.evidence import TrialEvidence

# of what was issued: metadata, and a moment before and after the trial
EXCESS_MAX = 0.02
# what the page cache reads at once
PAGE_BYTES = 4096
# a page that is written by a store, or by the C library's buffer, may be read before
READING_BACKENDS = frozenset({"mmap", "stdio"})
# below that much a page or two of metadata are a large part
ISSUED_BYTES_MIN = 1 << 20
# a journal is written every 5 s (ext4) or 30 s (xfs): inode, bitmap, group, descriptor and commit, or a log buffer
JOURNAL_BYTES = 256 * 1024
JOURNAL_EVERY_NS = 5_000_000_000
# journal and log of one sync call: xfs rounds its log to stripe units, ext4 writes descriptor, metadata and commit
COMMIT_BYTES = 64 * 1024
# extent tree of space that is written for the first time
EXTENT_BYTES = 512
# what is known of: others write trees and checksums, collect garbage, or keep copies
KNOWN_FILESYSTEMS = frozenset({"raw", "ext2", "ext3", "ext4", "xfs", "vfat"})
_BYTES_OF = {"read": "bytes_read", "write": "bytes_written"}
# who had less of the others' bytes moved is not named
_MOVER_SHARE_MIN = 0.25
_COMMITTING_CALLS = frozenset({"fsync", "o_sync"})


@dataclass(frozen=True, slots=True)
class ForeignBytes:
    """Bytes of one direction that nothing in the trial accounts for.

    Attributes
    ----------
    direction : str
        read or write.
    count : int
        Such bytes.
    share : float
        Of all bytes that the trial issued.
    programs : tuple of str
        Who had them moved, as far as it is known; the busiest first.
    """

    direction: str
    count: int
    share: float
    programs: tuple[str, ...] = ()


def foreign_bytes(evidence: TrialEvidence) -> list[ForeignBytes]:
    """What a drive read and wrote for others; of each direction only where it is more than can be the trial's own.

    Parameters
    ----------
    evidence : TrialEvidence
        A trial. Of buffered I/O (but reads beside durable writes), operations on files,
        trims, several drives without an array of their own, and file systems whose
        own writes nobody can count, nothing is said.
    """
    counts = evidence.given
    issued = {name: evidence.issued(name) for name in ("read", "write")}
    total = sum(issued.values())
    if counts is None or total < ISSUED_BYTES_MIN or not _is_accountable(evidence, counts):
        return []
    allowed = {"read": _own_reads(evidence), "write": _own_writes(evidence)}
    moved = {"read": counts.bytes_read, "write": counts.bytes_written}
    found = []
    for name in ("read", "write"):
        excess = moved[name] - issued[name]
        by_others = min(excess, _moved_by_others(evidence, name))
        is_beyond_own = evidence.is_direct or name == "read"
        if is_beyond_own and excess > EXCESS_MAX * total + allowed[name]:
            count = excess
        elif by_others > EXCESS_MAX * total + JOURNAL_BYTES:
            count = by_others
        else:
            continue
        found.append(ForeignBytes(name, count, count / total, _movers(evidence, name)))
    return found


def _moved_by_others(evidence: TrialEvidence, direction: str) -> int:
    """Bytes that other programs had moved, less those that were written to other drives; 0 where nobody counted."""
    programs = evidence.measured.context.get("other_programs") or {}
    elsewhere = programs.get("bytes_written_elsewhere", 0) if direction == "write" else 0
    return int(programs.get(_BYTES_OF[direction], 0) - elsewhere)


def _movers(evidence: TrialEvidence, direction: str) -> tuple[str, ...]:
    """Names of the programs that had most of such bytes moved."""
    key, context = _BYTES_OF[direction], evidence.measured.context
    moved = (context.get("other_programs") or {}).get(key, 0)
    return tuple(busiest_by(context, key, max(1, _MOVER_SHARE_MIN * moved)))


def _is_accountable(evidence: TrialEvidence, counts: DeviceCounts) -> bool:
    """Whether every byte of the trial can be told from those of others."""
    workload = evidence.measured.workload
    is_plain = workload.tree is None and all(one.operation in ("read", "write") for one in workload.operations)
    is_one_device = "+" not in counts.device
    # thin volumes, snapshots and checksums are written beside the data, and their layer is only one of "dm"
    is_mapped = any(layer.kind == "dm" for layer in evidence.target.devices)
    is_known = filesystem_name(evidence.target) in KNOWN_FILESYSTEMS and not is_mapped
    is_counted = evidence.is_direct or _is_durable_in_whole_blocks(evidence)
    return is_counted and is_plain and is_one_device and (is_known or not evidence.operations("write"))


def _is_durable_in_whole_blocks(evidence: TrialEvidence) -> bool:
    """Whether a trial only writes, durably, and no write makes the page cache read what it leaves as it is."""
    only_writes = evidence.is_durable and not evidence.operations("read") and evidence.backend not in READING_BACKENDS
    return only_writes and _writes_whole_blocks(evidence, PAGE_BYTES)


def _writes_whole_blocks(evidence: TrialEvidence, least: int = 0) -> bool:
    """Whether all writes are of whole blocks of the file system, and of so many bytes."""
    block = max(least, evidence.target.filesystem.block_size_bytes if evidence.target.filesystem else 0)
    workload = evidence.measured.workload
    sizes = [one.bytes for one in workload.block_sizes] + [workload.shift_bytes]
    return not block or all(size % block == 0 for size in sizes)


def _own_reads(evidence: TrialEvidence) -> float:
    """Bytes that a file system may read for the writes of a trial: parts of blocks cannot be written."""
    if not evidence.operations("write"):
        return 0.0
    block = evidence.target.filesystem.block_size_bytes if evidence.target.filesystem else 0
    partly_written = 0 if _writes_whole_blocks(evidence) else 2 * block * evidence.operations("write")
    return float(partly_written + _journal_bytes(evidence))


def _own_writes(evidence: TrialEvidence) -> float:
    """Bytes that a file system may write beside those of a trial."""
    allowed = _journal_bytes(evidence)
    writes = evidence.operations("write")
    if not writes or evidence.target.filesystem is None:
        return float(allowed)
    workload = evidence.measured.workload
    is_first_write = workload.file_state != "overwrite"
    commits = evidence.is_durable and (is_first_write or workload.durability.method in _COMMITTING_CALLS)
    allowed += COMMIT_BYTES * evidence.durable_operations if commits else 0
    return float(allowed + (EXTENT_BYTES * writes if is_first_write else 0))


def _journal_bytes(evidence: TrialEvidence) -> int:
    """What a journal comes to in the time of a trial, whoever changes an inode now and then."""
    engine = evidence.measured.engine
    elapsed_ns = sum(int(engine.get(part, 0)) for part in ("ramp_ns", "measured_ns", "drain_ns"))
    return JOURNAL_BYTES * math.ceil(max(1, elapsed_ns) / JOURNAL_EVERY_NS)
