"""Trials that issue what a program issues for a commit."""

from __future__ import annotations

from drivelab.model.program import MIB, LogWrite
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import TargetFacts
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    Limits,
    OperationShare,
    TargetRange,
    Workload,
)

# pages that lie apart make no common request
_STRIDE_BYTES = MIB // 2


def log_writes(program: str, target: TargetFacts) -> tuple[LogWrite, ...]:
    """What a program issues; nothing where none is named. A bare device has no files that could grow."""
    found = PROGRAMS[program].writes if program else ()
    if target.kind == "block_device":
        return tuple(write for write in found if write.file_state == "overwrite")
    return found


def log_workload(write: LogWrite, room_bytes: int, *, exclusive: bool, interval_ns: int) -> Workload:
    """One thread that writes and waits for fdatasync, as the program does; its limits are the caller's."""
    return Workload(
        target=TargetRange(
            path="", size_bytes=min(room_bytes, write.file_bytes), create=not exclusive, exclusive=exclusive
        ),
        backend="sync",
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=write.size_bytes),),
        access=Access(kind=write.access, stride_bytes=_STRIDE_BYTES if write.access == "strided" else 0),
        durability=Durability(method="fdatasync", every_writes=write.writes_per_sync),
        file_state=write.file_state,
        direct=write.direct,
        limits=Limits(),
        interval_ns=interval_ns,
    )
