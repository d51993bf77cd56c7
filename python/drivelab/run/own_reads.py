"""What this program itself had drives read: a drive counts the reads of everybody.

The kernel adds what a thread asks of the block layer to that thread's own
total (task I/O accounting). What a loop device reads of its file is mostly
asked for by the kernel's workers, whose totals are theirs together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from drivelab.run.kernel_text import moved_bytes, processes

PROC = Path("/proc")
# since then those that io_uring works with are the program's own threads
_OWN_THREADS_FROM = (5, 12)


@dataclass(frozen=True, slots=True)
class OwnReads:
    """Bytes that drives were asked for so far.

    Attributes
    ----------
    process_bytes : int or None
        By all threads of this program; None where the kernel does not tell, or has others issue its I/O.
    worker_bytes : mapping of (int, int) to int, or None
        By each thread of the kernel, by its id and start; None where one of them may not be seen, or none is wanted.
    """

    process_bytes: int | None
    worker_bytes: Mapping[tuple[int, int], int] | None


def read_own_reads(*, with_workers: bool) -> OwnReads:
    """The totals now; those of the kernel's workers only where they are wanted, since there are many."""
    process_bytes = _bytes_read(f"{PROC}/self") if _release() >= _OWN_THREADS_FROM else None
    return OwnReads(process_bytes, _of_workers() if with_workers else None)


def own_reads_between(before: OwnReads, after: OwnReads) -> dict[str, int | None]:
    """What was read between two readings: ``process_bytes``, and ``worker_bytes`` by threads of the kernel.

    Notes
    -----
    A worker that has ended took its total with it, and then nothing is known of them all.
    """
    ours: int | None = None
    if before.process_bytes is not None and after.process_bytes is not None:
        ours = after.process_bytes - before.process_bytes
    workers: int | None = None
    early, late = before.worker_bytes, after.worker_bytes
    if early is not None and late is not None and early.keys() <= late.keys():
        workers = sum(late.values()) - sum(early.values())
    return {"process_bytes": ours, "worker_bytes": workers}


def _of_workers() -> dict[tuple[int, int], int] | None:
    found = {}
    for (pid, start), _, _ in processes(PROC, of_kernel=True):
        moved = _bytes_read(f"{PROC}/{pid}")
        # it may have ended since its line was read
        if moved is None and os.path.exists(f"{PROC}/{pid}"):
            return None
        found[pid, start] = moved or 0
    return found


def _bytes_read(process: str) -> int | None:
    return moved_bytes(process).get("read_bytes")


def _release() -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
