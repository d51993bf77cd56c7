"""A listener that takes longer than the time between two of its calls holds no job up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

JOBS = 24


def test_jobs_end_while_who_listens_is_slow(data_file: Path, run_engine: Any) -> None:
    looks = 0

    def look_slowly(_text: str) -> bool:
        nonlocal looks
        looks += 1
        # several times the 10 ms after which it is called again
        time.sleep(0.15)
        return looks < 3

    answer = run_engine(
        "null",
        data_file,
        job_count=JOBS,
        share_range=True,
        limits={"runtime_ns": 60_000_000_000},
        on_interval=look_slowly,
    )
    assert answer.summary["stopped_by"] == "caller"
    assert answer.summary["abandoned_jobs"] == 0
