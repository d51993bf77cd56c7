"""What ``drivelab fio`` gives beside fio for options of its output, and for those that end a job."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_FAILED, EXIT_USAGE
from drivelab.store.read import open_run

pytestmark = pytest.mark.needs_tool("fio")
READS = ("--name=j", "--rw=randread", "--bs=4k", "--size=1m", "--time_based", "--runtime=1", "--thinktime=500")
MIX = ("--name=j", "--rw=randrw", "--bs=4k", "--size=1m", "--number_ios=200", "--filename=mix")


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    monkeypatch.chdir(tmp_path / "ours")


def of_fio(*words: str) -> str:
    """What fio prints."""
    place = Path.cwd().parent / "theirs"
    return subprocess.run(["fio", *words], cwd=place, check=True, capture_output=True, text=True).stdout


def ours(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """What drivelab prints."""
    assert run(["fio", *words, "--eta=never"]) == status
    return capsys.readouterr().out


def job(text: str) -> dict[str, Any]:
    (found,) = json.loads(text)["jobs"]
    return dict(found)


@pytest.mark.parametrize("how", ["none", "mixed", "both"])
def test_reads_and_writes_are_told_apart_and_together_as_by_fio(capsys: pytest.CaptureFixture[str], how: str) -> None:
    words = (*MIX, f"--unified_rw_reporting={how}")
    directions = {"read", "write", "trim", "sync", "mixed"}
    found, expected = job(ours(capsys, *words, "--output-format=json")), job(of_fio(*words, "--output-format=json"))
    assert directions & set(found) == directions & set(expected)
    counted = sum(found[name]["total_ios"] for name in ("read", "write", "mixed") if name in found)
    assert counted == (400 if how == "both" else 200)
    if how != "none":
        assert set(found["mixed"]) == set(expected["mixed"])
        assert found["mixed"]["clat_ns"]["N"] == 200
    fields = [len(text.split(";")) for text in (ours(capsys, *words, "--minimal"), of_fio(*words, "--minimal"))]
    assert fields[0] == fields[1]
    assert ("mixed: IOPS=" in ours(capsys, *words)) == (how != "none")


def test_samples_are_as_long_as_those_of_fio(capsys: pytest.CaptureFixture[str]) -> None:
    found = job(ours(capsys, *READS, "--iopsavgtime=200", "--output-format=json"))["read"]
    assert (found["bw_samples"], found["iops_samples"]) == (2, 5)
    assert found["iops_mean"] == pytest.approx(found["iops"], rel=0.02)
    assert found["iops_min"] <= found["iops_mean"] <= found["iops_max"]


def test_bins_are_those_of_fio(capsys: pytest.CaptureFixture[str]) -> None:
    """Both programs give only values that stand for a bucket: 64 in each octave, the first ones one number each."""
    for text in (ours(capsys, *READS, "--output-format=json+"), of_fio(*READS, "--output-format=json+")):
        for value in map(int, job(text)["read"]["clat_ns"]["bins"]):
            width = 1 << max(0, value.bit_length() - 7)
            assert value % width == (width // 2 if width > 1 else 0), value


def test_logs_have_the_lines_of_fio(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*READS, "--write_hist_log=h", "--log_hist_msec=250", "--log_hist_coarseness=2", "--write_lat_log=l")
    words += ("--log_avg_msec=250", "--log_max_value=1", "--log_unix_epoch=1")
    ours(capsys, *words)
    of_fio(*words)
    places = [Path.cwd().parent / name for name in ("ours", "theirs")]
    for name in ("h_clat_hist.1.log", "l_clat.1.log", "l_lat.1.log"):
        mine, theirs = ((place / name).read_text().splitlines() for place in places)
        # fio's last window may be missing, and a machine at work may leave one empty
        assert 3 <= len(mine) <= 4
        assert 2 <= len(theirs) <= 4
        assert {len(line.split(",")) for line in mine} == {len(line.split(",")) for line in theirs}
        begun, also = (int(lines[0].split(",")[0]) for lines in (mine, theirs))
        assert abs(begun - also) < 600_000, "both count from 1970"


def test_a_job_ends_when_it_is_steady_in_the_sense_of_fio(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*READS, "--runtime=20", "--ss=iops:90%", "--ss_dur=2")
    found, expected = job(ours(capsys, *words, "--output-format=json")), job(of_fio(*words, "--output-format=json"))
    for each in (found, expected):
        assert each["steadystate"]["attained"] == 1
        assert each["read"]["runtime"] < 15_000
    assert set(found["steadystate"]) == set(expected["steadystate"])
    assert set(found["steadystate"]["data"]) == set(expected["steadystate"]["data"])
    assert (found["steadystate"]["ss"], found["error"]) == (expected["steadystate"]["ss"], 0)
    assert len(found["steadystate"]["data"]["iops"]) == 2
    assert "steadystate  : attained=yes, bw=" in ours(capsys, *words)


@pytest.mark.provokes("R426")
def test_a_limit_that_is_passed_ends_the_job_with_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = (*READS, "--runtime=20", "--max_latency=1us")
    assert run(["fio", *words, "--output-format=json", "--eta=never"]) == EXIT_FAILED
    printed, told = capsys.readouterr()
    found = job(printed)
    assert found["error"] == 110
    assert found["read"]["runtime"] < 5000
    assert "error[R426] latency of " in told
    assert "exceeds specified max (1000 nsec)" in told
    place = tmp_path / "theirs"
    theirs = subprocess.run(["fio", *words, "--output-format=json"], cwd=place, capture_output=True, text=True)
    assert theirs.returncode == 1
    assert job(theirs.stdout[theirs.stdout.index("{") :])["error"] == 110
    (tmp_path / "jobs.fio").write_text("[j]\nrw=read\nsize=1m\nruntime=20\ntime_based\nmax_latency=1us\n")
    assert run(["run", str(tmp_path / "jobs.fio"), str(tmp_path), "--json"]) == EXIT_FAILED


def test_a_rate_below_the_least_ends_the_job_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*READS, "--runtime=20", "--rate_iops_min=100000", "--output-format=json")
    found = job(ours(capsys, *words, status=EXIT_FAILED))
    assert found["error"] == 5
    assert 2500 < found["read"]["runtime"] < 10_000


@pytest.mark.parametrize("engine", ["filecreate", "filestat", "filedelete"])
def test_what_engines_of_files_do_is_a_result(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    words = ("--name=j", f"--ioengine={engine}", "--bs=4k", "--nrfiles=10", "--filesize=4k", "--directory=.")
    assert ours(capsys, *words).startswith("j: (g=0): rw=read, bs=(R) 4096B-4096B")
    found, expected = (
        job(text)["read"]
        for text in (
            ours(capsys, *words, "--output-format=json"),
            of_fio(*words, "--output-format=json"),
        )
    )
    assert found["total_ios"] == expected["total_ios"] == found["clat_ns"]["N"] == 10


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--rw=trim", "--size=1m"), "rw"),
        (("--rw=read", "--size=1m", "--continue_on_error=all"), "continue_on_error"),
        (("--rw=read", "--size=1m", "--kb_base=1000"), "kb_base"),
        (("--ioengine=filestat", "--nrfiles=3", "--filesize=4k"), "ioengine"),
    ],
)
def test_what_is_not_done_as_fio_does_it_is_told_and_refused_when_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], option: str
) -> None:
    assert run(["fio", "--name=j", *words, "--parse-only"]) == 0
    assert f"{option}" in capsys.readouterr().err
    assert run(["fio", "--strict", "--name=j", *words, "--parse-only"]) == EXIT_USAGE
    assert option in capsys.readouterr().err


def test_a_directory_for_logs_that_is_not_there_is_missed_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["fio", *READS, "--write_bw_log=nowhere/log"]) == EXIT_USAGE
    assert "mkdir -p nowhere" in capsys.readouterr().err
    assert not list((tmp_path / "ours").iterdir())


def test_the_ways_in_which_scripts_look_whether_fio_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fio", "-v"]) == 0
    assert capsys.readouterr().out.startswith("drivelab-")
    assert run(["fio", "-h"]) == 0
    assert "Usage" in capsys.readouterr().out


def program(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drivelab", "fio", *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_job_file_may_come_through_a_pipe(name: str) -> None:
    found = program(name, "--output-format=json", "--eta=never", given="[j]\nrw=write\nsize=64k\nfsync=1\n")
    assert found.returncode == 0
    assert job(found.stdout)["write"]["total_ios"] == 16


def test_nothing_is_said_on_stderr_where_all_is_as_with_fio_and_no_progress_is_wanted() -> None:
    words = ("--name=j", "--rw=write", "--size=64k", "--fsync=1", "--output-format=json", "--eta=never")
    assert program(*words).stderr == ""
    assert "mem=mmaphuge: approximated" in program(*words, "--mem=mmaphuge").stderr


@pytest.mark.parametrize(
    ("words", "begins"), [(("--minimal", "--output-format=json"), "{"), (("--output-format=json", "--minimal"), "3;")]
)
def test_the_last_format_holds(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], begins: str) -> None:
    assert ours(capsys, "--name=j", "--rw=read", "--size=64k", *words).startswith(begins)


def test_a_description_stands_behind_the_drives_in_a_terse_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--name=j", "--rw=read", "--size=64k", "--description=my words", "--minimal")
    lines = [text.strip().split(";") for text in (ours(capsys, *words), of_fio(*words))]
    assert lines[0][-1] == lines[1][-1] == "my words"
    assert len(lines[0]) == len(lines[1])


@pytest.mark.parametrize("line", ["iodpeth=32", "rw = read"])
def test_a_job_file_that_fio_would_refuse_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str
) -> None:
    file = tmp_path / "jobs.fio"
    file.write_text(f"[j]\nsize=64k\n{line}\n")
    assert subprocess.run(["fio", file], cwd=tmp_path / "theirs", capture_output=True, check=False).returncode == 1
    assert run(["fio", str(file)]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "error[U032]" in told
    assert f"{file}:3" in told
    assert "iodepth?" in told or "write rw=read" in told
    assert not list((tmp_path / "ours").iterdir())


def test_a_sync_call_at_the_end_of_a_file_is_made_in_every_pass(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--name=j", "--rw=write", "--bs=4k", "--size=32k", "--loops=3", "--end_fsync=1", "--output-format=json")
    assert job(ours(capsys, *words))["sync"]["total_ios"] == 3


def test_what_is_done_after_the_end_is_no_window_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--name=j", "--rw=randread", "--bs=4k", "--size=16m", "--runtime=1", "--time_based", "--ioengine=libaio")
    ours(capsys, *words, "--iodepth=16", "--direct=1", "--write_iops_log=l", "--log_avg_msec=250")
    lines = [[int(field) for field in line.split(",")] for line in Path("l_iops.1.log").read_text().splitlines()]
    assert [line[0] for line in lines] == [250, 500, 750, 1000]
    # of a window behind the end it was a thousandth
    assert min(line[1] for line in lines) > 0.02 * max(line[1] for line in lines)


@pytest.mark.needs_root
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--output=full/x",), "full cannot be written to"),
        (("--output=full",), "it is a directory"),
        (("--write_bw_log=full/x",), "full cannot be written to"),
    ],
)
def test_where_nothing_can_be_written_nothing_is_measured(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    Path("full").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", "full"], check=True)
    try:
        assert run(["fio", "--name=j", "--rw=read", "--size=64k", *words]) == EXIT_USAGE
    finally:
        subprocess.run(["umount", "full"], check=True)
    printed = capsys.readouterr()
    assert says in printed.err
    assert "step 1" not in printed.err + printed.out


def test_results_go_to_what_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert ours(capsys, "--name=j", "--rw=read", "--size=64k", "--output=/dev/null") == ""


def test_a_file_is_read_into_memory_before_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--name=j", "--rw=read", "--size=1m", "--strict")
    states = {}
    for pre_read in ("0", "1"):
        ours(capsys, *words, f"--pre_read={pre_read}")
        newest = open_run(max(Path("../runs").iterdir()))
        states[pre_read] = set(newest.measurement(newest.trial_names[0]).context)
    assert "dropped_page_cache" in states["0"] - states["1"]
    assert "warmed_page_cache" in states["1"] - states["0"]


def test_each_job_is_named_with_what_it_does_before_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "[a]\nrw=randrw\nbssplit=4k/50:16k/50\nsize=1m\niodepth=4\nioengine=libaio\nnumjobs=2\nthread\n"
    jobs += "[b]\nstonewall\nrw=read\nbs=1m\nsize=1m\nthread=0\n"
    Path("jobs.fio").write_text(jobs)
    Path("../theirs/jobs.fio").write_text(jobs)
    found, expected = ours(capsys, "jobs.fio", "--group_reporting"), of_fio("jobs.fio", "--group_reporting")
    heads = [
        [line for line in text.splitlines()[:5] if not re.match(r"(fio|drivelab)-\d", line)]
        for text in (found, expected)
    ]
    assert heads[0] == heads[1]
    assert (heads[0][1], heads[0][-1]) == ("...", "Starting 2 threads and 1 process")
