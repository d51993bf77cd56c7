"""Counts the commands that a drive is given, from the block layer's trace events.

The kernel's counters cannot tell a write that carries data from an empty
flush request, nor a FUA write from a plain one. The event ``block_rq_issue``
can: it fires once for each request handed to the driver and names its kind.

Its field ``rwbs`` reads: an ``F`` in front for a flush that precedes the data,
the operation (``R`` read, ``W`` write, ``D`` discard, ``FF`` a flush alone),
then ``F`` for FUA, ``A`` read-ahead, ``S`` synchronous, ``M`` metadata
(include/trace/events/block.h, kernel/trace/blktrace.c).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from drivelab._engine import KERNEL_THREADS
from drivelab.run.tracing.tracefs import TraceUnavailableError, lost_events_by_cpu, trace_instance, tracefs

# room for about 20 000 requests on each processor
_BUFFER_KIB_PER_CPU = 2048
_JOB_THREAD = "drivelab-job"
# inode of the first process namespace (include/linux/proc_ns.h): elsewhere our ids are not the kernel's
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
_KERNEL_THREAD = re.compile("|".join(map(re.escape, KERNEL_THREADS)))
_EVENT = re.compile(
    r"^\s*(?P<task>.*)-(?P<pid>\d+)\s+(?:\(\s*(?P<tgid>\d+|-+)\)\s+)?\[\d+\].*?: block_rq_issue: "
    r"\d+,\d+ (?P<rwbs>\S+) (?P<bytes>\d+) \(.*?\) \d+ \+ \d+ (?:\S+ )?\[(?P<comm>.*)\]$"
)
_LOST = re.compile(r"LOST (\d+) EVENTS")


@dataclass(frozen=True, slots=True)
class IssuedRequest:
    """One request handed to the driver.

    Attributes
    ----------
    kind : str
        read, write, flush, discard or other.
    size_bytes : int
        Data it carries.
    is_fua, is_metadata : bool
        Force Unit Access; belongs to the file system itself (journal, log, tree).
    is_foreign : bool
        Issued by a program that is neither this one nor the kernel.
    """

    kind: str
    size_bytes: int
    is_fua: bool
    is_metadata: bool
    is_foreign: bool
    command: str


@dataclass(frozen=True, slots=True)
class CommandCounts:
    """Requests of a trace, by kind; those of other programs stand apart.

    Attributes
    ----------
    data_writes : int
        Writes that carried data, those of the journal included.
    metadata_writes, fua_writes : int
        The part of them that is the file system's own; that had Force Unit Access.
    bytes_written : int
        By `data_writes`.
    foreign_requests : int
        Requests of other programs, not included in the numbers above.
    foreign : dict of str to int
        The same by program.
    """

    device: str
    data_writes: int
    metadata_writes: int
    fua_writes: int
    flushes: int
    reads: int
    discards: int
    bytes_written: int
    foreign_requests: int
    foreign: dict[str, int] = field(default_factory=dict)


class CommandTrace:
    """A trace that is running; ask it for its counts once the workload has ended."""

    def __init__(self, instance: Path, device: str) -> None:
        self._instance = instance
        self._device = device

    def counts(self) -> CommandCounts:
        """Everything since the trace began.

        Raises
        ------
        TraceUnavailableError
            Events were lost, so the counts would be too low.
        """
        (self._instance / "tracing_on").write_text("0")
        lost = lost_events(self._instance)
        if lost:
            raise TraceUnavailableError(f"{lost} trace events were lost: the buffer was too small")
        with (self._instance / "trace").open(errors="replace") as lines:
            return count_requests(self._device, parse_trace(lines))


@contextmanager
def trace_commands(device: str) -> Iterator[CommandTrace]:
    """A trace of every request that one whole disk is given, while the context lasts.

    Parameters
    ----------
    device : str
        Kernel name of a disk (``sda``, ``loop3``), not of a partition.

    Raises
    ------
    TraceUnavailableError
        No permission, no tracefs, or a kernel that does not let this event be traced.
    """
    with tracefs() as root, trace_instance(root, device) as instance:
        try:
            (instance / "buffer_size_kb").write_text(str(_BUFFER_KIB_PER_CPU))
            (instance / "options" / "record-tgid").write_text("1")
            # a full buffer must not overwrite what came first: it counts what it drops instead
            (instance / "options" / "overwrite").write_text("0")
            event = instance / "events" / "block" / "block_rq_issue"
            (event / "filter").write_text(f"dev == {_trace_device_number(device)}")
            (event / "enable").write_text("1")
        except OSError as error:
            raise TraceUnavailableError(f"the event block_rq_issue cannot be traced: {error.strerror}") from error
        yield CommandTrace(instance, device)


def _trace_device_number(device: str) -> int:
    major, minor = Path(f"/sys/class/block/{device}/dev").read_text().strip().split(":")
    # the kernel's own dev_t has 20 bits of minor, unlike that of user space
    return int(major) << 20 | int(minor)


def lost_events(instance: Path) -> int:
    """Events that an instance could not keep."""
    return sum(lost_events_by_cpu(instance).values())


def parse_trace(lines: Iterable[str]) -> Iterator[IssuedRequest]:
    """The requests in the text of a trace.

    Raises
    ------
    TraceUnavailableError
        The text says that events were lost, or has a line that cannot be understood.
    """
    own_pid = os.getpid() if has_kernel_ids() else None
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        lost = _LOST.search(line)
        if lost:
            raise TraceUnavailableError(f"{lost[1]} trace events were lost: the buffer was too small")
        match = _EVENT.match(line.rstrip("\n"))
        if match is None:
            raise TraceUnavailableError(f"this kernel's trace cannot be understood: {line.strip()}")
        yield _request(match, own_pid)


def _request(match: re.Match[str], own_pid: int | None) -> IssuedRequest:
    kind, is_fua, is_metadata = classify(match["rwbs"])
    tgid = match["tgid"] or ""
    is_ours = tgid == str(own_pid) if own_pid and tgid.isdigit() else match["comm"].startswith(_JOB_THREAD)
    is_kernel = is_kernel_thread(int(match["pid"]), match["comm"])
    return IssuedRequest(
        kind=kind,
        size_bytes=int(match["bytes"]),
        is_fua=is_fua,
        is_metadata=is_metadata,
        is_foreign=not is_ours and not is_kernel,
        command=match["comm"],
    )


def is_kernel_thread(pid: int, name: str) -> bool:
    """Whether a thread is the kernel's own."""
    return pid == 0 or _KERNEL_THREAD.match(name) is not None


def has_kernel_ids() -> bool:
    """Whether ids of threads are the kernel's own here: in a namespace of its own they are others."""
    return os.readlink("/proc/self/ns/pid") == _FIRST_PID_NAMESPACE


def classify(rwbs: str) -> tuple[str, bool, bool]:
    """What the letters of a request mean.

    Returns
    -------
    kind : str
        read, write, flush, discard or other.
    is_fua, is_metadata : bool

    Examples
    --------
    >>> classify("WS"), classify("FF"), classify("WFSM")
    (('write', False, False), ('flush', False, False), ('write', True, True))
    """
    if rwbs in ("F", "FN"):
        return "flush", False, False
    letters = rwbs[1:] if rwbs.startswith("F") else rwbs
    operation, flags = letters[:1], letters[1:]
    kind = {"R": "read", "W": "write", "F": "flush", "D": "discard"}.get(operation, "other")
    return kind, "F" in flags, "M" in flags


def count_requests(device: str, requests: Iterable[IssuedRequest]) -> CommandCounts:
    """How many requests of each kind there are."""
    kinds: Counter[str] = Counter()
    foreign: Counter[str] = Counter()
    for request in requests:
        if request.is_foreign:
            foreign[request.command] += 1
            continue
        # a write without data is a flush that has not been taken apart yet; the flush is counted by itself
        is_data = request.kind == "write" and request.size_bytes > 0
        if is_data or request.kind != "write":
            kinds[request.kind] += 1
        if is_data:
            kinds["bytes"] += request.size_bytes
            kinds["metadata"] += request.is_metadata
            kinds["fua"] += request.is_fua
    return CommandCounts(
        device=device,
        data_writes=kinds["write"],
        metadata_writes=kinds["metadata"],
        fua_writes=kinds["fua"],
        flushes=kinds["flush"],
        reads=kinds["read"],
        discards=kinds["discard"],
        bytes_written=kinds["bytes"],
        foreign_requests=sum(foreign.values()),
        foreign=dict(foreign),
    )
