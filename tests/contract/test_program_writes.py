"""The trials that stand for a program issue the calls that were traced, on a file in the state that it had."""

from __future__ import annotations

import itertools
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
from drivelab.model.workload import Pacing, TargetRange, Workload
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.program_trials import log_pattern
from drivelab.run.engine import run_workload

LOGS = {name: program for name, program in PROGRAMS.items() if not program.write.is_behind_journal}
COUNT = 6
KIB = 1024
# sizes and offsets, as SQLite 3.40.1 was traced
JOURNAL = ((512, 0), (4, 512), (4096, 516), (4, 4612), (4, 4616), (4096, 4620), (4, 8716))


def on_file(pattern: WorkloadPattern, path: Path) -> Workload:
    return pattern.on(TargetRange(path=str(path), size_bytes=pattern.file_size, create=True), seed=1)


@pytest.mark.parametrize("program", LOGS.values(), ids=list(LOGS))
def test_a_trial_issues_what_was_traced(program: Program, tmp_path: Path) -> None:
    path, write = tmp_path / "log", program.write
    pattern = log_pattern(program, 1 << 40, count=COUNT, record_ios=True)
    assert pattern.pacing == Pacing(think_ns=round(program.own.one_ns))
    records = run_workload(on_file(pattern, path)).records
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
@pytest.mark.parametrize(("need", "looks"), [("zookeeper", COUNT), ("etcd", 0)])
def test_attributes_are_asked_for_before_a_write_where_the_program_does(need: str, looks: int, tmp_path: Path) -> None:
    asked = on_file(log_pattern(PROGRAMS[need], 1 << 40, count=COUNT), tmp_path / "log").model_dump_json()
    code = f"from drivelab.model.workload import Workload as W; from drivelab.run.engine import run_workload as run\n\
run(W.model_validate_json({asked!r}))"
    output = tmp_path / "calls"
    words = ("strace", "-f", "-y", "-qq", "-s", "0", "-e", "trace=fstat,newfstatat,pwrite64", "-o", str(output))
    subprocess.run((*words, sys.executable, "-c", code), check=True, capture_output=True)
    calls = [line.split()[1].split("(")[0] for line in output.read_text().splitlines() if f"<{tmp_path}/log" in line]
    pairs = [pair for pair in itertools.pairwise(calls) if pair[1] == "pwrite64" and pair[0] != "pwrite64"]
    assert calls.count("pwrite64") == COUNT
    assert len(pairs) == looks


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
    run_workload(on_file(log_pattern(program, 1 << 40, count=1), path))
    # reserved blocks would read as zeros
    assert any(path.read_bytes()[-write.size_bytes :])
    assert os.stat(path).st_size == write.file_bytes
