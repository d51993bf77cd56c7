"""The same job files run by drivelab and by fio: whether both find the same IOPS and the same mean latency."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cases import Row, in_turn

from drivelab.model.estimate import Estimate
from drivelab.store.read import open_run

SIZE_BYTES = 256 * 2**20
CLOSE = (0.95, 1.05)
TARGET = f"{CLOSE[0]} to {CLOSE[1]}"
DIRECTIONS = ("read", "write")
# what a job file says beside its jobs: the device, and how long
GLOBAL = "[global]\nfilename={device}\nsize=100%\nrandrepeat=0\ntime_based\nruntime={runtime_ms}ms\nthread\n"
JOB_FILES = {
    "random read, depth 1, libaio": "[r]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\niodepth=1\nnorandommap\n",
    "random read, depth 32, libaio": "[r]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\niodepth=32\nnorandommap\n",
    "random read, depth 32, io_uring": (
        "[r]\nrw=randread\nbs=4k\nioengine=io_uring\ndirect=1\niodepth=32\nnorandommap\n"
    ),
    "sequential write, 1 MiB, depth 4": "[w]\nrw=write\nbs=1m\nioengine=libaio\ndirect=1\niodepth=4\n",
    "random read and write 70:30, depth 16": (
        "[m]\nrw=randrw\nrwmixread=70\nbs=4k\nioengine=libaio\ndirect=1\niodepth=16\nnorandommap\n"
    ),
    "synchronous writes, fdatasync=1": "[s]\nrw=write\nbs=4k\nioengine=psync\nfdatasync=1\n",
    "random read, 4 jobs": (
        "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\nnumjobs=4\ngroup_reporting\nnorandommap\n"
    ),
    "a reader beside a writer": (
        "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\nnorandommap\n[w]\nrw=write\nbs=64k\nioengine=psync\ndirect=1\n"
    ),
    "random read, rate_iops=2000": (
        "[r]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\niodepth=4\nrate_iops=2000\nnorandommap\n"
    ),
    "random read with a map": "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\n",
    "random write, depth 32, libaio": (
        "[w]\nrw=randwrite\nbs=4k\nioengine=libaio\ndirect=1\niodepth=32\nnorandommap\n"
    ),
    "random read, depth 4, posixaio": (
        "[r]\nrw=randread\nbs=4k\nioengine=posixaio\ndirect=1\niodepth=4\nnorandommap\n"
    ),
    "random read, batches of 8": (
        "[r]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\niodepth=32\niodepth_batch_submit=8\n"
        "iodepth_batch_complete_min=8\nnorandommap\n"
    ),
    "random read, zipf 1.1": (
        "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\nrandom_distribution=zipf:1.1\nnorandommap\n"
    ),
    "random read, percentage_random=50": (
        "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\npercentage_random=50\nnorandommap\n"
    ),
    "read and write in order, 50:50": "[m]\nrw=rw\nbs=16k\nioengine=psync\ndirect=1\n",
    "write, rate=20m": "[w]\nrw=write\nbs=16k\nioengine=psync\ndirect=1\nrate=20m\n",
    "writes, fsync=8": "[s]\nrw=write\nbs=4k\nioengine=psync\nfsync=8\n",
    "writes, sync=dsync": "[s]\nrw=write\nbs=4k\nioengine=psync\nsync=dsync\n",
    "random read, thinktime=200us": (
        "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\nthinktime=200us\nnorandommap\n"
    ),
    "2 jobs, offset_increment=128m": (
        "[r]\nrw=read\nbs=64k\nioengine=psync\ndirect=1\nnumjobs=2\noffset_increment=128m\nsize=128m\ngroup_reporting\n"
    ),
    "random read through the page cache": (
        "[r]\nrw=randread\nbs=4k\nioengine=psync\ndirect=0\ninvalidate=0\nnorandommap\n"
    ),
    "write through the page cache": "[w]\nrw=write\nbs=64k\nioengine=psync\ndirect=0\n",
    "block sizes 4k/60:64k/40": (
        "[r]\nrw=randread\nbssplit=4k/60:64k/40\nioengine=libaio\ndirect=1\niodepth=8\nnorandommap\n"
    ),
}


@dataclass(frozen=True)
class Found:
    """IOPS and mean latency in ns, by job and direction."""

    iops: Mapping[str, float]
    mean_ns: Mapping[str, float]


@dataclass(frozen=True)
class Agreement:
    """A quantity of a job as both programs find it, and as fio finds it when it runs once more in the same round."""

    beside_fio: Row
    fio_beside_itself: Row


def agreement(rounds: int, runtime_s: float, directory: Path) -> list[Agreement]:
    """IOPS and mean latency of every job file, by drivelab, by fio and by fio again, on a loop device over a file."""
    rows = []
    with _written_device(directory) as device, tempfile.TemporaryDirectory(prefix="drivelab-bench-") as folder:
        for title, jobs in JOB_FILES.items():
            path = Path(folder) / "jobs.fio"
            path.write_text(GLOBAL.format(device=device, runtime_ms=round(1000 * runtime_s)) + jobs)
            by_fio = partial(_by_fio, path)
            ours, theirs, again = in_turn(rounds, partial(_by_drivelab, path, device), by_fio, by_fio)
            for job in ours[0].iops:
                named = f"{title}: {job}" if len(ours[0].iops) > 1 else title
                for quantity, values in (("IOPS", "iops"), ("mean latency (ns)", "mean_ns")):
                    of_each = (tuple(getattr(one, values)[job] for one in found) for found in (ours, theirs, again))
                    of_ours, of_fio, of_fio_again = of_each
                    rows.append(
                        Agreement(
                            Row(named, quantity, of_ours, of_fio, TARGET),
                            Row(named, quantity, of_fio_again, of_fio, TARGET),
                        )
                    )
    return rows


def counts_of(rows: Sequence[Agreement]) -> list[str]:
    """How many rows of each quantity are close, and how many are that fio finds beside itself."""
    lines = []
    for quantity in dict.fromkeys(row.beside_fio.quantity for row in rows):
        of_it = [row for row in rows if row.beside_fio.quantity == quantity]
        ours = sum(_is_close(row.beside_fio) for row in of_it)
        itself = sum(_is_close(row.fio_beside_itself) for row in of_it)
        lines.append(f"Within 5 %: {quantity}, {ours} of {len(of_it)} rows; of fio beside itself, {itself}.")
    return lines


def _is_close(row: Row) -> bool:
    return CLOSE[0] <= row.ratio <= CLOSE[1]


def table_of(rows: Sequence[Agreement]) -> list[str]:
    """The rows as a table."""
    lines = ["| case | quantity | drivelab | fio | drivelab / fio | fio / itself |", "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        ours, itself = row.beside_fio, row.fio_beside_itself
        numbers = f"{ours.ours:,.4g} | {ours.theirs:,.4g} | {ours.ratio_text} | {itself.ratio_text}"
        lines.append(f"| {ours.case} | {ours.quantity} | {numbers} |")
    return lines


def _by_fio(path: Path) -> Found:
    words = ["fio", "--output-format=json", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=path.parent)
    iops, mean_ns = {}, {}
    for job in json.loads(done.stdout[done.stdout.index("{") :])["jobs"]:
        for direction in DIRECTIONS:
            if job[direction]["total_ios"]:
                name = f"{job['jobname']} {direction}"
                iops[name] = job[direction]["iops"]
                mean_ns[name] = job[direction]["lat_ns"]["mean"]
    return Found(iops, mean_ns)


def _by_drivelab(path: Path, device: str) -> Found:
    with tempfile.TemporaryDirectory(prefix="drivelab-bench-") as runs:
        words = [sys.executable, "-m", "drivelab", "run", str(path), "--erase", Path(device).name, "--out", runs]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "80"})
        if done.returncode not in (0, 4):
            raise RuntimeError(done.stderr)
        (directory,) = Path(runs).iterdir()
        run = open_run(directory)
        iops, mean_ns = {}, {}
        for row in run.trials.to_pylist():
            estimates, engine = run.estimates_of(row), json.loads(row["engine_json"])
            for direction in DIRECTIONS:
                counts = engine["operations"].get(direction)
                if counts and counts["count"]:
                    name = f"{row['workload']} {direction}"
                    iops[name] = counts["count"] / engine["measured_ns"] * 1e9
                    mean_ns[name] = _mean_ns(estimates, row["operation"], direction)
    return Found(iops, mean_ns)


def _mean_ns(estimates: Mapping[str, Estimate], operation: str, direction: str) -> float:
    """Mean latency of a direction; of writes that are made durable that of the write alone, as fio has it."""
    prefix = "" if operation == direction else f"{direction}_"
    value = estimates[f"{prefix}total_latency_ns_mean"].value
    assert value is not None
    return value


@contextmanager
def _written_device(directory: Path) -> Iterator[str]:
    """A loop device of its own over a file that it reads and writes with O_DIRECT, every block of it written."""
    with tempfile.NamedTemporaryFile(dir=directory, prefix="drivelab-bench-") as image:
        block = os.urandom(2**20)
        for _ in range(SIZE_BYTES // 2**20):
            image.write(block)
        image.flush()
        os.fsync(image.fileno())
        words = ["losetup", "--find", "--show", "--direct-io=on", image.name]
        device = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        try:
            yield device
        finally:
            subprocess.run(["losetup", "--detach", device], check=True)
