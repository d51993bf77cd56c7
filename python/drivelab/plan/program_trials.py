"""Trials that issue what a program issues for a commit."""

from __future__ import annotations

from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.need import Need
from drivelab.model.program import LogWrite, Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import Pacing
from drivelab.model.workload_pattern import WorkloadPattern

_HOW = {
    "append": "appended",
    "overwrite": "overwritten",
    "preallocated": "preallocated",
    "sparse": "into a hole",
}


# what a file can be that a target without files cannot; blocks of a simulated drive cost the same whatever is in them
_OF_FILES = {"block_device": ("append", "preallocated", "sparse"), "simulated": ("append",)}


def issued_program(name: str, target: TargetFacts) -> Program | None:
    """The program whose calls are issued; None where none is named.

    A drive without a file system has no files that come or grow: there it is None for those that have such.
    """
    program = PROGRAMS[name] if name else None
    if program is None or target.kind not in _OF_FILES:
        return program
    needs_files = program.write.is_behind_journal or program.write.file_state in _OF_FILES[target.kind]
    return None if needs_files else program


def require_files_of_program(need: Need | None, target: TargetFacts, *, is_rate_asked: bool) -> None:
    """Return only if a need that rests on what its program issues can be answered there.

    Raises
    ------
    DrivelabError
        P711: the program needs files, and the target has none.
    """
    if need is None or not need.program or issued_program(need.program, target) is not None:
        return
    if is_rate_asked or not (need.thresholds or need.capability):
        kind = "a simulated drive" if target.kind == "simulated" else "a block device"
        what = f"{need.title} writes to files, and {kind} has no file system"
        raise DrivelabError("P711", what, where=target.text, do="check a directory")


def log_pattern(program: Program, room_bytes: int, **limits: Any) -> WorkloadPattern:
    """One thread that writes and waits for fdatasync, as the program does.

    It pauses for the program's own time after each commit: a drive that is never left alone may be slower,
    because it has a limit of commands a second, or faster, because nothing has gone to sleep meanwhile.

    Parameters
    ----------
    program : Program
        Which one.
    room_bytes : int
        How large its file may be.
    limits
        Keys of the pattern beside those: when it ends.
    """
    write = program.write
    common = {"durability": "fdatasync", "pacing": Pacing(think_ns=round(program.own.one_ns)), **limits}
    if write.is_behind_journal:
        tree = {"operation": "update", "file_count": 1, "file_size": write.file_bytes, "sync_directory": True}
        return WorkloadPattern.model_validate(common | tree)
    of_file = {
        "backend": "sync",
        "block_size": write.size_bytes,
        "access": write.access,
        "file_state": write.file_state,
        "file_size": min(room_bytes, write.file_bytes),
        "direct": write.direct,
        "stat_before_write": write.stat_before_write,
    }
    return WorkloadPattern.model_validate(common | of_file)


def log_label(log: LogWrite) -> str:
    """What a trial of it is called."""
    if log.is_behind_journal:
        return "8 KiB journaled + fdatasync"
    return f"{format_bytes(log.size_bytes)} {_HOW[log.file_state]} + fdatasync"
