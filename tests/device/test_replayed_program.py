"""The calls of a followed program are issued again as it made them: on which file, where, by whom, after whom."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab, wait_for_line

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4", "strace")]

# what was there, what is appended to, what is direct; a thread that reads what another wrote
PROGRAM = """
import mmap, os, sys, threading, time
os.chdir(sys.argv[1])
db = os.open("db", os.O_RDWR)
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
raw = os.open("raw", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
sync = os.open("sync", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
time.sleep(0.3)
page = mmap.mmap(-1, 4096)
for turn in range(12):
    os.write(log, b"x" * (100 + turn))
    os.fdatasync(log)
    os.lseek(db, 8192 * turn, 0)
    os.read(db, 4096)
    os.pwrite(db, b"y" * 512, 4096 * turn)
    os.pwrite(raw, page, 4096 * turn)
    os.pwrite(sync, b"z" * 10, 10 * turn)
os.fsync(db)
def read():
    other = os.open("log", os.O_RDONLY)
    time.sleep(0.3)
    os.pread(other, 50, 900)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""
STRACE = ("strace", "-f", "-y", "-qq", "-s0", "--seccomp-bpf", "-e", "trace=openat,pread64,pwrite64,fsync,fdatasync")
LINE = re.compile(r"(\d+) +(p\w+64|f\w*sync)\(\d+<[^>]*/(\.drivelab-check-[^>]*)>(?:.*, (\d+), (\d+))?\) += (\d+)")
OPENED = re.compile(r'openat\(.*"/proc/self/fd/\d+", ([\w|]+)\) += \d+<[^>]*/(\.drivelab-check-[^>]*)>')


@pytest.fixture
def followed(drivelab: Drivelab, mounted: Path) -> str:
    """A program that was followed, by the name of its directory."""
    (mounted / "db").write_bytes(bytes(200_000))
    (mounted / "log").write_bytes(bytes(700))
    command = [
        "explain",
        "--json",
        "--path",
        str(mounted),
        "--command",
        "--",
        sys.executable,
        "-c",
        PROGRAM,
        str(mounted),
    ]
    answer = drivelab.run(*command)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return str(json.loads(answer.stdout)["directory"])


def test_the_calls_are_those_of_the_program_on_files_as_it_had_them(
    followed: str, drivelab: Drivelab, mounted: Path, tmp_path: Path
) -> None:
    place, log = mounted / "place", tmp_path / "calls"
    place.mkdir()
    command = [*STRACE, "-o", str(log), sys.executable, "-m", "drivelab", "replay", followed, str(place), "--json"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, env=drivelab.environment)
    assert ended.returncode in (0, 4), ended.stderr
    found = json.loads(ended.stdout)
    sizes = {Path(file["name"]).name: file["size_bytes"] for file in found["recording"]["files"]}
    assert sizes == {"log": 700, "db": 200_000, "raw": 0, "sync": 0}
    of_file: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    text = log.read_text()
    for _, call, name, size, offset, _ in LINE.findall(text):
        of_file[name].append((call, int(offset or 0), int(size or 0)))
    turns, appended = range(12), [sum(100 + one for one in range(turn)) for turn in range(12)]
    # what lays the files out is written in large pieces, before
    expected = [
        [call for turn in turns for call in (("pwrite64", 700 + appended[turn], 100 + turn), ("fdatasync", 0, 0))]
        + [("pread64", 900, 50)],
        [call for turn in turns for call in (("pread64", 8192 * turn, 4096), ("pwrite64", 4096 * turn, 512))]
        + [("fsync", 0, 0)],
        [("pwrite64", 4096 * turn, 4096) for turn in turns],
        [("pwrite64", 10 * turn, 10) for turn in turns],
    ]
    seen = [[call for call in calls if call[2] <= 4096] for calls in of_file.values()]
    for calls in expected:
        assert any(one[-len(calls) :] == calls for one in seen), calls
    flags: dict[str, str] = defaultdict(str)
    for how, name in OPENED.findall(text):
        flags[name] += how
    assert sum("O_DIRECT" in how for how in flags.values()) == 1
    assert sum("SYNC" in how for how in flags.values()) == 1
    assert list(place.iterdir()) == []


def test_its_commands_need_consent_on_a_device_and_are_set_against_commands(
    followed: str, drivelab: Drivelab, make_loop_device: Any
) -> None:
    device = make_loop_device(600 * 2**20)
    refused = drivelab.run("replay", followed, str(device))
    assert (refused.returncode, "error[C201]" in refused.stderr) == (3, True)
    with device.open("rb") as file:
        assert file.read(2**20) == bytes(2**20)
    serial = refused.stderr.split("--erase ")[1].split()[0]
    answer = drivelab.run("replay", followed, str(device), "--erase", serial, "--json")
    assert answer.returncode in (0, 4), answer.stderr
    found = json.loads(answer.stdout)
    assert found["recording"]["level"] == "commands"
    calls = {one["call"]: one for one in found["targets"][0]["calls"]}
    # the journal's commits have Force Unit Access
    assert calls["durable write"]["count"] > 0
    assert calls["durable write"]["times"]["value"] > 0


def test_what_a_killed_replay_leaves_restore_removes(followed: str, drivelab: Drivelab, mounted: Path) -> None:
    place = mounted / "place"
    place.mkdir()
    process = drivelab.start("replay", followed, str(place), "--speed", "0.05")
    wait_for_line(process, "note")
    for _ in range(200):
        if len(list(place.iterdir())) == 4:
            break
        signal.sigtimedwait([], 0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list(place.iterdir())) == 4
    assert drivelab.run("restore").returncode == 0
    assert list(place.iterdir()) == []
    assert drivelab.left_over() == []


# writes that are durable by flags of their own, and by those of their file; the last one also in its times
FLAGGED = """
import os, sys, time
os.chdir(sys.argv[1])
flags = {"plain": 0, "data": os.O_DSYNC, "times": os.O_SYNC}
files = {name: os.open(name, os.O_RDWR | os.O_CREAT | flag) for name, flag in flags.items()}
own = os.open("own", os.O_RDWR | os.O_CREAT)
time.sleep(0.3)
for turn in range(8):
    for descriptor in files.values():
        os.pwritev(descriptor, [b"x" * 4096], 4096 * turn)
    for place, flag in enumerate((0, os.RWF_DSYNC, os.RWF_SYNC)):
        os.pwritev(own, [b"y" * 512], 512 * (3 * turn + place), flag)
"""


def test_writes_that_are_durable_by_flags_are_played_durable(drivelab: Drivelab, mounted: Path, tmp_path: Path) -> None:
    command = ["--path", str(mounted), "--command", "--", sys.executable, "-c", FLAGGED, str(mounted)]
    answer = drivelab.run("explain", "--json", *command)
    assert answer.returncode == 0, answer.stderr
    followed = str(json.loads(answer.stdout)["directory"])
    place, log = mounted / "place", tmp_path / "calls"
    place.mkdir()
    played = [*STRACE, "-o", str(log), sys.executable, "-m", "drivelab", "replay", followed, str(place), "--json"]
    ended = subprocess.run(played, check=False, capture_output=True, text=True, env=drivelab.environment)
    assert ended.returncode in (0, 4), ended.stderr
    files = json.loads(ended.stdout)["recording"]["files"]
    ways = sorted((Path(file["name"]).name, file["is_durable"], file["is_synced"]) for file in files)
    assert ways == [
        ("data", True, False),
        ("own", False, False),
        ("own", True, False),
        ("own", True, True),
        ("plain", False, False),
        ("times", True, True),
    ]
    opened = [how.split("|") for how, _ in OPENED.findall(log.read_text())]
    # two files each, as often as any file
    assert sum("O_DSYNC" in how for how in opened) == sum("O_SYNC" in how for how in opened) >= 2
