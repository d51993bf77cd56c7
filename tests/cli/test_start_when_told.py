"""A workload that begins when the standard input says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

READ = ("--operation", "read")
IO = ("io", "--count", "200", "--start-when-told", "--json")


def started(target: Path, *options: str) -> subprocess.Popen[str]:
    """A workload that waits for its moment."""
    words = [sys.executable, "-m", "drivelab", *IO, *(options or READ), str(target)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, text=True, **pipes)  # type: ignore[call-overload]
    assert process.stderr is not None
    assert process.stderr.readline() == "ready to begin\n"
    return process


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(2**20))
    return path


def test_it_begins_at_the_moment_that_is_told(target: Path) -> None:
    process = started(target)
    moment = time.time_ns() + 300_000_000
    printed, _ = process.communicate(f"{moment}\n")
    told = json.loads(printed)["context"]["told_start"]
    assert told["asked_unix_ns"] == moment
    # never before; how long after is the scheduler's
    assert told["last_job_unix_ns"] >= told["first_job_unix_ns"] >= moment - 1_000_000
    assert abs(told["window_unix_ns"] - moment) < 1_000_000


def test_a_moment_that_is_over_is_now(target: Path) -> None:
    process = started(target)
    before = time.time_ns()
    printed, _ = process.communicate("1\n")
    assert json.loads(printed)["context"]["told_start"]["first_job_unix_ns"] >= before - 1_000_000


@pytest.mark.provokes("U050")
@pytest.mark.parametrize("word", ["", "soon\n"])
def test_nothing_is_issued_where_nobody_says_when(target: Path, word: str) -> None:
    process = started(target)
    printed, told = process.communicate(word)
    assert (process.returncode, printed) == (2, "")
    assert json.loads(told)["error"]["code"] == "U050"


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_file_that_was_laid_out_for_a_start_that_never_came_is_gone(tmp_path: Path, is_interrupted: bool) -> None:
    process = started(tmp_path / "new.bin", "--operation", "write", "--size", "1MiB")
    assert (tmp_path / "new.bin").stat().st_size == 2**20
    if is_interrupted:
        process.send_signal(signal.SIGINT)
        process.wait()
    printed, _ = process.communicate("")
    assert (process.returncode, printed) == (130 if is_interrupted else 2, "")
    assert list(tmp_path.iterdir()) == []
