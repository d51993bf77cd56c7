"""Runs one workload with drivelab's engine, with fio, and with a bare loop in C."""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab import _engine
from drivelab.model.workload import Workload

FIO_ENGINES = {"uring": "io_uring", "sync": "psync", "aio": "libaio", "null": "null"}


@dataclass(frozen=True)
class Cost:
    """What one run cost: rate, latency, and processor time of the threads that issue the I/O."""

    iops: float
    mean_ns: float
    user_ns_per_io: float
    system_ns_per_io: float
    process_user_ns_per_io: float = 0.0
    log_bytes_per_io: float = 0.0
    peak_memory_mib: float = 0.0


def run_engine(
    workload: Workload,
    on_records: Callable[[Any], None] | None = None,
    and_then: Callable[[], None] | None = None,
) -> Cost:
    """Cost of a workload run by drivelab's engine in this process, and of what belongs to it."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    result = _engine.run(workload.to_engine_json(), _engine.StopFlag(), None, on_records)
    if and_then is not None:
        and_then()
    after = resource.getrusage(resource.RUSAGE_SELF)
    summary = json.loads(result.summary)
    operations = [summary["operations"][name] for name in ("read", "write") if name in summary["operations"]]
    count = sum(operation["count"] for operation in operations)
    return Cost(
        iops=count / summary["measured_ns"] * 1e9,
        mean_ns=summary["measured_ns"] / count,
        user_ns_per_io=summary["cpu"]["user_ns"] / count,
        system_ns_per_io=summary["cpu"]["system_ns"] / count,
        process_user_ns_per_io=(after.ru_utime - before.ru_utime) * 1e9 / count,
        peak_memory_mib=after.ru_maxrss / 1024,
    )


def run_fio(path: str, backend: str, queue_depth: int, runtime_s: float, *extra: str) -> Cost:
    """Cost of 4 KiB random reads with O_DIRECT run by fio, set up as drivelab sets itself up."""
    words = ["fio", "--name=peer", f"--filename={path}", "--rw=randread", "--bs=4k", "--thread"]
    words += [f"--ioengine={FIO_ENGINES[backend]}", f"--iodepth={queue_depth}", "--norandommap", "--randrepeat=0"]
    words += ["--time_based", f"--runtime={runtime_s:g}", "--output-format=json", *extra]
    if backend != "null":
        words += ["--direct=1"]
    if backend == "uring":
        words += ["--fixedbufs", "--registerfiles"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    count = job["read"]["total_ios"]
    per_percent = job["job_runtime"] * 1e6 / 100 / count
    return Cost(
        iops=job["read"]["iops"],
        mean_ns=1e9 / job["read"]["iops"],
        user_ns_per_io=job["usr_cpu"] * per_percent,
        system_ns_per_io=job["sys_cpu"] * per_percent,
        process_user_ns_per_io=(after.ru_utime - before.ru_utime) * 1e9 / count,
        peak_memory_mib=after.ru_maxrss / 1024,
    )


class BareLoop:
    """A compiled loop that does nothing but the calls."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="drivelab-bench-")
        self._program = Path(self._directory.name) / "bare_loop"
        source = Path(__file__).with_name("bare_loop.c")
        subprocess.run(["cc", "-O2", "-o", self._program, source], check=True)

    def mean_ns(self, what: str, path: Path, count: int) -> float:
        """Mean time of one operation."""
        words = [str(self._program), what, str(path), str(count)]
        return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def fio_version() -> str:
    """Version of the fio that is installed."""
    return subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
