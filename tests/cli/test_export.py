"""The command ``drivelab export``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
GRID = str(RUNS / "queue-depth-grid")


def test_fio_is_a_file_of_the_whole_run_and_directories_for_charts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "fio", GRID, "--out", str(tmp_path / "new"), "--no-logs", "--json"]) == EXIT_OK
    files = [Path(name) for name in json.loads(capsys.readouterr().out)["files"]]
    assert files[0] == tmp_path / "new" / "fio.json"
    assert all(path.is_file() and path.suffix == ".json" for path in files)
    assert len({path.parent for path in files[1:]}) == 4


def test_csv_is_the_table_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "csv", GRID]) == EXIT_OK
    exported = capsys.readouterr().out
    assert run(["report", GRID, "--format", "csv"]) == EXIT_OK
    assert exported == capsys.readouterr().out


def test_metrics_go_to_a_file_that_is_whole_at_any_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "openmetrics", GRID]) == EXIT_OK
    printed = capsys.readouterr().out
    assert printed.startswith("# TYPE drivelab_")
    place = tmp_path / "drivelab.prom"
    place.write_text("of before")
    before = place.stat().st_ino
    assert run(["export", "openmetrics", GRID, "--out", str(place)]) == EXIT_OK
    assert place.read_text() == printed
    assert place.stat().st_ino != before, "a reader that has it open still has the old one whole"
    assert list(tmp_path.iterdir()) == [place]


def test_a_traced_run_becomes_a_trace_and_another_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "perfetto", str(RUNS / "explained-appends"), "--out", str(tmp_path / "t.pftrace")]) == EXIT_OK
    assert (tmp_path / "t.pftrace").stat().st_size > 1_000_000
    capsys.readouterr()
    assert run(["export", "perfetto", GRID]) == EXIT_FAILED
    assert "error[O811] no trial of the run was traced" in capsys.readouterr().err


def test_devices_of_a_traced_run_go_by_their_names_and_unknown_ones_by_their_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = shutil.copytree(RUNS / "explained-appends", tmp_path / "run")
    assert run(["export", "perfetto", str(place)]) == EXIT_OK
    assert b"block layer 8:16, slot 0" in (place / "trace.pftrace").read_bytes()
    record = json.loads((place / "run.json").read_text())
    disk = {"name": "sdb", "device_number": "8:16", "kind": "disk", "detail": ""}
    for target in record["targets"]:
        target["facts_before"]["devices"] = [disk]
    (place / "run.json").write_text(json.dumps(record))
    assert run(["export", "perfetto", str(place)]) == EXIT_OK
    content = (place / "trace.pftrace").read_bytes()
    assert (b"block layer sdb, slot 0" in content, b"device sdb, slot 0" in content) == (True, True)
    assert b"8:16" not in content


@pytest.mark.provokes("O811")
def test_a_run_without_phases_of_bonnie_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "bonnie", GRID]) == EXIT_FAILED
    assert "error[O811] no workload of the run is a phase of bonnie++" in capsys.readouterr().err


def test_a_run_without_two_sizes_is_no_report_of_iozone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "iozone", GRID]) == EXIT_FAILED
    assert "no workload of the run was measured over file size and record size" in capsys.readouterr().err


@pytest.mark.provokes("O811")
@pytest.mark.parametrize(("form", "name"), [("fio", "fio-3.33-plus.json"), ("bonnie", "bonnie-1.98.csv")])
def test_an_imported_run_is_not_exported_with_zeros_that_nobody_measured(
    form: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", str(RUNS.parent / "foreign" / name), "--out", str(tmp_path / "runs")]) == EXIT_OK
    (imported,) = (tmp_path / "runs").iterdir()
    capsys.readouterr()
    assert run(["export", form, str(imported), "--out", str(tmp_path / "out")]) == EXIT_FAILED
    told = capsys.readouterr()
    assert not told.out
    assert str(imported / "imported") in "".join(told.err.split("\n"))
    assert not (tmp_path / "out").exists()
    assert run(["export", "csv", str(imported)]) == EXIT_OK


@pytest.mark.provokes("O812")
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    assert run(["export", "fio", GRID, "--out", str(taken)]) == EXIT_FAILED
    refused = capsys.readouterr().err
    assert "error[O812]" in refused
    assert str(taken) in refused


def test_an_unknown_format_is_a_mistake_of_typing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "xls", GRID]) == EXIT_USAGE
    assert "csv" in capsys.readouterr().err
