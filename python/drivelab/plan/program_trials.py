"""Trials that issue what a program issues for a commit."""

from __future__ import annotations

from drivelab.model.program import LogWrite, Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    OperationShare,
    Pacing,
    TargetRange,
    Tree,
    Workload,
)

_HOW = {
    "append": "appended",
    "overwrite": "overwritten",
    "preallocated": "preallocated",
    "sparse": "into a hole",
}


def issued_program(name: str, target: TargetFacts) -> Program | None:
    """The program whose calls are issued; None where none is named.

    A bare device has no files that come or grow: there it is None for those that have such.
    """
    program = PROGRAMS[name] if name else None
    if program is None or target.kind != "block_device":
        return program
    needs_files = program.write.file_state != "overwrite" or program.write.is_behind_journal
    return None if needs_files else program


def log_workload(program: Program, room_bytes: int, *, exclusive: bool, interval_ns: int) -> Workload:
    """One thread that writes and waits for fdatasync, as the program does; its limits are the caller's.

    It pauses for the program's own time after each commit: a drive that is never left alone may be slower,
    because it has a limit of commands a second, or faster, because nothing has gone to sleep meanwhile.
    """
    write = program.write
    pacing = Pacing(think_ns=round(program.own.one_ns))
    if write.is_behind_journal:
        return Workload(
            target=TargetRange(path=""),
            operations=(OperationShare(operation="update"),),
            access=Access(kind="sequential"),
            durability=Durability(method="fdatasync", directory=True),
            pacing=pacing,
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
        pacing=pacing,
        file_state=write.file_state,
        direct=write.direct,
        interval_ns=interval_ns,
    )


def log_label(log: LogWrite) -> str:
    """What a trial of it is called."""
    if log.is_behind_journal:
        return "8 KiB journaled + fdatasync"
    return f"{format_bytes(log.size_bytes)} {_HOW[log.file_state]} + fdatasync"
