"""What reaches a drive of jobs whose I/O strace does not see, or that discard: as many commands as of fio's own run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.interop.fio.host import environment_of_host
from drivelab.interop.fio.translate import translate_file
from drivelab.model.workload import TargetRange
from drivelab.run.engine import run_workload

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("fio", "losetup")]

Counts = dict[str, int]

SIZE_BYTES = 4 * 2**20
# udev, where it runs, looks at a drive that was closed
PROBING_READS, PROBING_SECTORS = 32, 2048
# where they stand among the numbers of the kernel
FIELDS = {"reads": 0, "sectors read": 2, "writes": 4, "sectors written": 6, "discards": 11, "sectors discarded": 13}
FIELDS |= {"flushes": 15}
JOBS = (
    "rw=randread ioengine=io_uring iodepth=8",
    "rw=read ioengine=io_uring iodepth=8 bs=64k loops=2",
    "rw=randread ioengine=io_uring iodepth=8 number_ios=100",
    "rw=randwrite ioengine=io_uring iodepth=8",
    "rw=write ioengine=io_uring iodepth=4 bs=16k end_fsync=1",
    "rw=randwrite ioengine=io_uring fsync=7",
    "rw=randwrite ioengine=libaio iodepth=16 fsync=8",
    "rw=randwrite ioengine=libaio fdatasync=1 size=512k",
    "rw=randwrite ioengine=libaio iodepth=16 fdatasync=1 size=1m",
    "rw=randwrite ioengine=libaio iodepth=4 fsync=7 end_fsync=1",
    "rw=write ioengine=libaio iodepth=4 sync_file_range=write:8",
    "rw=write ioengine=io_uring sync=dsync size=512k",
    "rw=randread ioengine=io_uring iodepth=4 numjobs=2",
    "rw=randtrim",
    "rw=trim bs=64k",
    "rw=trim bs=64k ioengine=io_uring iodepth=8",
    "rw=randtrim bs=16k ioengine=libaio iodepth=4",
    "rw=randtrim bs=16k ioengine=posixaio iodepth=4",
    "rw=randtrim number_ios=50",
    "rw=randread ioengine=posixaio iodepth=8",
    "rw=write ioengine=posixaio iodepth=4 bs=16k end_fsync=1",
    "rw=randwrite ioengine=posixaio fdatasync=7",
)
# so many sync calls are queued as fit in until one of them has ended, and the drive merges flushes
QUEUED_SYNCS = (
    "rw=randwrite ioengine=io_uring iodepth=16 fsync=8",
    "rw=randwrite ioengine=io_uring iodepth=4 fsync=7",
    "rw=randwrite ioengine=posixaio iodepth=16 fsync=8",
    "rw=randwrite ioengine=posixaio iodepth=4 fdatasync=7",
)
REPEATS = 3
COUNTED_S = 0.1
# one call each time would make half as many with io_uring, and a quarter with posixaio
NEAR = (0.7, 1.4)


def commands(device: Path, issue: Callable[[], object]) -> Counts:
    """What a drive was given while something was issued."""
    stat = Path("/sys/block") / device.name / "stat"
    before = stat.read_text().split()
    issue()
    # the kernel wakes who waits for a command, and counts it then
    time.sleep(COUNTED_S)
    after = stat.read_text().split()
    return {name: int(after[place]) - int(before[place]) for name, place in FIELDS.items()}


def commands_of_both(device: Path, size_bytes: int, options: str, folder: Path) -> tuple[Counts, Counts]:
    """What a drive is given by fio, and by drivelab."""
    jobs = folder / "jobs.fio"
    lines = ["[job]", f"filename={device}", "direct=1", "bs=4k", f"size={size_bytes}", *options.split(), ""]
    jobs.write_text("\n".join(lines))
    (job,) = translate_file(jobs, environment_of_host()).jobs
    target = TargetRange(path=str(device), size_bytes=job.pattern.range_size)
    fio = ["fio", str(jobs)]
    by_fio = commands(device, lambda: subprocess.run(fio, check=True, capture_output=True, cwd=folder))
    return by_fio, commands(device, lambda: run_workload(job.pattern.on(target, seed=1)))


@pytest.mark.parametrize("options", QUEUED_SYNCS)
def test_queued_sync_calls_flush_about_as_often_as_those_of_fio(
    options: str, make_loop_device: Callable[..., Path], tmp_path: Path
) -> None:
    device = make_loop_device(SIZE_BYTES)
    found = [commands_of_both(device, SIZE_BYTES // 4, options, tmp_path) for _ in range(REPEATS)]
    assert all(own["sectors written"] == by_fio["sectors written"] for by_fio, own in found)
    flushes = [sum(run[program]["flushes"] for run in found) for program in (0, 1)]
    assert NEAR[0] < flushes[1] / flushes[0] < NEAR[1], f"{flushes[0]} of fio, {flushes[1]} of drivelab"


@pytest.mark.parametrize("options", JOBS)
def test_a_drive_is_given_the_commands_that_fio_gives_it(
    options: str, make_loop_device: Callable[..., Path], tmp_path: Path
) -> None:
    by_fio, own = commands_of_both(make_loop_device(SIZE_BYTES), SIZE_BYTES, options, tmp_path)
    for name, slack in (("reads", PROBING_READS), ("sectors read", PROBING_SECTORS)):
        assert abs(own.pop(name) - by_fio.pop(name)) <= slack, name
    assert own == by_fio
