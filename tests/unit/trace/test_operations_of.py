"""Operations from the engine's records: which calls are one operation, and from when to when."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.workload import Durability, TargetRange, Workload
from drivelab.trace.operations_of import DURABLE_WRITE, READ, SYNC, WRITE, operations_of

Row = tuple[int, int, int, int, int]


def workload(method: str = "fdatasync", *, depth: int = 1, every: int = 1, backend: str = "sync") -> Workload:
    durability = Durability.model_validate({"method": method, "every_writes": every})
    target = TargetRange(path="/dev/sdx")
    return Workload.model_validate(
        {"target": target, "queue_depth": depth, "durability": durability, "backend": backend}
    )


def records(*rows: Row, submission_ns: int = 0, failed: tuple[int, ...] = ()) -> pa.Table:
    """Rows of job, operation, issue, offset, total latency."""
    job, operation, issue, offset, total = (list(column) for column in zip(*rows, strict=True))
    return pa.table(
        {
            "job": pa.array(job, pa.uint16()),
            "operation": pa.array(operation, pa.uint8()),
            "issue_ns": issue,
            "offset_bytes": offset,
            "size_bytes": pa.array([4096] * len(rows), pa.int32()),
            "submission_latency_ns": pa.array([submission_ns] * len(rows), pa.int32()),
            "total_latency_ns": total,
            "result": pa.array([-5 if row in failed else 4096 for row in range(len(rows))], pa.int32()),
        }
    )


def spans(table: pa.Table) -> list[tuple[int, int, int]]:
    return [(row["operation"], row["start_ns"], row["end_ns"]) for row in table.to_pylist()]


def test_a_write_and_its_sync_call_are_one_durable_write() -> None:
    found = operations_of(
        records((0, WRITE, 100, 0, 20), (0, SYNC, 120, 0, 200), (0, WRITE, 330, 4096, 25), (0, SYNC, 354, 4096, 90)),
        {0: 77},
        workload(),
    )
    assert spans(found) == [(DURABLE_WRITE, 100, 320), (DURABLE_WRITE, 330, 444)]
    first = found.to_pylist()[0]
    assert (first["thread"], first["submitted_ns"], first["is_synchronous"], first["is_durable"]) == (
        77,
        320,
        True,
        True,
    )


def test_of_several_in_flight_at_one_place_the_sync_call_belongs_to_the_write_that_had_just_ended() -> None:
    rows = records(
        (0, WRITE, 100, 0, 50),
        (0, WRITE, 110, 0, 90),
        (0, SYNC, 200, 0, 10),
        (0, SYNC, 150, 0, 100),
        (0, WRITE, 90, 4096, 400),
        submission_ns=7,
    )
    found = operations_of(rows, {0: 77}, workload(depth=4, backend="uring"))
    assert spans(found) == [(WRITE, 90, 490), (DURABLE_WRITE, 100, 250), (DURABLE_WRITE, 110, 210)]
    assert found["submitted_ns"].to_pylist() == [97, 107, 117]
    assert not any(found["is_synchronous"].to_pylist())


def test_one_sync_call_for_several_writes_stays_an_operation_of_its_own() -> None:
    rows = records((0, WRITE, 100, 0, 20), (0, WRITE, 120, 4096, 20), (0, SYNC, 140, 4096, 60))
    found = operations_of(rows, {0: 77}, workload(every=2))
    assert spans(found) == [(WRITE, 100, 120), (WRITE, 120, 140), (SYNC, 140, 200)]
    assert found["is_durable"].to_pylist() == [False, False, True]


def test_what_failed_is_no_durable_write() -> None:
    rows = records((0, WRITE, 100, 0, 20), (0, SYNC, 120, 0, 60), failed=(1,))
    assert spans(operations_of(rows, {0: 77}, workload())) == [(WRITE, 100, 120), (SYNC, 120, 180)]


def test_jobs_are_kept_apart_and_operations_stand_in_the_order_of_their_start() -> None:
    rows = records((1, WRITE, 105, 0, 20), (1, SYNC, 125, 0, 60), (0, WRITE, 100, 0, 20), (0, SYNC, 120, 0, 60))
    found = operations_of(rows, {0: 77, 1: 78}, workload())
    assert [(row["job"], row["thread"], row["start_ns"]) for row in found.to_pylist()] == [(0, 77, 100), (1, 78, 105)]


@pytest.mark.parametrize(("method", "is_durable"), [("o_dsync", True), ("rwf_dsync", True), ("none", False)])
def test_a_write_with_a_flag_is_durable_when_it_ends(method: str, is_durable: bool) -> None:
    found = operations_of(records((0, WRITE, 100, 0, 20), (0, READ, 120, 0, 20)), {0: 77}, workload(method))
    assert found["operation"].to_pylist() == [WRITE, READ]
    assert found["is_durable"].to_pylist() == [is_durable, False]


def test_with_one_in_flight_the_thread_waits_whatever_issues_the_io() -> None:
    rows = records((0, READ, 100, 0, 20), submission_ns=5)
    assert operations_of(rows, {0: 77}, workload("none", backend="uring"))["is_synchronous"].to_pylist() == [True]
    deep = operations_of(rows, {0: 77}, workload("none", depth=8), backend="uring")
    assert deep["is_synchronous"].to_pylist() == [False]


def test_no_records_are_no_operations() -> None:
    assert operations_of(records((0, READ, 1, 0, 1)).slice(0, 0), {}, workload()).num_rows == 0


@pytest.mark.provokes("B910")
def test_a_job_without_a_thread_is_named() -> None:
    with pytest.raises(DrivelabError, match="job 3") as caught:
        operations_of(records((3, READ, 100, 0, 20)), {0: 77}, workload())
    assert caught.value.code == "B910"
