"""``drivelab explain`` beside a program that syncs on the same file system: which calls waited for its commits."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

SOFTWARE = ("fs_in_ns", "between_ns", "return_ns")
# it writes and syncs until its input ends, and says when it has begun
NEIGHBOUR = """
import os, select, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
syncs = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    os.pwrite(descriptor, bytes(1 << 16), syncs % 64 << 16)
    os.fsync(descriptor)
    syncs += 1
    if syncs == 2:
        print(flush=True)
"""
# It copies pages into memory and out of it, of blocks that the file has, and asks the kernel of each call whether it
# slept in it. All that changes is when the file was written last, and a commit may hold the block that this stands in.
CACHED = """
import json, os, resource, sys, time
def sleeps():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
def slept_in(call, *arguments):
    before = sleeps()
    call(descriptor, *arguments)
    return sleeps() > before
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
page = bytes(1 << 16)
told = {"pwrite64": [slept_in(os.pwrite, page, at << 16) for at in range(16)], "pread64": []}
os.fsync(descriptor)
# until some of them have waited
while len(told["pread64"]) < 300 or sum(told["pwrite64"]) < 5:
    time.sleep(0.005)
    at = len(told["pread64"]) % 16
    told["pwrite64"].append(slept_in(os.pwrite, page, at << 16))
    told["pread64"].append(slept_in(os.pread, len(page), at << 16))
with open(sys.argv[2], "w") as file:
    json.dump(told, file)
"""


@contextlib.contextmanager
def neighbour(path: Path) -> Iterator[None]:
    """A program that writes and syncs while the context lasts."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(path)], stdin=pipe, stdout=pipe) as program:
        assert program.stdout is not None
        program.stdout.readline()
        try:
            yield
        finally:
            program.communicate(b"\n")


def software_share(calls: pa.Table) -> float:
    software_ns = sum(pc.sum(calls[part]).as_py() for part in SOFTWARE)
    return float(software_ns / pc.sum(calls["latency_ns"]).as_py())


@pytest.mark.skipif(not Path("/sys/kernel/btf/vmlinux").exists(), reason="this kernel does not tell which calls slept")
def test_a_call_that_did_not_sleep_is_software_and_one_that_did_is_told_what_it_waited_for(
    drivelab: Drivelab, mounted: Path, tmp_path: Path
) -> None:
    told, words = tmp_path / "told.json", ("explain", "--path", str(mounted), "--command", "--")
    with neighbour(mounted / "neighbour"):
        answer = drivelab.run(*words, sys.executable, "-c", CACHED, str(mounted / "file"), str(told))
    assert answer.returncode == 0, answer.stderr
    (file,) = drivelab.runs.glob("*/calls.parquet")
    calls = pq.read_table(file)
    for call, has_slept in json.loads(told.read_text()).items():
        of_name = calls.filter(pc.equal(calls["call"], call))
        assert of_name.num_rows == len(has_slept)
        awake = of_name.filter(pc.invert(pa.array(has_slept)))
        assert software_share(awake) == 1
        assert pc.sum(awake["bios"]).as_py() == 0
        if call == "pwrite64":
            assert software_share(of_name.filter(pa.array(has_slept))) < 0.5
