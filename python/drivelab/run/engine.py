"""Hands a workload to the engine and brings the numbers back as Python types.

Thin on purpose: it issues no I/O of its own and judges nothing. It is the only
module that calls the engine's `run`, so that every error of the engine becomes
a `DrivelabError` with the same code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from drivelab import _engine
from drivelab.analyse.precision import looks_ns
from drivelab.analyse.trial import is_enough
from drivelab.model.errors import KINDS, DrivelabError
from drivelab.model.histogram import Histogram
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.simulated import SimulatedModel
from drivelab.model.workload import OPERATIONS, Workload

_LOOKS_MAX = 10_000
# for how long round trips are made
_ROUND_TRIPS_NS = 400_000_000


class StopRequest(Protocol):
    """Something that says whether the user wants the end: a `threading.Event` for instance."""

    def is_set(self) -> bool:
        """Whether the end was asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How a workload stands while it runs.

    Attributes
    ----------
    elapsed_ns : int
        Time since the first I/O, the ramp included.
    is_ramping : bool
        Whether nothing is counted yet.
    counts, bytes : dict of str to int
        Counted so far, by operation, sync calls too.
    latencies_ns : dict of str to tuple of int
        Median and largest total latency so far, by operation; a write with its sync call is ``durable_write``.
    counted_ns : int
        The time in which all that was counted: intervals that have ended.
    """

    elapsed_ns: int
    is_ramping: bool
    counts: dict[str, int]
    bytes: dict[str, int]
    latencies_ns: dict[str, tuple[int, int]] = field(default_factory=dict)
    counted_ns: int = 0

    @property
    def latency_ns(self) -> tuple[int, int] | None:
        """Median and largest latency of the operation that is there most often; None while none is known.

        Of writes that wait for a sync call it ends with that.
        """
        if "durable_write" in self.latencies_ns and not self.counts.get("read"):
            return self.latencies_ns["durable_write"]
        alone = {name: ns for name, ns in self.latencies_ns.items() if name not in ("durable_write", "sync")}
        return alone[max(alone, key=lambda name: self.counts.get(name, 0))] if alone else None

    def operation_count(self) -> int:
        """Reads, writes and trims so far; sync calls are not counted."""
        return sum(self.counts.get(operation, 0) for operation in OPERATIONS)

    def byte_count(self) -> int:
        """Bytes moved so far."""
        return sum(self.bytes.get(operation, 0) for operation in OPERATIONS)


ProgressListener = Callable[[Progress], bool]
RecordListener = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True, slots=True)
class Looks:
    """Who is shown what a workload has counted so far, again and again while it runs.

    Attributes
    ----------
    every_ns : int
        Time of the measured window between two looks.
    take : callable
        Takes the rows of all whole intervals so far, and the time that they are.
    """

    every_ns: int
    take: Callable[[pa.Table, int], None]

    def moments_ns(self, workload: Workload) -> list[int]:
        """The moments of the window of a workload."""
        count = (workload.limits.runtime_ns - 1) // self.every_ns if workload.limits.runtime_ns else _LOOKS_MAX
        return [self.every_ns * number for number in range(1, min(count, _LOOKS_MAX) + 1)]


@dataclass(frozen=True, slots=True)
class EngineRun:
    """What the engine found; the fields are those of `Measurement`."""

    summary: dict[str, Any]
    histograms: dict[tuple[str, str], Histogram]
    intervals: pa.Table
    records: pa.Table | None

    def measurement(
        self, name: str, workload: Workload, devices: tuple[DeviceCounts, ...], context: dict[str, Any]
    ) -> Measurement:
        """The same as the measurement of a trial, with what the devices counted and what was seen around it."""
        return Measurement(
            name=name,
            workload=workload,
            engine=self.summary,
            histograms=self.histograms,
            intervals=self.intervals,
            records=self.records,
            devices=devices,
            context=context,
        )


def run_workload(
    workload: Workload,
    *,
    stop: StopRequest | None = None,
    on_progress: ProgressListener | None = None,
    on_records: RecordListener | None = None,
    start: _engine.StartGate | None = None,
    drive: _engine.SimulatedDrive | None = None,
    looks: Looks | None = None,
) -> EngineRun:
    """What the engine measured while it issued a workload, to its end or until it is known as well as was asked.

    Parameters
    ----------
    stop : StopRequest, optional
        Ends the run within an interval once it is set; what was measured is kept.
    on_progress : callable, optional
        Called about every 0.1 s; the run ends when it returns False.
    on_records : callable, optional
        Takes the records of single I/Os in batches, when the workload asks for
        them; without it they are collected in memory.
    start : StartGate, optional
        Shared with the workloads that begin at the same moment, each run in a
        thread of its own. When one of them cannot begin, none issues anything.
    drive : SimulatedDrive, optional
        Takes the I/O in its own time, and what it holds stays.
    looks : Looks, optional
        Who sees what was counted so far, unless the workload ends by its precision.

    Returns
    -------
    EngineRun
        With ``records`` None when they were not asked for or went to `on_records`.

    Raises
    ------
    DrivelabError
        E301 to E315, as the engine reports them.

    Notes
    -----
    Each run gets a stop flag of its own: the engine sets it when a listener
    ends the run, and a flag that is set would end the next run at once.
    """
    flag = _engine.StopFlag()
    collected: list[pa.RecordBatch] = []
    take = on_records or collected.append

    def tell(text: str) -> bool:
        if stop is not None and stop.is_set():
            return False
        return on_progress is None or on_progress(_progress(json.loads(text)))

    if stop is not None and stop.is_set():
        flag.set()
    records_listener = (lambda rows: take(pa.record_batch(rows))) if workload.record_ios else None
    try:
        asked = workload.to_engine_json(_moments_ns(workload, looks))
        result = _engine.run(asked, flag, tell, records_listener, start, drive, _looks(workload, looks))
    except _engine.EngineError as error:
        raise _as_drivelab_error(error) from None
    return EngineRun(
        summary=json.loads(result.summary),
        histograms=_histograms(pa.record_batch(result.histograms)),
        intervals=_table(result.intervals),
        records=pa.Table.from_batches(collected) if collected else None,
    )


def _moments_ns(workload: Workload, looks: Looks | None) -> list[int]:
    return looks_ns(workload) if looks is None or workload.limits.precision else looks.moments_ns(workload)


def _looks(workload: Workload, looks: Looks | None) -> Callable[[Any, int], bool]:
    """Told the intervals so far and their time: whether the workload has to go on."""

    def goes_on(rows: Any, counted_ns: int) -> bool:
        if looks is None or workload.limits.precision:
            return not is_enough(workload, _table(rows), counted_ns)
        looks.take(_table(rows), counted_ns)
        return True

    return goes_on


def prepare_target(workload: Workload, *, stop: StopRequest | None = None) -> bool:
    """Bring the target into the state that a workload expects, before anything is counted.

    Laying a file out writes to the drive, and that is not the workload's doing.

    Returns
    -------
    bool
        False when `stop` was set; the target is then as it was.

    Raises
    ------
    DrivelabError
        E301 to E315: what would keep the run from starting.
    """
    flag = _engine.StopFlag()
    if stop is not None and stop.is_set():
        flag.set()
    try:
        return _engine.prepare(workload.to_engine_json(), flag)
    except _engine.EngineError as error:
        raise _as_drivelab_error(error) from None


def require_backend(workload: Workload) -> None:
    """Return only if the backend of a workload can issue it here, whatever its target is.

    Raises
    ------
    DrivelabError
        E301: the engine takes no such workload. E310, E311, E313: the backend cannot do it, or not here.
    """
    try:
        _engine.require_backend(workload.to_engine_json())
    except _engine.EngineError as error:
        raise _as_drivelab_error(error) from None


def round_trip_ns(log: str) -> float:
    """What a client and a server take for a request beside the log write that it costs: the median over 0.4 s.

    Parameters
    ----------
    log : str
        An existing file, which gets an entry of 107 B for each request.

    Raises
    ------
    OSError
        The log cannot be written.
    """
    return _engine.round_trip_ns(log, _ROUND_TRIPS_NS)


def remove_tree(path: str) -> None:
    """Remove the files of trees that the engine made below a directory; what others made is left alone.

    Raises
    ------
    DrivelabError
        E302 to E314: what the operating system refuses.
    """
    try:
        _engine.remove_tree(path, _engine.StopFlag())
    except _engine.EngineError as error:
        raise _as_drivelab_error(error) from None


def make_simulated_drive(model: SimulatedModel, *, seed: int) -> _engine.SimulatedDrive:
    """A new drive of a model.

    Raises
    ------
    DrivelabError
        E301: none can be made of it.
    """
    try:
        return _engine.SimulatedDrive(json.dumps(model.to_engine()), seed)
    except _engine.EngineError as error:
        raise _as_drivelab_error(error) from None


def serve_simulated_drive(
    drive: _engine.SimulatedDrive,
    model: SimulatedModel,
    listener: int,
    contents: int,
    *,
    is_port: bool,
    goes_on: Callable[[], bool],
) -> dict[str, Any]:
    """What a drive answered as a network block device, until `goes_on`, asked ten times a second, said no.

    Parameters
    ----------
    drive : SimulatedDrive
        It goes on from its own time, in real time.
    listener, contents : int
        Descriptors: the socket at which clients come, and a file for what they write.
    is_port : bool
        Whether the socket is a port rather than one of this machine alone.

    Raises
    ------
    DrivelabError
        E306, E314: contents or clients could not be taken.
    """
    try:
        told = _engine.serve(
            drive,
            listener,
            contents,
            is_port=is_port,
            is_volatile=model.cache.volatile and model.cache.size > 0,
            is_rotational=model.disk is not None,
            goes_on=goes_on,
        )
    except _engine.EngineError as error:
        raise _as_drivelab_error(error) from None
    answered: dict[str, Any] = json.loads(told)
    return answered


def probe_engine() -> dict[str, Any]:
    """What the kernel allows here (io_uring, asynchronous I/O) and what reading the clock costs."""
    answer: dict[str, Any] = json.loads(_engine.probe())
    return answer


def _table(rows: Any) -> pa.Table:
    return pa.Table.from_batches([pa.record_batch(rows)])


def _progress(told: dict[str, Any]) -> Progress:
    operations = told["operations"]
    return Progress(
        elapsed_ns=told["elapsed_ns"],
        is_ramping=told["ramping"],
        counts={name: counts["count"] for name, counts in operations.items()},
        bytes={name: counts["bytes"] for name, counts in operations.items()},
        latencies_ns={
            name: (counts["typical_ns"], counts["slowest_ns"])
            for name, counts in operations.items()
            if counts["slowest_ns"]
        },
        counted_ns=told["counted_ns"],
    )


def _histograms(table: pa.RecordBatch) -> dict[tuple[str, str], Histogram]:
    return {(row["operation"], row["latency"]): Histogram.from_row(row) for row in table.to_pylist()}


def _as_drivelab_error(error: Exception) -> DrivelabError:
    code, what, where, do = error.args
    if code not in KINDS:
        return DrivelabError("E315", f"{code}: {what}", where=where, do=do)
    return DrivelabError(code, what, where=where, do=do)
