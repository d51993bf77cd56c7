"""The same job files run by drivelab and by fio: whether both find the same IOPS and the same mean latency.

Both run in a guest whose clock counts instructions, on drives of its kernel that take a millisecond: what they find
is the same each time, whatever else this machine does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

from vm.guest import Guest

DIRECTIONS = ("read", "write", "trim")
CLOSE = (0.95, 1.05)
LATENCY_MS = 1
RUNTIME_MS = 1000
RUN_S, ALL_RUNS_S = 600, 1800
FILES = "/tmp/files"
DRIVES = f"""
    modprobe null_blk nr_devices=0
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
    for name in nullb0 nullb1; do
        mkdir /sys/kernel/config/nullb/$name
        cd /sys/kernel/config/nullb/$name
        echo 128 >size
        echo 1 >memory_backed
        echo 1 >discard
        echo 2 >irqmode
        echo {LATENCY_MS * 1_000_000} >completion_nsec
        echo 1 >power
    done
    mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/nullb1
    mkdir {FILES}
    mount /dev/nullb1 {FILES}
    dd if=/dev/urandom of=/dev/nullb0 bs=1M count=128 status=none
"""
SHARED = f"[global]\nbs=4k\nioengine=psync\ntime_based\nruntime={RUNTIME_MS}ms\nrandrepeat=0\nthread\n"
ON_DRIVE = f"{SHARED}filename=/dev/nullb0\nsize=100%\ndirect=1\nnorandommap\n"
ON_FILES = f"{SHARED}directory={FILES}\nsize=8m\n"
# the options of each job, as they are beside the shared ones; jobs that run together have a bar between them
OF_DRIVE = (
    "rw=randread",
    "rw=randread norandommap=0",
    "rw=randread direct=0 invalidate=0",
    "rw=randread ioengine=sync",
    "rw=randread ioengine=vsync",
    "rw=randread ioengine=pvsync2",
    "rw=randread ioengine=mmap direct=0",
    "rw=randread ioengine=libaio",
    "rw=randread ioengine=libaio iodepth=32",
    "rw=randread ioengine=io_uring iodepth=32",
    "rw=randread ioengine=posixaio iodepth=4",
    "rw=randread ioengine=libaio iodepth=32 iodepth_batch_submit=8 iodepth_batch_complete_min=8",
    "rw=randread ioengine=libaio iodepth=32 iodepth_batch_complete_max=32",
    "rw=randread ioengine=libaio iodepth=32 iodepth_low=8",
    "rw=randread numjobs=4 group_reporting",
    "rw=randread numjobs=4",
    "rw=randread numjobs=2 offset_increment=64m",
    "rw=randread offset=32m size=16m",
    "rw=randread random_distribution=zipf:1.1",
    "rw=randread random_distribution=pareto:0.9",
    "rw=randread random_distribution=zoned:60/10:30/20:10/70",
    "rw=randread percentage_random=50",
    "rw=randread:8",
    "rw=randread bssplit=4k/60:64k/40 ioengine=libaio iodepth=8",
    "rw=randread bsrange=4k-64k ioengine=libaio iodepth=4",
    "rw=randread rate_iops=2000 ioengine=libaio iodepth=4",
    "rw=randread rate_iops=500",
    "rw=randread rate_iops=500 rate_process=poisson",
    "rw=randread thinktime=200us",
    "rw=randread thinktime=5ms thinktime_blocks=4",
    "rw=randread ramp_time=300ms",
    "rw=randread | rw=write bs=64k",
    "rw=randread | rw=randwrite startdelay=300ms",
    "rw=randread flow=2 | rw=randwrite flow=1",
    "rw=randread runtime=400ms exitall | rw=write bs=64k",
    "rw=read bs=128k",
    "rw=read bs=128k ioengine=libaio iodepth=8",
    "rw=read bs=64k direct=0",
    "rw=read:64k",
    "rw=read zonemode=strided zonesize=1m zoneskip=3m",
    "rw=write bs=1m ioengine=libaio iodepth=4",
    "rw=write bs=64k direct=0",
    "rw=write rate=2m",
    "rw=write sync=dsync",
    "rw=write sync=sync direct=0",
    "rw=write fsync=8 direct=0",
    "rw=write fdatasync=1 direct=0",
    "rw=randwrite fsync=1 direct=0",
    "rw=randwrite ioengine=libaio iodepth=32",
    "rw=randwrite ioengine=io_uring iodepth=8 bs=16k",
    "rw=randwrite buffer_compress_percentage=50 refill_buffers",
    "rw=randrw rwmixread=70 ioengine=libaio iodepth=16",
    "rw=rw",
    "rw=randrw bs=4k,16k rwmixwrite=20",
    "rw=randtrim bs=64k",
)
OF_FILES = (
    "rw=randread direct=1",
    "rw=randread nrfiles=8 file_service_type=random direct=1",
    "rw=read bs=64k",
    "rw=write fdatasync=1 fallocate=none",
    "rw=write fsync=1",
    "rw=write numjobs=2 fdatasync=4",
    "rw=randwrite direct=1 nrfiles=4",
    "rw=randwrite fdatasync=1 overwrite=1",
    "rw=randrw direct=1 ioengine=libaio iodepth=8",
)
# what one job laid out is not the next one's
NO_FILES = f"find {FILES} -type f -delete; sync"
# drivelab takes 10 s to load there, which is done once
RUN_EACH = f"""
import contextlib, io, json, subprocess, sys
from drivelab.cli.main import run
for path, *words in json.load(sys.stdin):
    subprocess.run({NO_FILES!r}, shell=True, check=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        run(["fio", path, "--output-format=json", "--eta=never", *words])
    print(json.dumps(said.getvalue()), flush=True)
"""


@dataclass(frozen=True)
class Found:
    """What a program found of a job and direction: IOPS, and mean latency in ns."""

    iops: float
    mean_ns: float


@dataclass(frozen=True)
class Agreement:
    """A job and direction as drivelab finds it, as fio does, and as fio does once more."""

    case: str
    ours: Found
    fio: Found
    fio_again: Found

    @property
    def iops_ratios(self) -> tuple[float, float]:
        """IOPS of drivelab, and of fio once more, over fio's."""
        return self.ours.iops / self.fio.iops, self.fio_again.iops / self.fio.iops

    @property
    def latency_ratios(self) -> tuple[float, float]:
        """The same of mean latencies."""
        return self.ours.mean_ns / self.fio.mean_ns, self.fio_again.mean_ns / self.fio.mean_ns


def agreement() -> list[Agreement]:
    """IOPS and mean latency of every job file, by drivelab, by fio and by fio again."""
    files = {each: _job_file(ON_DRIVE, each) for each in OF_DRIVE}
    files |= {f"of files: {each}": _job_file(ON_FILES, each) for each in OF_FILES}
    rows = []
    with Guest(kinds=(), has_virtual_time=True) as guest:
        guest.shell(DRIVES, timeout_s=RUN_S)
        for number, text in enumerate(files.values()):
            guest.run("tee", f"/tmp/{number}.fio", stdin=text)
        asked = [[f"/tmp/{number}.fio", "--erase=nullb0", "--out=/tmp/runs"] for number in range(len(files))]
        ours = guest.run("python", "-c", RUN_EACH, stdin=json.dumps(asked), timeout_s=ALL_RUNS_S)
        of_ours = [_found(json.loads(line)) for line in ours.stdout.splitlines()]
        for number, (case, of_one) in enumerate(zip(files, of_ours, strict=True)):
            first, again = (_by_fio(guest, f"/tmp/{number}.fio") for _ in range(2))
            for name, found in of_one.items():
                named = f"{case} ({name})" if len(of_one) > 1 else case
                rows.append(Agreement(named, found, first[name], again[name]))
    return rows


def _job_file(shared: str, jobs: str) -> str:
    sections = (f"[{name}]\n" + "\n".join(job.split()) for name, job in zip("ab", jobs.split(" | "), strict=False))
    return shared + "\n".join(sections) + "\n"


def _by_fio(guest: Guest, path: str) -> dict[str, Found]:
    guest.shell(NO_FILES)
    return _found(guest.run("fio", path, "--output-format=json", "--eta=never", timeout_s=RUN_S).stdout)


def _found(said: str) -> dict[str, Found]:
    """By job and direction; jobs that are told apart together."""
    results: dict[str, list[Mapping[str, float]]] = {}
    for job in json.loads(said[said.index("{") :])["jobs"]:
        for direction in DIRECTIONS:
            if job[direction]["total_ios"]:
                row = {"iops": job[direction]["iops"], "mean_ns": job[direction]["lat_ns"]["mean"]}
                results.setdefault(f"{job['jobname']}, {direction}", []).append(row)
    return {name: _together(of_jobs) for name, of_jobs in results.items()}


def _together(jobs: Sequence[Mapping[str, float]]) -> Found:
    iops = sum(job["iops"] for job in jobs)
    return Found(iops, sum(job["iops"] * job["mean_ns"] for job in jobs) / iops)


def _close(ratios: Iterable[float]) -> int:
    return sum(CLOSE[0] <= ratio <= CLOSE[1] for ratio in ratios)


def table_of(rows: Sequence[Agreement]) -> list[str]:
    """How many rows are close, and all of them as a table."""
    iops, latency = _close(row.iops_ratios[0] for row in rows), _close(row.latency_ratios[0] for row in rows)
    ratios = "drivelab / fio | fio / itself"
    lines = [
        f"Within 5 %: IOPS of {iops} and mean latencies of {latency} of {len(rows)} rows.",
        "",
        f"| job | IOPS of fio | {ratios} | mean latency of fio (ns) | {ratios} |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        of_iops, of_latency = (
            f"{beside:.3f} | {itself:.3f}" for beside, itself in (row.iops_ratios, row.latency_ratios)
        )
        case = row.case.replace("|", "beside")
        lines.append(f"| `{case}` | {row.fio.iops:,.0f} | {of_iops} | {row.fio.mean_ns:,.0f} | {of_latency} |")
    return lines
