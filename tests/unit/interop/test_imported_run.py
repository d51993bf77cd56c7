"""Results of other programs as a run: kept whole, honest about what is unknown, and taken by every command."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import drivelab
from drivelab.analyse.summary import summarise
from drivelab.answers.side_facts import imported_notes
from drivelab.cli.main import run as run_program
from drivelab.cli.run_in_short import told_in_short
from drivelab.interop import imported_plan
from drivelab.interop.foreign import ForeignFile, SourceText
from drivelab.interop.imported_plan import plan_import
from drivelab.interop.recognise import read_foreign
from drivelab.model.errors import DrivelabError
from drivelab.model.workload import Workload
from drivelab.store.place import TrialPlace
from drivelab.store.read import StoredRun, open_run
from drivelab.store.write import create_run
from golden.synthetic import SyntheticTrial, log_normal

FOREIGN = Path(__file__).resolve().parents[2] / "golden" / "foreign"
NAMES = sorted(path.name for path in FOREIGN.iterdir() if path.name != "README.md")

REPORTED = ("bonnie-1.97.csv", "dd-comma.txt", "fio-3.33-plus.json", "iozone-3.394-us.txt")


def imported(parent: Path, *names: str, options: tuple[str, ...] = ()) -> StoredRun:
    """The run that stored files become."""
    parent.mkdir(exist_ok=True)
    before = set(parent.iterdir())
    assert run_program(["import", *(str(FOREIGN / name) for name in names), "--out", str(parent), *options]) == 0
    (directory,) = set(parent.iterdir()) - before
    return open_run(directory)


def test_a_list_of_runs_tells_which_job_it_was(tmp_path: Path) -> None:
    """Its experiment says only that it was imported."""
    told = told_in_short(imported(tmp_path, "fio-3.33-gtod.json"))
    assert told["in_short"].startswith("job fast ")


def foreign(name: str) -> ForeignFile:
    """What a stored file tells."""
    return read_foreign(SourceText(name, (FOREIGN / name).read_text()))


@pytest.mark.parametrize("name", NAMES)
def test_every_format_becomes_a_run_that_every_command_takes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = imported(tmp_path / "runs", name)
    directory = str(run.directory)
    assert run.run_json["status"] == "complete"
    assert run_program(["report", directory, "--text"]) == 0
    assert "imported from" in capsys.readouterr().out
    # the formats that a report is written in take their time: those of one file of each kind of numbers
    for ending in ("md", "csv", "json") if name in REPORTED else ():
        out = tmp_path / f"report.{ending}"
        assert run_program(["report", directory, "--out", str(out), *(["--figures", "none"] * (ending == "md"))]) == 0
    capsys.readouterr()
    assert run_program(["sql", "select count(*) as n from trials", directory, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0] in ([len(run.trial_names)], {"n": len(run.trial_names)})


def test_the_file_is_kept_byte_for_byte_and_told_of(tmp_path: Path) -> None:
    run = imported(tmp_path, "fio-3.33.json", options=("--drive", "Disk A", "--name", "old"))
    (source,) = run.run_json["imported"]["sources"]
    content = (FOREIGN / "fio-3.33.json").read_bytes()
    assert (run.directory / source["stored"]).read_bytes() == content
    assert source["sha256"] == hashlib.sha256(content).hexdigest()
    assert (source["program"], source["file"]) == ("fio 3.33", "fio-3.33.json")
    assert run.run_json["started_utc"].startswith("2026-11-22T06:17")
    assert run.directory.name.endswith("-old-disk-a")
    # who measured was not drivelab
    assert "drivelab_version" not in run.run_json
    assert [finding.severity for finding in run.findings] == ["note"] * len(run.findings)


def test_what_the_source_does_not_tell_is_null_and_no_default(tmp_path: Path) -> None:
    run = imported(tmp_path, "dd-gnu-9.1.txt", "ioping-1.3-B.txt", "bonnie-1.98.csv")
    row = run.trial("block-write-testhost-r1")
    unknown = ("block_size_bytes", "durability", "operation_count", "bytes", "measured_ns", "error_count")
    assert {name: row[name] for name in unknown} == dict.fromkeys(unknown)
    assert "durability" not in json.loads(row["workload_json"])
    assert json.loads(row["devices_json"]) == []
    raw = run.trial("request-latency-unknown-drive-r1")
    assert raw["asked_direct"] is None
    assert raw["operation"] == "mixed"
    # and what it does tell can be read again
    assert run.measurement("block-write-testhost-r1").workload.access.kind == "sequential"


def test_what_differs_becomes_a_factor_and_what_is_alike_a_repeat(tmp_path: Path) -> None:
    run = imported(tmp_path, "diskbenchmark.csv")
    factors = {
        factor.get("key") or factor["setting"]: factor["levels"] for factor in run.run_json["experiment"]["factors"]
    }
    assert factors == {"block_size": ["1", "4KiB"], "shift": ["0", "512"], "write-cache": ["on", "off"]}
    assert len(drivelab.open(run.directory).combinations) == 8
    twice = plan_import([foreign("dd-comma.txt"), foreign("dd-comma.txt")])
    assert [placed.repeat for placed in twice.trials] == [1, 2]
    assert twice.factors == {}


def test_machines_and_drives_become_targets(tmp_path: Path) -> None:
    run = imported(tmp_path, "bonnie-1.97.csv")
    assert [target["label"] for target in run.run_json["targets"]] == ["server1", "server2"]
    found = drivelab.open(run.directory)
    assert {(seen.drive, seen.machine) for seen in found.result_sets[0].observations} == {
        ("server1", "server1"),
        ("server2", "server2"),
    }
    assert all(seen.note.startswith("imported from bonnie++ 1.97") for seen in found.result_sets[0].observations)


def test_a_job_that_failed_is_kept_apart(tmp_path: Path) -> None:
    broken = tmp_path / "failed.json"
    broken.write_text((FOREIGN / "fio-3.33.json").read_text().replace('"error" : 0', '"error" : 28', 1))
    assert run_program(["import", str(broken), "--out", str(tmp_path / "runs")]) == 0
    run = open_run(next((tmp_path / "runs").iterdir()))
    assert run.trial_names == ["log-r1"]
    assert run.failed_trials["failure"].to_pylist() == ["fio ended job read4k with error 28 (No space left on device)"]


def own_run(parent: Path, median_ns: float) -> Path:
    """A run as drivelab itself stores it, of the workload of the stored fio results."""
    writer = create_run(parent, "own", "scratch", datetime(2026, 11, 23, tzinfo=UTC))
    writer.write_run_json({"status": "running", "started_utc": "2026-11-23T00:00:00", "host": {"hostname": "here"}})
    for repeat in (1, 2):
        made = SyntheticTrial(f"read4k-{repeat}", log_normal(median_ns, 0.01), duration_ns=10**9)
        measured = made.measurement(repeat)
        place = TrialPlace(target="scratch", workload="read4k", step=repeat, block=repeat, repeat=repeat)
        writer.add_trial(measured, summarise(measured), place=place)
    writer.finish()
    return writer.directory


def test_an_imported_run_is_compared_with_an_own_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = imported(tmp_path / "imported", "fio-3.33.json")
    new = own_run(tmp_path / "own", 1e6)
    capsys.readouterr()
    assert run_program(["compare", str(base.directory), str(new), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {(row["workload"], row["metric"]): row for row in found["rows"]}
    told = base.estimates("read4k-r1")["total_latency_ns_p50"].value
    assert rows["read4k", "total_latency_ns_p50"]["ratio"]["value"] == pytest.approx(1e6 / told, rel=0.01)
    # file state, contents and what else fio does not tell is no reason against it
    assert all(row["verdict"] == "seen only" for row in found["rows"])
    assert any("imported from fio 3.33" in note for note in found["notes"])
    assert {"what": "measured by", "base": ["fio 3.33"], "new": ["drivelab"]} in found["differences"]


def test_two_depths_of_one_job_are_told_with_their_numbers_and_what_the_job_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measured once each no change can be judged, and what was measured is still the answer."""
    files = []
    job = json.loads((FOREIGN / "fio-3.33-deep-syncs.json").read_text())
    for depth in ("1", "8"):
        options = {"rw": "randread", "bs": "4k", "iodepth": depth, "ioengine": "libaio", "filename": "/dev/sdb"}
        told = {**job, "global options": {}, "jobs": [job["jobs"][0] | {"jobname": "a", "job options": options}]}
        path = tmp_path / f"{depth}.json"
        path.write_text(json.dumps(told))
        files.append(str(path))
    assert run_program(["import", *files, "--out", str(tmp_path / "runs")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 results on sdb\nby fio 3.33: 1.json, 8.json\n  job a (randread, 4 KiB), queue depth 1: ")
    notes = [line for line in out.splitlines() if line.startswith("- ")]
    assert len(notes) == len(set(notes)) > 0
    assert run_program(["report", str(next((tmp_path / "runs").iterdir())), "--text"]) == 0
    first = capsys.readouterr().out.split("\n\n")[0]
    assert first.startswith("Job a (randread, 4 KiB): ")
    assert "queue depth" in first
    assert "no effect" not in first


def test_what_imported_runs_do_not_tell_is_said_once_for_each_program(tmp_path: Path) -> None:
    names = ("fio-3.33-deep-syncs.json", "fio-3.33.json", "ioping-1.3.txt")
    runs = [imported(tmp_path / name, name) for name in names]
    told = list(imported_notes(runs))
    assert [one.partition(" imported from ")[0] for one in told] == ["2 of 3 runs are", f"{runs[2].name} is"]
    assert next(imported_notes(runs[:2])).startswith("All 2 runs are imported from fio 3.33: what that did not tell")


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["import", "bonnie++", str(FOREIGN / "bonnie-1.98.csv"), "--dry-run", "--json", "--out", str(tmp_path)]
    assert run_program(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] is None
    assert list(tmp_path.iterdir()) == []
    assert len(found["trials"]) == 12


def test_a_job_file_is_shown_and_not_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[read4k]\nrw=randread\nbs=4k\nsize=1m\nfilename=data\n")
    assert run_program(["import", "fio", str(job), "--dry-run"]) == 0
    assert "read4k" in capsys.readouterr().out
    assert run_program(["import", str(job), str(FOREIGN / "fio-3.33.json")]) == 2


def test_an_imported_run_cannot_be_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = imported(tmp_path, "dd-comma.txt")
    assert run_program(["resume", str(run.directory)]) != 0
    assert "it was imported" in capsys.readouterr().err


def test_a_program_without_a_file_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["import", "fio"]) == 2
    assert "error[U006] fio is a program, and no file is named" in capsys.readouterr().err


@pytest.mark.provokes("I509")
def test_a_copy_is_no_repeat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_bytes((FOREIGN / "dd-comma.txt").read_bytes())
    assert run_program(["import", str(FOREIGN / "dd-comma.txt"), str(copy)]) == 2
    assert "error[I509] it is a copy of dd-comma.txt" in capsys.readouterr().err


@pytest.mark.provokes("I508")
def test_more_results_than_a_run_should_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported_plan, "TRIALS_MAX", 7)
    with pytest.raises(DrivelabError) as caught:
        plan_import([foreign("diskbenchmark.csv")])
    assert caught.value.code == "I508"
    assert "8 results" in caught.value.what


def test_runs_of_several_programs_make_one_page(tmp_path: Path) -> None:
    runs = [imported(tmp_path / "runs", name) for name in ("iozone-3.492.txt", "bonnie-1.97.csv", "fio-3.33.json")]
    page = tmp_path / "all.html"
    assert run_program(["report", *(str(one.directory) for one in runs), "--out", str(page)]) == 0
    text = page.read_text()
    assert all(f"imported from {name}" in text for name in ("fio 3.33", "bonnie++ 1.97", "IOzone 3.492"))


def test_an_import_meets_a_run_of_the_same_job_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = imported(tmp_path / "imported", "fio-3.33-same-jobs.json")
    (tmp_path / "target").mkdir()
    jobs = Path(__file__).parent / "same_jobs.fio"
    assert run_program(["run", str(jobs), str(tmp_path / "target"), "--out", str(tmp_path / "own")]) in (0, 4)
    (new,) = (tmp_path / "own").iterdir()
    capsys.readouterr()
    assert run_program(["compare", str(base.directory), str(new), "--json"]) in (0, 4)
    found = json.loads(capsys.readouterr().out)
    assert (found["only_base"], found["only_new"]) == ([], [])
    for name in ("own_files", "submission_batch"):
        assert _asked(base, name) == _asked(open_run(new), name)
    # memory, which may answer here, is a reason of its own
    apart = [row for row in found["rows"] if row["verdict"] == "not comparable"]
    reasons = {(row["workload"], text) for row in apart for text in row["why"]}
    assert {one for one in reasons if "describe the drive" not in one[1]} == set()
    assert {row["workload"] for row in found["rows"]} == set(base.trials["workload"].to_pylist())
    mixed = [row for row in found["rows"] if row["workload"] == "mixed-in-order"]
    told = {(row["levels"]["operation"], row["metric"]) for row in mixed}
    latencies = {("read", "total_latency_ns_p50"), ("write", "total_latency_ns_p50")}
    rates = {("read", "iops"), ("write", "iops"), ("read and write", "iops")}
    assert told == latencies | rates


def _asked(run: StoredRun, field: str) -> dict[str, Any]:
    """A field of each workload as it was asked for; its default where that is not told."""
    told = run.trials.select(["workload", "workload_json"]).to_pylist()
    return {row["workload"]: getattr(Workload.model_validate_json(row["workload_json"]), field) for row in told}
