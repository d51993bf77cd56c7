"""What is compared. Every case alternates ours and theirs; medians are quoted, and ratios of medians."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drivelab.model.workload import Access, BlockSizeShare, Durability, Limits, OperationShare, TargetRange, Workload
from drivelab.store.records import RecordSink
from peers import BareLoop, Cost, run_engine, run_fio

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Row:
    """One line of the page: a quantity, ours, theirs, and the ratio of the medians."""

    case: str
    quantity: str
    ours: float
    theirs: float
    target: str

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs if self.theirs else float("nan")


def alternate(rounds: int, ours: Callable[[], Cost], theirs: Callable[[], Cost]) -> tuple[list[Cost], list[Cost]]:
    """Both, in turn, after one round that is not counted."""
    ours()
    theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def median(costs: list[Cost], name: str) -> float:
    """Median of one quantity."""
    return statistics.median(getattr(cost, name) for cost in costs)


def random_read(path: str, backend: str, queue_depth: int, runtime_s: float, *, record: bool = False) -> Workload:
    """4 KiB random reads with O_DIRECT."""
    return Workload.model_validate(
        {
            "target": {"path": path, "size_bytes": (1 << 40) if backend == "null" else 0},
            "backend": backend,
            "queue_depth": queue_depth,
            "direct": True,
            "limits": {"runtime_ns": round(runtime_s * SECOND_NS)},
            "record_ios": record,
        }
    )


def against_fio(path: str, rounds: int, runtime_s: float) -> list[Row]:
    """User CPU per I/O and IOPS beside fio's, every latency recorded by both."""
    rows = []
    for backend, queue_depth in (("uring", 32), ("uring", 1), ("sync", 1)):
        workload = random_read(path, backend, queue_depth, runtime_s)
        ours, theirs = alternate(
            rounds,
            lambda workload=workload: run_engine(workload),
            lambda backend=backend, depth=queue_depth: run_fio(path, backend, depth, runtime_s),
        )
        case = f"4 KiB random read, {backend}, queue depth {queue_depth}, O_DIRECT; against fio"
        goal = "at most 0.35, aim 0.2" if queue_depth == 32 else "below 1"
        rows.append(_row(case, "user CPU per I/O (ns)", "user_ns_per_io", ours, theirs, goal))
        rows.append(_row(case, "system CPU per I/O (ns)", "system_ns_per_io", ours, theirs, "about 1"))
        rows.append(_row(case, "IOPS", "iops", ours, theirs, "at least 1"))
    return rows


def _row(case: str, quantity: str, name: str, ours: list[Cost], theirs: list[Cost], target: str) -> Row:
    return Row(case, quantity, median(ours, name), median(theirs, name), target)


def against_bare_loop(directory: Path, rounds: int, count: int) -> list[Row]:
    """Mean latency of durable small writes beside a loop in C that does nothing else."""
    bare = BareLoop()
    rows = []
    for what, size, method, direct in (("append1", 1, "fdatasync", False), ("odsync", 512, "o_sync", True)):
        ours, theirs = alternate(
            rounds,
            lambda size=size, method=method, direct=direct: _append(directory, size, method, direct, count),
            lambda what=what: _bare(bare, what, directory, count),
        )
        case = f"{size} B append, {'O_DIRECT|O_SYNC' if direct else 'fdatasync'}; against a bare loop in C"
        rows.append(_row(case, "mean latency (ns)", "mean_ns", ours, theirs, "within 0.98 to 1.02"))
    return rows


def _append(directory: Path, size: int, method: str, direct: bool, count: int) -> Cost:
    path = directory / "ours"
    path.unlink(missing_ok=True)
    path.touch()
    workload = Workload(
        target=TargetRange(path=str(path)),
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=size),),
        access=Access(kind="sequential"),
        file_state="append",
        backend="sync",
        direct=direct,
        durability=Durability.model_validate({"method": method}),
        limits=Limits(count=count),
    )
    return run_engine(workload)


def _bare(bare: BareLoop, what: str, directory: Path, count: int) -> Cost:
    path = directory / "bare"
    path.unlink(missing_ok=True)
    path.touch()
    return Cost(iops=0, mean_ns=bare.mean_ns(what, path, count), user_ns_per_io=0, system_ns_per_io=0)


def recording(path: str, rounds: int, runtime_s: float) -> list[Row]:
    """What keeping every I/O in Parquet adds, for the whole process, beside fio's per-I/O logs."""
    plain = random_read(path, "uring", 32, runtime_s)
    kept = random_read(path, "uring", 32, runtime_s, record=True)
    with_log, without_log = alternate(rounds, lambda: _recorded(kept), lambda: run_engine(plain))
    fio_with, fio_without = alternate(
        rounds, lambda: _fio_logged(path, runtime_s), lambda: run_fio(path, "uring", 32, runtime_s)
    )
    case = "every I/O kept, 4 KiB random read, uring, queue depth 32; beside fio's latency log"
    name = "process_user_ns_per_io"
    added = median(with_log, name) - median(without_log, name)
    fio_added = median(fio_with, name) - median(fio_without, name)
    return [
        Row(case, "user CPU added per I/O, whole process (ns)", added, fio_added, "at most 25 ns"),
        _row(case, "bytes kept per I/O", "log_bytes_per_io", with_log, fio_with, "at most 16 B"),
        _row(case, "IOPS while recording", "iops", with_log, fio_with, "at least 1"),
    ]


def _recorded(workload: Workload) -> Cost:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        path = Path(directory) / "ios.parquet"
        sink = RecordSink(path)
        cost = run_engine(workload, sink)
        sink.close()
        return _with_log(cost, path.stat().st_size / sink.row_count)


def _fio_logged(path: str, runtime_s: float) -> Cost:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        prefix = f"{directory}/log"
        cost = run_fio(path, "uring", 32, runtime_s, f"--write_lat_log={prefix}", "--log_offset=1")
        log = Path(f"{prefix}_lat.1.log")
        with log.open("rb") as lines:
            rows = sum(1 for _ in lines)
        sizes = sum(file.stat().st_size for file in Path(directory).iterdir())
        return _with_log(cost, sizes / rows)


def _with_log(cost: Cost, bytes_per_io: float) -> Cost:
    return Cost(**{**cost.__dict__, "log_bytes_per_io": bytes_per_io})


def engine_alone(rounds: int, runtime_s: float) -> Row:
    """What the engine itself costs: the null backend, which issues no I/O, beside fio's null engine."""
    workload = random_read("null:", "null", 32, runtime_s)
    ours, theirs = alternate(rounds, lambda: run_engine(workload), lambda: _fio_null(runtime_s))
    case = "no I/O at all (null backend), queue depth 32; against fio's null engine"
    return _row(case, "user CPU per I/O (ns)", "user_ns_per_io", ours, theirs, "below 1")


def _fio_null(runtime_s: float) -> Cost:
    return run_fio("null", "null", 32, runtime_s, "--size=1g")


def start_up(rounds: int) -> Row:
    """Wall time of `drivelab --version` beside `fio --version`."""
    program = str(Path(sys.executable).with_name("drivelab"))
    ours, theirs = alternate(rounds, lambda: _wall([program, "--version"]), lambda: _wall(["fio", "--version"]))
    return _row("drivelab --version; beside fio --version", "wall time (ns)", "mean_ns", ours, theirs, "ours < 150 ms")


def _wall(words: list[str]) -> Cost:
    from time import perf_counter_ns

    start = perf_counter_ns()
    subprocess.run(words, capture_output=True, check=True)
    return Cost(iops=0, mean_ns=perf_counter_ns() - start, user_ns_per_io=0, system_ns_per_io=0)
