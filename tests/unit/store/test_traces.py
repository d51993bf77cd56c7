"""The trace of a trial is stored whole or not at all, small, and read back as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store import traces
from drivelab.store.read import open_run
from drivelab.store.write import RunWriter, create_run
from unit.store.made_traces import events, operations

TRIAL = "0001-small-write-raw-r1"
COUNT = 50


@pytest.fixture
def writer(tmp_path: Path) -> RunWriter:
    made = create_run(tmp_path / "runs", "explain", "x", datetime.now(UTC))
    made.write_run_json({})
    return made


def keep_trace(writer: RunWriter, trial: str = TRIAL, count: int = COUNT) -> tuple[pa.Table, pa.Table]:
    tables = operations(count), events(count)
    with writer.trace_sink(trial) as sink:
        (sink.recording / "loop0.blktrace.0").write_bytes(b"first")
        (sink.recording / "loop0.blktrace.1").write_bytes(b"second")
        sink.keep(*tables)
    return tables


def recording_of(writer: RunWriter) -> list[Path]:
    """The tracer's files of the trial, by processor."""
    return sorted((writer.directory / "recordings" / TRIAL).glob("*"))


def names_of(directory: Path) -> set[str]:
    folders = ("operations", "events", "recordings")
    return {str(path.relative_to(directory)) for name in folders for path in (directory / name).rglob("*")}


def test_tables_and_recording_come_back_as_they_were(writer: RunWriter, make_trial: Callable) -> None:
    kept = keep_trace(writer)
    writer.add_trial(*make_trial(TRIAL))
    run = open_run(writer.directory)
    assert run.traced_trials == (TRIAL,)
    assert (run.operations(TRIAL), run.events(TRIAL)) == kept
    assert [path.read_bytes() for path in recording_of(writer)] == [b"first", b"second"]


def test_two_thousand_operations_take_less_than_a_hundred_bytes_each(writer: RunWriter) -> None:
    keep_trace(writer, count=2000)
    stored = sum(path.stat().st_size for path in writer.directory.rglob("*.parquet"))
    assert stored < 2000 * 100


def test_a_trial_without_a_traced_pass_has_no_trace(writer: RunWriter, make_trial: Callable) -> None:
    writer.add_trial(*make_trial(TRIAL))
    run = open_run(writer.directory)
    assert run.traced_trials == ()
    assert (run.operations(TRIAL), run.events(TRIAL), recording_of(writer)) == (None, None, [])


def test_a_trace_of_a_trial_that_was_never_stored_is_nobodys(writer: RunWriter, make_trial: Callable) -> None:
    keep_trace(writer, "0002-in-flight-r1")
    writer.add_trial(*make_trial(TRIAL))
    assert open_run(writer.directory).traced_trials == ()


def fail_while_recording(writer: RunWriter, failure: BaseException) -> None:
    with writer.trace_sink(TRIAL) as sink:
        (sink.recording / "loop0.blktrace.0").write_bytes(b"half")
        raise failure


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError("gone")])
def test_what_is_not_kept_is_gone(writer: RunWriter, failure: BaseException) -> None:
    with pytest.raises(type(failure)):
        fail_while_recording(writer, failure)
    assert names_of(writer.directory) == set()


def test_an_earlier_attempt_at_the_trial_leaves_nothing(writer: RunWriter) -> None:
    keep_trace(writer)
    with writer.trace_sink(TRIAL) as sink:
        (sink.recording / "loop0.blktrace.0").write_bytes(b"again")
        sink.keep()
    left = {path for path in names_of(writer.directory) if "." in path}
    assert left == {f"recordings/{TRIAL}/loop0.blktrace.0"}
    assert recording_of(writer)[0].read_bytes() == b"again"


def test_the_next_writer_removes_what_a_killed_one_was_writing(writer: RunWriter) -> None:
    keep_trace(writer)
    writer.close()
    half = writer.directory / "recordings" / f".{TRIAL}.{os.getpid()}"
    half.mkdir()
    (half / "loop0.blktrace.0").write_bytes(b"half")
    for folder in ("operations", "events"):
        (writer.directory / folder / f".{TRIAL}.parquet.77").write_bytes(b"half")
    RunWriter(writer.directory).close()
    assert [name for name in names_of(writer.directory) if "/." in name] == []
    assert len(recording_of(writer)) == 2


def test_a_full_disk_is_told_of_and_leaves_no_tables(writer: RunWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(traces, "parquet_file", full)
    with pytest.raises(DrivelabError) as caught:
        keep_trace(writer)
    assert caught.value.code == "S502"
    assert open_run(writer.directory).operations(TRIAL) is None
    # the trial itself needs the room
    assert [name for name in names_of(writer.directory) if "blktrace" in name] == []


@pytest.mark.provokes("S506")
@pytest.mark.parametrize("damaged", [lambda rows: rows.drop_columns(["flush_ns"]), lambda _: events(COUNT)])
def test_a_table_with_other_columns_is_damaged(
    writer: RunWriter, make_trial: Callable, damaged: Callable[[pa.Table], pa.Table]
) -> None:
    kept, _ = keep_trace(writer)
    writer.add_trial(*make_trial(TRIAL))
    path = writer.directory / "operations" / f"{TRIAL}.parquet"
    pq.write_table(damaged(kept), path)
    with pytest.raises(DrivelabError) as raised:
        open_run(writer.directory).operations(TRIAL)
    assert raised.value.code == "S506"
    assert str(path) in raised.value.where
    assert "no column" in raised.value.what
