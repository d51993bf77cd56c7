"""Writes to a whole drive before it is measured: once in order, or until it is as random writes leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.collecting import collects_since
from drivelab.model.recording import WRITE, RecordedThread, Recording
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Access, BlockSizeShare, OperationShare, TargetRange, Workload
from drivelab.plan.aged_writes import MOST_CAPACITIES, AgedWrites
from drivelab.recordings.issue import records_of, workload_of
from drivelab.run.before_writing import look_before
from drivelab.run.emptied_cache import empty_cache
from drivelab.run.engine import EngineRun, Progress, ProgressListener, StopRequest, run_workload
from drivelab.run.prepared_trial import StoppedError

RANDOM_STEADY = "random-steady"
_FILL_BLOCK_BYTES = 2**20
_FILL_QUEUE_DEPTH = 8
_BLOCK_BYTES = 4096
_QUEUE_DEPTH = 32
_KIND = "blocks by their age"
# what is being done, of a target
FILLING = {"sequential": "writing all of {} once", RANDOM_STEADY: "writing {} until it is as random writes leave it"}
Issue = Callable[[Workload, ProgressListener], EngineRun]


def precondition(
    kind: str,
    target: TargetRange,
    size_bytes: int,
    *,
    seed: int,
    issue: Issue,
    progress: Callable[[float], None],
    stop: StopRequest,
    direct: bool = True,
    trim: Callable[[], object] | None = None,
) -> dict[str, Any]:
    """Write a whole drive, and tell what was written.

    Parameters
    ----------
    kind : str
        ``sequential`` is once in order. ``random-steady`` goes on with blocks chosen by their age
        (`drivelab.plan.aged_writes`) until the drive begins to collect.
    issue : callable
        Issues a workload to the drive.
    progress : callable
        Told the part that is written of all that may have to be.
    trim : callable, optional
        Trims the whole drive. What a drive held before lies between what is written in order, and is copied with it:
        only of an empty drive it is known what becomes of it.

    Raises
    ------
    StoppedError
        The user asked for the end meanwhile.
    DrivelabError
        Whatever `issue` raises.
    """
    told: dict[str, Any] = {"kind": kind, "bytes_written": 0}
    most_bytes = size_bytes * (MOST_CAPACITIES if kind == RANDOM_STEADY else 1)

    def goes_on(now: Progress) -> bool:
        progress(min(1.0, (told["bytes_written"] + now.byte_count()) / most_bytes))
        return not stop.is_set()

    if kind == RANDOM_STEADY:
        told["trimmed"] = trim is not None
        if trim is not None:
            trim()
    run = issue(whole(target, "write", size_bytes, direct=direct, seed=seed), goes_on)
    told["bytes_written"] = _written(run, stop)
    if kind != RANDOM_STEADY:
        return told
    writes, rates = AgedWrites(size_bytes // _BLOCK_BYTES, seed), list[float]()
    told["collecting_after_bytes"] = None
    while not writes.is_done and told["collecting_after_bytes"] is None:
        with writes_of(writes.next_part(), target, direct=direct, seed=seed) as workload:
            run = issue(workload, goes_on)
        part_bytes = _written(run, stop)
        told["bytes_written"] += part_bytes
        rates.append(part_bytes / max(1, run.summary["measured_ns"]))
        since = collects_since(rates)
        if since is not None:
            told["collecting_after_bytes"] = told["bytes_written"] - (len(rates) - since) * part_bytes
    return told


def precondition_device(
    kind: str,
    target: TargetFacts,
    *,
    seed: int,
    stop: StopRequest,
    progress: Callable[[float], None],
    trim: Callable[[], object] | None = None,
) -> dict[str, Any]:
    """Write random data to a whole block device, and tell what was written; see `precondition`.

    Blocks that were never written, or were trimmed, cost a drive next to
    nothing to read, and the first write to one is not like the second.

    Raises
    ------
    StoppedError
        The user asked for the end meanwhile.
    DrivelabError
        C201 to C209: the device may not be written to any more. E301 to E315, as the engine reports them.
    """

    def issue(workload: Workload, goes_on: ProgressListener) -> EngineRun:
        look_before(workload)
        return run_workload(workload, stop=stop, on_progress=goes_on)

    written = TargetRange(path=target.path, exclusive=True)
    size = target.size_bytes
    told = precondition(kind, written, size, seed=seed, issue=issue, progress=progress, stop=stop, trim=trim)
    empty_cache([target.path])
    return told


def reservations(told: dict[str, Any]) -> tuple[str, ...]:
    """What a reader has to know of a drive that was written until it is steady, where that is not certain."""
    notes = []
    if not told.get("trimmed", True):
        notes.append("it could not be trimmed before it was written: what it held before may have a part in its state")
    if told.get("collecting_after_bytes", 0) is None:
        much = f"{MOST_CAPACITIES:.2f} times its size was written"
        notes.append(f"{much} and it was not noticed that it collects: how near to steady it is, is not known")
    return tuple(notes)


def whole(target: TargetRange, operation: str, size_bytes: int, *, direct: bool, seed: int) -> Workload:
    """One pass over a whole drive, in order."""
    return Workload(
        target=target,
        operations=(OperationShare(operation=operation),),  # type: ignore[arg-type]
        block_sizes=(BlockSizeShare(bytes=min(_FILL_BLOCK_BYTES, size_bytes)),),
        access=Access(kind="sequential"),
        queue_depth=_FILL_QUEUE_DEPTH,
        direct=direct,
        seed=seed,
    )


@contextmanager
def writes_of(blocks: NDArray[np.int64], target: TargetRange, *, seed: int, direct: bool = True) -> Iterator[Workload]:
    """A workload that writes blocks of 4 KiB in a given order, as long as the context lasts."""
    nothing = np.zeros(len(blocks), dtype=np.int64)
    offsets, sizes = blocks * _BLOCK_BYTES, nothing + _BLOCK_BYTES
    thread = RecordedThread(nothing, nothing + WRITE, offsets, sizes, queue_depth=_QUEUE_DEPTH)
    recording = Recording(_KIND, _KIND, (thread,))
    workload = workload_of(recording, speed=0, direct=direct, record_ios=False)
    with records_of(recording, workload.model_copy(update={"target": target, "seed": seed})) as issued:
        yield issued


def _written(run: EngineRun, stop: StopRequest) -> int:
    if stop.is_set():
        raise StoppedError
    return int(run.summary["operations"].get("write", {}).get("bytes", 0))
