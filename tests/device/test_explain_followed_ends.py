"""Which disk of a running program is followed, what its durable writes are called, and how polite kills end it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from device.program import Drivelab, wait_for_line
from drivelab.cli import main
from shaped_drive.loop import LoopDrive

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

# its results, which are on another disk and open first, are large, and nothing is written to them
WRITER = """
import os, sys
log, results = sys.argv[1:]
other = open(results, 'wb')
other.truncate(1 << 30)
f = os.open(log, os.O_WRONLY | os.O_CREAT)
print('begun', flush=True)
while True:
    os.pwrite(f, bytes(4096), 0)
    os.fdatasync(f)
"""
DURABLE = """
import os, sys
f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for flags in (os.RWF_DSYNC, os.RWF_SYNC, 0):
    for place in range(5):
        os.pwritev(f, [bytes(4096)], 4096 * place, flags)
"""
# what is read ahead is still on its way when the program ends, and none of the reads after it waits for it
READER = """
import os, sys
read, ahead = (os.open(path, os.O_RDONLY) for path in sys.argv[1:])
os.pread(read, 4096, 0)
os.posix_fadvise(ahead, 0, 1 << 20, os.POSIX_FADV_WILLNEED)
for _ in range(20):
    os.pread(read, 4096, 0)
"""


@contextlib.contextmanager
def writing(log: Path, results: Path) -> Iterator[int]:
    """A program that writes to one disk, and has files on two; its number."""
    words = [sys.executable, "-c", WRITER, str(log), str(results)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            yield writer.pid
        finally:
            writer.kill()


def test_the_disk_is_followed_that_is_waited_for_and_another_one_says_where_that_is(
    drivelab: Drivelab, mounted: Path, tmp_path: Path
) -> None:
    with writing(mounted / "log", tmp_path / "results") as pid:
        told = drivelab.run("explain", "--pid", str(pid), "--runtime", "1s", "--json")
        assert told.returncode == 0, told.stderr
        found = json.loads(told.stdout)
        assert found["disk"].startswith("loop")
        assert found["answer"].split(" (")[0].endswith(" fdatasync calls")
        refused = drivelab.run("explain", "--pid", str(pid), "--path", str(tmp_path), "--runtime", "1s")
        assert "error[R445]" in refused.stderr
        assert f"--path {mounted}" in refused.stderr


def test_writes_that_are_durable_by_their_own_flags_have_a_row_of_their_own(drivelab: Drivelab, mounted: Path) -> None:
    words = (sys.executable, "-c", DURABLE, str(mounted / "log"))
    told = drivelab.run("explain", "--json", "--path", str(mounted), "--command", "--", *words)
    assert told.returncode == 0, told.stderr
    counts = {one["call"]: one["count"] for one in json.loads(told.stdout)["calls"]}
    assert counts == {"durable pwritev2": 10, "pwritev2": 5}


def test_a_kill_keeps_what_was_recorded_also_where_it_comes_twice_at_once(
    drivelab: Drivelab, mounted: Path, tmp_path: Path
) -> None:
    with writing(mounted / "log", tmp_path / "results") as pid:
        following = drivelab.start("explain", "--json", "--pid", str(pid), "--path", str(mounted))
        wait_for_line(following, "following ")
        # as timeout(1) does
        for _ in range(2):
            os.kill(following.pid, signal.SIGTERM)
        out, err = following.communicate()
        assert following.returncode == 128 + signal.SIGTERM, err
        found = json.loads(out)
        assert Path(found["report"]).is_file()
        assert found["calls"]


def test_who_interrupts_the_making_of_a_page_is_told_that_the_recording_is_kept(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("drivelab.cli.explain_followed.write_page", Mock(side_effect=KeyboardInterrupt))
    program = ["dd", "if=/dev/zero", f"of={mounted}/file", "bs=4k", "count=1", "conv=fsync"]
    assert main.run(["explain", "--path", str(mounted), "--command", "--", *program]) == 128 + signal.SIGINT
    (directory,) = (tmp_path / "runs").iterdir()
    assert f"the recording is kept; to see it: drivelab explain {directory}" in capfd.readouterr().err
    assert main.run(["explain", str(directory)]) == 0
    assert "dd's only fsync call" in capfd.readouterr().out


@pytest.mark.needs_tool("qemu-storage-daemon")
def test_what_is_read_ahead_as_the_program_ends_takes_no_call_its_parts(
    drivelab: Drivelab, shaped_drive: LoopDrive, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-qF", shaped_drive.path], check=True)
    subprocess.run(["mount", shaped_drive.path, place], check=True)
    try:
        paths = (place / "read", place / "ahead")
        for path in paths:
            path.write_bytes(bytes(1 << 20))
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        shaped_drive.shape(read_latency_ns=150_000_000)
        words = (sys.executable, "-c", READER, *map(str, paths))
        told = drivelab.run("explain", "--json", "--path", str(place), "--command", "--", *words)
        assert told.returncode == 0, told.stdout + told.stderr
        (reads,) = json.loads(told.stdout)["explanations"]
        assert (reads["operations"], reads["refusal"]) == (21, "")
    finally:
        shaped_drive.be_new()
        subprocess.run(["umount", place], check=True)
