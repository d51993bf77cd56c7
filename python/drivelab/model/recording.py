"""A load that was recorded: what each of its threads did, and when; and how a workload asks for it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from drivelab.model.frozen import FrozenModel

# operations by their numbers
RECORDED_OPERATIONS = ("read", "write", "trim", "sync")
READ, WRITE, TRIM, SYNC = range(len(RECORDED_OPERATIONS))
# commands of the block layer by their numbers; a durable write has Force Unit Access, and is a write and a sync here
COMMANDS = ("read", "write", "trim", "flush", "durable write")
DURABLE_WRITE = COMMANDS.index("durable write")
# what a recording is of: system calls, commands of the block layer, or I/Os as their program counts them
Level = Literal["calls", "commands", "ios"]
_BLOCK = 4096
# how writes become durable without a call after them
DurableFlag = Literal["none", "o_dsync", "o_sync", "rwf_dsync"]
_Numbers = NDArray[np.int64]
_Floats = NDArray[np.float64]


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
    call, file : ndarray of int64 or None
        Of system calls and commands its name by its place in `Recording.calls`; of calls its file by that in
        `Recording.files`.
    part_of : ndarray of int64 or None
        The I/O, by its place, of which it is the second half; -1 for none.
    after_thread, after_count : ndarray of int64 or None
        Which other thread it waits for, -1 for none, and how many I/Os of it must have ended.
    """

    start_ns: _Numbers
    operation: _Numbers
    offset_bytes: _Numbers
    size_bytes: _Numbers
    latency_ns: _Numbers | None = None
    queue_depth: int = 1
    call: _Numbers | None = None
    file: _Numbers | None = None
    after_thread: _Numbers | None = None
    after_count: _Numbers | None = None
    part_of: _Numbers | None = None

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class RecordedFile:
    """A file of recorded system calls, as descriptors with some flags stood for it.

    Attributes
    ----------
    name : str
        As it was called where it was recorded; it has several entries where it was open with several flags.
    size_bytes, end_bytes : int
        Its size before the first call, and the first byte behind all that is in it then and later.
    readable_bytes : int
        Up to where there is at least a hole from the beginning, so that no read comes before its data.
    is_direct, is_durable : bool
        Whether it was open with O_DIRECT; whether its writes were durable by a flag of it or of their own (O_DSYNC,
        O_SYNC, RWF_DSYNC, RWF_SYNC).
    is_synced : bool
        Whether that was O_SYNC or RWF_SYNC, which make its times durable, too.
    is_cached : bool
        Whether most of what was read of it was in memory.
    """

    name: str
    size_bytes: int
    end_bytes: int
    readable_bytes: int = 0
    is_direct: bool = False
    is_durable: bool = False
    is_synced: bool = False
    is_cached: bool = False


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
    level : str
        What it is of: calls, commands or ios.
    calls : tuple of str
        Names of system calls or commands.
    files : tuple of RecordedFile
        Their files; empty where all of it is for one target. Each has as many addresses as the largest.
    not_played : tuple of str
        What of it is not issued again: ``61 sync calls on directories``.
    not_compared : tuple of str
        Names of calls that may not be issued as they were, so that they are not compared.
    doubt : str
        Why.
    """

    source: str
    kind: str
    threads: tuple[RecordedThread, ...]
    sync: Literal["fsync", "fdatasync"] = "fdatasync"
    durability: DurableFlag = "none"
    direct: bool | None = None
    notes: tuple[str, ...] = ()
    made_room: bool = False
    level: Level = "ios"
    calls: tuple[str, ...] = ()
    files: tuple[RecordedFile, ...] = ()
    not_played: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    doubt: str = ""

    @cached_property
    def end_bytes(self) -> int:
        """First byte behind everything that is read, written or trimmed."""
        return max(int((thread.offset_bytes + thread.size_bytes).max()) for thread in self.threads)

    @property
    def needed_bytes(self) -> int:
        """What it needs of a target: of files all that is in them in the end."""
        return sum({file.name: file.end_bytes for file in self.files}.values()) if self.files else self.end_bytes

    @property
    def span_bytes(self) -> int:
        """Addresses of each file; 0 where all of it is for one target."""
        return -(-max((file.end_bytes for file in self.files), default=0) // _BLOCK) * _BLOCK

    @cached_property
    def length_ns(self) -> int:
        """From the beginning to the last start."""
        return max(int(thread.start_ns[-1]) for thread in self.threads)

    @cached_property
    def duration_ns(self) -> int:
        """From the beginning to the last end, or to the last start where it does not tell how long I/Os took."""
        latencies = [0 if thread.latency_ns is None else thread.latency_ns for thread in self.threads]
        return max(int((one.start_ns + taken).max()) for one, taken in zip(self.threads, latencies, strict=True))

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

    def operations_of(self, call: int) -> list[str]:
        """What system calls or commands of one name do; without names those are the operations themselves."""
        if not self.calls:
            return [RECORDED_OPERATIONS[call]]
        of_threads = [thread.operation[thread.call == call] for thread in self.threads if thread.call is not None]
        return [RECORDED_OPERATIONS[operation] for operation in np.unique(np.concatenate(of_threads))]

    def bytes_on_files(self, files: Sequence[int]) -> dict[str, int]:
        """What is read from and written to some of its files, told by their numbers: bytes by operation."""
        of_threads = [(thread, np.isin(thread.file, files)) for thread in self.threads if thread.file is not None]
        return {
            RECORDED_OPERATIONS[operation]: sum(
                int(thread.size_bytes[mine & (thread.operation == operation)].sum()) for thread, mine in of_threads
            )
            for operation in (READ, WRITE)
        }

    @property
    def has_halves(self) -> bool:
        """Whether some of what was one is issued as two, so that operations have no latencies of their own."""
        return any(thread.part_of is not None and bool((thread.part_of >= 0).any()) for thread in self.threads)


def on_files(recording: Recording, files: Sequence[RecordedFile]) -> Recording:
    """A recording whose places are in its files, now with each in the addresses of its file, one behind the other."""
    placed = replace(recording, files=tuple(files))
    threads = tuple(
        replace(thread, offset_bytes=thread.offset_bytes + thread.file * placed.span_bytes)
        for thread in recording.threads
        if thread.file is not None
    )
    return replace(placed, threads=threads)


def deepest(start_ns: _Numbers, latency_ns: _Numbers) -> int:
    """The most that were outstanding at once, of I/Os in the order of their starts; an end comes before a start."""
    ended = np.searchsorted(np.sort(start_ns + latency_ns), start_ns, side="right")
    # what took no time has ended, and was outstanding all the same
    return max(1, int((np.arange(1, len(start_ns) + 1) - ended).max()))


@dataclass(frozen=True, slots=True)
class CallPairs:
    """Calls that were issued again and came to an end, in the order in which they were recorded.

    Attributes
    ----------
    name, file : ndarray of int64
        Which call it is and, where there are files, on which.
    recorded_ns, replayed_ns : ndarray of float64
        How long each took there and here.
    response_ns : ndarray of float64 or None
        From its recorded start until its end; None where it had none.
    """

    name: _Numbers
    file: _Numbers
    recorded_ns: _Floats
    replayed_ns: _Floats
    response_ns: _Floats | None


class RecordedJob(FrozenModel):
    """One thread of a recording: its I/Os, and the most that were outstanding at once."""

    count: int = Field(ge=1)
    queue_depth: int = Field(ge=1, le=4096)


class Recorded(FrozenModel):
    """A recorded load, issued in place of the operations, sizes and order of a workload, which sum it up.

    ``speed`` is how many times as fast as recorded it is issued; 0 is as fast as possible, in the order
    of each thread. ``sync`` is the call that a recorded sync stands for. Where it is of system calls, ``span_bytes``
    addresses are each file's, which may grow, and the place of a sync in them says which call it is. The records
    themselves lie in a file of the engine's at ``path``, which is not stored.
    """

    source: str
    kind: str
    jobs: tuple[RecordedJob, ...]
    speed: float = Field(default=1.0, ge=0)
    sync: Literal["fsync", "fdatasync"] = "fdatasync"
    span_bytes: int = Field(default=0, ge=0)
    path: str = Field(default="", exclude=True)
