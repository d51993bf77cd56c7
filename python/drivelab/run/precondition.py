"""Brings a whole device into a known state before it is measured: every block written once."""

from __future__ import annotations

from drivelab.model.target import TargetFacts
from drivelab.model.workload import Access, BlockSizeShare, OperationShare, TargetRange, Workload
from drivelab.run.before_writing import look_before
from drivelab.run.engine import ProgressListener, StopRequest, run_workload

_BLOCK_BYTES = 2**20
_QUEUE_DEPTH = 8


def write_once(target: TargetFacts, *, seed: int, stop: StopRequest, progress: ProgressListener) -> int:
    """Write random data to a whole block device from its start to its end; how many bytes were written.

    Blocks that were never written, or were trimmed, cost a drive next to
    nothing to read, and the first write to one is not like the second.

    Raises
    ------
    DrivelabError
        C201 to C209: the device may not be written to any more. E301 to E315, as the engine reports them.
    """
    block = min(_BLOCK_BYTES, target.size_bytes)
    workload = Workload(
        target=TargetRange(path=target.path, exclusive=True),
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=block),),
        access=Access(kind="sequential"),
        queue_depth=_QUEUE_DEPTH,
        direct=True,
        seed=seed,
    )
    look_before(workload)
    run = run_workload(workload, stop=stop, on_progress=progress)
    return int(run.summary["operations"].get("write", {}).get("bytes", 0))
