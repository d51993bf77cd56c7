"""``drivelab explain --command, --pid, --path`` on a loop device: what it says is what the programs themselves say."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from device.program import Drivelab, wait_for_line
from drivelab.cli import main
from drivelab.model.layer_times import layers_of
from drivelab.model.trace import PARTS
from drivelab.run.tracing.tracefs import tracefs

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

SYNCS = 100
# a thread of a child writes, so that both have to be followed: it is the parent that is named
WRITER = """
import os, sys, threading
def write():
    descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    print(os.getppid(), flush=True)
    sys.stdin.readline()
    for _ in range(int(sys.argv[2])):
        os.write(descriptor, b"x" * 100)
        os.fdatasync(descriptor)
    sys.stdin.readline()
if os.fork() == 0:
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    os._exit(0)
os.wait()
"""
Explain = Callable[..., dict[str, Any]]


@pytest.fixture
def explain(drivelab: Drivelab) -> Explain:
    """Follows a program and gives the answer."""

    def run(*arguments: str) -> dict[str, Any]:
        answer = drivelab.run("explain", "--json", *arguments)
        assert answer.returncode == 0, answer.stderr
        assert instances_left() == []
        return dict(json.loads(answer.stdout))

    return run


def instances_left() -> list[str]:
    """Trace instances of drivelab that are there, and whose process is not: others follow programs at the same time."""
    with tracefs() as root:
        found = [(path, re.match(r"drivelab-(\d+)-.*-(calls|rings)$", path.name)) for path in root.glob("instances/*")]
        # one that ends meanwhile has removed its own before
        dead = [path for path, ours in found if ours and not Path("/proc", ours[1]).exists()]
        return [path.name for path in dead if path.exists()]


def start_writer(path: Path, syncs: int = SYNCS) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(syncs)],
        stdin=pipe,
        stdout=pipe,
        text=True,
        start_new_session=True,
    )


def calls_of(found: dict[str, Any]) -> dict[str, Any]:
    return {one["call"]: one for one in found["calls"]}


def assert_sums(found: dict[str, Any]) -> None:
    """In every call the parts sum to the latency, to the nanosecond."""
    rows = pq.read_table(Path(found["directory"]) / "calls.parquet")
    whole = sum((rows[f"{part}_ns"].to_numpy() for part in PARTS), start=layers_of(rows).sum(axis=1))
    assert rows.num_rows
    assert (whole == rows["latency_ns"].to_numpy()).all()


@pytest.mark.needs_tool("fio")
def test_the_syncs_of_fio_take_as_long_as_fio_says(explain: Explain, mounted: Path, tmp_path: Path) -> None:
    result = tmp_path / "fio.json"
    job = ["--name=a", "--rw=write", "--bs=4k", f"--size={4 * SYNCS}k", "--fdatasync=1", "--ioengine=psync"]
    where = [f"--directory={mounted}", f"--output={result}", "--output-format=json"]
    found = explain("--path", str(mounted), "--command", "--", "fio", *job, *where)
    told = json.loads(result.read_text())["jobs"][0]["sync"]["lat_ns"]
    call = calls_of(found)["fdatasync"]
    assert call["count"] in (SYNCS - 1, SYNCS)
    assert found["command_status"] == found["lost_events"] == 0
    # fio's clock, of cycles, stands outside of the call, where a busy machine adds time; its buckets are 1/64 wide
    assert call["p50_ns"] <= told["percentile"]["50.000000"] * (1 + 1 / 64) * 1.02
    assert call["slowest_ns"] <= told["max"] * 1.0001
    assert sum(call["parts_ns"].values()) <= told["mean"] * told["N"]
    assert_sums(found)
    (sync,) = [one for one in found["explanations"] if one["operation"] == "sync"]
    assert (sync["refusal"], sync["residual_ns"]) == ("", 0)
    assert sync["work_per_operation"]["flushes"] >= 1
    assert any(name.startswith("jbd2/") for name in found["at_drive_ns"])
    assert Path(found["report"]).is_file()
    # what is stored gives the same answer, to the last digit
    assert explain(found["directory"]) == found


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize(
    ("engine", "more", "names"),
    [
        ("io_uring", (), {"io_uring write": SYNCS, "io_uring read": SYNCS}),
        ("io_uring", ("--registerfiles=1", "--sqthread_poll=1"), {"io_uring write": SYNCS, "io_uring read": SYNCS}),
        ("io_uring", ("--registerfiles=1", "--nrfiles=2"), {}),
        ("libaio", (), {"aio write": SYNCS, "aio read": SYNCS}),
    ],
)
def test_what_is_submitted_is_a_call_until_it_completes(
    explain: Explain, drivelab: Drivelab, mounted: Path, engine: str, more: tuple[str, ...], names: dict[str, int]
) -> None:
    job = [
        "--name=a",
        "--rw=randrw",
        "--bs=4k",
        "--filesize=1m",
        f"--number_ios={2 * SYNCS}",
        "--iodepth=8",
        "--thinktime=5ms",
    ]
    where = [f"--directory={mounted}", f"--ioengine={engine}", "--direct=1", "--norandommap", "--time_based=0", *more]
    mix = ["--randseed=1", "--size=100m", "--output-format=json", "--output=/dev/null"]
    words = ("--path", str(mounted), "--command", "--", "fio", *job, *where, *mix)
    if not names:
        answer = drivelab.run("explain", *words)
        told = " ".join((answer.stdout + answer.stderr).split())
        assert "registered files that the kernel does not tell apart" in told
        return
    found = explain(*words)
    told = {name: call["count"] for name, call in calls_of(found).items() if name in names}
    assert sum(told.values()) == 2 * SYNCS
    assert told.keys() == names.keys()
    assert_sums(found)
    for name in names:
        call = calls_of(found)[name]
        # each waits for the disk, or for the loop device above it
        assert call["parts_ns"]["device"] + call["parts_ns"]["layers"] > 0
    rows = pq.read_table(Path(found["directory"]) / "calls.parquet")
    submitted = [row for row in rows.to_pylist() if row["call"] in names]
    assert {row["size_bytes"] for row in submitted} == {4096}
    commands = pq.read_table(Path(found["directory"]) / "events.parquet").to_pylist()
    charged = {bio["operation_index"] for bio in commands if bio["kind"] == "bio"}
    mine = {place for place, row in enumerate(rows["call"].to_pylist()) if row in names}
    assert mine <= charged, "each of them had the disk do something"
    # none of them flushes; what the journal flushes meanwhile, and past the end, delays no more than all in flight
    flushes = [row for row in commands if row["kind"] == "bio" and row["class"] in ("flush", "fua_write")]
    over_ns = max(row["ended_ns"] or row["queued_ns"] for row in commands if row["kind"] == "bio")
    flushed_ns = sum((row["ended_ns"] or over_ns) - row["queued_ns"] for row in flushes)
    assert sum(calls_of(found)[name]["parts_ns"]["flush"] for name in names) <= 8 * flushed_ns


@pytest.mark.parametrize("by", ["--pid", "--path"])
def test_a_thread_of_a_child_that_runs_already_is_followed_to_its_end(
    drivelab: Drivelab, mounted: Path, by: str
) -> None:
    file = mounted / "log"
    writer = start_writer(file)
    assert writer.stdin is not None
    assert writer.stdout is not None
    pid = writer.stdout.readline().strip()
    following = drivelab.start("explain", "--json", by, pid if by == "--pid" else str(file))
    wait_for_line(following, "following ")
    writer.stdin.write("go\n")
    writer.stdin.flush()
    writer.stdin.write("end\n")
    writer.communicate()
    out, err = following.communicate()
    assert following.returncode == 0, err
    found = json.loads(out)
    call = calls_of(found)["fdatasync"]
    assert call["count"] == SYNCS
    assert found["slowest"][0]["file"] == str(file)
    assert_sums(found)
    assert writer.returncode == 0


def test_several_processes_are_followed_together(explain: Explain, mounted: Path) -> None:
    files = [mounted / "first", mounted / "second"]
    programs = [subprocess.Popen([sys.executable, "-c", BUSY, str(file)]) for file in files]
    try:
        for file in files:
            while not file.exists():
                pass
        named = [word for one in programs for word in ("--pid", str(one.pid))]
        found = explain(*named, "--runtime", "1s")
        rows = pq.read_table(Path(found["directory"]) / "calls.parquet")
        assert set(rows["file"].to_pylist()) == set(map(str, files))
        assert set(rows["process"].to_pylist()) == {one.pid for one in programs}
        # both are called python, and that once
        assert "+" not in found["program"]
    finally:
        for one in programs:
            one.kill()
            one.wait()


# a bio is nearly always under way when its tracing begins
BUSY = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
place = 0
while True:
    os.pwrite(descriptor, b"x" * 4096, place % 1000 * 4096)
    os.fdatasync(descriptor)
    place += 1
"""


def test_what_is_under_way_when_following_begins_is_charged_to_nothing(explain: Explain, mounted: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", BUSY, str(mounted / "log")])
    try:
        for _ in range(5):
            found = explain("--pid", str(program.pid), "--path", str(mounted), "--runtime", "500ms")
            told = calls_of(found)
            assert "not known" not in found["answer"]
            # to the page cache: a drive that works for it does so for a bio that had ended; back it may wait its turn
            buffered = told["pwrite64"]["parts_ns"]
            assert buffered["fs_in"] >= 0.99 * (sum(buffered.values()) - buffered["return"])
            synced = told["fdatasync"]["parts_ns"]
            assert 0 < synced["flush"] < sum(synced.values())
    finally:
        program.kill()
        program.wait()


@pytest.mark.parametrize("source", ["bpf", "events"])
def test_lost_events_void_the_calls_that_they_touch(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    monkeypatch.setattr(f"drivelab.run.following.calls_by_{source}.buffer_bytes", lambda _cpus: 8192)
    if source == "events":
        monkeypatch.setattr("drivelab.run.following.calls_by_bpf.CallProbe", Mock(side_effect=PermissionError))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    # bursts that overrun the buffer, with pauses in which it is read: some calls are lost, and some are not
    writes = f"import os, time; f = os.open({str(mounted / 'log')!r}, os.O_WRONLY | os.O_CREAT)\n"
    writes += "for n in range(20000): os.pwrite(f, b'x', 0), n % 2000 or time.sleep(0.05)\nos.fsync(f)"
    words = ["--path", str(mounted), "--json", "--command", "--", sys.executable, "-c", writes]
    assert main.run(["explain", *words]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["lost_events"] > 0
    assert found["calls_trace"]["gaps"] > 0
    assert found["answer"].startswith("Of the ")
    # what none was lost of is answered all the same
    assert "not known" not in found["answer"]
    assert 0 < calls_of(found)["pwrite64"]["count"] < 20000
    assert_sums(found)


def test_a_terminal_is_told_the_calls_of_the_last_seconds(drivelab: Drivelab, mounted: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", BUSY, str(mounted / "log")])
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "drivelab", "explain", "--pid", str(program.pid), "--path", str(mounted)]
    following = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=drivelab.environment, text=True)
    os.close(theirs)
    try:
        shown = b""
        while shown.count(b"time in it") < 2:
            shown += os.read(ours, 4096)
        lines = shown.decode().replace("\r", "").split("\n")
        assert any(re.match(r"fdatasync +[\d.]+ ", line) for line in lines)
        assert any(re.search(r"the slowest: [\d.]+ .?s [a-z0-9]+ of /", line) for line in lines)
        # what is drawn has to be read, or it could not end
        following.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):
            while os.read(ours, 4096):
                pass
        out, _ = following.communicate()
        assert following.returncode == 0
        assert re.search(r"fdatasync calls \(\d+ % of its time in calls\) took", " ".join(out.split()))
        assert len(out.splitlines()) <= 30
    finally:
        os.close(ours)
        program.kill()
        program.wait()


def test_a_container_is_followed_by_its_control_group(explain: Explain, mounted: Path, tmp_path: Path) -> None:
    (groups := tmp_path / "groups").mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", str(groups)], check=True)
    identity = os.urandom(32).hex()
    (group := groups / f"docker-{identity}.scope").mkdir()
    # in a file system of its own, under a name that is another one outside
    enter = f"echo $$ >{group}/cgroup.procs; mount --bind {mounted} /mnt"
    script = f"{enter}; exec {sys.executable} -c '{BUSY}' /mnt/log"
    program = subprocess.Popen(["unshare", "--mount", "sh", "-c", script])
    try:
        while not (mounted / "log").exists():
            pass
        found = explain("--container", identity[:12], "--runtime", "1s")
        assert found["program"] == identity[:12]
        assert calls_of(found)["fdatasync"]["count"] > 0
        assert found["slowest"][0]["file"].endswith("/log")
    finally:
        program.kill()
        program.wait()
        group.rmdir()
        subprocess.run(["umount", str(groups)], check=True)


def test_a_file_behind_standard_output_is_followed(explain: Explain, mounted: Path) -> None:
    copy = ["dd", "if=/dev/zero", f"of={mounted}/of", "bs=4k", "count=2000", "oflag=dsync"]
    told = calls_of(explain("--path", str(mounted), "--command", "--", *copy))
    assert told["durable write"]["count"] >= 1900, "dd copies its file's descriptor to 1"


def test_how_the_command_ended_is_said(drivelab: Drivelab, mounted: Path) -> None:
    writer = (
        "import os; f = os.open('log', os.O_WRONLY | os.O_CREAT); [os.fsync(f) for _ in range(50)]; raise SystemExit(7)"
    )
    script = f"import os; os.chdir({str(mounted)!r}); {writer}"
    told = drivelab.run("explain", "--path", str(mounted), "--command", "--", sys.executable, "-c", script)
    assert told.returncode == 0, told.stderr
    assert " ended with status 7." in told.stdout


def test_ctrl_c_ends_following_and_not_the_program(drivelab: Drivelab, mounted: Path) -> None:
    writer = start_writer(mounted / "log", 10**6)
    assert writer.stdout is not None
    pid = writer.stdout.readline().strip()
    following = drivelab.start("explain", "--json", "--pid", pid, "--path", str(mounted))
    wait_for_line(following, "following ")
    assert writer.stdin is not None
    writer.stdin.write("go\n")
    writer.stdin.flush()
    wait_for_size(mounted / "log", 100 * SYNCS)
    following.send_signal(signal.SIGINT)
    out, err = following.communicate()
    assert following.returncode == 0, err
    assert calls_of(json.loads(out))["fdatasync"]["count"] > 0
    assert writer.poll() is None
    assert instances_left() == []
    os.killpg(writer.pid, signal.SIGKILL)
    writer.communicate()


def test_joining_many_calls_is_told_and_an_interruption_leaves_nothing(drivelab: Drivelab, mounted: Path) -> None:
    reads = f"import os; f = os.open({str(mounted / 'log')!r}, os.O_RDWR | os.O_CREAT); os.write(f, b'x')\n"
    reads += "for _ in range(300_000): os.pread(f, 1, 0)\nos.fsync(f)"
    following = drivelab.start("explain", "--path", str(mounted), "--command", "--", sys.executable, "-c", reads)
    wait_for_line(following, "joining 300 ")
    following.send_signal(signal.SIGINT)
    told = following.communicate()[1]
    assert following.returncode == 128 + signal.SIGINT
    assert re.search(r"interrupted while joining 300 \d+ calls .*: nothing is kept", told)
    assert list(drivelab.runs.iterdir()) == []


def wait_for_size(path: Path, size_bytes: int) -> None:
    """Wait until a file has grown so far."""
    while path.stat().st_size < size_bytes:
        pass


def test_nothing_is_left_after_a_kill(drivelab: Drivelab, mounted: Path) -> None:
    writer = start_writer(mounted / "log")
    assert writer.stdout is not None
    pid = writer.stdout.readline().strip()
    following = drivelab.start("explain", "--pid", pid, "--path", str(mounted))
    wait_for_line(following, "following ")
    following.kill()
    following.communicate()
    assert (restored := drivelab.run("restore")).returncode == 0, restored.stderr
    assert (instances_left(), list(drivelab.runs.iterdir())) == ([], [])
    writer.communicate("go\nend\n")
    assert writer.returncode == 0


@pytest.mark.needs_tool("setpriv")
def test_a_process_whose_files_are_hidden_is_not_said_to_have_none(drivelab: Drivelab, mounted: Path) -> None:
    writer = start_writer(mounted / "log")
    assert writer.stdout is not None
    pid = writer.stdout.readline().strip()
    without = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")
    command = [*without, sys.executable, "-m", "drivelab", "explain", "--pid", pid]
    answer = subprocess.run(command, capture_output=True, text=True, env=drivelab.environment)
    assert answer.returncode != 0
    assert "may not be looked at" in answer.stderr
    assert "CAP_SYS_PTRACE" in answer.stderr
    writer.communicate("go\nend\n")
