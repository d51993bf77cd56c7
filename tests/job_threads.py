"""Waiting until a program that was started has begun to issue I/O."""

from __future__ import annotations

import time
from pathlib import Path

_BEGIN_S = 120
# in which any of the engine's backends does some I/O
_WORK_NS = 20_000_000


def wait_for_jobs(process_id: int) -> None:
    """Wait until a thread of a process that issues I/O has been at work for a while."""
    deadline = time.monotonic() + _BEGIN_S
    while _work_ns(process_id) < _WORK_NS:
        assert time.monotonic() < deadline, "it issues nothing"
        time.sleep(0.02)


def _work_ns(process_id: int) -> int:
    """How long the first of these threads has had a processor."""
    try:
        tasks = list(Path(f"/proc/{process_id}/task").iterdir())
        jobs = [task for task in tasks if (task / "comm").read_text().strip() == "drivelab-job-0"]
        return max((int((task / "schedstat").read_text().split()[0]) for task in jobs), default=0)
    except OSError:
        return 0
