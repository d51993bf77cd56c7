"""The trials that stand for a program issue the calls that were traced, on a file in the state that it had."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drivelab.model.program import MIB, Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.trace import OPERATION_NAMES
from drivelab.model.workload import Limits, Pacing
from drivelab.plan.program_trials import log_workload
from drivelab.run.engine import run_workload

LOGS = {name: program for name, program in PROGRAMS.items() if not program.write.is_behind_journal}
COUNT = 6
KIB = 1024
# sizes and offsets, as SQLite 3.40.1 was traced
JOURNAL = ((512, 0), (4, 512), (4096, 516), (4, 4612), (4, 4616), (4096, 4620), (4, 8716))


@pytest.mark.parametrize("program", LOGS.values(), ids=list(LOGS))
def test_a_trial_issues_what_was_traced(program: Program, tmp_path: Path) -> None:
    path, write = tmp_path / "log", program.write
    workload = log_workload(program, 1 << 40, exclusive=False, interval_ns=50_000_000)
    target = workload.target.model_copy(update={"path": str(path)})
    limited = {"target": target, "limits": Limits(count=COUNT), "record_ios": True}
    assert workload.pacing == Pacing(think_ns=round(program.own.one_ns))
    records = run_workload(workload.model_copy(update=limited)).records
    assert records is not None
    issued = [(OPERATION_NAMES[row["operation"]], row["offset_bytes"]) for row in records.to_pylist()]
    step = {"same": 0, "sequential": write.size_bytes}[write.access]
    assert issued == [(call, number * step) for number in range(COUNT) for call in ("write", "sync")]
    assert set(records.column("size_bytes").to_pylist()) == {write.size_bytes}
    size, used = path.stat().st_size, path.stat().st_blocks * 512
    if write.file_state == "append":
        assert size == COUNT * write.size_bytes
    else:
        assert size == write.file_bytes
        assert (used < 64 * KIB) == (write.file_state == "sparse")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: apt install strace")
def test_a_commit_behind_a_journal_makes_the_calls_that_were_traced(tmp_path: Path) -> None:
    output, names = tmp_path / "calls", "openat,pwrite64,fdatasync,fsync,unlinkat"
    words = (sys.executable, "-m", "drivelab", "io", str(tmp_path), "--operation", "update", "--files", "1")
    more = ("--file-size", "1MiB", "--durability", "fdatasync", "--sync-directory", "--count", "3")
    traced = ("strace", "-f", "-y", "-qq", "-s", "0", "-e", f"trace={names}", "-o", str(output))
    subprocess.run((*traced, *words, *more), check=True, capture_output=True)
    text = output.read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"(\w+)\(\d+<[^>]*/files(?:/\w+?(J?))?>(?:, \"\"\.\.\., (\d+), (\d+))?", text)
    calls = [call for call in found if call[0] not in ("openat", "unlinkat")]
    journal = [("pwrite64", "J", str(size), str(offset)) for size, offset in JOURNAL]
    pages = [("pwrite64", "", "4096", offset) for offset in ("0", str(MIB - 4096))]
    of_journal, of_file = ("fdatasync", "J", "", ""), ("fdatasync", "", "", "")
    commit = [*journal, of_journal, ("fsync", "", "", ""), ("pwrite64", "J", "12", "0"), of_journal, *pages, of_file]
    # before them the file is made
    assert calls[1:] == 3 * commit
    assert len(re.findall(r"unlinkat\(.*/files>, \"\w+J\", 0\)", text)) == 3


def test_a_log_that_is_gone_over_was_written_before(tmp_path: Path) -> None:
    program = PROGRAMS["postgres"]
    path, write = tmp_path / "log", program.write
    workload = log_workload(program, 1 << 40, exclusive=False, interval_ns=50_000_000)
    target = workload.target.model_copy(update={"path": str(path)})
    run_workload(workload.model_copy(update={"target": target, "limits": Limits(count=1)}))
    # reserved blocks would read as zeros
    assert any(path.read_bytes()[-write.size_bytes :])
    assert os.stat(path).st_size == write.file_bytes
