"""What a traced pass is made with here: the kernel's tracing, and the join in Rust."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import pyarrow as pa

from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange, Workload
from drivelab.run.engine import EngineRun
from drivelab.run.extents import is_placed, read_extents
from drivelab.run.trace_environment import trace_environment
from drivelab.run.traced_pass import TraceTools, top_device, traced_device
from drivelab.run.tracing.collect import collected_trace
from drivelab.run.tracing.disk import traced_disk
from drivelab.trace.join import JoinedTrace, join_trace
from drivelab.trace.operations_of import operations_of

# here the map of a file tells bytes of the block device; btrfs and others tell addresses of their own
_MAPPED = ("ext2", "ext3", "ext4", "xfs", "f2fs")


def _join_pass(files: Sequence[Path], run: EngineRun, workload: Workload, facts: TargetFacts) -> JoinedTrace:
    """Operations and events of a traced pass."""
    if run.records is None:
        raise DrivelabError("R441", "the traced pass issued nothing", where=workload.target.path)
    threads = {int(thread["job"]): int(thread["thread_id"]) for thread in run.summary["threads"]}
    operations = operations_of(run.records, threads, workload, backend=run.summary["backend"]["name"])
    disk = traced_disk(traced_device(facts), top_device(facts))
    places = {job: _extents_of_job(job, workload, facts) for job in threads}
    joined = join_trace(
        files,
        operations,
        devices=dict.fromkeys(threads, disk.top),
        layers=[(layer.number, layer.below) for layer in disk.layers],
        extents=places if all(places.values()) else None,
    )
    return joined if facts.filesystem else replace(joined, operations=_without_journal(joined.operations))


def _extents_of_job(job: int, workload: Workload, facts: TargetFacts) -> list[tuple[int, int, int]]:
    """Where the places of a job's range are on the disk; several files are one after the other its range."""
    file_bytes = workload.target.offset_bytes + workload.target.size_bytes
    found = []
    for number, target in enumerate(workload.files_of_job(job)):
        extents = disk_extents(target, facts)
        if not extents:
            return []
        moved = (replace(one, offset_bytes=one.offset_bytes + number * file_bytes) for one in extents)
        found += [astuple(extent) for extent in moved]
    return found


def _without_journal(operations: pa.Table) -> pa.Table:
    """Operations on a bare drive, which has no journal.

    A page of the drive's that once was a file system's own stays metadata to the kernel, while the drive is held open.
    """
    for name in ("journal_writes", "journal_bytes"):
        column = operations[name]
        operations = operations.set_column(
            operations.column_names.index(name), name, pa.array([0] * len(column), column.type)
        )
    return operations


TRACE_TOOLS = TraceTools(collect=collected_trace, join=_join_pass, environment=trace_environment)


@dataclass(frozen=True, slots=True)
class DiskExtent:
    """A stretch of a target, and where it begins on the disk; all in bytes."""

    offset_bytes: int
    disk_offset_bytes: int
    length_bytes: int


def disk_extents(target: TargetRange, facts: TargetFacts) -> tuple[DiskExtent, ...]:
    """The stretches of a target on the whole device beneath, a disk or a volume; none where that is not known.

    Parameters
    ----------
    target : TargetRange
        The path that I/O was sent to. A file is written out first, so that all of it has a place.
    facts : TargetFacts
        What lies beneath.
    """
    begin_bytes = _begin_of_layer(facts)
    if begin_bytes is None:
        return ()
    if facts.kind == "block_device":
        return (DiskExtent(0, begin_bytes, facts.size_bytes),)
    if facts.filesystem is None or facts.filesystem.type not in _MAPPED:
        return ()
    try:
        descriptor = os.open(target.opened_by, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = read_extents(descriptor, 0, os.fstat(descriptor).st_size, sync=True)
        finally:
            os.close(descriptor)
    except OSError:
        return ()
    return tuple(
        DiskExtent(extent.logical_bytes, begin_bytes + extent.physical_bytes, extent.length_bytes)
        for extent in found
        if is_placed(extent)
    )


def _begin_of_layer(facts: TargetFacts) -> int | None:
    """Where the target's device begins on the whole device that it is, which is the uppermost that is traced."""
    return facts.devices[-1].start_bytes if facts.devices else None
