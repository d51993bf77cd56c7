"""The trials that stand for a program issue the calls that were traced, on a file in the state that it had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivelab.model.program import MIB, LogWrite
from drivelab.model.programs import PROGRAMS
from drivelab.model.trace import OPERATION_NAMES
from drivelab.model.workload import Limits
from drivelab.plan.program_trials import log_workload
from drivelab.run.engine import run_workload

WRITES = [write for program in PROGRAMS.values() for write in program.writes]
COUNT = 6
KIB = 1024


@pytest.mark.parametrize("write", WRITES, ids=[write.trial for write in WRITES])
def test_a_trial_issues_what_was_traced(write: LogWrite, tmp_path: Path) -> None:
    path = tmp_path / "log"
    workload = log_workload(write, 1 << 40, exclusive=False, interval_ns=50_000_000)
    target = workload.target.model_copy(update={"path": str(path)})
    limited = {"target": target, "limits": Limits(count=COUNT), "record_ios": True}
    records = run_workload(workload.model_copy(update=limited)).records
    assert records is not None
    issued = [(OPERATION_NAMES[row["operation"]], row["offset_bytes"]) for row in records.to_pylist()]
    step = {"same": 0, "sequential": write.size_bytes, "strided": MIB // 2}[write.access]
    expected = []
    for number in range(COUNT):
        expected.append(("write", number * step))
        if (number + 1) % write.writes_per_sync == 0:
            expected.append(("sync", number * step))
    assert issued == expected
    assert set(records.column("size_bytes").to_pylist()) == {write.size_bytes}
    size, used = path.stat().st_size, path.stat().st_blocks * 512
    if write.file_state == "append":
        assert size == COUNT * write.size_bytes
    else:
        assert size == write.file_bytes
        assert (used < 64 * KIB) == (write.file_state == "sparse")


def test_a_log_that_is_gone_over_was_written_before(tmp_path: Path) -> None:
    (write,) = PROGRAMS["postgres"].writes
    path = tmp_path / "log"
    workload = log_workload(write, 1 << 40, exclusive=False, interval_ns=50_000_000)
    target = workload.target.model_copy(update={"path": str(path)})
    run_workload(workload.model_copy(update={"target": target, "limits": Limits(count=1)}))
    # reserved blocks would read as zeros
    assert any(path.read_bytes()[-write.size_bytes :])
    assert os.stat(path).st_size == write.file_bytes
