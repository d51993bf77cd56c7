"""Parts of a stored run: some columns of all trials, all rows of some, whatever files they lie in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from drivelab.store import compact, layout
from drivelab.store.place import TrialPlace
from drivelab.store.read import StoredRun, open_run
from drivelab.store.selection import reduced_rows, rows_of_trials, trial_columns
from drivelab.store.write import create_run

NAMES = [f"{number:04}-small-r1" for number in range(1, 8)]


@pytest.fixture(params=["log", "segments", "one file", "several row groups"])
def run(
    request: pytest.FixtureRequest, tmp_path: Path, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> StoredRun:
    """Seven trials, the second one tried twice, stored out of order in every form that a run can have."""
    if request.param == "segments":
        monkeypatch.setattr(compact, "LOG_TRIALS_MAX", 2)
    if request.param == "several row groups":
        monkeypatch.setattr(compact, "_ROW_GROUP_BYTES", 1)
        monkeypatch.setattr(compact, "LOG_TRIALS_MAX", 2)
    writer = create_run(tmp_path, "selection", "drive", datetime(2026, 1, 31, tzinfo=UTC))
    writer.write_run_json({})
    measured, summary = make_trial(NAMES[1], seed=99)
    failed = TrialPlace(step=2, failure="the drive failed an I/O")
    writer.add_trial(measured, summary, place=failed)
    for step in (2, 1, 3, 4, 5, 6, 7):
        measured, summary = make_trial(NAMES[step - 1], seed=step)
        writer.add_trial(measured, summary, place=TrialPlace(step=step, is_reference=step == 3))
    if request.param in ("one file", "several row groups"):
        writer.finish()
    writer.close()
    return open_run(writer.directory)


def test_chosen_columns_are_those_of_the_whole_table(run: StoredRun) -> None:
    rows = trial_columns(run, lambda field: field.name in ("is_reference", "total_latency_ns_p50"))
    assert set(rows.column_names) == {"trial", "step", "started_utc", "is_reference", "total_latency_ns_p50"}
    assert rows["trial"].to_pylist() == NAMES == run.trial_names
    for name in ("is_reference", "total_latency_ns_p50"):
        assert rows[name].to_pylist() == run.trials[name].to_pylist()


@pytest.mark.parametrize("table", layout.TABLES)
def test_the_rows_of_some_trials_are_all_of_theirs(run: StoredRun, table: str) -> None:
    chosen = [NAMES[0], NAMES[6]]
    whole = {layout.TRIALS: run.trials, layout.HISTOGRAMS: run.histograms, layout.INTERVALS: run.intervals}[table]
    rows = rows_of_trials(run, table, chosen)
    expected = [row for row in whole.to_pylist() if row["trial"] in chosen]
    key = sorted(rows.column_names)
    assert sorted(map(str, ([row[name] for name in key] for row in rows.to_pylist()))) == sorted(
        map(str, ([row[name] for name in key] for row in expected))
    )


def test_no_trials_have_no_rows(run: StoredRun) -> None:
    assert rows_of_trials(run, layout.INTERVALS, []).num_rows == 0
    assert rows_of_trials(run, layout.TRIALS, ["not there"]).num_rows == 0


def test_a_table_is_reduced_piece_by_piece(run: StoredRun) -> None:
    def counted(rows: pa.Table) -> dict[str, int]:
        return dict(zip(rows["trial"].to_pylist(), rows["count"].to_pylist(), strict=True))

    found: dict[str, int] = {}
    for part in reduced_rows(run, layout.HISTOGRAMS, counted):
        found |= part
    assert set(NAMES) <= set(found)
    # the attempt that failed is there too
    assert len(found) == len(NAMES) + 1
