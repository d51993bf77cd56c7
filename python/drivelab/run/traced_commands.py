"""Counts the commands of a traced pass by kind: the same numbers as of a pass that only counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.run.counting_pass import counts_json
from drivelab.run.trace_counts import IssuedRequest, count_requests, is_kernel_thread

# class of a command: its kind, whether it has Force Unit Access, whether it is the file system's own
_KINDS = {
    "read": ("read", False, False),
    "write": ("write", False, False),
    "fua_write": ("write", True, False),
    "metadata_write": ("write", False, True),
    "flush": ("flush", False, False),
    "discard": ("discard", False, False),
}
_OTHER = ("other", False, False)
# the kernel keeps so many letters of a thread's name
_NAME_LETTERS = 15


def commands_of_events(events: pa.Table, device: str, threads: Collection[int], operations: int) -> dict[str, Any]:
    """Counts of the commands of a trace, and the same per operation.

    Parameters
    ----------
    events : pyarrow.Table
        One row per bio and per command (``docs/data_format.md``).
    device : str
        Kernel name of the traced disk.
    threads : collection of int
        Ids of the jobs' threads: their commands, and the kernel's, are no other program's.
    operations : int
        Writes of the program in the traced pass.

    Returns
    -------
    dict
        As `drivelab.run.counting_pass.counts_json`.
    """
    commands = events.filter(pc.equal(events["kind"], "command")).select(["class", "bytes", "pid", "process"])
    return counts_json(count_requests(device, _requests(commands, threads)), operations)


def _requests(commands: pa.Table, threads: Collection[int]) -> Iterator[IssuedRequest]:
    # threads that work for a ring are called after the one that made it
    workers = {f"iou-{what}-{thread}"[:_NAME_LETTERS] for what in ("wrk", "sqp") for thread in threads}
    for row in commands.to_pylist():
        kind, is_fua, is_metadata = _KINDS.get(row["class"], _OTHER)
        process = row["process"] or ""
        is_kernel = is_kernel_thread(row["pid"], process)
        yield IssuedRequest(
            kind=kind,
            size_bytes=row["bytes"],
            is_fua=is_fua,
            # a command has one class only: what the kernel itself writes with FUA is a journal's commit
            is_metadata=is_metadata or (is_fua and is_kernel),
            is_foreign=row["pid"] not in threads and process not in workers and not is_kernel,
            command=process,
        )
