"""The C library's asynchronous I/O: a thread for each job, as if it were alone in its process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .conftest import threads_of_jobs

# the library stops at 20 unless it is told otherwise
JOBS = 24


def test_each_job_has_a_queue_and_a_thread_of_its_own(data_file: Path, run_engine: Any) -> None:
    most = 0

    def look(_text: str) -> bool:
        nonlocal most
        most = max(most, len(threads_of_jobs(of_library=True)))
        return most < JOBS

    before = set(os.listdir("/proc/self/fd"))
    answer = run_engine(
        "posixaio",
        data_file,
        job_count=JOBS,
        queue_depth=4,
        share_range=True,
        limits={"runtime_ns": 60_000_000_000},
        on_interval=look,
    )
    assert most >= JOBS
    assert answer.summary["stopped_by"] == "caller"
    assert answer.summary["abandoned_jobs"] == 0
    assert set(os.listdir("/proc/self/fd")) == before
