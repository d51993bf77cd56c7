"""A job file of fio where an experiment was expected, and workloads at the same time, as typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.job_file import is_job_file
from drivelab.cli.main import run
from drivelab.model.workload import Workload
from drivelab.run.tree_cache import drop_cached
from drivelab.store.read import StoredRun, open_run
from job_threads import wait_for_jobs

JOBS = """\
; reads beside writes, then what was written is read
[global]
size=256k
bs=4k
directory={directory}

[reader]
rw=randread
ioengine=libaio
iodepth=4
io_submit_mode=offload

[writer]
rw=write
filename=log
fsync=16

[after]
stonewall
rw=read
filename=log
numjobs=2
"""
TOGETHER = """
format = 1
name = "both"
question = "What does a writer cost a reader?"
repeats = { full = 1, quick = 1 }
tables = ["results"]
figures = ["latency-overview"]

[[workloads]]
name = "reader"
operation = "read"
file_size = "256KiB"
runtime = "100ms"
interval = "5ms"
together = "both"

[[workloads]]
name = "writer"
file_size = "256KiB"
durability = "fdatasync"
runtime = "100ms"
interval = "5ms"
together = "both"
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


def job_file(tmp_path: Path, text: str, name: str = "two.fio") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def only_run(tmp_path: Path) -> StoredRun:
    (directory,) = (tmp_path / "runs").iterdir()
    return open_run(directory)


def test_workloads_at_the_same_time_run_from_the_command_line(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = job_file(tmp_path, TOGETHER, "both.toml")
    assert run(["run", experiment, str(target)]) in (0, 4)
    captured = capsys.readouterr()
    assert "reader (with writer)" in captured.out
    assert "step 2 of 2, writer with reader: " in captured.err
    stored = only_run(tmp_path)
    contexts = [json.loads(row["context_json"]) for row in stored.trials.to_pylist()]
    first, second = (context["together"]["with"][0] for context in contexts)
    assert first["start_offset_ns"] == -second["start_offset_ns"]
    assert [first["title"], second["title"]] == ["writer", "reader"]
    assert all("ran-together" in row["findings_json"] for row in stored.trials.to_pylist())
    assert list(target.iterdir()) == []


def test_each_of_several_jobs_has_a_file_of_its_own(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[set[str], list[int]]] = []

    def looked(workload: Workload) -> dict[str, Any]:
        found = {Path(os.readlink(path)).name: path for path in workload.target.all_opened_by}
        seen.append((set(found), [os.stat(path).st_ino for path in found.values()]))
        return drop_cached(workload)

    monkeypatch.setattr("drivelab.run.measure.drop_cached", looked)
    size, three = 256 * 1024, "numjobs=3\nsize=256k\nbs=4k\n"
    text = f"[w]\nrw=randwrite\n{three}fdatasync=8\n[r]\nstonewall\nrw=randread\n{three}"
    assert run(["run", job_file(tmp_path, text), str(target)]) in (0, 4)
    assert "numjobs" in capsys.readouterr().err.split("options honoured: ")[1].splitlines()[0]
    assert [names for names, _ in seen] == [{f"{job}.{number}.0" for number in range(3)} for job in "wr"]
    assert all(len(set(inodes)) == 3 for _, inodes in seen)
    for row in only_run(tmp_path).trials.to_pylist():
        context, workload = json.loads(row["context_json"]), json.loads(row["workload_json"])
        assert (workload["own_files"], workload["target"]["size_bytes"]) == (True, size)
        assert context["extents"]["range_bytes"] == context["page_cache"]["range_bytes"] == 3 * size
        engine = json.loads(row["engine_json"])["operations"]
        assert sum(engine.get(name, {"bytes": 0})["bytes"] for name in ("read", "write")) == 3 * size
    assert list(target.iterdir()) == []


def test_a_plan_has_room_for_the_files_of_all_jobs(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    free = os.statvfs(target)
    size = free.f_bavail * free.f_frsize // 2
    assert run(["plan", job_file(tmp_path, f"[j]\nrw=randread\nsize={size}\nnumjobs=3\n"), str(target)]) == 2
    assert "error[P705] j needs" in capsys.readouterr().err
    assert run(["plan", job_file(tmp_path, "[j]\nrw=randread\nsize=1m\nnumjobs=3\n"), str(target), "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert step["preparation_bytes"] == 3 * 2**20


def test_a_job_file_runs_in_its_order_and_leaves_its_files(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job_file(tmp_path, JOBS.format(directory=target))
    assert run(["run", path]) in (0, 4)
    captured = capsys.readouterr()
    assert "options honoured: size, bs, directory, rw, ioengine, iodepth, " in captured.err
    assert f"{path}:11: io_submit_mode=offload: approximated" in captured.err
    assert "reader (with writer)" in captured.out
    stored = only_run(tmp_path)
    rows = stored.trials.to_pylist()
    assert [(row["workload"], row["step"]) for row in rows] == [("reader", 1), ("writer", 2), ("after", 3)]
    workloads = [json.loads(row["workload_json"]) for row in rows]
    names = [Path(workload["target"]["path"]).name for workload in workloads]
    assert names == ["reader.0.0", "log", "log"], "as fio calls them, in a directory of drivelab's own"
    assert workloads[2]["job_count"] == 2
    assert {path.name: path.stat().st_size for path in target.iterdir()} == {"reader.0.0": 262144, "log": 262144}
    assert (stored.directory / "job.fio").read_text() == JOBS.format(directory=target)
    jobs = stored.run_json["job_file"]["jobs"]
    assert [(job["workload"], job["group"]) for job in jobs] == [("reader", 1), ("writer", 1), ("after", 2)]
    assert "Settings of the job file that were not honoured" in (stored.directory / "report.html").read_text()


def test_what_one_job_wrote_the_next_one_reads(tmp_path: Path, target: Path) -> None:
    jobs = f"[global]\nbs=4k\nsize=64k\nfilename={target}/data\n"
    jobs += "[w]\nrw=write\nbuffer_pattern=0x00\nzero_buffers\n[r]\nstonewall\nrw=read\n"
    assert run(["run", job_file(tmp_path, jobs)]) in (0, 4)
    w, r = only_run(tmp_path).trials.to_pylist()
    assert (w["workload"], r["workload"]) == ("w", "r")
    assert json.loads(r["context_json"])["extents"]["range_bytes"] == 64 * 1024


def test_targets_of_the_command_line_take_the_place_of_all(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    path = job_file(tmp_path, JOBS.format(directory="/no/such/place"))
    assert run(["plan", path]) == 2
    assert "error[T101]" in capsys.readouterr().err
    assert run(["plan", path, str(target), str(other), "--repeats", "2", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [one["text"] for one in plan["targets"]] == [str(target), str(other)]
    steps = [(step["workload"], step["target"], step["repeat"]) for step in plan["steps"]]
    once = [(name, str(where), 1) for where in (target, other) for name in ("reader", "writer", "after")]
    assert steps == once + [(name, where, 2) for name, where, _ in once]
    assert [step["together"] for step in plan["steps"]][:4] == [1, 1, 0, 2]
    assert list(target.iterdir()) == []


def test_a_dry_run_is_a_plan(tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = job_file(tmp_path, JOBS.format(directory=target))
    assert run(["plan", path, "--seed", "1"]) == 0
    planned = capsys.readouterr().out
    assert run(["run", path, "--seed", "1", "--dry-run"]) == 0
    assert capsys.readouterr().out == planned
    assert "in the order of the job file" in " ".join(planned.split())
    assert not (tmp_path / "runs").exists()


@pytest.mark.provokes("U036")
def test_strict_refuses_what_is_not_honoured(tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = job_file(tmp_path, f"[a]\nrw=read\nsize=64k\ndirectory={target}\nno_such_option=1\n")
    assert run(["plan", path]) == 0
    assert "no_such_option=1: unknown" in capsys.readouterr().err
    assert run(["run", path, "--strict"]) == 2
    assert "error[U036]" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.provokes("U036")
def test_what_is_approximated_is_told_before_and_refused_by_strict(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job_file(tmp_path, f"[a]\nrw=randread:8\nsize=64k\ndirectory={target}\nprioclass=1\n")
    assert run(["plan", path]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == "not done as fio does it: 1 approximated, 1 not honoured; --strict refuses that"
    assert run(["run", path]) in (0, 4)
    assert capsys.readouterr().err.splitlines()[: len(told)] == told
    for command in ("plan", "run", "import"):
        assert run([command, path, "--strict"]) == 2
        refusal = " ".join(capsys.readouterr().err.split())
        assert "error[U036] not done as fio does it: prioclass" in refusal or "norandommap (fio's default" in refusal
    assert [path.name for path in target.iterdir()] == ["a.0.0"]


def test_a_file_of_somebody_else_is_read_and_written_with_consent_alone(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = target / "mine"
    mine.write_bytes(os.urandom(65536))
    before = mine.read_bytes()
    jobs = f"[a]\nrw={{rw}}\nsize=64k\nbs=4k\nfilename={mine}\n"
    assert run(["run", job_file(tmp_path, jobs.format(rw="write"))]) == 3
    assert "error[C220]" in (told := capsys.readouterr().err)
    assert "--overwrite-file" in told
    assert run(["run", job_file(tmp_path, jobs.format(rw="read"))]) in (0, 4)
    assert mine.read_bytes() == before
    inode = mine.stat().st_ino
    assert run(["run", job_file(tmp_path, jobs.format(rw="write")), "--overwrite-file"]) in (0, 4)
    assert (mine.stat().st_ino, mine.stat().st_size) == (inode, 65536)
    assert mine.read_bytes() != before
    assert [path.name for path in target.iterdir()] == ["mine"]


def test_what_a_job_file_cannot_have_is_refused(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job_file(tmp_path, JOBS.format(directory=target))
    for option in (["--quick"], ["--only", "block_size=4KiB"], ["--skip-unavailable"]):
        assert run(["plan", path, *option]) == 2
        assert f"error[U006] {option[0]} is for experiments" in capsys.readouterr().err.replace("\n", " ")
    assert run(["plan", "ssd-latency"]) == 2
    assert "there is no target" in capsys.readouterr().err


def test_a_job_file_is_known_by_its_name_or_its_begin(tmp_path: Path) -> None:
    assert is_job_file("nowhere/x.fio")
    assert is_job_file(job_file(tmp_path, "# jobs\n\n; mine\n[global]\nrw=read\n", "jobs"))
    assert not is_job_file(job_file(tmp_path, "[[workloads]]\nname = 'x'\n", "own.toml"))
    assert not is_job_file(job_file(tmp_path, "name = 'x'\n[reference]\n", "own"))
    assert not is_job_file("ssd-latency")
    assert not is_job_file(str(tmp_path))


def test_ctrl_c_ends_all_that_run_at_the_same_time(tmp_path: Path, target: Path) -> None:
    jobs = (
        f"[global]\ndirectory={target}\nsize=64k\nruntime=60\ntime_based\nioengine=null\n[a]\nrw=read\n[b]\nrw=read\n"
    )
    command = [sys.executable, "-m", "drivelab", "run", job_file(tmp_path, jobs)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        wait_for_jobs(process.pid)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert only_run(tmp_path).run_json["status"] == "interrupted"
    assert only_run(tmp_path).trial_names == []
