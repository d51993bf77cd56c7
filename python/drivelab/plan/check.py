"""Which trials a check consists of, on which target, with how much time and space.

A check is one fixed set of questions, so that two of them can be compared:
how long does a small synchronous write take, and how fast are large and small
reads and writes with one and with many outstanding. What is measured depends
only on the kind of target and on the room there is.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from drivelab.model.check_trials import PROBE
from drivelab.model.contents import Contents
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan, PlannedStep, PlannedTarget
from drivelab.model.program import Program
from drivelab.model.programs import POSTGRESQL, PROGRAMS
from drivelab.model.target import MADE_KINDS, FilesystemFacts, TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import Access, AccessKind, FileState, OperationName
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.budget import BETWEEN_STEPS_NS, COUNTED_NS_MAX
from drivelab.plan.check_windows import CheckTrial, spread
from drivelab.plan.program_trials import issued_program, log_label, log_pattern

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

# uncertainty is judged by how intervals differ: 100 of them in the synchronous trials, 40 in the others
_INTERVAL: Any = "50ms"
_SYNC_SIZES = (512, 2300, 4096, 16384)
_LARGE_BLOCK = MIB
_SMALL_BLOCK = 4096
# the trial that writes what the later ones use, and what that is called
LAYOUT = "sequential-write-qd8"
_LAID_OUT = "laid-out"
# guessed to be written so fast
_LAYOUT_BYTES_PER_S = 500e6
_SEED = 1
# all synchronous trials together: a tail that comes in bursts needs time, however many operations that is
_SYNC_TOTAL_MS = 20_000
_LAYOUT_LEAST_MS = 1500
# a slow drive gets more time, until so many synchronous writes tell the slowest hundredth
_SYNC_COUNT_ENOUGH = 700
_SYNC_LONGEST_MS = 6600
# every I/O of this trial is kept for the report to draw: one trial, and not more of it, keeps a check small in memory
_RECORDED_SYNC_SIZE = 4096
_RECORDED_COUNT_MAX = 60_000
_QUICK_DIVISOR = 5


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Everything that a check is going to do.

    Attributes
    ----------
    plan : Plan
        Its trials, which are of no workload that they would have in common. Those with a `file_name` use
        the file, or the range of a device, that the one called `LAYOUT` writes; each other has a file of its own.
    working_bytes : int
        Size of the file that is laid out, or of the range of a device that is
        written; 0 when nothing is written.
    may_write : bool
        Whether anything is written.
    read_only_reason : str
        Why nothing is written.
    """

    plan: Plan
    working_bytes: int
    may_write: bool
    read_only_reason: str = ""

    @property
    def longest_ns(self) -> int:
        """Time that all trials may take."""
        return sum(step.pattern.runtime + step.pattern.ramp for step in self.plan.steps)

    @property
    def written_bytes_max(self) -> int:
        """The most that is written and measured, over all trials."""
        return self.plan.bytes_written

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "may_write": self.may_write,
            "read_only_reason": self.read_only_reason,
            "working_bytes": self.working_bytes,
            "written_bytes_max": self.written_bytes_max,
            "longest_ns": self.longest_ns,
            "trials": list(dict.fromkeys(step.trial for step in self.plan.steps)),
        }


def plan_check(
    target: TargetFacts, *, program: str = POSTGRESQL.need, may_erase: bool = False, is_quick: bool = False
) -> CheckPlan:
    """The trials of a check.

    Parameters
    ----------
    target : TargetFacts
        A directory (files are made in it), a file (it is only read), a block
        device (only read, unless `may_erase`), or a simulated drive.
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
    issued = issued_program(program, target)
    if target.kind == "directory" and target.filesystem is not None:
        room = working_bytes(target.filesystem, where=target.text)
        durable, others = _sync_trials(issued, room, "append"), _throughput_trials(target, room)
        return CheckPlan(_planned(target, durable, others, is_quick=is_quick), room, True)
    if target.kind == "missing_file":
        do = f"make it first (mkdir {shlex.quote(target.text)}), or name a directory that is there"
        raise DrivelabError("T101", f"{target.text} does not exist", where="drivelab check", do=do)
    if target.kind not in ("file", "block_device", "simulated"):
        do = "give a directory, a file, a block device or a simulated drive"
        if target.kind in MADE_KINDS:
            do = "check a directory: drivelab check . (what is made for a run is measured by one: drivelab experiments)"
        raise DrivelabError("T105", f"'{target.text}' cannot be checked", where="drivelab check", do=do)
    if target.size_bytes < TARGET_BYTES_MIN:
        size, least = format_bytes(target.size_bytes), format_bytes(TARGET_BYTES_MIN)
        what = f"{target.path} has {size}, and a check needs {least}"
        raise DrivelabError("R453", what, where=target.text)
    if target.kind == "simulated" or (target.kind == "block_device" and may_erase):
        room = min(WORKING_BYTES_MAX, target.size_bytes) // MIB * MIB
        durable, others = _sync_trials(issued, room, "overwrite"), _throughput_trials(target, room)
        return CheckPlan(_planned(target, durable, others, is_quick=is_quick), room, True)
    reason = "an existing file is only read" if target.kind == "file" else "a device is only read without --erase"
    return CheckPlan(_planned(target, (), _read_trials(target, runtime_ms=4000), is_quick=is_quick), 0, False, reason)


def _planned(
    target: TargetFacts, durable: Sequence[CheckTrial], others: Sequence[CheckTrial], *, is_quick: bool
) -> Plan:
    in_order = map(_shortened, [*durable, *others]) if is_quick else spread(durable, others, seed=_SEED)
    steps = [_step(number, trial, target) for number, trial in enumerate(in_order, start=1)]
    planned = PlannedTarget(target.place, target.text, target.kind, target.size_bytes, target.logical_block_size_bytes)
    question = f"Is {target.place} fit, and can the numbers be trusted?"
    return Plan("check", question, is_quick, _SEED, (planned,), tuple(steps), is_listed=True)


def _shortened(trial: CheckTrial) -> CheckTrial:
    pattern = trial.pattern
    times = {"runtime": pattern.runtime, "enough_after": pattern.enough_after}
    if not pattern.is_durable:
        # twice as many as at full length: of a few nobody can tell where a cache was full
        times["interval"] = pattern.interval // 2
    shorter = pattern.changed(**{name: f"{time_ns // _QUICK_DIVISOR}ns" for name, time_ns in times.items()})
    return replace(trial, pattern=shorter)


def _step(number: int, trial: CheckTrial, target: TargetFacts) -> PlannedStep:
    pattern = trial.pattern
    runtime_ns = pattern.runtime
    is_counted = pattern.is_durable and trial.window == trial.window_count
    if pattern.enough_bytes:
        runtime_ns = min(runtime_ns, max(pattern.enough_after, round(pattern.enough_bytes / _LAYOUT_BYTES_PER_S * 1e9)))
    return PlannedStep(
        number=number,
        trial=trial.name,
        target=target.place,
        workload="",
        label=trial.label,
        pattern=pattern,
        filesystem=None,
        levels={},
        block=0,
        repeat=1,
        seed=_SEED,
        expected_ns=runtime_ns + pattern.ramp + BETWEEN_STEPS_NS + is_counted * COUNTED_NS_MAX // 2,
        bytes_written=pattern.bytes if pattern.writes else 0,
        file_name=trial.file_name,
        window=trial.window,
        window_count=trial.window_count,
    )


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
    if program is None:
        return trials
    limits = {"bytes": min(room_bytes, _WRITTEN_LOG), "ramp": _ms(100)}
    pattern = log_pattern(
        program, room_bytes, **limits, **_long_enough(program.write.size_bytes, runtime_ms), interval=_INTERVAL
    )
    return [*trials, CheckTrial(program.write.trial, log_label(program.write), pattern)]


def _sync_trial(size: int, room_bytes: int, state: FileState, runtime_ms: int) -> CheckTrial:
    """Small writes, each made durable before the next, as write-ahead logs do."""
    is_recorded = size == _RECORDED_SYNC_SIZE
    pattern = WorkloadPattern(
        # one thread that waits for each call, as the programs do that this stands for
        backend="sync",
        block_size=size,
        durability="fdatasync",
        file_state=state,
        file_size=room_bytes,
        **_long_enough(size, runtime_ms),
        bytes=min(room_bytes, _WRITTEN_SYNC),
        count=_RECORDED_COUNT_MAX if is_recorded else 0,
        ramp=_ms(100),
        interval=_INTERVAL,
        record_ios=is_recorded,
    )
    how = "appended" if state == "append" else "written in a row"
    return CheckTrial(f"sync-write-{size}", f"{format_bytes(size)} {how} + fdatasync", pattern)


def _long_enough(size: int, runtime_ms: int) -> dict[str, Any]:
    """When a trial of synchronous writes of a size ends."""
    return {
        "runtime": _ms(_SYNC_LONGEST_MS),
        "enough_after": _ms(runtime_ms),
        "enough_bytes": _SYNC_COUNT_ENOUGH * size,
    }


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


_Contents = Literal["random", "zeros"]
_COMPRESSION_ORDER: Sequence[tuple[_Contents, int]] = (("random", 1), ("zeros", 1), ("zeros", 2), ("random", 2))


def _layout_trial(target: TargetFacts, size: int) -> CheckTrial:
    """Writes the working range once, so that later reads find data; measured as a sequential write."""
    trial = _trial(target, "write", "sequential", 8, size, runtime_ms=7000)
    is_new = target.kind == "directory"
    state = "preallocated" if is_new else "overwrite"
    enough = {"enough_bytes": size, "enough_after": _ms(_LAYOUT_LEAST_MS)}
    # a first write may take longer than one over what is there, also with more outstanding
    label = trial.label.replace("write,", "write of a new file,") if is_new else trial.label
    return replace(trial, label=label, pattern=trial.pattern.changed(file_state=state, ramp="0s", **enough))


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
    pattern = WorkloadPattern(
        operation=operation,
        block_size=block,
        access=Access(kind=access),
        queue_depth=queue_depth,
        direct=True,
        file_size=size,
        runtime=_ms(runtime_ms),
        bytes=_WRITTEN[name] if is_write else 0,
        ramp=_ms(100),
        interval=_INTERVAL,
    )
    outstanding = f"{queue_depth} outstanding" if queue_depth > 1 else "one at a time"
    return CheckTrial(name, f"{access} {operation}, {format_bytes(block)}, {outstanding}", pattern, _LAID_OUT)


def _compression_trial(target: TargetFacts, size: int, kind: _Contents, number: int) -> CheckTrial:
    trial = _trial(target, "write", "sequential", 8, size, runtime_ms=400)
    words = "zeros" if kind == "zeros" else "random data"
    pattern = trial.pattern.changed(contents=Contents(kind=kind), bytes=_WRITTEN_PROBE, ramp="0s")
    return CheckTrial(
        f"{PROBE}{kind}-{number}", f"sequential write of {words}, 1 MiB, 8 outstanding", pattern, _LAID_OUT
    )


def _ms(time_ms: int) -> Any:
    """A time as a pattern takes it."""
    return f"{time_ms}ms"
