"""What is compared. Every case alternates ours and theirs; medians are quoted, and ratios of medians."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns

from peers import BareLoop, Cost, run_engine, run_fio

from drivelab.model.workload import Access, BlockSizeShare, Durability, Limits, OperationShare, TargetRange, Workload
from drivelab.store.records import RecordSink

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Row:
    """One line of the page: a quantity, ours and theirs pair by pair, and what we aim at."""

    case: str
    quantity: str
    all_ours: tuple[float, ...]
    all_theirs: tuple[float, ...]
    target: str

    @property
    def ours(self) -> float:
        """Median of ours."""
        return statistics.median(self.all_ours)

    @property
    def theirs(self) -> float:
        """Median of theirs."""
        return statistics.median(self.all_theirs)

    @property
    def ratio(self) -> float:
        """Median of the pairs' ratios, ours over theirs."""
        return statistics.median(self._ratios())

    @property
    def lowest_ratio(self) -> float:
        """Smallest ratio of a pair."""
        return min(self._ratios())

    @property
    def highest_ratio(self) -> float:
        """Largest ratio of a pair."""
        return max(self._ratios())

    @property
    def ratio_text(self) -> str:
        """The ratio, and how far it spreads."""
        return f"{self.ratio:.3g} ({self.lowest_ratio:.2g} to {self.highest_ratio:.2g})"

    def _ratios(self) -> list[float]:
        pairs = zip(self.all_ours, self.all_theirs, strict=True)
        return [ours / theirs if theirs else float("nan") for ours, theirs in pairs]


Runner = Callable[[], Cost]


def alternate(rounds: int, ours: Runner, theirs: Runner, *, warm_up: bool = True) -> tuple[list[Cost], list[Cost]]:
    """Both in turn, each first every other time, after one pair that is not counted."""
    runners = ours, theirs
    if warm_up:
        for run in runners:
            run()
    found: tuple[list[Cost], list[Cost]] = [], []
    for first in range(rounds):
        for turn in (first % 2, 1 - first % 2):
            found[turn].append(runners[turn]())
    return found


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


BATCHED = ("--iodepth_batch_submit=32", "--iodepth_batch_complete_max=32")


def against_fio(path: str, rounds: int, runtime_s: float) -> list[Row]:
    """User CPU per I/O and IOPS beside fio's, every latency recorded by both."""
    rows = []
    for backend, queue_depth, options in (("uring", 32, ()), ("uring", 32, BATCHED), ("uring", 1, ()), ("sync", 1, ())):
        workload = random_read(path, backend, queue_depth, runtime_s)
        ours, theirs = alternate(
            rounds,
            partial(run_engine, workload),
            partial(run_fio, path, backend, queue_depth, runtime_s, *options),
        )
        peer = "fio, batched" if options else "fio"
        case = f"4 KiB random read, {backend}, queue depth {queue_depth}, O_DIRECT; against {peer}"
        goal = "at most 0.35, aim 0.2" if queue_depth == 32 else "below 1"
        rows.append(_row(case, "user CPU per I/O (ns)", "user_ns_per_io", ours, theirs, goal))
        rows.append(_row(case, "system CPU per I/O (ns)", "system_ns_per_io", ours, theirs, "about 1"))
        rows.append(_row(case, "IOPS", "iops", ours, theirs, "at least 1"))
    return rows


def _row(case: str, quantity: str, name: str, ours: list[Cost], theirs: list[Cost], target: str) -> Row:
    values = tuple(getattr(cost, name) for cost in ours), tuple(getattr(cost, name) for cost in theirs)
    return Row(case, quantity, *values, target)


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


def recording_alone(rounds: int, count: int = 8_000_000) -> Row:
    """What keeping every I/O adds where no I/O is issued: user time without the kernel's noise."""
    plain = _null_workload(count, record=False)
    kept = _null_workload(count, record=True)
    with_log, without_log = alternate(rounds, partial(_recorded, kept), partial(run_engine, plain))
    case = "every I/O kept in Parquet, null backend, queue depth 32; against not keeping them"
    name = "process_user_ns_per_io"
    added = tuple(getattr(kept, name) - getattr(plain, name) for kept, plain in zip(with_log, without_log, strict=True))
    return Row(case, "user CPU added per I/O, whole process (ns)", added, (25.0,) * rounds, "peer column is the limit")


def _null_workload(count: int, *, record: bool) -> Workload:
    return random_read("null:", "null", 32, 0, record=record).model_copy(update={"limits": Limits(count=count)})


def recording(path: str, rounds: int, runtime_s: float) -> list[Row]:
    """What keeping every I/O in Parquet adds, for the whole process, beside fio's per-I/O logs."""
    kept = random_read(path, "uring", 32, runtime_s, record=True)
    with_log, fio_with = alternate(rounds, partial(_recorded, kept), partial(_fio_logged, path, runtime_s))
    case = "every I/O kept, 4 KiB random read, uring, queue depth 32; beside fio's latency log"
    return [
        _row(case, "user CPU per I/O, whole process (ns)", "process_user_ns_per_io", with_log, fio_with, "below 1"),
        _row(case, "bytes kept per I/O", "log_bytes_per_io", with_log, fio_with, "ours at most 16 B"),
        _row(case, "IOPS while recording", "iops", with_log, fio_with, "at least 1"),
        _row(case, "peak memory (MiB)", "peak_memory_mib", with_log, fio_with, "ours does not grow"),
    ]


def _recorded(workload: Workload) -> Cost:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        path = Path(directory) / "ios.parquet"
        sink = RecordSink(path)
        cost = run_engine(workload, sink, and_then=sink.close)
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
    start = perf_counter_ns()
    subprocess.run(words, capture_output=True, check=True)
    return Cost(iops=0, mean_ns=perf_counter_ns() - start, user_ns_per_io=0, system_ns_per_io=0)


def check_memory() -> Row:
    """Peak memory of a whole `drivelab check`, which takes most of a minute, against its limit."""
    program = str(Path(sys.executable).with_name("drivelab"))
    with tempfile.TemporaryDirectory(dir=".", prefix="drivelab-bench-") as directory:
        words = [program, "check", directory, "--out", f"{directory}/runs"]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
    return Row(
        "drivelab check", "peak memory (MB)", (usage.ru_maxrss * 1024 / 1e6,), (200.0,), "peer column is the limit"
    )
