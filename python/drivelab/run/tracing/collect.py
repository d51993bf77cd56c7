"""Takes a trace of one disk while a workload runs, and leaves a recording as blktrace would.

While the workload runs, what the kernel records is kept in memory, so that the
traced disk is not written to by its own trace; beyond a limit it goes to a
directory on another disk, if the caller names one. Without one the kernel counts
what it could not keep.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.run.tracing.disk import TracedDisk, require_other_disk, traced_disk
from drivelab.run.tracing.source import ROOM_BYTES, Limits, SourceUnavailableError, Stopped
from drivelab.run.tracing.sources import SourceState, choose_source, unavailable
from drivelab.state.signals import signals_held


@dataclass(slots=True)
class RunningTrace:
    """A trace that is being taken; its result is there once its context has ended.

    Attributes
    ----------
    source, reason : str
        tracefs, relay or blk_tracer, and why that one.
    disk : TracedDisk
        What is traced: the disk, and the layers above it.
    clock : str
        Clock by which the kernel recorded. Times of the recording are those of
        CLOCK_MONOTONIC in any case: other clocks are joined with it at both ends.
    files : tuple of Path
        The recording, one file for each processor.
    lost_events : int
        Events that the kernel could not keep.
    facts : dict
        ``records``, ``by_action`` (by blkparse's letter), ``foreign`` (events of
        other devices), ``damaged_pages``, ``collected_bytes``,
        ``collector_cpu_ns`` (processor time of the thread that collected),
        ``ran_out_of_room``.
    """

    device: str
    source: str
    reason: str
    disk: TracedDisk
    clock: str = "mono"
    files: tuple[Path, ...] = ()
    lost_events: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@contextmanager
def collected_trace(
    device: str,
    into: Path,
    source: str | None = None,
    top: str | None = None,
    *,
    memory_bytes: int = ROOM_BYTES,
    spill_directory: Path | None = None,
) -> Iterator[RunningTrace]:
    """Trace a disk while the context lasts, then write ``into/<device>.blktrace.<cpu>``.

    Parameters
    ----------
    device : str
        Kernel name of a whole disk (``sda``, ``loop3``).
    into : Path
        Directory of the recording; made when it is not there. It may lie on the
        traced disk: it is written when the trace has ended.
    source : str, optional
        tracefs, relay or blk_tracer; by default the first that works.
    top : str, optional
        Kernel name of the device that I/O is sent to: what lies between it and the drives is traced, too.
    memory_bytes : int
        What may be kept in memory meanwhile.
    spill_directory : Path, optional
        Where the rest goes; on another disk.

    Raises
    ------
    DrivelabError
        R430: not root. R431: no source works. R432: somebody else traces. R433:
        not a whole disk. R440: too many layers. R434: the recording cannot be read or written. R435:
        the spill directory lies on the traced disk. R406: settings of the
        kernel could not be put back.

    Notes
    -----
    However the context ends, the kernel traces no more for us then. After an
    exception in it nothing is written.
    """
    disk = traced_disk(device, top)
    if spill_directory is not None:
        require_other_disk(spill_directory, disk)
    chosen, reason = choose_source(disk, source)
    running = RunningTrace(device, chosen.name, reason, disk)
    try:
        with chosen.armed(disk, Limits(memory_bytes, spill_directory)) as armed:
            running.clock = armed.clock
            yield running
            with signals_held():
                stopped = _stopped(armed.stop, disk)
    except SourceUnavailableError as error:
        raise unavailable([SourceState(chosen, str(error), error.code)]) from error
    _write(running, stopped, into)


def _stopped(stop: Any, disk: TracedDisk) -> Stopped:
    try:
        stopped: Stopped = stop()
    except OSError as error:
        what = f"the trace cannot be read: {error.strerror or error}"
        raise DrivelabError("R434", what, where=disk.name) from error
    if stopped.collected.failure:
        what = f"the trace could not be kept: {stopped.collected.failure}"
        raise DrivelabError("R434", what, where=disk.name)
    return stopped


def _write(running: RunningTrace, stopped: Stopped, into: Path) -> None:
    base = into / running.device
    collected = stopped.collected
    try:
        into.mkdir(parents=True, exist_ok=True)
        summary = json.loads(collected.write(str(base), json.dumps(stopped.description)))
    except (OSError, ValueError) as error:
        for part in into.glob(f"{running.device}.blktrace.*"):
            with suppress(OSError):
                part.unlink()
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise DrivelabError("R434", f"the recording cannot be written: {why}", where=str(into)) from error
    running.files = tuple(Path(file) for file in summary.pop("files"))
    running.lost_events = max(stopped.lost_events, summary.pop("lost"))
    running.facts = {
        **summary,
        "collected_bytes": collected.bytes,
        "collector_cpu_ns": collected.thread_cpu_ns,
        "ran_out_of_room": collected.is_full,
    }
