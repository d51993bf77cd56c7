"""The second, traced pass of a trial: the same workload again, so that each operation's time can be explained.

Tracing adds to a latency, so the number comes from the timed pass, which nobody
traces, and the explanation from this one. What cannot be traced, or was traced
with losses, never costs the timed trial: the context says why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trace import TraceConduct
from drivelab.model.workload import Limits, Workload
from drivelab.run.before_writing import look_before
from drivelab.run.commands_of_cells import counts_commands, renew_file
from drivelab.run.counting_pass import counts_json, timed_flushes_per_operation
from drivelab.run.device_counters import CounterReading, counted_device, counts_between, read_counters
from drivelab.run.engine import EngineRun, StopRequest, prepare_target, run_workload
from drivelab.run.prepared_trial import PreparedTrial
from drivelab.run.trace_counts import IssuedRequest, count_requests, is_kernel_thread
from drivelab.run.trace_environment import before_and_after
from drivelab.run.tracing.collect import RunningTrace
from drivelab.run.tree_cache import drop_cached
from drivelab.store.traces import TraceSink
from drivelab.trace.join import JoinedTrace
from drivelab.trace.recording import device_name

# class of a command: its kind, whether it has Force Unit Access, whether it is the file system's own
_COUNTED_KINDS = {
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
OPERATIONS = 2000
LONGEST_NS = 10_000_000_000
_KINDS = ("read", "write", "trim")
_TREES_ARE_NOT_TRACED = (
    "operations on files are not traced: the file system writes names and attributes when it likes, for many of them "
    "at once, and no command belongs to one of them"
)
# backends whose I/Os a trace tells nothing of
_UNTRACED_BACKENDS = {
    "posixaio": "I/Os of the C library are not traced: its threads issue them, and nothing tells for which job or I/O",
    "uring-cmd": "commands that go past the block layer are not traced: nothing tells for which I/O each is",
}
# the drive is another one, or somebody may not touch it: that is not for a note
_NOT_FOR_A_NOTE = ("C",)


@dataclass(frozen=True, slots=True)
class TraceTools:
    """What a traced pass is made with.

    Attributes
    ----------
    collect : callable
        ``collect(device, into, source, top)``: a context in which the device is traced, and what lies above it up
        to `top`.
    join : callable
        ``join(files, run, workload, facts)``: operations and events of a recording.
    environment : callable
        ``environment(device)``: what of the kernel the explanation depends on.
    """

    collect: Callable[[str, Path, str | None, str | None], AbstractContextManager[RunningTrace]]
    join: Callable[[Sequence[Path], EngineRun, Workload, TargetFacts], JoinedTrace]
    environment: Callable[[str], Mapping[str, Any]]


def traced_pass(
    trial: PreparedTrial,
    measured: Measurement,
    sink: AbstractContextManager[TraceSink],
    tools: TraceTools,
    *,
    source: str | None,
    stop: StopRequest,
) -> dict[str, Any]:
    """What a traced pass adds to the context of a trial that was just timed; its tables go to `sink`.

    Parameters
    ----------
    sink : context of TraceSink
        Keeps the tables and the recording.
    source : str or None
        The source to trace by; None takes the first that works.

    Returns
    -------
    dict
        ``trace`` (`TraceConduct` as plain data; None without an explanation) and
        ``trace_reason``. For synchronous writes also ``command_counts`` and
        ``command_counts_reason``, as of a pass that counts commands.

    Raises
    ------
    DrivelabError
        C207 and the like: the drive may not be touched any more. All else is told in ``trace_reason``.
    """
    counts = counts_commands(trial.workload)
    try:
        with sink as into:
            return _Pass(trial, measured, into, tools, source, stop).run(counts=counts)
    except DrivelabError as error:
        if error.code.startswith(_NOT_FOR_A_NOTE):
            raise
        reason = f"{error.what} [{error.code}]"
    except OSError as error:
        reason = f"the trace could not be kept: {error.strerror or error}"
    missing = {"command_counts": None, "command_counts_reason": reason} if counts else {}
    return {"trace": None, "trace_reason": reason} | missing


@dataclass(frozen=True, slots=True)
class _Pass:
    trial: PreparedTrial
    measured: Measurement
    sink: TraceSink
    tools: TraceTools
    source: str | None
    stop: StopRequest

    def run(self, *, counts: bool) -> dict[str, Any]:
        drive = traced_device(self.trial.facts)
        workload = traced_workload(self.trial.workload, timed_operations(self.measured))
        self._renew(workload)
        before = self.tools.environment(drive)
        look_before(workload)
        with self.tools.collect(drive, self.sink.recording, self.source, top_device(self.trial.facts)) as trace:
            counters_before = read_counters([drive])
            run = run_workload(workload, stop=self.stop)
            counters_after = read_counters([drive])
        joined = self.tools.join(trace.files, run, workload, self.trial.facts)
        self.sink.keep(joined.operations, joined.events)
        conduct = replace(
            joined.conduct,
            source=trace.source,
            reason=trace.reason,
            # the recording's times are ours in any case: those of another clock were calibrated at both ends
            clock=trace.clock if trace.clock == "mono" else f"{trace.clock}, calibrated",
            device=drive,
            layers=tuple(layer.title for layer in trace.disk.layers),
            drives=trace.disk.drives,
            lost_events=max(joined.conduct.lost_events, trace.lost_events),
            environment=before_and_after(before, self.tools.environment(drive)),
        )
        found: dict[str, Any] = {"trace": conduct.to_json(), "trace_reason": _note(run)}
        if counts:
            events = joined.events
            if trace.disk.layers:
                # those of the disk that the kernel's counters are of
                events = events.filter(pc.equal(events["device"], device_name(trace.disk.number)))
            found |= self._command_counts(conduct, events, run, (counters_before, counters_after))
        return found

    def _renew(self, workload: Workload) -> None:
        """Bring the target back to what the timed pass began with."""
        renew_file(self.trial, self.stop)
        prepare_target(workload, stop=self.stop)
        if self.trial.drops_page_cache:
            drop_cached(workload)

    def _command_counts(
        self, conduct: TraceConduct, events: pa.Table, run: EngineRun, counters: tuple[CounterReading, CounterReading]
    ) -> dict[str, Any]:
        """The same as `drivelab.run.counting_pass.command_counts` finds, from this trace."""
        operations = int(run.summary["all_phases"].get("write", {}).get("count", 0))
        reason = "" if operations else "the traced pass wrote nothing"
        if len(conduct.drives) > 1:
            reason = f"commands are counted at the drives below {conduct.device}"
        if conduct.lost_events:
            reason = f"{conduct.lost_events} trace events were lost"
        if reason:
            return {"command_counts": None, "command_counts_reason": reason}
        threads = [int(thread["thread_id"]) for thread in run.summary["threads"]]
        kernel = counts_between(*counters)
        timed = int(self.measured.engine["all_phases"].get("write", {}).get("count", 0))
        facts = _commands_of_events(events, conduct.device, threads, operations) | {
            "writes_counted": kernel[0].writes if kernel else None,
            "flushes_counted": kernel[0].flushes if kernel else None,
            "flushes_per_operation_timed": timed_flushes_per_operation(self.trial.facts, timed, self.measured.devices),
        }
        return {
            "command_counts": facts,
            "command_counts_reason": "",
            "command_counts_trial": self.measured.name,
        }


def why_untraced(workload: Workload) -> str:
    """Why no command of a trace can be given to an operation of this workload; empty where it can."""
    if workload.tree is not None:
        return _TREES_ARE_NOT_TRACED
    return _UNTRACED_BACKENDS.get(workload.backend, "")


def traced_device(facts: TargetFacts) -> str:
    """Kernel name of the disk whose commands explain the operations.

    Raises
    ------
    DrivelabError
        R440: there is none, or several that nothing joins.
    """
    drive = counted_device(facts.devices)
    if not drive:
        what = f"no drive is known beneath {facts.text}"
        if facts.no_device_reason:
            what += f": {facts.no_device_reason}"
        raise DrivelabError("R440", what, where=facts.text)
    if len(facts.drives) > 1 and facts.devices[-1].kind in ("disk", "part"):
        what = f"{len(facts.drives)} drives lie beneath {facts.text} itself, and only one can be traced"
        raise DrivelabError("R440", what, where=facts.text)
    return drive


def top_device(facts: TargetFacts) -> str | None:
    """Kernel name of the device that I/O is sent to; None where there is none."""
    return facts.devices[-1].name if facts.devices else None


def timed_operations(measured: Measurement) -> int:
    """Reads, writes and trims of a timed pass, in all phases."""
    phases = measured.engine["all_phases"]
    return sum(int(phases.get(kind, {}).get("count", 0)) for kind in _KINDS)


def traced_workload(workload: Workload, operations: int) -> Workload:
    """The workload of a traced pass: the same, shorter, with a row for every I/O.

    Its random choices are others: what the timed pass read may lie in the drive's memory now.

    Parameters
    ----------
    operations : int
        How many operations that pass had: there is room for so many in the file.
    """
    count = min(OPERATIONS, operations or OPERATIONS)
    durability = workload.durability
    return workload.model_copy(
        update={
            "limits": Limits(count=count, runtime_ns=LONGEST_NS),
            "ramp_ns": 0,
            "record_ios": True,
            "seed": (workload.seed + 1) % 2**64,
            # one sync call at the end stays one at the end
            "durability": durability.model_copy(update={"every_writes": min(durability.every_writes, count)}),
        }
    )


def _note(run: EngineRun) -> str:
    if run.summary["stopped_by"] != "error":
        return ""
    first = run.summary["errors"][0]
    return f"the traced pass ended early: {first['operation']} failed with {first['name']}"


def _commands_of_events(events: pa.Table, device: str, threads: Collection[int], operations: int) -> dict[str, Any]:
    """Counts of the commands of a trace, and the same per operation."""
    commands = events.filter(pc.equal(events["kind"], "command")).select(["class", "bytes", "pid", "process"])
    return counts_json(count_requests(device, _requests(commands, threads)), operations)


def _requests(commands: pa.Table, threads: Collection[int]) -> Iterator[IssuedRequest]:
    # threads that work for a ring are called after the one that made it
    workers = {f"iou-{what}-{thread}"[:_NAME_LETTERS] for what in ("wrk", "sqp") for thread in threads}
    for row in commands.to_pylist():
        kind, is_fua, is_metadata = _COUNTED_KINDS.get(row["class"], _OTHER)
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
