"""Which trials a check consists of, on which target, with how much time and space.

A check is one fixed set of questions, so that two of them can be compared:
how long does a small synchronous write take, and how fast are large and small
reads and writes with one and with many outstanding. What is measured depends
only on the kind of target and on the room there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.program import Program
from drivelab.model.programs import POSTGRESQL, PROGRAMS
from drivelab.model.target import FilesystemFacts, TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import (
    Access,
    AccessKind,
    BlockSizeShare,
    Contents,
    Durability,
    FileState,
    Limits,
    OperationName,
    OperationShare,
    TargetRange,
    Workload,
)
from drivelab.plan.program_trials import issued_program, log_label, log_workload

MIB = 2**20
# what a check writes at once, at most: large enough to leave most small caches behind
WORKING_BYTES_MAX = 1024 * MIB
WORKING_BYTES_MIN = 32 * MIB
# a file system in memory takes it from programs
WORKING_BYTES_MAX_IN_MEMORY = 256 * MIB
# room that is always left to others: 5 % of the file system, within these bounds
_MARGIN_SHARE = 0.05
_MARGIN_MIN, _MARGIN_MAX = 64 * MIB, 2048 * MIB
TARGET_BYTES_MIN = 8 * MIB
# all trials together: spares the drive when it is very fast
WRITTEN_BYTES_MAX = 8192 * MIB
# how it divides: each sequence of synchronous writes, each log of a program, each throughput trial, each of the probe
_WRITTEN_SYNC = 512 * MIB
_WRITTEN_LOG = 256 * MIB
_WRITTEN = {
    "sequential-write-qd8": 2048 * MIB,
    "sequential-write-qd1": 1024 * MIB,
    "random-write-qd1": 256 * MIB,
    "random-write-qd32": 1024 * MIB,
}
_WRITTEN_PROBE = 256 * MIB

_MS = 1_000_000
# uncertainty is judged by how intervals differ: 100 of them in the synchronous trials, 40 in the others
_INTERVAL_NS = 50 * _MS
_SYNC_SIZES = (512, 2300, 4096, 16384)
_LARGE_BLOCK = MIB
_SMALL_BLOCK = 4096
# the trials that tell whether something compresses
PROBE = "compression-"
# all synchronous trials together: a tail that comes in bursts needs time, however many operations that is
_SYNC_TOTAL_MS = 20_000
_LAYOUT_LEAST_MS = 1500
# every I/O of this trial is kept for the report to draw: one trial, and not more of it, keeps a check small in memory
_RECORDED_SYNC_SIZE = 4096
_RECORDED_COUNT_MAX = 60_000
_QUICK_DIVISOR = 5


@dataclass(frozen=True, slots=True)
class CheckTrial:
    """One trial of a check.

    Attributes
    ----------
    name, label : str
        Unique name, and what it is in words.
    workload : Workload
        What is issued; the path is set when the trial begins, `at`.
    least_ns, wanted_bytes : int
        The trial may end before its runtime is up once it has measured for
        `least_ns` and moved `wanted_bytes`; 0 bytes: it never does.
    counts_commands : bool
        Whether a short traced pass follows, which counts the commands per operation.
    needs_own_file : bool
        Whether it gets a new file (True) or the one that was laid out (False).
    lays_out : bool
        Whether it writes the space that the later trials use.
    """

    name: str
    label: str
    workload: Workload
    least_ns: int = 0
    wanted_bytes: int = 0
    counts_commands: bool = False
    needs_own_file: bool = False
    lays_out: bool = False

    @property
    def writes(self) -> bool:
        """Whether the trial changes contents."""
        return self.workload.writes

    def at(self, path: str, *, length_bytes: int = 0, direct: bool = True) -> Workload:
        """The workload on a path, within its first `length_bytes` (0: as planned), buffered if it has to be."""
        target = self.workload.target.model_copy(
            update={"path": path, "size_bytes": length_bytes or self.workload.target.size_bytes}
        )
        return self.workload.model_copy(update={"target": target, "direct": self.workload.direct and direct})

    def is_enough(self, *, measured_ns: int, moved_bytes: int) -> bool:
        """Whether the trial may end although its time is not up."""
        return self.wanted_bytes > 0 and measured_ns >= self.least_ns and moved_bytes >= self.wanted_bytes


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Everything that a check is going to do.

    Attributes
    ----------
    trials : tuple of CheckTrial
        In order.
    working_bytes : int
        Size of the file that is laid out, or of the range of a device that is
        written; 0 when nothing is written.
    may_write : bool
        Whether anything is written.
    read_only_reason : str
        Why nothing is written.
    is_quick : bool
        Whether it takes a fifth of the time.
    """

    trials: tuple[CheckTrial, ...]
    working_bytes: int
    may_write: bool
    read_only_reason: str = ""
    is_quick: bool = False

    @property
    def longest_ns(self) -> int:
        """Time that all trials may take."""
        return sum(trial.workload.limits.runtime_ns + trial.workload.ramp_ns for trial in self.trials)

    @property
    def written_bytes_max(self) -> int:
        """The most that is written and measured, over all trials."""
        return sum(trial.workload.limits.bytes for trial in self.trials if trial.writes)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "may_write": self.may_write,
            "read_only_reason": self.read_only_reason,
            "working_bytes": self.working_bytes,
            "written_bytes_max": self.written_bytes_max,
            "longest_ns": self.longest_ns,
            "trials": [trial.name for trial in self.trials],
        }


def plan_check(
    target: TargetFacts, *, program: str = POSTGRESQL.need, may_erase: bool = False, is_quick: bool = False
) -> CheckPlan:
    """The trials of a check.

    Parameters
    ----------
    target : TargetFacts
        A directory (files are made in it), a file (it is only read), or a block
        device (only read, unless `may_erase`).
    program : str
        Whose log writes are issued beside those of every size; empty for nobody's.
    may_erase : bool
        Whether the owner of the block device has consented to losing its contents.
    is_quick : bool
        A fifth of the time: wider intervals, fewer quantiles.

    Raises
    ------
    DrivelabError
        T101: the target does not exist. T105: a kind of target that is not
        checked. R452: not enough room. R453: the target is too small.
    """
    plan = _full_plan(target, issued_program(program, target), may_erase=may_erase)
    return replace(plan, trials=tuple(_shortened(trial) for trial in plan.trials), is_quick=True) if is_quick else plan


def _full_plan(target: TargetFacts, program: Program | None, *, may_erase: bool) -> CheckPlan:
    if target.kind == "directory" and target.filesystem is not None:
        room = working_bytes(target.filesystem, where=target.text)
        return CheckPlan((*_sync_trials(program, room, "append"), *_throughput_trials(target, room)), room, True)
    if target.kind == "missing_file":
        do = f"check its directory: drivelab check {target.text.rpartition('/')[0] or '.'}"
        raise DrivelabError("T101", f"{target.text} does not exist", where="drivelab check", do=do)
    if target.kind not in ("file", "block_device"):
        do = "give a directory, a file or a block device"
        raise DrivelabError("T105", f"'{target.text}' cannot be checked", where="drivelab check", do=do)
    if target.size_bytes < TARGET_BYTES_MIN:
        size, least = format_bytes(target.size_bytes), format_bytes(TARGET_BYTES_MIN)
        what = f"{target.path} has {size}, and a check needs {least}"
        raise DrivelabError("R453", what, where=target.text)
    if target.kind == "block_device" and may_erase:
        room = min(WORKING_BYTES_MAX, target.size_bytes) // MIB * MIB
        trials = (*_sync_trials(program, room, "overwrite"), *_throughput_trials(target, room))
        return CheckPlan(trials, room, True)
    reason = "an existing file is only read" if target.kind == "file" else "a device is only read without --erase"
    return CheckPlan(tuple(_read_trials(target, runtime_ms=4000)), 0, False, reason)


def _shortened(trial: CheckTrial) -> CheckTrial:
    limits = trial.workload.limits
    shorter = limits.model_copy(update={"runtime_ns": limits.runtime_ns // _QUICK_DIVISOR})
    workload = trial.workload.model_copy(update={"limits": shorter})
    return replace(trial, workload=workload, least_ns=trial.least_ns // _QUICK_DIVISOR)


def trial_names(program: str) -> tuple[str, ...]:
    """The trials of a check that a need can be judged by, those of a program among them."""
    logs = (PROGRAMS[program].write.trial,) if program else ()
    reads = (f"{access}-read-qd{depth}" for access, depths in _READ_DEPTHS.items() for depth in depths)
    return (*(f"sync-write-{size}" for size in _SYNC_SIZES), *logs, *_WRITTEN, *reads)


def working_bytes(filesystem: FilesystemFacts, *, where: str = "") -> int:
    """Bytes that a check may use on a file system, a whole number of MiB.

    Raises
    ------
    DrivelabError
        R452: less than `WORKING_BYTES_MIN` would be left for it.
    """
    margin = int(min(max(filesystem.total_bytes * _MARGIN_SHARE, _MARGIN_MIN), _MARGIN_MAX))
    most = WORKING_BYTES_MAX_IN_MEMORY if filesystem.is_memory else WORKING_BYTES_MAX
    size = min(most, filesystem.available_bytes - margin) // MIB * MIB
    if size < WORKING_BYTES_MIN:
        needed = format_bytes(WORKING_BYTES_MIN + margin)
        what = f"{format_bytes(max(0, filesystem.available_bytes))} are free, and a check needs {needed}"
        do = f"free space on {filesystem.mount_point}, or check a file that is there: it is only read"
        raise DrivelabError("R452", what, where=where or filesystem.mount_point, do=do)
    return int(size)


def _sync_trials(program: Program | None, room_bytes: int, state: FileState) -> list[CheckTrial]:
    runtime_ms = _SYNC_TOTAL_MS // (len(_SYNC_SIZES) + (program is not None))
    trials = [_sync_trial(size, room_bytes, state, runtime_ms) for size in _SYNC_SIZES]
    return trials if program is None else [*trials, _log_trial(program, room_bytes, state, runtime_ms)]


def _log_trial(program: Program, room_bytes: int, state: FileState, runtime_ms: int) -> CheckTrial:
    """What a program issues for a commit."""
    on_device = state == "overwrite"
    workload = log_workload(program, room_bytes, exclusive=on_device, interval_ns=_INTERVAL_NS)
    limits = Limits(runtime_ns=runtime_ms * _MS, bytes=min(room_bytes, _WRITTEN_LOG))
    return CheckTrial(
        name=program.write.trial,
        label=log_label(program.write),
        workload=workload.model_copy(update={"limits": limits, "ramp_ns": 100 * _MS}),
        counts_commands=True,
        needs_own_file=not on_device and workload.tree is None,
    )


def _sync_trial(size: int, room_bytes: int, state: FileState, runtime_ms: int) -> CheckTrial:
    """Small writes, each made durable before the next, as write-ahead logs do."""
    appends = state == "append"
    is_recorded = size == _RECORDED_SYNC_SIZE
    workload = Workload(
        target=TargetRange(path="", size_bytes=room_bytes, create=appends, exclusive=not appends),
        # one thread that waits for each call, as the programs do that this stands for
        backend="sync",
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=size),),
        access=Access(kind="sequential"),
        durability=Durability(method="fdatasync"),
        file_state=state,
        limits=Limits(
            runtime_ns=runtime_ms * _MS,
            bytes=min(room_bytes, _WRITTEN_SYNC),
            count=_RECORDED_COUNT_MAX if is_recorded else 0,
        ),
        ramp_ns=100 * _MS,
        interval_ns=_INTERVAL_NS,
        record_ios=is_recorded,
    )
    how = "appended" if appends else "written in a row"
    return CheckTrial(
        name=f"sync-write-{size}",
        label=f"{format_bytes(size)} {how} + fdatasync",
        workload=workload,
        counts_commands=True,
        needs_own_file=appends,
    )


def _throughput_trials(target: TargetFacts, size: int) -> list[CheckTrial]:
    return [
        _layout_trial(target, size),
        _trial(target, "write", "sequential", 1, size, runtime_ms=1500),
        *_read_trials(target, size, runtime_ms=2000),
        _trial(target, "write", "random", 1, size, runtime_ms=2500),
        _trial(target, "write", "random", 32, size, runtime_ms=2000),
        # A B B A: a drift of the drive's speed then favours neither
        *(_compression_trial(target, size, kind, number) for kind, number in _COMPRESSION_ORDER),
    ]


_COMPRESSION_ORDER = (("random", 1), ("zeros", 1), ("zeros", 2), ("random", 2))


def _layout_trial(target: TargetFacts, size: int) -> CheckTrial:
    """Writes the working range once, so that later reads find data; measured as a sequential write."""
    trial = _trial(target, "write", "sequential", 8, size, runtime_ms=7000)
    is_file = target.kind == "directory"
    place = trial.workload.target.model_copy(update={"create": is_file})
    workload = trial.workload.model_copy(
        update={"target": place, "file_state": "preallocated" if is_file else "overwrite", "ramp_ns": 0}
    )
    return CheckTrial(
        trial.name,
        trial.label,
        workload,
        least_ns=_LAYOUT_LEAST_MS * _MS,
        wanted_bytes=size,
        needs_own_file=is_file,
        lays_out=True,
    )


_READ_DEPTHS: dict[AccessKind, tuple[int, int]] = {"sequential": (1, 8), "random": (1, 32)}


def _read_trials(target: TargetFacts, size: int = 0, *, runtime_ms: int) -> list[CheckTrial]:
    return [
        # few fit into a time when they are random and one at a time
        _trial(target, "read", access, depth, size, runtime_ms=runtime_ms + 500 * ((access, depth) == ("random", 1)))
        for access, depths in _READ_DEPTHS.items()
        for depth in depths
    ]


def _trial(
    target: TargetFacts,
    operation: OperationName,
    access: AccessKind,
    queue_depth: int,
    size: int,
    *,
    runtime_ms: int,
) -> CheckTrial:
    block = _LARGE_BLOCK if access == "sequential" else max(_SMALL_BLOCK, target.logical_block_size_bytes)
    is_write = operation == "write"
    name = f"{access}-{operation}-qd{queue_depth}"
    workload = Workload(
        target=TargetRange(path="", size_bytes=size, exclusive=is_write and target.kind == "block_device"),
        operations=(OperationShare(operation=operation),),
        block_sizes=(BlockSizeShare(bytes=block),),
        access=Access(kind=access),
        queue_depth=queue_depth,
        direct=True,
        limits=Limits(runtime_ns=runtime_ms * _MS, bytes=_WRITTEN[name] if is_write else 0),
        ramp_ns=100 * _MS,
        interval_ns=_INTERVAL_NS,
    )
    outstanding = f"{queue_depth} outstanding" if queue_depth > 1 else "one at a time"
    return CheckTrial(
        name=name,
        label=f"{access} {operation}, {format_bytes(block)}, {outstanding}",
        workload=workload,
    )


def _compression_trial(target: TargetFacts, size: int, kind: str, number: int) -> CheckTrial:
    trial = _trial(target, "write", "sequential", 8, size, runtime_ms=400)
    contents = Contents(kind="zeros" if kind == "zeros" else "random")
    words = "zeros" if kind == "zeros" else "random data"
    return CheckTrial(
        name=f"{PROBE}{kind}-{number}",
        label=f"sequential write of {words}, 1 MiB, 8 outstanding",
        workload=trial.workload.model_copy(
            update={"contents": contents, "limits": Limits(runtime_ns=400 * _MS, bytes=_WRITTEN_PROBE), "ramp_ns": 0}
        ),
    )
