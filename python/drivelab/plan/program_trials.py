"""Trials that issue what a program issues for a commit."""

from __future__ import annotations

from drivelab.model.program import LogWrite
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import TargetFacts
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    OperationShare,
    TargetRange,
    Tree,
    Workload,
)


def log_write(program: str, target: TargetFacts) -> LogWrite | None:
    """What a program issues; None where none is named. A bare device has no files that come or grow."""
    if not program:
        return None
    write = PROGRAMS[program].write
    needs_files = write.file_state != "overwrite" or write.is_behind_journal
    return None if needs_files and target.kind == "block_device" else write


def log_workload(write: LogWrite, room_bytes: int, *, exclusive: bool, interval_ns: int) -> Workload:
    """One thread that writes and waits for fdatasync, as the program does; its limits are the caller's."""
    if write.is_behind_journal:
        return Workload(
            target=TargetRange(path=""),
            operations=(OperationShare(operation="update"),),
            access=Access(kind="sequential"),
            durability=Durability(method="fdatasync", directory=True),
            tree=Tree(file_count=1, file_bytes_min=write.file_bytes, file_bytes_max=write.file_bytes),
            interval_ns=interval_ns,
        )
    return Workload(
        target=TargetRange(
            path="", size_bytes=min(room_bytes, write.file_bytes), create=not exclusive, exclusive=exclusive
        ),
        backend="sync",
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=write.size_bytes),),
        access=Access(kind=write.access),
        durability=Durability(method="fdatasync"),
        file_state=write.file_state,
        direct=write.direct,
        interval_ns=interval_ns,
    )
