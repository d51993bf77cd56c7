"""Whether a latency ends durable is decided once: every table of a run says the same of the same trial."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.run_results import print_results
from drivelab.model.workload import Durability, Workload, ends_durable
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.report.gather import gather
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
TREE = {"file_count": 200}


def issuing(directory: Path, operation: str, asked: dict[str, Any]) -> StoredRun:
    """A stored run of one workload, whose trials issued something else."""
    shutil.copytree(RUNS / "ssd-latency-scratch", directory)
    (path,) = directory.rglob("trials.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    issued = "write" if operation in ("durable_write", "sync") else operation
    for row in rows:
        workload = json.loads(row["workload_json"])
        workload |= {"operations": [{"operation": issued}], "durability": asked}
        workload |= {"tree": TREE} if operation in ("create", "delete", "stat") else {}
        row |= {"operation": operation, "durability": asked["method"], "workload_json": json.dumps(workload)}
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    return open_run(directory)


@pytest.mark.parametrize(
    ("operation", "method", "more", "is_durable"),
    [
        ("durable_write", "fdatasync", {}, True),
        ("durable_write", "fdatasync", {"every_writes": 8}, True),
        ("durable_write", "sync_file_range", {}, False),
        ("write", "o_dsync", {}, True),
        ("write", "fdatasync", {"at_end": True}, False),
        ("write", "none", {}, False),
        ("read", "fdatasync", {}, False),
        ("create", "none", {"directory": True}, True),
        ("delete", "none", {"directory": True}, True),
        ("create", "fsync", {}, True),
        ("create", "fsync", {"at_end": True}, False),
        ("delete", "fsync", {}, False),
        ("stat", "fsync", {"directory": True}, False),
    ],
)
def test_trials_combinations_and_observations_agree(
    tmp_path: Path, operation: str, method: str, more: dict[str, Any], is_durable: bool
) -> None:
    asked = Durability(method=method, **more)  # type: ignore[arg-type]
    assert ends_durable(operation, asked.model_dump()) == is_durable
    run = issuing(tmp_path / "run", operation, asked.model_dump())
    answer = answer_of_run(run, SHOWN_METRICS)
    content = gather(run, answer)
    assert {trial.is_durable for trial in content.trials} == {is_durable}
    assert {one.is_durable for one in answer.combinations} == {is_durable}
    assert {one.is_durable for one in result_set_of(run, answer).observations} == {is_durable}
    workload = Workload.model_validate(content.trials[0].workload)
    assert workload.is_durable == is_durable


@pytest.mark.parametrize(("operation", "is_counted"), [("delete", True), ("stat", False)])
def test_terminal_shows_commands_of_operations_on_files_that_are_durable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], operation: str, is_counted: bool
) -> None:
    run = issuing(tmp_path / "run", operation, Durability(directory=True).model_dump())
    print_results(run)
    assert ("flushes" in capsys.readouterr().out) == is_counted


def test_what_is_imported_without_a_method_is_known_by_its_operation() -> None:
    assert [ends_durable(one, {}) for one in ("durable_write", "sync", "write", None)] == [True, True, False, False]


@pytest.mark.parametrize(("more", "is_durable"), [({}, True), ({"sync_every_writes": "end"}, False)])
def test_a_plan_counts_the_same_workloads_as_durable(more: dict[str, Any], is_durable: bool) -> None:
    pattern = WorkloadPattern(operation="write", durability="fdatasync", count=10, **more)
    assert pattern.is_durable == is_durable
    assert not WorkloadPattern(operation="read", durability="fdatasync", count=10).is_durable
