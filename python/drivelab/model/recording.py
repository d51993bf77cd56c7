"""A load that was recorded: what each of its threads did, and when; and how a workload asks for it again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from drivelab.model.frozen import FrozenModel

# operations by their numbers
RECORDED_OPERATIONS = ("read", "write", "trim", "sync")
READ, WRITE, TRIM, SYNC = range(len(RECORDED_OPERATIONS))
# how writes become durable without a call after them
DurableFlag = Literal["none", "o_dsync", "o_sync", "rwf_dsync"]
_Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class RecordedThread:
    """What one thread did, in the order of the starts.

    Attributes
    ----------
    start_ns : ndarray of int64, shape (I/Os,)
        Since the recording began.
    operation, offset_bytes, size_bytes : ndarray of int64, shape (I/Os,)
        The operation by its place in `RECORDED_OPERATIONS`; a sync call has no size.
    latency_ns : ndarray of int64 or None
        How long each took; None where the recording does not tell.
    queue_depth : int
        The most that were outstanding at once: 1 where each waited for the one before.
    """

    start_ns: _Numbers
    operation: _Numbers
    offset_bytes: _Numbers
    size_bytes: _Numbers
    latency_ns: _Numbers | None = None
    queue_depth: int = 1

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class Recording:
    """A load that can be issued again.

    Attributes
    ----------
    source, kind : str
        The file as it was named, and what it is: ``fio's iolog v3``.
    threads : tuple of RecordedThread
        At least one; none of them is empty.
    sync : str
        The call that a recorded sync stands for.
    durability : str
        How each write was made durable by a flag of its file: o_dsync, o_sync; else none.
    direct : bool or None
        Whether it bypassed the page cache; None where it does not tell.
    notes : tuple of str
        What is not as it was.
    made_room : bool
        Whether its writes gave their file its room, which is there when they are issued again: sync calls have less to
        do then, and their latencies are not comparable.
    """

    source: str
    kind: str
    threads: tuple[RecordedThread, ...]
    sync: Literal["fsync", "fdatasync"] = "fdatasync"
    durability: DurableFlag = "none"
    direct: bool | None = None
    notes: tuple[str, ...] = ()
    made_room: bool = False

    @cached_property
    def end_bytes(self) -> int:
        """First byte behind everything that is read, written or trimmed."""
        return max(int((thread.offset_bytes + thread.size_bytes).max()) for thread in self.threads)

    @cached_property
    def length_ns(self) -> int:
        """From the beginning to the last start."""
        return max(int(thread.start_ns[-1]) for thread in self.threads)

    @property
    def has_starts(self) -> bool:
        """Whether it tells when I/Os began."""
        return self.length_ns > 0

    @property
    def has_latencies(self) -> bool:
        """Whether it tells how long they took."""
        return all(thread.latency_ns is not None for thread in self.threads)

    @property
    def queue_depth(self) -> int:
        """That of the thread with the most outstanding."""
        return max(thread.queue_depth for thread in self.threads)

    @property
    def count(self) -> int:
        """All I/Os, sync calls among them."""
        return sum(map(len, self.threads))

    @cached_property
    def writes(self) -> bool:
        """Whether it changes what it is issued to."""
        return any(bool(np.isin(thread.operation, (WRITE, TRIM)).any()) for thread in self.threads)

    def column(self, name: str, operation: int) -> _Numbers:
        """The numbers of one operation over all threads: ``size_bytes``, ``latency_ns``."""
        parts = [getattr(thread, name)[thread.operation == operation] for thread in self.threads]
        return np.concatenate(parts)


def deepest(start_ns: _Numbers, latency_ns: _Numbers) -> int:
    """The most that were outstanding at once, of I/Os in the order of their starts; an end comes before a start."""
    ended = np.searchsorted(np.sort(start_ns + latency_ns), start_ns, side="right")
    # what took no time has ended, and was outstanding all the same
    return max(1, int((np.arange(1, len(start_ns) + 1) - ended).max()))


class RecordedJob(FrozenModel):
    """One thread of a recording: its I/Os, and the most that were outstanding at once."""

    count: int = Field(ge=1)
    queue_depth: int = Field(ge=1, le=4096)


class Recorded(FrozenModel):
    """A recorded load, issued in place of the operations, sizes and order of a workload, which sum it up.

    ``speed`` is how many times as fast as recorded it is issued; 0 is as fast as possible, in the order
    of each thread. ``sync`` is the call that a recorded sync stands for. The records themselves lie in
    a file of the engine's at ``path``, which is not stored.
    """

    source: str
    kind: str
    jobs: tuple[RecordedJob, ...]
    speed: float = Field(default=1.0, ge=0)
    sync: Literal["fsync", "fdatasync"] = "fdatasync"
    path: str = Field(default="", exclude=True)
