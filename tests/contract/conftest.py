"""What the tests of the engine share: the backends, one call that runs a workload, and a process of its own.

A new backend joins the suite by adding its name to `BACKENDS`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from drivelab import _engine
from drivelab.model.histogram import Histogram

BACKENDS = ("sync", "uring", "aio", "posixaio", "mmap", "stdio", "splice", "null")
DIRECT_BACKENDS = ("sync", "uring", "aio", "posixaio")
ONE_AT_A_TIME = ("sync", "mmap", "stdio", "splice")
PROJECT = Path(__file__).resolve().parents[2]
MIB = 2**20


@dataclass
class Answer:
    """What the engine gave back, and what it told while it ran."""

    summary: dict[str, Any]
    histograms: pa.Table
    intervals: pa.Table
    batches: list[pa.RecordBatch] = field(default_factory=list)

    @property
    def records(self) -> pa.Table:
        """All records of single I/Os."""
        return pa.Table.from_batches(self.batches)

    def histogram(self, operation: str, latency: str = "total") -> Histogram:
        """The histogram of one latency over the whole window."""
        rows = [
            row for row in self.histograms.to_pylist() if (row["operation"], row["latency"]) == (operation, latency)
        ]
        assert len(rows) == 1, f"{len(rows)} rows for {operation} {latency}"
        return Histogram.from_row(rows[0])

    def count(self, operation: str) -> int:
        """Completed I/Os of an operation in the measured window."""
        return int(self.summary["operations"].get(operation, {}).get("count", 0))


RunEngine = Callable[..., Answer]


def workload_json(backend: str, path: Path | str, **changes: Any) -> str:
    """A workload of 4 KiB random reads, with `changes` for each of its parts."""
    workload: dict[str, Any] = {
        "target": {"path": str(path), "offset_bytes": 0, "size_bytes": 0, "create": False, "exclusive": False},
        "backend": backend,
        "operations": [{"operation": "read", "weight": 1.0}],
        "block_sizes": [{"bytes": 4096, "weight": 1.0}],
        "access": {
            "kind": "random",
            "stride_bytes": 0,
            "zipf_theta": 0.99,
            "hot_range_fraction": 0.1,
            "hot_access_fraction": 0.9,
        },
        "shift_bytes": 0,
        "queue_depth": 1,
        "job_count": 1,
        "share_range": False,
        "direct": False,
        "durability": {"method": "none", "every_writes": 1},
        "file_state": "overwrite",
        "contents": {"kind": "random", "compressible_fraction": 0.0, "duplicate_fraction": 0.0},
        "pacing": {"kind": "closed", "rate_per_s": 0.0},
        "limits": {"runtime_ns": 0, "bytes": 0, "count": 0},
        "ramp_ns": 0,
        "interval_ns": 10_000_000,
        "seed": 1,
        "record_ios": False,
        "record_jobs": False,
        "pin_cpus": [],
        "polled_completion": False,
        "polled_submission": False,
        "verify": False,
    }
    for name, value in changes.items():
        if name == "operation":
            workload["operations"] = [{"operation": value, "weight": 1.0}]
            continue
        assert name in workload, f"a workload has no {name}"
        if isinstance(value, dict):
            workload[name] = workload[name] | value
        else:
            workload[name] = value
    return json.dumps(workload)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn."""
    return str(request.param)


@pytest.fixture(params=[name for name in BACKENDS if name != "null"])
def data_backend(request: pytest.FixtureRequest) -> str:
    """Each backend that moves data in turn."""
    return str(request.param)


@pytest.fixture(params=DIRECT_BACKENDS)
def direct_backend(request: pytest.FixtureRequest) -> str:
    """Each backend that can bypass the page cache in turn."""
    return str(request.param)


@pytest.fixture
def workload_text() -> Callable[..., str]:
    """Builds the JSON of a workload: `workload_text(backend, path, queue_depth=8)`."""
    return workload_json


@pytest.fixture
def run_engine() -> RunEngine:
    """Runs a workload: `run_engine(backend, path, limits={"count": 10})`."""

    def run(
        backend: str,
        path: Path | str,
        *,
        stop: Any = None,
        on_interval: Callable[[str], Any] | None = None,
        on_records: Callable[[Any], Any] | None = None,
        **changes: Any,
    ) -> Answer:
        batches: list[pa.RecordBatch] = []
        take = on_records or (lambda table: batches.append(pa.record_batch(table)))
        text = workload_json(backend, path, **changes)
        result = _engine.run(text, stop or _engine.StopFlag(), on_interval, take)
        return Answer(json.loads(result.summary), pa.table(result.histograms), pa.table(result.intervals), batches)

    return run


@pytest.fixture
def job_threads() -> Callable[..., list[str]]:
    """Names of the engine's threads in this process; with "R" only those that could go on, the C library's too."""
    return lambda state="": (
        threads_of_jobs(state=state) + (threads_of_jobs(of_library=True, state=state) if state else [])
    )


def threads_of_jobs(*, of_library: bool = False, state: str = "") -> list[str]:
    """Names of the engine's threads, or of those that the C library started for them and ends when it likes."""
    found = []
    for task in os.listdir("/proc/self/task"):
        # a thread may end while one looks at it
        with suppress(FileNotFoundError, ProcessLookupError):
            status = Path(f"/proc/self/task/{task}/status").read_text()
            facts = dict(line.split(":\t", 1) for line in status.splitlines())
            blocks_segv = bool(int(facts["SigBlk"], 16) >> (signal.SIGSEGV - 1) & 1)
            found += [facts["Name"]] if blocks_segv == of_library and facts["State"].startswith(state) else []
    return [name for name in found if name.startswith("drivelab-job")]


@pytest.fixture
def data_file(tmp_path: Path) -> Path:
    """A file of 4 MiB, every byte of it written."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(MIB) * 4)
    return path


@pytest.fixture
def start_child() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python process that has `_engine` and `json` imported and the arguments in `sys.argv`."""
    children: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str) -> subprocess.Popen[str]:
        text = f"import json, os, sys, threading, time\nfrom drivelab import _engine\n{script}"
        environment = os.environ | {"PYTHONPATH": f"{PROJECT / 'python'}:{PROJECT / 'tests'}"}
        child = subprocess.Popen(
            [sys.executable, "-c", text, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()
