"""What every source of a trace has: a way to say why it cannot be used, and a running trace that can be ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from drivelab._engine import CollectedTrace
from drivelab.run.tracing.disk import TracedDisk

SourceName = Literal["tracefs", "relay", "blk_tracer"]
ROOM_BYTES = 256 * 2**20
BUFFER_BYTES_PER_CPU = 8 * 2**20
# all buffers together: a computer with very many processors gets smaller ones
_BUFFERS_BYTES_MAX = 512 * 2**20
_BUFFER_BYTES_MIN = 2**20
INTERVAL_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a trace may hold.

    Attributes
    ----------
    memory_bytes : int
        What is kept in memory while the workload runs.
    spill_directory : Path or None
        Where to put the rest, on another disk; without one, what comes then is lost, and counted.
    """

    memory_bytes: int = ROOM_BYTES
    spill_directory: Path | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """A trace that was ended.

    Attributes
    ----------
    collected : CollectedTrace
        What was read.
    description : dict
        What the engine has to know to make a recording of it.
    lost_events : int
        Events that the kernel could not keep.
    """

    collected: CollectedTrace
    description: dict[str, Any] = field(default_factory=dict)
    lost_events: int = 0


class Armed(Protocol):
    """A trace that runs; it is taken down when its context ends."""

    clock: str

    def stop(self) -> Stopped:
        """End it, and read what is left."""
        ...


class SourceUnavailableError(Exception):
    """A source cannot be used; the text says why, `code` is that of the error to raise."""

    def __init__(self, why: str, code: str = "R431") -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Source:
    """One way to take a trace.

    Attributes
    ----------
    name : str
        As in the conduct of a trace.
    require : callable
        Raises `SourceUnavailableError` where it cannot be used for a disk.
    armed : callable
        A context in which a disk is traced.
    """

    name: SourceName
    title: str
    require: Callable[[TracedDisk], None]
    armed: Callable[[TracedDisk, Limits], AbstractContextManager[Armed]]


def buffer_bytes(cpus: int) -> int:
    """Size of the buffer of one processor out of so many."""
    return max(_BUFFER_BYTES_MIN, min(BUFFER_BYTES_PER_CPU, _BUFFERS_BYTES_MAX // max(1, cpus)))


def cpus_of(directory: Path) -> list[int]:
    """Processors that have a buffer in a trace instance, or in the shared one."""
    return sorted(int(path.name.removeprefix("cpu")) for path in (directory / "per_cpu").glob("cpu*"))
