"""Continuing a run: one writer at a time, nothing forgotten, failed attempts kept apart, schema 1 taken over."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.place import TrialPlace
from drivelab.store.read import open_run
from drivelab.store.write import RunWriter, continue_run, create_run

NOW = datetime(2026, 1, 31, 12, 0, 5, tzinfo=UTC)
# made by the version that wrote schema 1, and never made again
SCHEMA_1 = Path(__file__).resolve().parents[2] / "golden" / "schema_1" / "check-hostile-names"
PYTHON = Path(__file__).resolve().parents[3] / "python"
HOLDS_THE_LOCK = """
import sys, time
from pathlib import Path
from drivelab.store.write import continue_run
writer = continue_run(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path: Path) -> RunWriter:
    made = create_run(tmp_path, "x", "y", NOW)
    made.write_run_json({"seed": 7, "plan": {"steps": []}})
    return made


def test_a_continued_run_keeps_what_it_knew(writer: RunWriter, make_trial: Callable) -> None:
    writer.add_trial(*make_trial("0001-x"))
    writer.add_journal("step done", step=1)
    writer.finish(status="interrupted", failures={"0002-x": "no"})
    after = continue_run(writer.directory)
    after.write_run_json({"status": "running"})
    after.add_trial(*make_trial("0002-x"))
    after.add_journal("step done", step=2)
    after.finish(failures={})
    run = open_run(writer.directory)
    assert (run.record.seed, run.record.status, run.record.failures) == (7, "complete", {})
    assert run.trial_names == ["0001-x", "0002-x"]
    assert len((writer.directory / layout.JOURNAL).read_text().splitlines()) == 2


def test_a_journal_line_that_was_cut_off_does_not_spoil_the_next(writer: RunWriter) -> None:
    writer.add_journal("step begun", step=1)
    writer.close()
    with (writer.directory / layout.JOURNAL).open("a") as journal:
        journal.write('{"utc": "2026-')
    continue_run(writer.directory).add_journal("step begun", step=2)
    lines = (writer.directory / layout.JOURNAL).read_text().splitlines()
    assert [json.loads(lines[number])["step"] for number in (0, 2)] == [1, 2]
    assert lines[1] == '{"utc": "2026-'


@pytest.mark.provokes("S507")
def test_a_run_has_one_writer_at_a_time(writer: RunWriter, make_trial: Callable) -> None:
    with pytest.raises(DrivelabError) as refusal:
        continue_run(writer.directory)
    assert refusal.value.code == "S507"
    assert str(writer.directory) in refusal.value.where
    writer.close()
    second = continue_run(writer.directory)
    with pytest.raises(DrivelabError) as refusal:
        writer.add_trial(*make_trial("0001-x"))
    assert refusal.value.code == "S507"
    second.finish()
    writer.add_trial(*make_trial("0001-x"))


@pytest.mark.provokes("S507")
def test_the_lock_ends_with_its_process(writer: RunWriter) -> None:
    writer.close()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK, str(writer.directory)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PYTHON)},
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(DrivelabError) as refusal:
            continue_run(writer.directory)
        assert refusal.value.code == "S507"
        process.send_signal(signal.SIGKILL)
        process.wait()
    continue_run(writer.directory)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_what_is_no_run_cannot_be_continued(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DrivelabError) as refusal:
        continue_run(tmp_path / name)
    assert refusal.value.code == "S504"
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_writer_that_cannot_begin_lets_others_write(writer: RunWriter) -> None:
    writer.close()
    run_json = (writer.directory / layout.RUN_JSON).read_text()
    (writer.directory / layout.RUN_JSON).write_text("{")
    with pytest.raises(DrivelabError) as failure:
        RunWriter(writer.directory)
    assert failure.value.code == "S506"
    (writer.directory / layout.RUN_JSON).write_text(run_json)
    RunWriter(writer.directory)


@pytest.mark.parametrize("is_finished", [False, True], ids=["going-on", "finished"])
def test_a_failed_attempt_is_kept_apart_and_leaves_the_name_free(
    writer: RunWriter, make_trial: Callable, is_finished: bool
) -> None:
    failed = TrialPlace(step=1, failure="R301: the drive vanished")
    writer.add_trial(*make_trial("0001-x", seed=1), place=failed)
    writer.add_trial(*make_trial("0002-x", seed=2), place=TrialPlace(step=2))
    writer.close()
    writer = continue_run(writer.directory)
    writer.add_trial(*make_trial("0001-x", seed=3), place=failed)
    assert open_run(writer.directory).completed_trials() == {"0002-x"}
    writer.add_trial(*make_trial("0001-x", seed=4), place=TrialPlace(step=1))
    if is_finished:
        writer.finish()
    run = open_run(writer.directory)
    assert run.completed_trials() == {"0001-x", "0002-x"}
    assert run.trial_names == ["0001-x", "0002-x"]
    assert run.failed_trials["trial"].to_pylist() == ["0001-x.failed1", "0001-x.failed2"]
    assert set(run.failed_trials["failure"].to_pylist()) == {"R301: the drive vanished"}
    assert set(run.trials["failure"].to_pylist()) == {""}
    for table in (run.intervals, run.histograms):
        assert set(table["trial"].to_pylist()) == {"0001-x", "0002-x"}
    (stored,), (measured,) = (m.histograms.values() for m in (run.measurement("0001-x"), make_trial(seed=4)[0]))
    assert np.array_equal(stored.bucket, measured.bucket)
    assert stored.sum_ns == measured.sum_ns


def test_the_single_ios_of_a_failed_attempt_go_with_it(writer: RunWriter, make_trial: Callable) -> None:
    with writer.record_sink("0001-x"):
        pass
    writer.add_trial(*make_trial("0001-x"), place=TrialPlace(failure="it failed"))
    run = open_run(writer.directory)
    assert run.ios("0001-x") is None
    assert run.ios("0001-x.failed1") is not None


def test_a_trial_cannot_be_stored_twice(writer: RunWriter, make_trial: Callable) -> None:
    writer.add_trial(*make_trial("0001-x"))
    writer.finish()
    after = continue_run(writer.directory)
    with pytest.raises(AssertionError, match="stored already"):
        after.add_trial(*make_trial("0001-x"))
    with pytest.raises(AssertionError, match="named as one that failed"):
        after.add_trial(*make_trial("0002-x.failed1"))


def unfinished_in_schema_1(directory: Path) -> Path:
    """That run as it was before it was finished: a folder of parts for each table, one file per trial."""
    shutil.copytree(SCHEMA_1, directory)
    run_json = json.loads((directory / layout.RUN_JSON).read_text())
    assert run_json["schema"] == 1
    (directory / layout.RUN_JSON).write_text(json.dumps(run_json | {"status": "running"}))
    for table in layout.TABLES:
        rows = pq.read_table(directory / table)
        folder = directory / table.removesuffix(".parquet")
        folder.mkdir()
        for name in rows["trial"].unique().to_pylist():
            pq.write_table(rows.filter(pc.equal(rows["trial"], name)), folder / f"{name}.parquet")
        (directory / table).unlink()
    return directory


def rows_of(directory: Path) -> list[list[dict]]:
    run = open_run(directory)
    intervals = run.intervals.drop_columns(["bucket", "bucket_count"])
    tables = [run.trials, intervals.sort_by([("trial", "ascending"), ("interval", "ascending")])]
    tables.append(
        run.histograms.sort_by([("trial", "ascending"), ("latency", "ascending"), ("operation", "ascending")])
    )
    return [table.to_pylist() for table in tables]


def test_a_run_of_schema_1_is_read() -> None:
    run = open_run(SCHEMA_1)
    assert run.run_json["schema"] == 1
    assert run.completed_trials() == set(run.trial_names) == {"sync-write-512", "sync-write-2300", "sync-write-4096"}
    assert set(run.trials["is_reference"].to_pylist()) == {False}
    assert set(run.trials["failure"].to_pylist()) == {""}
    assert set(run.intervals["trial"].to_pylist()) == set(run.histograms["trial"].to_pylist()) == set(run.trial_names)
    assert run.failed_trials.num_rows == 0


def test_an_unfinished_run_of_schema_1_is_read_like_a_finished_one(tmp_path: Path) -> None:
    assert rows_of(unfinished_in_schema_1(tmp_path / "run")) == rows_of(SCHEMA_1)


def test_in_schema_1_a_trial_without_its_row_never_happened(tmp_path: Path) -> None:
    directory = unfinished_in_schema_1(tmp_path / "run")
    (directory / "trials" / "sync-write-512.parquet").unlink()
    (directory / "trials" / ".sync-write-512.parquet.77").write_bytes(b"PAR1")
    run = open_run(directory)
    assert run.completed_trials() == {"sync-write-2300", "sync-write-4096"}
    assert set(run.intervals["trial"].to_pylist()) == {"sync-write-2300", "sync-write-4096"}


def test_in_schema_1_a_crash_between_joining_and_removing_doubles_nothing(tmp_path: Path) -> None:
    directory = unfinished_in_schema_1(tmp_path / "run")
    for table in layout.TABLES:
        shutil.copy(SCHEMA_1 / table, directory / table)
    assert rows_of(directory) == rows_of(SCHEMA_1)


@pytest.mark.parametrize("is_finished", [False, True], ids=["going-on", "finished"])
def test_a_run_of_schema_1_can_be_continued(tmp_path: Path, make_trial: Callable, is_finished: bool) -> None:
    directory = tmp_path / "run"
    if is_finished:
        shutil.copytree(SCHEMA_1, directory)
    else:
        unfinished_in_schema_1(directory)
    before = open_run(directory)
    interval_count = before.intervals.num_rows
    writer = continue_run(directory)
    # an older drivelab would overlook what is added
    assert open_run(directory).record == replace(before.record, schema=layout.SCHEMA)
    assert open_run(directory).completed_trials() == set(before.trial_names)
    measured, summary = make_trial("0009-x")
    writer.add_trial(measured, summary, place=TrialPlace(is_reference=True, started_utc="2027"))
    for _ in range(2):
        after = open_run(directory)
        assert after.completed_trials() == {*before.trial_names, "0009-x"}
        assert after.intervals.num_rows == interval_count + measured.intervals.num_rows
        assert after.trial("0009-x")["is_reference"] is True
        assert after.trial("sync-write-512")["is_reference"] is False
        writer.finish()
    assert not [path for path in directory.iterdir() if path.is_dir() and path.name != "ios"]
