"""Operations joined with recordings: exact sums, exact counts, and what cannot belong together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from block_trace import META, SYNC, WRITE, BlockTrace, D, Q
from drivelab.model.errors import DrivelabError
from drivelab.model.trace import PARTS
from drivelab.store.columns import EVENT_COLUMNS, OPERATION_COLUMNS, arrow_schema
from drivelab.trace.call_columns import AWAKE, SLEEP_UNKNOWN, SLEPT
from drivelab.trace.join import JoinedTrace, join_trace
from drivelab.trace.operations_of import DURABLE_WRITE
from drivelab.trace.operations_of import WRITE as PLAIN_WRITE

RECORDINGS = Path(__file__).resolve().parents[2] / "golden" / "blktrace"
MANIFEST = json.loads((RECORDINGS / "manifest.json").read_text())
CASES = ("raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1")
# device, flush and everything else in us, as measured when the recordings were made
MEANS_US = {
    "raw_over1": (34, 157, 126),
    "ext4_append1": (137, 684, 319),
    "xfs_append1": (90, 321, 203),
    "wt_raw_over1": (26, 0, 74),
}
LOOP0 = 7 << 20


def user_operations(case: str) -> pa.Table:
    """The program's own log as operations."""
    first, *lines = (RECORDINGS / case / "user_ops.txt").read_text().splitlines()
    thread = int(first.removeprefix("#pid "))
    numbers = np.array([line.split() for line in lines], dtype=np.int64)
    count = len(lines)
    return pa.table(
        {
            "job": np.zeros(count, dtype=np.uint16),
            "thread": np.full(count, thread, dtype=np.int32),
            "operation": np.full(count, DURABLE_WRITE, dtype=np.uint8),
            "start_ns": numbers[:, 1],
            "submitted_ns": numbers[:, 3],
            "end_ns": numbers[:, 3],
            "offset_bytes": np.zeros(count, dtype=np.int64),
            "size_bytes": np.ones(count, dtype=np.int32),
            "is_synchronous": np.ones(count, dtype=bool),
            "is_durable": np.ones(count, dtype=bool),
        }
    )


def joined(case: str, **options: Any) -> JoinedTrace:
    return join_trace([RECORDINGS / case], user_operations(case), **options)


def total(operations: pa.Table, column: str) -> int:
    return int(operations[column].to_numpy().sum())


@pytest.mark.parametrize("case", CASES)
def test_the_parts_of_every_operation_sum_to_its_latency(case: str) -> None:
    operations = joined(case).operations
    parts = {part: operations[f"{part}_ns"].to_numpy() for part in PARTS}
    assert all((values >= 0).all() for values in parts.values())
    assert (sum(parts.values()) == operations["latency_ns"].to_numpy()).all()
    mean_us = operations["latency_ns"].to_numpy().mean() / 1000
    assert mean_us == pytest.approx(MANIFEST[case]["io_truth"]["mean_op_us"], abs=0.0005)
    device_us, flush_us = (parts[part].mean() / 1000 for part in ("device", "flush"))
    assert (device_us, flush_us, mean_us - device_us - flush_us) == pytest.approx(MEANS_US[case], abs=0.6)


@pytest.mark.parametrize("case", CASES)
def test_the_work_of_the_operations_is_what_was_counted_in_their_windows(case: str) -> None:
    truth = MANIFEST[case]["io_truth"]
    found = joined(case)
    assert found.operations.num_rows == truth["ops"]
    expected = {
        "device_writes": truth["write_requests"],
        "bytes_written": truth["write_bytes"],
        "flushes": truth.get("device_flushes", 0),
        "fua_writes": truth.get("fua_bios", 0),
        "preflush_writes": truth.get("preflush_bios", 0),
        "journal_bytes": truth.get("meta_write_bytes", 0),
        "bios": truth["write_bios"] + truth.get("read_bios", 0) + truth.get("flush_bios", 0),
    }
    assert {column: total(found.operations, column) for column in expected} == expected
    bios = found.events.filter(pa.compute.equal(found.events["kind"], "bio")).to_pylist()
    thread = found.operations["thread"][0].as_py()
    own = [bio for bio in bios if bio["pid"] == thread and bio["operation_index"] >= 0]
    windows = user_operations(case).to_pylist()
    inside = [
        bio
        for bio in own
        if windows[bio["operation_index"]]["start_ns"] <= bio["queued_ns"] < windows[bio["operation_index"]]["end_ns"]
    ]
    assert len(inside) == truth["own_Q_inside_own_op_window"] == truth["own_Q"]


def test_the_tables_have_the_columns_that_are_stored() -> None:
    found = joined("raw_over1")
    assert found.operations.schema.names == [column.name for column in OPERATION_COLUMNS]
    assert found.operations.cast(arrow_schema(OPERATION_COLUMNS, nullable=False)).num_rows == 1000
    stored = arrow_schema(EVENT_COLUMNS, nullable=True)
    assert [(field.name, field.type) for field in found.events.schema] == [(field.name, field.type) for field in stored]


def test_events_stand_in_time_and_say_nothing_where_a_station_never_came() -> None:
    events = joined("raw_over1").events.to_pylist()
    starts = [event["queued_ns"] if event["kind"] == "bio" else event["issued_ns"] for event in events]
    assert starts == sorted(starts)
    flush = next(event for event in events if event["kind"] == "command" and event["class"] == "flush")
    assert (flush["queued_ns"], flush["bytes"], flush["device"]) == (None, 0, "7:0")
    assert flush["issued_ns"] < flush["completed_ns"]


def test_a_whole_trace_leaves_nothing_open_and_no_operation_in_doubt() -> None:
    found = joined("ext4_append1")
    conduct = found.conduct
    assert (conduct.lost_events, conduct.unmatched_bios, conduct.foreign_bios, conduct.open_at_end) == (0, 0, 0, 0)
    assert conduct.partial_operations == 0


def test_with_lost_events_every_operation_is_in_doubt() -> None:
    found = joined("raw_over1", lost_events=2)
    assert (found.conduct.lost_events, found.conduct.partial_operations) == (2, 1000)


def test_a_journal_without_a_name_among_names_is_another_programs() -> None:
    thread = user_operations("ext4_append1")["thread"][0].as_py()
    named = joined("ext4_append1", names={thread: "writer"})
    assert named.conduct.foreign_bios == 3002
    journal = named.events["pid"].to_numpy()[named.events["operation_index"].to_numpy() < 0][0]
    called = joined("ext4_append1", names={thread: "writer", int(journal): "jbd2/loop0-8"})
    assert called.conduct.foreign_bios < 3002


def test_a_device_for_the_job_leaves_other_disks_out() -> None:
    assert joined("raw_over1", devices={0: LOOP0}).facts["bios"]["other_device"] == 0


@pytest.mark.provokes("B910")
def test_operations_without_a_column_are_refused() -> None:
    with pytest.raises(DrivelabError, match="is_durable") as caught:
        join_trace([RECORDINGS / "raw_over1"], user_operations("raw_over1").drop_columns(["is_durable"]))
    assert caught.value.code == "B910"


@pytest.mark.provokes("B911")
def test_a_recording_of_another_time_is_refused() -> None:
    with pytest.raises(DrivelabError, match="lie between the recording and the operations") as caught:
        join_trace([RECORDINGS / "raw_over1"], user_operations("wt_raw_over1"))
    assert caught.value.code == "B911"


@pytest.mark.provokes("B912")
def test_a_recording_of_another_disk_is_refused() -> None:
    with pytest.raises(DrivelabError, match="7:0, and the operations went to 8:0") as caught:
        joined("raw_over1", devices={0: 8 << 20})
    assert caught.value.code == "B912"


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "sda.blktrace.0").write_bytes(b"not a trace" * 100)
    with pytest.raises(DrivelabError, match=r"sda\.blktrace\.0") as caught:
        join_trace([tmp_path], user_operations("raw_over1"))
    assert caught.value.code == "B902"


def test_no_operations_leave_every_bio_to_nobody() -> None:
    found = join_trace([RECORDINGS / "raw_over1"], user_operations("raw_over1").slice(0, 0))
    assert found.operations.num_rows == 0
    assert found.facts["bios"]["charged"] == 0
    assert found.facts["bios"]["total"] == 2001


@pytest.mark.parametrize(
    ("sleep", "commit_ns", "waited_ns"),
    [
        # a commit of another program beside a copy of 28 us into memory
        (AWAKE, (-60_000, 200_000), 0),
        (AWAKE, (2_000, 20_000), 0),
        (SLEEP_UNKNOWN, (-60_000, 200_000), 0),
        (SLEEP_UNKNOWN, (-60_000, 65_000), 0),
        # one that the call waited for
        (SLEPT, (5_000, 18_000), 18_000),
        (SLEEP_UNKNOWN, (5_000, 18_000), 18_000),
    ],
)
def test_a_buffered_write_is_charged_a_commit_that_it_waited_for_and_no_other(
    sleep: int, commit_ns: tuple[int, int], waited_ns: int, tmp_path: Path
) -> None:
    begin_ns, (after_ns, length_ns) = 1_000_000, commit_ns
    trace = BlockTrace(cpus=1, device=LOOP0)
    trace.process(pid=9, name="jbd2/loop0-8", time_ns=900_000)
    trace.io(begin_ns + after_ns, 8, direction=WRITE | SYNC | META, issued_to_completed_ns=length_ns - 5_000, pid=9)
    trace.write(tmp_path, "loop0")
    row = {
        "job": 0,
        "thread": 70,
        "operation": PLAIN_WRITE,
        "start_ns": begin_ns,
        "offset_bytes": 0,
        "size_bytes": 4096,
    }
    row |= {"submitted_ns": begin_ns + 28_000, "end_ns": begin_ns + 28_000, "is_synchronous": 1, "is_durable": 0}
    told = {} if sleep == SLEEP_UNKNOWN else {"sleep": sleep}
    (found,) = join_trace([tmp_path], pa.Table.from_pylist([row | told])).operations.to_pylist()
    assert found["queue_ns"] + found["device_ns"] == waited_ns
    assert sum(found[f"{part}_ns"] for part in PARTS) == 28_000
    assert (found["bios"], found["device_writes"]) == ((1, 1) if waited_ns else (0, 0))


@pytest.mark.parametrize(("when", "open_at_end"), [("while the operations ran", 100), ("after them", 0)])
def test_bios_without_an_end_count_where_they_began_before_the_operations_ended(
    when: str, open_at_end: int, tmp_path: Path
) -> None:
    operations = user_operations("raw_over1").slice(0, 2)
    begin_ns, end_ns = operations["start_ns"][0].as_py(), operations["end_ns"][1].as_py()
    trace = BlockTrace(cpus=1, device=LOOP0)
    first_ns = begin_ns if when == "while the operations ran" else end_ns + 1_000_000
    for index in range(100):
        trace.add(first_ns + 10 * index, Q, 2048 * index, 1 << 20, WRITE | SYNC)
        trace.add(first_ns + 10 * index + 5, D, 2048 * index, 1 << 20, WRITE | SYNC)
    trace.write(tmp_path, "loop0")
    assert join_trace([tmp_path], operations).conduct.open_at_end == open_at_end
