"""What is stored is what was measured, whatever happens in between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.store import layout
from drivelab.store.place import TrialPlace
from drivelab.store.read import open_run
from drivelab.store.selection import trial_columns
from drivelab.store.write import RunWriter, create_run

NOW = datetime(2026, 1, 31, 12, 0, 5, tzinfo=UTC)
PLACE = TrialPlace(
    target="scratch-1GiB",
    step=1,
    block=1,
    repeat=1,
    started_utc="2026-01-31T12:00:06.000+00:00",
    asked={"filesystem": "ext4"},
    achieved={"filesystem": "ext4 rw,relatime"},
)
SLOW_WRITES = Finding("slow-writes", "warning", "writes are slow", "0001-small-write-raw-r1")


@pytest.fixture
def writer(tmp_path: Path) -> RunWriter:
    made = create_run(tmp_path / "runs", "ssd-latency", "Samsung 850 PRO 1234", NOW)
    made.write_run_json({"experiment": {"name": "ssd-latency"}})
    return made


def test_a_run_is_named_after_time_experiment_and_drive(writer: RunWriter) -> None:
    assert writer.directory.name == "20260131T120005Z-ssd-latency-samsung-850-pro-1234"


def test_two_runs_of_one_second_get_two_directories(writer: RunWriter) -> None:
    second = create_run(writer.directory.parent, "ssd-latency", "Samsung 850 PRO 1234", NOW)
    assert second.directory.name == f"{writer.directory.name}-2"


@pytest.mark.parametrize("is_finished", [False, True], ids=["going-on", "finished"])
def test_a_stored_trial_comes_back_as_it_was(writer: RunWriter, make_trial: Callable, is_finished: bool) -> None:
    measured, summary = make_trial()
    writer.add_trial(measured, summary, place=PLACE, findings=[SLOW_WRITES])
    if is_finished:
        writer.finish([SLOW_WRITES])
    run = open_run(writer.directory)
    assert run.trial_names == [measured.name]
    back = run.measurement(measured.name)
    assert (back.workload, back.engine, back.devices, back.context) == (
        measured.workload,
        measured.engine,
        measured.devices,
        measured.context,
    )
    for key, histogram in measured.histograms.items():
        stored = back.histograms[key]
        assert np.array_equal(stored.bucket, histogram.bucket)
        assert np.array_equal(stored.count, histogram.count)
        assert (stored.minimum_ns, stored.maximum_ns, stored.sum_ns) == (
            histogram.minimum_ns,
            histogram.maximum_ns,
            histogram.sum_ns,
        )
    columns = measured.intervals.column_names
    assert back.intervals.select(columns).to_pylist() == measured.intervals.to_pylist()
    assert run.estimates(measured.name) == summary.estimates
    assert run.findings == [SLOW_WRITES]


def test_a_trials_row_shows_asked_and_achieved_and_every_interval(writer: RunWriter, make_trial: Callable) -> None:
    measured, summary = make_trial()
    writer.add_trial(measured, summary, {"write_cache": "on"}, place=PLACE)
    row = open_run(writer.directory).trial(measured.name)
    assert (row["asked_filesystem"], row["achieved_filesystem"]) == ("ext4", "ext4 rw,relatime")
    assert row["asked_write_cache"] == "on"
    assert (row["asked_backend"], row["achieved_backend"]) == ("auto", "sync")
    assert (row["operation_count"], row["bytes"], row["error_count"]) == (200, 102400, 2)
    assert (row["total_latency_ns_p50_low"], row["total_latency_ns_p50_high"]) == (240.0, 260.0)
    assert (row["total_latency_ns_p9999"], row["total_latency_ns_p9999_low"]) == (None, 490.0)


def test_interval_quantiles_are_those_of_the_values(writer: RunWriter, make_trial: Callable) -> None:
    measured, summary = make_trial()
    writer.add_trial(measured, summary)
    generator = np.random.default_rng(1)
    for row in open_run(writer.directory).intervals.to_pylist():
        values = np.sort(generator.integers(20, 500, 40))
        assert row["p50_ns"] == values[19]
        assert row["p99_ns"] == values[39]


def test_an_interval_without_operations_has_no_quantile(writer: RunWriter, make_trial: Callable) -> None:
    measured, summary = make_trial()
    rows = measured.intervals.to_pylist()
    rows[2] |= {"bucket": [], "bucket_count": [], "count": 0}
    writer.add_trial(replace(measured, intervals=measured.intervals.from_pylist(rows)), summary)
    quantiles = open_run(writer.directory).intervals["p50_ns"].to_pylist()
    assert [quantile is None for quantile in quantiles] == [False, False, True, False, False]


def test_trials_with_different_factors_share_one_table(writer: RunWriter, make_trial: Callable) -> None:
    for number, factors in enumerate([{"filesystem": "ext4"}, {"block_size": "4KiB"}, {}], start=1):
        measured, summary = make_trial(f"{number:04d}-x", seed=number)
        writer.add_trial(measured, summary, factors, place=replace(PLACE, step=number, asked={}, achieved={}))
    before = open_run(writer.directory).trials.to_pylist()
    writer.finish()
    assert open_run(writer.directory).trials.to_pylist() == before
    assert [row["asked_filesystem"] for row in before] == ["ext4", None, None]


def test_a_finished_run_has_one_file_per_table_and_no_leftovers(writer: RunWriter, make_trial: Callable) -> None:
    for number in range(1, 4):
        writer.add_trial(*make_trial(f"{number:04d}-x", seed=number))
    verdict = {"sentence": "Fit for everything.", "outcome": "pass", "verdicts": []}
    writer.finish(verdict=verdict)
    names = sorted(path.name for path in writer.directory.iterdir())
    assert names == ["histograms.parquet", "intervals.parquet", "journal.jsonl", "run.json", "trials.parquet"]
    run = open_run(writer.directory)
    assert run.run_json["verdict"] == verdict
    assert (run.run_json["schema"], run.run_json["status"]) == (layout.SCHEMA, "complete")


def test_trials_can_be_added_to_a_finished_run(writer: RunWriter, make_trial: Callable) -> None:
    writer.add_trial(*make_trial("0001-x"))
    writer.finish()
    writer.add_trial(*make_trial("0002-x"))
    writer.finish()
    assert open_run(writer.directory).trial_names == ["0001-x", "0002-x"]
    assert open_run(writer.directory).intervals.num_rows == 10


def test_the_journal_of_a_run_only_grows(writer: RunWriter) -> None:
    writer.add_journal("step begun", step=1)
    writer.add_journal("step done", step=1)
    lines = [json.loads(line) for line in (writer.directory / layout.JOURNAL).read_text().splitlines()]
    assert [(line["event"], line["step"]) for line in lines] == [("step begun", 1), ("step done", 1)]


def test_everything_observed_about_a_trial_comes_back(writer: RunWriter, make_trial: Callable) -> None:
    measured, summary = make_trial("0001-x")
    observed = {
        "resident_bytes": np.int64(4096),
        "temperatures_c": np.array([31.5, 32.0]),
        "devices": {"b", "a"},
        "file": Path("/mnt/x"),
        "counts": measured.devices[0],
        "nested": {"is_shared": np.bool_(True), "why": None},
    }
    writer.add_trial(replace(measured, context=observed), summary)
    stored = json.loads(open_run(writer.directory).trial("0001-x")["context_json"])
    assert stored == {
        "resident_bytes": 4096,
        "temperatures_c": [31.5, 32.0],
        "devices": ["a", "b"],
        "file": "/mnt/x",
        "counts": asdict(measured.devices[0]),
        "nested": {"is_shared": True, "why": None},
    }


def test_a_factor_that_has_a_column_of_its_own_keeps_its_number(writer: RunWriter, make_trial: Callable) -> None:
    measured, summary = make_trial("0001-x")
    asked = {"queue_depth": "32", "filesystem": "ext4"}
    writer.add_trial(measured, summary, place=replace(PLACE, asked=asked, is_reference=True))
    row = open_run(writer.directory).trial("0001-x")
    assert (row["asked_queue_depth"], row["asked_filesystem"]) == (measured.workload.queue_depth, "ext4")
    assert row["is_reference"] is True


@pytest.mark.parametrize("depth", [0, 2000])
def test_run_json_is_json_whatever_it_holds(writer: RunWriter, depth: int) -> None:
    facts = {
        "plan": {
            "steps": [{"trial": str(n), "levels": {"filesystem": "ext4"}, "is_reference": False} for n in range(depth)]
        },
        "targets": [{"label": "a\nb \u20ac \udcff", "sizes": [1, 2.5, None, True], "empty": {}}],
        "by_number": {1: "x" * 200, 2: []},
        "long": "y" * 300,
    }
    writer.write_run_json(facts)
    stored = open_run(writer.directory).run_json
    assert stored["plan"] == facts["plan"]
    assert stored["targets"] == facts["targets"]
    assert stored["by_number"] == {"1": "x" * 200, "2": []}
    assert stored["long"] == facts["long"]
    lines = (writer.directory / "run.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) > depth, "people read it: a step is a line"


@pytest.mark.provokes("S501")
def test_a_place_that_takes_no_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DrivelabError) as refusal:
        create_run(tmp_path / "file", "x", "y", NOW)
    assert refusal.value.code == "S501"


@pytest.mark.provokes("S503")
def test_a_disk_that_fails_is_an_error_and_leaves_nothing_half_written(
    writer: RunWriter, make_trial: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_sync(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    writer.add_trial(*make_trial("0001-x"))
    before = {path: path.read_bytes() for path in writer.directory.rglob("*") if path.is_file()}
    for function in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, function, failing_sync)
    with pytest.raises(DrivelabError) as failure:
        writer.add_trial(*make_trial("0002-x"))
    assert failure.value.code == "S503"
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in writer.directory.rglob("*") if path.is_file()} == before
    writer.add_trial(*make_trial("0002-x"))
    assert open_run(writer.directory).trial_names == ["0001-x", "0002-x"]


@pytest.mark.provokes("S504")
@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_directory_without_run_json_is_no_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DrivelabError) as refusal:
        open_run(tmp_path / name)
    assert refusal.value.code == "S504"


@pytest.mark.provokes("S504")
@pytest.mark.parametrize("above", ["one", "one/two"])
def test_a_directory_above_runs_names_them(tmp_path: Path, above: str) -> None:
    run = tmp_path / above / "a-run"
    run.mkdir(parents=True)
    (run / "run.json").touch()
    with pytest.raises(DrivelabError) as refusal:
        open_run(tmp_path / "one")
    assert refusal.value.do == f"name one of the runs in it: {run}"


@pytest.mark.provokes("S505")
def test_a_run_of_a_newer_drivelab_is_refused_with_advice(writer: RunWriter) -> None:
    (writer.directory / "run.json").write_text(json.dumps({"schema": layout.SCHEMA + 1}))
    with pytest.raises(DrivelabError) as refusal:
        open_run(writer.directory)
    assert refusal.value.code == "S505"
    assert "upgrade" in refusal.value.do


@pytest.mark.provokes("S506")
@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_damaged_run_json_is_an_error(writer: RunWriter, content: str) -> None:
    (writer.directory / "run.json").write_text(content)
    with pytest.raises(DrivelabError) as failure:
        open_run(writer.directory)
    assert failure.value.code == "S506"


def test_a_damaged_table_is_an_error(writer: RunWriter, make_trial: Callable) -> None:
    writer.add_trial(*make_trial())
    writer.finish()
    path = writer.directory / "trials.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DrivelabError) as failure:
        _ = open_run(writer.directory).trials
    assert failure.value.code == "S506"


def test_a_table_that_is_damaged_in_its_middle_is_an_error(writer: RunWriter, make_trial: Callable) -> None:
    writer.add_trial(*make_trial())
    writer.finish()
    path = writer.directory / "trials.parquet"
    content = bytearray(path.read_bytes())
    content[4:-4000] = bytes(byte ^ 0xFF for byte in content[4:-4000])
    path.write_bytes(content)
    with pytest.raises(DrivelabError) as failure:
        trial_columns(open_run(writer.directory), lambda field: True)
    assert failure.value.code == "S506"


@pytest.mark.provokes("S509")
def test_a_name_that_is_no_text_is_an_error(writer: RunWriter) -> None:
    writer.finish()
    odd = Path(os.fsdecode(os.fsencode(writer.directory.parent / "odd") + b"\xff"))
    writer.directory.rename(odd)
    with pytest.raises(DrivelabError, match="no UTF-8") as failure:
        open_run(odd)
    assert failure.value.code == "S509"
    assert "udcff" in failure.value.where


def test_a_trial_that_is_not_there_is_an_error(writer: RunWriter) -> None:
    with pytest.raises(DrivelabError) as failure:
        open_run(writer.directory).trial("0009-x")
    assert failure.value.code == "U005"


def test_runs_lie_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRIVELAB_RUNS", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert layout.default_parent() == Path.home() / ".local/share/drivelab/runs"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert layout.default_parent() == Path("/data/drivelab/runs")
    monkeypatch.setenv("DRIVELAB_RUNS", "/here")
    assert layout.default_parent() == Path("/here")


def fill_disk(ballast: Path, *, leave_bytes: int) -> None:
    """Write a file until the disk is full, root's reserve included, and give a little back."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    os.truncate(ballast, ballast.stat().st_size - leave_bytes)


@pytest.mark.provokes("S502")
@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_disk_that_fills_up_keeps_the_trials_that_were_done(mount_filesystem: Callable, make_trial: Callable) -> None:
    small = mount_filesystem("ext4", size_bytes=8 * 2**20)
    writer = create_run(small, "x", "y", NOW)
    writer.write_run_json({})
    writer.add_trial(*make_trial("0001-x"))
    fill_disk(small / "ballast", leave_bytes=4096)
    with pytest.raises(DrivelabError) as failure:
        writer.add_trial(*make_trial("0002-x"))
    assert failure.value.code == "S502"
    assert [path.name for path in writer.directory.rglob(".*")] == []
    assert open_run(writer.directory).trial_names == ["0001-x"]
    (small / "ballast").unlink()
    writer.add_trial(*make_trial("0002-x"))
    writer.finish()
    assert open_run(writer.directory).trial_names == ["0001-x", "0002-x"]


@pytest.mark.provokes("S509")
def test_no_run_is_begun_in_a_directory_whose_name_is_no_text(tmp_path: Path) -> None:
    parent = tmp_path / os.fsdecode(b"b\xff")
    with pytest.raises(DrivelabError) as failure:
        create_run(parent, "explain", "x", datetime.now(UTC))
    assert failure.value.code == "S509"
    assert not parent.exists()
