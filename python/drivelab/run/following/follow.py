"""Follows processes on one disk: calls, files and commands over the same time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from drivelab.inventory.block_devices import partitions_of
from drivelab.inventory.sysfs import read_text
from drivelab.model.system_calls import call_numbers
from drivelab.model.target import TargetFacts
from drivelab.run.device_counters import has_outstanding
from drivelab.run.engine import StopRequest
from drivelab.run.following.calls_trace import calls_traced
from drivelab.run.following.live import LiveCalls, LiveLook
from drivelab.run.following.open_files import OpenFiles
from drivelab.run.following.opened_files import opened_files
from drivelab.run.following.processes import Lives, StartedCommand
from drivelab.run.following.processor_waits import ProcessorWaits
from drivelab.run.following.recorded_calls import CallsTrace, RecordedCalls
from drivelab.run.following.rings_trace import RecordedRequests, RingsTrace, rings_traced
from drivelab.run.following.seen_file import SeenFile
from drivelab.run.trace_environment import before_and_after, trace_environment
from drivelab.run.traced_pass import top_device, traced_device
from drivelab.run.tracing.collect import RunningTrace, collected_trace
from drivelab.run.tracing.disk import traced_disk

_STEP_S = 0.2
_LOOK_NS = 1_000_000_000
# a drive that others keep busy is never without a request
_IN_FLIGHT_MAX_S = 2.0
_IN_FLIGHT_STEP_S = 0.002


@dataclass(slots=True)
class Followed:
    """What was recorded of some processes.

    Attributes
    ----------
    disk : str
        Kernel name of the disk that was traced.
    devices : frozenset of str
        ``major:minor`` of everything on it: files of these count.
    trace : RunningTrace
        The commands.
    calls : RecordedCalls
        The calls.
    requests : RecordedRequests
        Requests of io_uring, of all programs.
    files : tuple of SeenFile
        What descriptors stood for.
    processes, names : dict of int
        By thread its process, and its name.
    began_ns, ended_ns : int
        From when to when, CLOCK_MONOTONIC.
    processor_wait_ns : int
        How long threads were ready to run without a processor meanwhile, all together, as far as is known.
    environment : dict
        Of the disk, before and after.
    status : int or None
        How a command that was started for it ended.
    """

    disk: str
    devices: frozenset[str]
    trace: RunningTrace
    calls: RecordedCalls
    requests: RecordedRequests
    files: tuple[SeenFile, ...]
    processes: dict[int, int]
    names: dict[int, str]
    began_ns: int
    ended_ns: int
    processor_wait_ns: int
    environment: dict[str, object] = field(default_factory=dict)
    status: int | None = None


def follow(
    facts: TargetFacts,
    pids: Sequence[int],
    into: Path,
    *,
    command: StartedCommand | None,
    runtime_ns: int | None,
    stop: StopRequest,
    begun: Callable[[], None],
    shown: Callable[[LiveLook], None] | None = None,
) -> Followed:
    """Follow processes until they end, until `stop`, or for so long.

    Parameters
    ----------
    facts : TargetFacts
        Where their files lie: its disk is traced.
    pids : sequence of int
        Processes; threads and children are followed, too.
    into : Path
        Directory of the recording.
    command : StartedCommand or None
        What was started for it, waiting to begin; it is asked to end afterwards.
    runtime_ns, stop : int or None, StopRequest
        How long at most, and what ends it before.
    begun : callable
        Called once everything is followed.
    shown : callable or None
        Called each second with what was seen of the calls until then.

    Raises
    ------
    DrivelabError
        R430 to R434: nothing can be traced here. R440: no disk beneath, or several.
    """
    disk = traced_device(facts)
    before = trace_environment(disk)
    try:
        with (
            collected_trace(disk, into, "tracefs", top_device(facts)) as trace,
            _traced(pids, disk) as (calls, files, rings),
        ):
            waits = ProcessorWaits(_alive(calls, files))
            began_ns = time.monotonic_ns()
            begun()
            if command is not None:
                command.begin()
            tick = partial(_show, LiveCalls(calls, files, devices_of(facts, disk)), shown) if shown else None
            until_ns = began_ns + runtime_ns if runtime_ns is not None else None
            _wait(pids, until_ns, stop, lambda: waits.look(_alive(calls, files)), tick)
            ended_ns = time.monotonic_ns()
            files.end()
            recorded, requests = calls.stop(), rings.stop()
    finally:
        status = command.end() if command is not None else None
    return Followed(
        disk=disk,
        devices=devices_of(facts, disk),
        trace=trace,
        calls=_since(recorded, began_ns),
        requests=requests,
        files=_all_files(files, recorded),
        processes=recorded.processes_of(files.processes),
        names=recorded.names_of(files.names),
        began_ns=began_ns,
        ended_ns=ended_ns,
        processor_wait_ns=waits.total_ns,
        environment=before_and_after(before, trace_environment(disk)),
        status=status,
    )


def _all_files(files: OpenFiles, recorded: RecordedCalls) -> tuple[SeenFile, ...]:
    """What was looked at, then what the calls that opened it tell, which is less."""
    numbers, processes = call_numbers(os.uname().machine), recorded.processes_of(files.processes)
    opened = opened_files(recorded, numbers, processes, files.directories, files.seen, time.monotonic_ns())
    return (*files.all_seen, *opened)


def _since(recorded: RecordedCalls, began_ns: int) -> RecordedCalls:
    """The same with ``recorded_until_ns`` counted from when following began, as durations are."""
    until_ns = recorded.facts.get("recorded_until_ns")
    if until_ns is None:
        return recorded
    return replace(recorded, facts={**recorded.facts, "recorded_until_ns": max(0, until_ns - began_ns)})


@contextmanager
def _traced(pids: Sequence[int], disk: str) -> Iterator[tuple[CallsTrace, OpenFiles, RingsTrace]]:
    with rings_traced(traced_disk(disk)) as rings, calls_traced(pids, traced_disk(disk)) as calls:
        files = OpenFiles(calls.threads)
        files.begin()
        try:
            yield calls, files, rings
            _wait_for_what_is_in_flight(disk)
        finally:
            files.end()


def _show(live: LiveCalls, shown: Callable[[LiveLook], None]) -> None:
    shown(live.look())


def _alive(calls: CallsTrace, files: OpenFiles) -> set[int]:
    """Processes that are followed now."""
    return {files.processes.get(thread, thread) for thread in calls.threads()}


def _wait(
    pids: Sequence[int],
    until_ns: int | None,
    stop: StopRequest,
    look: Callable[[], None],
    tick: Callable[[], None] | None,
) -> None:
    """Wait for the end; `look` is called several times a second, `tick` each second."""
    lives = Lives(pids)
    shown_ns = time.monotonic_ns()
    try:
        while not stop.is_set():
            if tick is not None and time.monotonic_ns() - shown_ns >= _LOOK_NS:
                shown_ns = time.monotonic_ns()
                tick()
            look()
            left_s = _STEP_S if until_ns is None else min(_STEP_S, (until_ns - time.monotonic_ns()) / 1e9)
            if left_s <= 0 or not lives.wait(left_s):
                return
    finally:
        lives.close()


def _wait_for_what_is_in_flight(disk: str) -> None:
    """Let the trace see the end of what was read ahead: an end that is not seen may have held up every later call."""
    until_s = time.monotonic() + _IN_FLIGHT_MAX_S
    while has_outstanding(disk) and time.monotonic() < until_s:
        time.sleep(_IN_FLIGHT_STEP_S)


def devices_of(facts: TargetFacts, disk: str) -> frozenset[str]:
    """``major:minor`` of the disk, of its partitions, of what lies between, and of the file system on it."""
    # below a loop device lies another file system, with files of its own
    names = [layer.name for layer in facts.devices]
    layers = {layer.device_number for layer in facts.devices[names.index(disk) :]}
    parts = {(read_text(Path("/sys/class/block", name, "dev")) or "").strip() for name in (disk, *partitions_of(disk))}
    filesystem = {facts.filesystem.device_number} if facts.filesystem is not None else set()
    return frozenset((layers | parts | filesystem) - {""})
