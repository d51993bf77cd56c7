"""A command line of fio as typed behind ``drivelab fio``: what is printed, kept and refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_USAGE
from drivelab.store.read import open_run

WORDS = ("--name=mixed", "--rw=randrw", "--bs=4k", "--size=256k", "--number_ios=64", "--ioengine=libaio", "--iodepth=4")


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def test_json_is_alone_on_stdout_and_read_by_fios_own_reader(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["fio", *WORDS, "--output-format=json+"]) == 0
    printed, told = capsys.readouterr()
    document = json.loads(printed)
    (job,) = document["jobs"]
    assert (job["jobname"], job["error"], job["job options"]["rw"]) == ("mixed", 0, "randrw")
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == 64
    assert sum(job["read"]["clat_ns"]["bins"].values()) == job["read"]["total_ios"]
    # as fio does: those of the latency that percentiles are asked of
    assert "bins" not in job["read"]["lat_ns"]
    assert "options honoured: rw, bs, size" in told
    assert "drivelab report " in told
    (tmp_path / "result.json").write_text(printed)
    assert run(["import", "result.json", "--dry-run"]) == 0


def keys(value: object, above: str = "") -> set[str]:
    """Where there is something in a document; bins and percentiles are data."""
    if isinstance(value, list):
        return keys(value[0], above) if value else set()
    if not isinstance(value, dict) or above.endswith(("bins", "percentile", "options")):
        return {above}
    return {above}.union(*(keys(each, f"{above}/{name}") for name, each in value.items()))


@pytest.mark.needs_tool("fio")
def test_what_fio_has_in_its_json_is_in_ours(tmp_path: Path) -> None:
    form = ("--output-format=json+", "--fsync=8")
    (tmp_path / "theirs").mkdir()
    command = ["fio", *WORDS, *form]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path / "theirs")
    assert run(["fio", *WORDS, *form, "--output=ours.json"]) == 0
    ours = keys(json.loads((tmp_path / "ours.json").read_text()))
    assert keys(json.loads(theirs.stdout)) <= ours


FLOWS = """[global]
ioengine=psync
size=1m
rw=randread
time_based
runtime=1
flow_id=7
{more}
[a]
filename=a
flow=3
[b]
filename=b
flow=1
"""


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("more", ["", "flow_sleep=200\nioengine=libaio\niodepth=4"])
def test_jobs_of_a_flow_share_their_ios_by_weight_as_those_of_fio_do(tmp_path: Path, more: str) -> None:
    (tmp_path / "flow.fio").write_text(FLOWS.format(more=more))
    asked = ("flow.fio", "--output-format=json")
    theirs = subprocess.run(["fio", *asked], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert run(["fio", *asked, "--output=ours.json"]) == 0
    for document in (theirs.stdout, (tmp_path / "ours.json").read_text()):
        first, second = (job["read"]["total_ios"] for job in json.loads(document)["jobs"])
        assert first / second == pytest.approx(3, rel=0.1)


@pytest.mark.needs_tool("fio")
def test_the_bins_are_read_by_the_program_that_comes_with_fio(tmp_path: Path) -> None:
    assert run(["fio", *WORDS, "--output-format=json+", "--output=result.json"]) == 0
    subprocess.run(["fio_jsonplus_clat2csv", "result.json", "bins.csv"], check=True, capture_output=True)
    (found,) = tmp_path.glob("bins*.csv")
    assert len(found.read_text().splitlines()) > 2


def test_the_run_is_kept_with_a_job_file_that_says_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["fio", *WORDS, "--minimal", "--eta=never"]) == 0
    printed, told = capsys.readouterr()
    assert "step 1" not in told
    (line,) = printed.splitlines()
    assert line.split(";")[0] == "3"
    assert line.split(";")[2] == "mixed"
    (directory,) = (tmp_path / "runs").iterdir()
    stored = open_run(directory)
    assert stored.record.job_file["path"] == "command line"
    assert (directory / "job.fio").read_text().splitlines()[:2] == ["[mixed]", "rw=randrw"]
    assert run(["plan", str(directory / "job.fio")]) == 0


def test_normal_output_goes_to_a_file_without_bins_and_nothing_to_stdout(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["fio", *WORDS, "--output=out.txt", "--output-format=normal,json", "--trigger=true"]) == 0
    printed, told = capsys.readouterr()
    text = (tmp_path / "out.txt").read_text()
    assert printed == ""
    assert "trigger: not honoured" in told
    assert re.match(r"mixed: \(g=0\): rw=randrw, bs=.*\ndrivelab-\S+\nStarting 1 process\n\{\n", text)
    assert '"bins"' not in text
    assert "\nmixed: (groupid=0, jobs=1): err= 0: pid=0:" in text
    assert "\n  WRITE: bw=" in text


def test_nothing_is_run_where_only_parsing_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["fio", "--parse-only", *WORDS, "--nice=3"]) == 0
    printed, told = capsys.readouterr()
    assert printed == ""
    assert "command line:9: nice=3: not honoured: start drivelab with nice" in told
    assert run(["fio", "--parse-only", "--name=without", "--rw=read"]) == 0
    assert "options honoured: rw\n" in capsys.readouterr().err
    assert run(["fio", "--showcmd", *WORDS]) == 0
    assert capsys.readouterr().out.split() == ["fio", *WORDS]
    assert run(["fio", "--version"]) == 0
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((*WORDS, "--nice=3", "--strict"), "U036", "nice (command line:8, not-honoured)"),
        ((*WORDS, "--trigger=true", "--strict"), "U036", "--trigger: not honoured"),
        ((*WORDS, "--status-interval=x"), "U006", "--status-interval=x"),
        ((*WORDS, "--status-interval=0"), "U006", "--status-interval=0 is no time"),
        ((*WORDS, "--readonly"), "U006", "--readonly forbids it"),
        ((*WORDS, "--output-format=xml"), "U006", "no output format xml"),
        ((*WORDS, "--terse-version=5"), "U006", "version 3"),
        (("--name=a", "--size=1m", "--bs=x"), "U032", "command line:3"),
        (("--rw=read",), "U037", "holds no job"),
    ],
)
def test_what_cannot_be_done_is_refused_by_the_word(
    words: tuple[str, ...], code: str, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["fio", *words]) == EXIT_USAGE
    error = capsys.readouterr().err
    assert f"error[{code}]" in error
    assert told in error
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("kind", "part"), [("clat", "completion"), ("slat", "submission")])
def test_a_log_of_a_part_of_the_latency_is_told_by_that_part(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, part: str
) -> None:
    words = ["--name=a", "--rw=randread", "--bs=4k", "--size=256k", "--ioengine=libaio", "--eta=never"]
    assert run(["fio", *words, "--write_lat_log=a"]) == 0
    capsys.readouterr()
    assert run(["import", str(tmp_path / f"a_{kind}.1.log"), "--dry-run"]) == 0
    assert f"{part} median " in capsys.readouterr().out


def test_a_script_ends_what_it_started_in_the_background_with_sigint() -> None:
    # shells have what a script puts into the background ignore it
    words = ["--name=a", "--rw=randread", "--size=256k", "--time_based", "--runtime=60", "--output-format=json"]
    command = f"{sys.executable} -m drivelab fio {' '.join(words)} & echo $!; wait $!"
    script = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert script.stdout is not None
    pid = int(script.stdout.readline())
    while not list(Path().glob("drivelab-data-*/a.0.0")):
        assert script.poll() is None
        time.sleep(0.02)
    time.sleep(1)
    os.kill(pid, signal.SIGINT)
    printed, told = script.communicate(timeout=30)
    assert "ended by signal 2" in told
    assert script.returncode == 128
    (job,) = json.loads(printed)["jobs"]
    assert job["read"]["total_ios"] > 0
    assert Path("a.0.0").stat().st_size == 256 * 1024
