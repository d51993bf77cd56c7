"""The engine: issues I/O to a target and times every one of them. Compiled from ``crates/``."""

from collections.abc import Callable, Sequence
from os import PathLike
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

class StartGate:
    """Where runs in several threads wait for each other, so that they begin at the same moment."""

    def __init__(self, run_count: int) -> None: ...
    def misses(self, run_count: int) -> bool:
        """Whether all but so many runs wait here."""
    def open_at(self, monotonic_ns: int) -> None:
        """Open it for those that wait, at a moment of CLOCK_MONOTONIC, in place of the run that is missing."""
    def shut(self) -> None:
        """Let nobody begin, unless all have begun already."""

class SimulatedDrive:
    """A simulated drive: what it holds, and its own time."""

    def __init__(self, model_json: str, seed: int) -> None: ...
    def counters(self) -> str:
        """What it has counted since it was made, as JSON, and its time: ``docs/simulated_drives.md``."""
    def rest(self, duration_ns: int) -> None:
        """Let time pass in which nobody asks it for anything."""
    def lay_out(self, offset: int, size_bytes: int) -> None:
        """Have data where there are none, as if they had been written long ago: in no time, and uncounted."""
    def flush(self) -> int:
        """Empty its write cache, and how long that takes, in ns."""

def serve(
    drive: SimulatedDrive,
    listener: int,
    contents: int,
    *,
    is_port: bool,
    is_volatile: bool,
    is_rotational: bool,
    goes_on: Callable[[], bool],
) -> str:
    """Serve a drive as a network block device until `goes_on`, asked ten times a second, says no.

    Returns
    -------
    str
        What was answered, as JSON.

    Raises
    ------
    EngineError
        E306, E314: contents or clients could not be taken.
    """

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
    start: StartGate | None = None,
    drive: SimulatedDrive | None = None,
    on_look: Callable[[ArrowTable, int], bool] | None = None,
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
    start : StartGate, optional
        Shared with the runs that begin at the same moment. When one of them can't begin, none issues anything.
    drive : SimulatedDrive, optional
        Takes the I/O in its own time.
    on_look : callable, optional
        Called at each of the limits' ``looks_ns`` with the rows of all intervals so far and the time that they are, in
        ns; False ends the run, because that is known well enough.

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

def round_trip_ns(log: str, length_ns: int) -> float:
    """What a client and a server take for a request beside the log write that it costs, in ns; OSError if none can."""

def require_backend(workload_json: str) -> None:
    """Return only if the backend of a workload can issue it here, whatever its target is.

    Raises
    ------
    EngineError
        E301: it is no workload. E310, E311: the kernel does not allow the backend. E313: the backend cannot do it.
    """

def remove_tree(path: str | PathLike[str], stop: StopFlag) -> bool:
    """Remove the files of trees that were made below a directory; what others made is left alone.

    Returns
    -------
    bool
        False when `stop` was set meanwhile; some of it is then still there.

    Raises
    ------
    EngineError
        E302, E303, E305, E307, E314: what the operating system refuses.
    """

def probe() -> str:
    """What the kernel allows here (io_uring, asynchronous I/O) and what the clock costs, as JSON."""

def btt_table(paths: Sequence[str | PathLike[str]], flavour: str, per_device: bool) -> str:
    """The table that btt makes of recordings, as JSON.

    Parameters
    ----------
    paths : sequence of path
        Directories, base names, files of CPUs or merged dumps; read as blkparse would.
    flavour : str
        ``1.2`` or ``legacy``.
    per_device : bool
        Whether the section "Per Device" of ``btt -A`` is written, too.

    Returns
    -------
    str
        ``all`` and ``devices`` (min_s, avg_s, max_s, n by phase), ``text``, ``per_device_text``, ``bios_completed``,
        ``bios_outstanding``, ``recording``.

    Raises
    ------
    EngineError
        B901, B902, B903, B905, B906: nothing can be read.
    """

def btt_phases(paths: Sequence[str | PathLike[str]]) -> str:
    """What recordings come to when every bio is followed to its end, as JSON.

    Returns
    -------
    str
        ``all``, ``devices``, ``classes``, ``sizes`` (times in ns by phase), ``depth``, ``seeks``, ``requests``,
        ``load``, ``commands``, ``processes``, ``counts``, ``warnings``, ``recording``.

    Raises
    ------
    EngineError
        B901, B902, B903, B905, B906: nothing can be read.
    """

class CallProbe:
    """Records the system calls of threads by programs in the kernel (BPF), from its making until `stop`.

    Parameters
    ----------
    numbers : sequence of int
        The kernel's numbers of the calls that are wanted.
    of_paths : sequence of sequence of int
        Those of them whose first argument, and those whose second one, is a path that is to be told.
    of_pairs : sequence of int
        Those that give two descriptors where their first argument says: these take its place, the first one lowest.
    of_mappings : sequence of int
        Those that map memory: the descriptor of the file is told as the first argument, and others are not recorded.
    fork_format : str
        Text of the ``format`` file of the event ``sched_process_fork``.
    exec_format : str
        That of ``sched_process_exec``.
    buffer_bytes : int
        Size of the ring of one CPU; the power of two at or below it is taken.
    interval_ns : int
        How long the thread that empties the rings sleeps between two rounds.
    memory_limit_bytes : int
        What may be kept in memory.
    threads_max : int
        How many threads may be followed at once; others are counted.
    dispensable : sequence of int
        Numbers of calls that are left out before others, once seven eighths of the memory are full.

    Raises
    ------
    OSError
        The kernel refuses, or its description of the event cannot be understood.
    """

    def __init__(
        self,
        numbers: Sequence[int],
        *,
        of_paths: Sequence[Sequence[int]],
        of_pairs: Sequence[int],
        of_mappings: Sequence[int],
        fork_format: str,
        exec_format: str,
        buffer_bytes: int,
        interval_ns: int,
        memory_limit_bytes: int,
        threads_max: int,
        dispensable: Sequence[int],
    ) -> None: ...
    def follow(self, threads: Sequence[int]) -> None:
        """Follow threads, and those that they start from now on.

        Raises
        ------
        OSError
            There are more than 32,768.
        """

    def threads(self) -> list[int]:
        """The threads that are followed now."""
    def newest(self) -> ArrowTable:
        """The calls that have returned since it was asked before, in the columns of `stop`; at first none."""
    def stop(self) -> tuple[ArrowTable, ArrowTable, str]:
        """End it.

        Returns
        -------
        calls, forks : ArrowTable
            As `CollectedTrace.calls` gives them.
        told : str
            JSON: ``facts`` (``unfinished``, ``unbegun``, ``gaps``), ``lost_events``, ``names`` (thread and name, of
            those that have ended), ``paths`` (thread, when its call began, and the path that it was given).

        Raises
        ------
        RuntimeError
            It was stopped before.
        """

class TraceCollector:
    """Empties the kernel's trace buffers in a thread of its own, from its making until `stop`.

    Parameters
    ----------
    files : sequence of (int, path)
        Number of a CPU, and its ``trace_pipe_raw`` or its file of the block trace interface.
    header_page : str or None
        Text of the kernel's file of that name; None for files of the block trace interface.
    buffer_bytes : int
        Size of the kernel's buffer of one CPU.
    interval_ns : int
        How long the thread sleeps between two rounds.
    memory_limit_bytes : int
        What may be kept in memory.
    spill_directory : path, optional
        Where the rest goes, in a file without a name.

    Raises
    ------
    OSError
        A file cannot be opened.
    ValueError
        `header_page` cannot be understood.
    """

    def __init__(
        self,
        files: Sequence[tuple[int, str | PathLike[str]]],
        *,
        header_page: str | None,
        buffer_bytes: int,
        interval_ns: int,
        memory_limit_bytes: int,
        spill_directory: str | PathLike[str] | None = None,
    ) -> None: ...
    def stop(self) -> CollectedTrace:
        """Read what is still there, and end; the kernel must have stopped recording."""

class CollectedTrace:
    """What was collected, unread."""

    @property
    def bytes(self) -> int:
        """Length of everything."""
    @property
    def thread_cpu_ns(self) -> int:
        """Processor time of the thread that collected, ns."""
    @property
    def rounds(self) -> int:
        """How often it looked."""
    @property
    def is_full(self) -> bool:
        """Whether there was no room any more; the kernel counted what came then as lost."""
    @property
    def failure(self) -> str | None:
        """What ended the collecting early."""
    def write(self, base: str | PathLike[str], description_json: str) -> str:
        """Write ``base.blktrace.CPU`` for every CPU.

        Returns
        -------
        str
            JSON: ``files``, ``records`` (None for the block trace interface),
            ``by_action``, ``lost``, ``foreign``, ``damaged_pages``.

        Raises
        ------
        OSError
            A file cannot be written.
        ValueError
            The description, or what the kernel says of its events, cannot be understood.
        """

    def calls(self, header_page: str, formats: list[str]) -> tuple[ArrowTable, ArrowTable, str]:
        """The system calls in what raw_syscalls recorded.

        Parameters
        ----------
        header_page, formats : str, list of str
            Texts of the kernel's file of that name, and of the ``format`` files of the events.

        Returns
        -------
        calls : ArrowTable
            thread, process (0: not told), number, start_ns, end_ns, result, argument_0 to argument_3, argument_5,
            is_doubtful.
        forks : ArrowTable
            parent, child.
        facts : str
            Counts as JSON: ``unfinished``, ``unbegun``, ``damaged_pages``, ``gaps``.

        Raises
        ------
        OSError
            What was put aside cannot be read, or what the kernel says of its events cannot be understood.
        """

    def requests(self, header_page: str, formats: list[str]) -> tuple[ArrowTable, str]:
        """The requests of io_uring in what its events recorded.

        Parameters
        ----------
        header_page, formats : str, list of str
            Texts of the kernel's file of that name, and of the ``format`` files of the events.

        Returns
        -------
        requests : ArrowTable
            thread, opcode, descriptor (-1 where it was not told), start_ns, end_ns, result, is_polled, is_registered,
            is_handed_over, is_doubtful.
        facts : str
            Counts as JSON: ``unfinished``, ``unbegun``, ``damaged_pages``, ``gaps``.

        Raises
        ------
        OSError
            What was put aside cannot be read, or what the kernel says of its events cannot be understood.
        """

class LiveTrace:
    """System calls while they are being recorded.

    Parameters
    ----------
    header_page, formats : str, list of str
        Texts of the kernel's file of that name, and of the ``format`` files of the events.

    Raises
    ------
    ValueError
        They cannot be understood.
    """

    def __init__(self, header_page: str, formats: list[str]) -> None: ...
    def next(self, collector: TraceCollector) -> tuple[ArrowTable, int]:
        """The calls that have returned since it was asked before, as `CollectedTrace.calls` gives them.

        Returns
        -------
        calls : ArrowTable
            None at the first time.
        left_out : int
            Pages of the trace that there was no room for.
        """

def trace_event_names() -> list[str]:
    """Names of the kernel's trace events of which a recording can be made."""

KERNEL_THREADS: tuple[str, ...]
"""How the names of kernel threads begin that hand I/O to the block layer."""

def join_trace(
    paths: Sequence[str | PathLike[str]], operations: dict[str, Any], options_json: str
) -> tuple[ArrowTable, ArrowTable, str]:
    """Join a recording with operations.

    Parameters
    ----------
    paths : sequence of path
        Read as one recording.
    operations : dict of str to buffer of int64
        job, thread, operation, start_ns, submitted_ns, end_ns, offset_bytes, size_bytes, is_synchronous, is_durable.
        It is emptied, so that the memory of its columns is free while the recording is read.
    options_json : str
        ``names`` (by thread), ``own_threads``, ``targets`` (by job: ``device`` and ``extents``), ``lost_events``.

    Returns
    -------
    operations, events : ArrowTable
        The columns of ``operations/`` and ``events/`` (``docs/data_format.md``).
    facts : str
        Counts, as JSON.

    Raises
    ------
    EngineError
        B901 to B906: nothing can be read.
    ValueError
        A column or an option that cannot be understood.
    """
