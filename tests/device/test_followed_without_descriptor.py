"""Calls of no descriptor or of two: sync, msync, copies within the kernel, pipes; and what no call reads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drivelab.cli import main
from drivelab.model.system_calls import FILE_UNKNOWN

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

READ_THROUGH_MAPPING = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
mapped = mmap.mmap(file, 0)
assert sum(mapped[at] for at in range(0, len(mapped), 4096)) == len(mapped) // 4096 * ord("x")
"""
# one after the other in the same place of its memory, and one by a child
SYNCED = 5
MAPPER = """
import mmap, os, sys
def synced(name):
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 1 << 16)
    mapped = mmap.mmap(file, 0)
    os.close(file)
    for at in range(int(sys.argv[2])):
        mapped[at * 4096] = 1
        mapped.flush()
    return mapped
for name in ("/one", "/two"):
    synced(sys.argv[1] + name).close()
mapped = synced(sys.argv[1] + "/three")
if os.fork() == 0:
    mapped[0] = 2
    mapped.flush()
    os._exit(0)
os.wait()
"""
MAPPED = """
import mmap, os, sys, time
with open(sys.argv[1], "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
print("mapped", flush=True)
while True:
    mapped[0] = (mapped[0] + 1) % 256
    mapped.flush()
    time.sleep(0.01)
"""
# each line is the output of a shell of its own
SHELLS = 20
WRAPPER = """
for number in $(seq 20); do name=$(echo "$(echo $number)"); done
echo $name > "$0"
"""
SYNCS = 12
SYNCER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for at in range(int(sys.argv[2])):
    os.pwrite(file, b"x" * 65536, at * 65536)
    os.sync()
os.fdatasync(file)
"""
COPIED = 1 << 20
COPIER = """
import os, socket, sys
here, elsewhere, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
source = os.open(here + "/source", os.O_RDWR | os.O_CREAT)
os.write(source, b"x" * size)
os.fsync(source)
os.posix_fadvise(source, 0, 0, os.POSIX_FADV_DONTNEED)
target = os.open(here + "/target", os.O_RDWR | os.O_CREAT)
assert os.copy_file_range(source, target, size, 0, 0) == size
other = os.open(elsewhere, os.O_RDONLY)
assert os.sendfile(target, other, 0, 1000) == 1000
one, two = socket.socketpair()
assert os.sendfile(one.fileno(), source, 0, 2000) == 2000
"""


def followed(
    mounted: Path, capfd: pytest.CaptureFixture[str], program: str, *arguments: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    typed = [sys.executable, "-I", "-S", "-c", program, *arguments]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *typed]) == 0
    found = json.loads(capfd.readouterr().out)
    return found, pq.read_table(Path(found["directory"]) / "calls.parquet").to_pylist()


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where runs are kept."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


def test_sync_is_a_call_and_what_it_has_the_disk_do_is_charged_to_it(
    mounted: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found, rows = followed(mounted, capfd, SYNCER, str(mounted / "data"), str(SYNCS))
    syncs = [row for row in rows if row["call"] == "sync"]
    assert [row["file"] for row in syncs] == [""] * SYNCS
    assert sum(row["bytes_written"] for row in syncs) >= SYNCS * 65536
    (summary,) = (one for one in found["calls"] if one["call"] == "sync")
    assert (summary["count"], sum(summary["parts_ns"].values())) == (SYNCS, summary["time_ns"])
    assert main.run(["explain", found["directory"]]) == 0
    told = " ".join(capfd.readouterr().out.split())
    assert "sync waits for all disks: what others than this one did meanwhile is not known, and is software." in told


def test_a_copy_within_the_kernel_is_a_call_of_its_file_on_the_disk(
    mounted: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"y" * 1000)
    found, rows = followed(mounted, capfd, COPIER, str(mounted), str(elsewhere), str(COPIED))
    told = [
        (row["call"], row["file"], row["operation"], row["size_bytes"])
        for row in rows
        if row["call"] in ("copy_file_range", "sendfile")
    ]
    source, target, read, write = str(mounted / "source"), str(mounted / "target"), 0, 1
    assert told == [
        ("copy_file_range", source, read, COPIED),
        ("sendfile", target, write, 1000),
        ("sendfile", source, read, 2000),
    ]
    (copy,) = (place for place, row in enumerate(rows) if row["call"] == "copy_file_range")
    events = pq.read_table(Path(found["directory"]) / "events.parquet").to_pylist()
    own = [one for one in events if (one["kind"], one["operation_index"], one["class"]) == ("bio", copy, "read")]
    # the file system may look up where the file lies, too
    assert sum(one["bytes"] for one in own if one["pid"] == rows[copy]["thread"]) >= COPIED


@pytest.mark.provokes("R445")
def test_what_is_read_through_a_mapping_is_told_although_it_is_no_call(
    mounted: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = mounted / "data"
    data.write_bytes(b"x" * COPIED)
    with data.open() as file:
        os.fsync(file.fileno())
    program = [sys.executable, "-I", "-S", "-c", READ_THROUGH_MAPPING, str(data)]
    assert main.run(["explain", "--path", str(mounted), "--command", "--", *program]) == 4
    told = " ".join(capfd.readouterr().err.split())
    assert "error[R445]" in told
    assert "made no read, write or sync call on loop" in told
    reads = re.search(r"; ([0-9]+) reads? (was|were) sent by its threads outside of these calls \(([0-9.]+) MiB,", told)
    assert reads is not None, told
    assert float(reads[3]) * 2**20 >= COPIED


def test_an_msync_names_the_file_that_is_mapped(mounted: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, rows = followed(mounted, capfd, MAPPER, str(mounted), str(SYNCED))
    told = [row["file"] for row in rows if row["call"] == "msync"]
    names = [name for name in ("one", "two", "three") for _ in range(SYNCED)]
    assert told == [str(mounted / name) for name in [*names, "three"]]


def test_an_msync_names_a_file_that_was_mapped_before(mounted: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = mounted / "data"
    data.write_bytes(bytes(4096))
    with subprocess.Popen([sys.executable, "-c", MAPPED, str(data)], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            arguments = ["--pid", str(program.pid), "--path", str(mounted), "--runtime", "1s", "--json"]
            assert main.run(["explain", *arguments]) == 0
        finally:
            program.kill()
    found = json.loads(capfd.readouterr().out)
    rows = pq.read_table(Path(found["directory"]) / "calls.parquet").to_pylist()
    assert {(row["call"], row["file"]) for row in rows} == {("msync", str(data))}


def test_what_shells_read_from_each_other_is_no_unknown_file(mounted: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = ["sh", "-c", WRAPPER, str(mounted / "name")]
    assert main.run(["explain", "--path", str(mounted), "--json", "--command", "--", *program]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["calls_trace"]["source"] == "BPF"
    # each shell writes into its pipe, and who started it reads that to the end
    assert found["left_out"]["calls on sockets, pipes and the like"] >= 4 * SHELLS
    assert FILE_UNKNOWN not in found["left_out"]
