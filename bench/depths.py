"""Rates of reads beside those of fio, by queue depth, number of jobs, and what is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

from cases import Row, alternate, random_read
from peers import run_engine, run_fio
from target import read_target, write_directory, written

QUEUE_DEPTHS = (1, 4, 32, 128)
JOB_COUNTS = (1, 2)
RUN_S = 0.5
# of files
_BYTES = 256 << 20


def depths(rounds: int) -> list[Row]:
    """Rates of 4 KiB random reads with O_DIRECT by io_uring, all jobs on one target."""
    rows = []
    for place, target in (("tmpfs", _in_memory), ("loop device", _device), ("ext4", _on_ext4)):
        with target() as path:
            rows += [_row(place, path, *load, rounds) for load in product(JOB_COUNTS, QUEUE_DEPTHS)]
    return rows


def _row(place: str, path: str, jobs: int, queue_depth: int, rounds: int) -> Row:
    workload = random_read(path, "uring", queue_depth, RUN_S)
    workload = workload.model_copy(update={"job_count": jobs, "share_range": jobs > 1})
    peer = partial(run_fio, path, "uring", queue_depth, RUN_S, f"--numjobs={jobs}", "--group_reporting")
    ours, theirs = alternate(rounds, partial(run_engine, workload), peer)
    case = f"{place}, {jobs} job{'s' if jobs > 1 else ''}, queue depth {queue_depth}"
    return Row(case, "IOPS", *(tuple(cost.iops for cost in costs) for costs in (ours, theirs)), "at least 1")


@contextmanager
def _in_memory() -> Iterator[str]:
    with written(Path("/dev/shm"), _BYTES) as path:
        yield str(path)


@contextmanager
def _device() -> Iterator[str]:
    with read_target() as (path, _):
        yield path


@contextmanager
def _on_ext4() -> Iterator[str]:
    with write_directory() as (directory, _), written(directory, _BYTES) as path:
        yield str(path)
