"""Makes a workload of a recorded load: fitted to the target, with the records where the engine finds them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from drivelab.model.job_files import JobFiles
from drivelab.model.recording import (
    READ,
    RECORDED_OPERATIONS,
    SYNC,
    TRIM,
    WRITE,
    Recorded,
    RecordedJob,
    RecordedThread,
    Recording,
    on_files,
)
from drivelab.model.units import format_bytes
from drivelab.model.workload import BlockSizeShare, Durability, Limits, OperationShare, TargetRange, Workload

# within a piece of this size neighbours stay neighbours
PIECE = 1 << 20
_WORDS = ("size", "operation", "after_job", "after_count")
_RECORD = np.dtype([("start_ns", "<u8"), ("offset", "<u8"), *((name, "<u4") for name in _WORDS)])
_NOBODY = 0xFFFFFFFF
# of so many sizes each is named in a workload; of more the commonest, with the smallest and the largest
_NAMED_SIZES = 32


def fitted(recording: Recording, size_bytes: int) -> Recording:
    """The load within so many bytes: all distances shrink alike, but for those within a piece of 1 MiB.

    What is larger than its part of the target begins early enough to fit.
    """
    end = recording.needed_bytes
    if end <= size_bytes:
        return recording
    granule = _granule(recording)
    note = f"places are scaled from {format_bytes(end)} to {format_bytes(size_bytes)}: neighbours stay neighbours"
    notes = (*recording.notes, note)
    if recording.files:
        return replace(_with_smaller_files(recording, size_bytes / end, granule), notes=notes)
    threads = tuple(_in_less(thread, end, size_bytes, granule) for thread in recording.threads)
    return replace(recording, threads=threads, notes=notes)


def _with_smaller_files(recording: Recording, share: float, granule: int) -> Recording:
    """Every file in so much of its size, and no I/O larger than its file."""

    def smaller(size: int) -> int:
        return max(granule, int(size * share) // granule * granule)

    files = [
        replace(
            one,
            size_bytes=min(one.size_bytes, smaller(one.size_bytes)),
            end_bytes=smaller(one.end_bytes),
            readable_bytes=min(one.readable_bytes, smaller(one.end_bytes)),
        )
        for one in recording.files
    ]
    threads = []
    for thread in recording.threads:
        assert thread.file is not None
        offset, size = thread.offset_bytes - thread.file * recording.span_bytes, thread.size_bytes.copy()
        for number, (before, after) in enumerate(zip(recording.files, files, strict=True)):
            mine = (thread.file == number) & (thread.operation != SYNC)
            within = replace(thread, offset_bytes=offset[mine], size_bytes=size[mine])
            moved = _in_less(within, before.end_bytes, after.end_bytes, granule)
            offset[mine], size[mine] = moved.offset_bytes, moved.size_bytes
        threads.append(replace(thread, offset_bytes=offset, size_bytes=size))
    return on_files(replace(recording, threads=tuple(threads)), files)


def _in_less(thread: RecordedThread, end: int, size_bytes: int, granule: int) -> RecordedThread:
    pieces, size_bytes = -(-end // PIECE), size_bytes // granule * granule

    piece, within = np.divmod(thread.offset_bytes, PIECE)
    moved = (piece * (size_bytes // granule) // pieces) * granule + within
    size = np.minimum(thread.size_bytes, size_bytes)
    return replace(thread, offset_bytes=np.clip(moved, 0, (size_bytes - size) // granule * granule), size_bytes=size)


def _granule(recording: Recording) -> int:
    """The largest power of two, up to a piece, of which all places and sizes are multiples."""
    bits = 0
    for thread in recording.threads:
        # where a sync call has its place says nothing but which one it is
        moved = (thread.offset_bytes | thread.size_bytes)[thread.operation != SYNC]
        bits |= int(np.bitwise_or.reduce(moved, initial=0))
    return min(bits & -bits or PIECE, PIECE)


def is_aligned(recording: Recording, block_bytes: int) -> bool:
    """Whether all places and sizes are multiples of a block, as direct I/O needs it."""
    return _granule(recording) % block_bytes == 0


def workload_of(recording: Recording, *, speed: float, direct: bool, record_ios: bool) -> Workload:
    """The workload that issues a recorded load; where to, and the records, are still to be added.

    Parameters
    ----------
    speed : float
        How many times as fast as recorded; 0 is as fast as possible.
    direct, record_ios : bool
        Whether the page cache is bypassed, and whether each I/O is kept.
    """
    jobs = tuple(RecordedJob(count=len(thread), queue_depth=thread.queue_depth) for thread in recording.threads)
    recorded = Recorded(
        source=recording.source,
        kind=recording.kind,
        jobs=jobs,
        speed=speed,
        sync=recording.sync,
        span_bytes=recording.span_bytes,
    )
    shares = [_share(recording, operation) for operation in (READ, WRITE, TRIM)]
    operations = tuple(share for share in shares if share is not None)
    largest = max(size.bytes for share in operations for size in share.block_sizes)
    return Workload(
        target=TargetRange(path=""),
        operations=operations,
        block_sizes=operations[0].block_sizes if len(operations) == 1 else (BlockSizeShare(bytes=largest),),
        queue_depth=recording.queue_depth,
        job_count=len(jobs),
        job_files=JobFiles(count=max(1, len(recording.files))),
        share_range=True,
        direct=direct,
        durability=Durability(method=recording.durability),
        limits=Limits(count=recording.count),
        record_ios=record_ios,
        recording=recorded,
    )


def _share(recording: Recording, operation: int) -> OperationShare | None:
    sizes, counts = np.unique(recording.column("size_bytes", operation), return_counts=True)
    if not len(sizes):
        return None
    named = set(np.argsort(counts)[::-1][:_NAMED_SIZES].tolist()) | {0, len(sizes) - 1}
    shares = tuple(BlockSizeShare(bytes=int(sizes[at]), weight=float(counts[at])) for at in sorted(named))
    name = RECORDED_OPERATIONS[operation]
    return OperationShare.model_validate({"operation": name, "weight": float(counts.sum()), "block_sizes": shares})


@contextmanager
def records_of(recording: Recording, workload: Workload) -> Iterator[Workload]:
    """The workload with its records in a file without a name, as long as the context lasts."""
    descriptor = os.memfd_create("drivelab-recording")
    try:
        for thread in recording.threads:
            records = np.zeros(len(thread), dtype=_RECORD)
            for name, column in (("start_ns", "start_ns"), ("offset", "offset_bytes"), ("size", "size_bytes")):
                records[name] = getattr(thread, column)
            records["operation"] = thread.operation
            records["after_job"] = _NOBODY
            if thread.after_thread is not None and thread.after_count is not None:
                waits = thread.after_thread >= 0
                records["after_job"][waits] = thread.after_thread[waits]
                records["after_count"][waits] = thread.after_count[waits]
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(records.data)
        path = f"/proc/self/fd/{descriptor}"
        assert workload.recording is not None
        yield workload.model_copy(update={"recording": workload.recording.model_copy(update={"path": path})})
    finally:
        os.close(descriptor)
