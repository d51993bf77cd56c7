"""What ``drivelab explain --command, --pid, --path`` and ``--container`` refuse to follow, and in which words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]


def test_an_option_that_a_followed_program_has_no_use_for_is_refused(drivelab: Drivelab) -> None:
    told = drivelab.run("explain", "--pid", str(os.getpid()), "--erase", "sdb")
    assert told.returncode == 2
    assert "error[U004] --erase is for I/O that drivelab makes" in told.stderr


@pytest.mark.provokes("R442", "R443", "R444", "R445", "R440", "T101", "U004", "U021")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--pid", "4194304"), "R442", "there is no process"),
        (("--pid", "1", "--pid", "4194304"), "R442", "there is no process 4194304"),
        (("--pid", "2"), "R442", "a thread of the kernel"),
        (("--container", "no-such-container"), "R442", "no container or control group no-such-container has"),
        (("--path", "{folder}/nobody"), "R443", "no program has"),
        (("--path", "{folder}/missing"), "T101", "missing does not exist"),
        (("--path", "/dev/shm"), "R440", "no drive is known beneath"),
        (("--command", "--", "no-such-program"), "R444", "there is no program"),
        (("--path", "{folder}", "--command", "--", "true"), "R445", "made no read, write or sync call"),
        (("--command",), "U004", "without a command"),
        (("--pid", "1", "--command", "--", "true"), "U004", "two programs"),
        (("--pid", "1", "--container", "web"), "U004", "--pid and --container name two programs"),
        (("--pid", "1", "/"), "U004", "is a target"),
        ((), "U021", "nothing to explain"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    drivelab: Drivelab, mounted: Path, arguments: tuple[str, ...], code: str, words: str
) -> None:
    (mounted / "nobody").touch()
    answer = drivelab.run("explain", *(word.replace("{folder}", str(mounted)) for word in arguments))
    assert f"error[{code}]" in answer.stderr
    assert words in answer.stderr
    assert not list(drivelab.runs.glob("*-followed-*"))


@pytest.mark.provokes("R445")
def test_a_program_that_did_no_io_on_the_disk_is_sent_to_no_other(drivelab: Drivelab, mounted: Path) -> None:
    # it reads its libraries, for which it hardly waits
    answer = drivelab.run("explain", "--path", str(mounted), "--command", "--", "sh", "-c", "sleep 0.3; exit 7")
    assert answer.returncode == 4
    assert "sh made no read, write or sync call on loop" in answer.stderr
    assert "--path /" not in answer.stderr


@pytest.mark.provokes("R445")
@pytest.mark.needs_tool("fio")
def test_requests_whose_file_is_not_told_may_be_of_the_disk(drivelab: Drivelab, mounted: Path, tmp_path: Path) -> None:
    fio = ["fio", "--name=x", f"--directory={mounted}", "--size=4M", "--nrfiles=3", "--rw=randread", "--direct=1"]
    fio += ["--ioengine=io_uring", "--registerfiles", "--sqthread_poll", "--number_ios=50", f"--output={tmp_path}/told"]
    subprocess.run(fio, check=True)
    answer = drivelab.run("explain", "--path", str(mounted), "--command", "--", *fio)
    assert answer.returncode == 4
    assert "that could be explained: 50 requests of io_uring on registered files" in answer.stderr
    assert "--path /" not in answer.stderr


@pytest.mark.provokes("R442")
def test_a_thread_is_refused_and_its_process_named(drivelab: Drivelab) -> None:
    script = (
        "import sys, threading\nthreading.Thread(target=sys.stdin.read).start()\n"
        "print(threading.enumerate()[1].native_id, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        thread = program.stdout.readline().strip()
        answer = drivelab.run("explain", "--pid", thread)
        assert f"{thread} is a thread of process {program.pid}" in answer.stderr
        assert f"--pid {program.pid}" in answer.stderr
        program.communicate("")
