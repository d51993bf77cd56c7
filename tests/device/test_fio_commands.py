"""What reaches a drive of jobs whose I/O strace does not see, or that discard: as many commands as of fio's own run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.interop.fio.host import environment_of_host
from drivelab.interop.fio.translate import translate_file
from drivelab.model.workload import TargetRange
from drivelab.run.engine import run_workload

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("fio", "losetup")]

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


def commands(device: Path, issue: Callable[[], object]) -> dict[str, int]:
    """What a drive was given while something was issued."""
    stat = Path("/sys/block") / device.name / "stat"
    before = stat.read_text().split()
    issue()
    after = stat.read_text().split()
    return {name: int(after[place]) - int(before[place]) for name, place in FIELDS.items()}


@pytest.mark.parametrize("options", JOBS)
def test_a_drive_is_given_the_commands_that_fio_gives_it(
    options: str, make_loop_device: Callable[..., Path], tmp_path: Path
) -> None:
    device = make_loop_device(SIZE_BYTES)
    jobs = tmp_path / "jobs.fio"
    lines = ["[job]", f"filename={device}", "direct=1", "bs=4k", f"size={SIZE_BYTES}", *options.split(), ""]
    jobs.write_text("\n".join(lines))
    (job,) = translate_file(jobs, environment_of_host()).jobs
    target = TargetRange(path=str(device), size_bytes=job.pattern.range_size)

    by_fio = commands(device, lambda: subprocess.run(["fio", str(jobs)], check=True, capture_output=True, cwd=tmp_path))
    own = commands(device, lambda: run_workload(job.pattern.on(target, seed=1)))
    for name, slack in (("reads", PROBING_READS), ("sectors read", PROBING_SECTORS)):
        assert abs(own.pop(name) - by_fio.pop(name)) <= slack, name
    assert own == by_fio
