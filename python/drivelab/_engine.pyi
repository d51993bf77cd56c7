"""The engine: issues I/O to a target and times every one of them. Compiled from ``crates/``."""

from collections.abc import Callable
from typing import Any

class EngineError(Exception):
    """A failure of the engine; ``args`` are the code, what happened, where, and what to do."""

class ArrowTable:
    """Columns behind the Arrow PyCapsule protocol; ``pyarrow.record_batch(table)`` takes them without a copy."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

class StopFlag:
    """Asks a running workload to end; may be set from any thread or signal handler."""

    def __init__(self) -> None: ...
    def set(self) -> None:
        """Ask for the end."""
    def is_set(self) -> bool:
        """Whether the end was asked for."""

class EngineResult:
    """What a run found."""

    @property
    def summary(self) -> str:
        """The numbers as JSON; the keys are in ``docs/data_format.md``."""
    @property
    def histograms(self) -> ArrowTable:
        """Latency histograms of the whole measured window, a row for each operation and latency."""
    @property
    def intervals(self) -> ArrowTable:
        """Latency histograms by interval, a row for each interval, operation and latency."""

def run(
    workload_json: str,
    stop: StopFlag,
    on_interval: Callable[[str], bool | None] | None = None,
    on_records: Callable[[ArrowTable], Any] | None = None,
) -> EngineResult:
    """Run a workload and return what was found.

    Parameters
    ----------
    workload_json : str
        A workload, from `drivelab.model.workload.Workload.to_engine_json`.
    stop : StopFlag
        Ends the run within one interval when it is set; what was measured is kept.
    on_interval : callable, optional
        Called about once an interval with the progress as JSON; False ends the run.
    on_records : callable, optional
        Called with the records of some thousand I/Os at a time, when the workload keeps records.

    Raises
    ------
    EngineError
        E301 to E315: what kept the run from starting, or a failure of the interface to the kernel.
        Failed I/Os are part of the result instead.

    Notes
    -----
    The global interpreter lock is released while I/O goes on. An exception in a
    callback ends the run and is raised when the jobs have stopped.
    """

def prepare(workload_json: str, stop: StopFlag) -> bool:
    """Bring a workload's target into the state it expects (create, lay out, allocate), and issue nothing.

    Returns
    -------
    bool
        False when `stop` was set meanwhile; the target is then as it was.

    Raises
    ------
    EngineError
        E301 to E315: what would keep the run from starting.
    """

def probe() -> str:
    """What the kernel allows here (io_uring, asynchronous I/O) and what the clock costs, as JSON."""
