"""Runs in a bucket: put there once and whole, read where runs are read, and told clearly where that fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from drivelab.store.remote.cache import cache_root
from made_up_fleet import write_gathered_fleet
from s3_server import KEYS, Bucket, Wire

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"
PYTHON = Path(__file__).resolve().parents[2] / "python"
CHECK, GRID = GOLDEN / "check-directory", GOLDEN / "queue-depth-grid"
# each of these runs keeps its trials
RUNS = [GRID, GOLDEN / "ssd-latency-scratch", CHECK]
Asked = Callable[..., tuple[int, str, str]]


def store_of(bucket: Bucket) -> str:
    return f"s3://{bucket.name}/team/runs"


def in_cache() -> set[str]:
    return {path.name for path in cache_root().rglob("*") if path.is_file() and path.parent != cache_root()}


def test_a_run_is_there_once_with_all_that_it_consists_of(bucket: Bucket, asked: Asked, tmp_path: Path) -> None:
    directory = tmp_path / "a-run"
    shutil.copytree(CHECK, directory)
    (directory / "report.html").write_text("it can be made again")
    store = store_of(bucket)
    assert asked("push", directory, "--to", store) == (0, f"{store}: 1 stored\n", "")
    stored = {name.removeprefix("team/runs/") for name in bucket.names()}
    files = [path for path in directory.rglob("*") if path.is_file() and path.name != "report.html"]
    kept = {str(path.relative_to(tmp_path)) for path in files}
    record = sha256((directory / "run.json").read_bytes()).hexdigest()
    assert stored == {"manifests/a-run.json", f"manifests/records/{record}", *kept}
    for name in kept:
        assert bucket.content(f"team/runs/{name}") == (tmp_path / name).read_bytes()
    before = {name: bucket.content(name) for name in bucket.names()}
    assert asked("push", directory, "--to", f"{store}/") == (0, f"{store}/: 1 there already\n", "")
    assert {name: bucket.content(name) for name in bucket.names()} == before


@pytest.mark.provokes("S516")
def test_another_run_of_that_name_is_never_replaced(bucket: Bucket, asked: Asked, tmp_path: Path) -> None:
    asked("push", CHECK, "--to", store_of(bucket))
    before = {name: bucket.content(name) for name in bucket.names()}
    other = tmp_path / CHECK.name
    shutil.copytree(GRID, other)
    status, out, err = asked("push", other, GRID, "--to", store_of(bucket), "--json")
    assert status == 1
    assert [one["state"] for one in json.loads(out)["runs"]] == ["failed", "stored"]
    assert f"another run is called {CHECK.name} there (S516)" in err
    assert {name: bucket.content(name) for name in before} == before


@pytest.mark.provokes("S511")
def test_an_upload_that_is_cut_off_leaves_no_run_and_goes_on(bucket: Bucket, wire: Wire, asked: Asked) -> None:
    last = f"PUT /{bucket.name}/team/runs/{GRID.name}/run.json"
    wire.cuts = lambda line: line.startswith(last)
    status, _, err = asked("push", GRID, "--to", store_of(bucket))
    assert status == 1
    assert "error[S511]" in err
    assert f"team/runs/{GRID.name}/trials.parquet" in bucket.names()
    status, _, err = asked("report", f"{store_of(bucket)}/{GRID.name}", "--text")
    assert status == 2
    assert "error[S504] there is no whole run" in err
    assert "no run of" in asked("runs", store_of(bucket))[1]
    wire.cuts = lambda _line: False
    wire.requests.clear()
    assert asked("push", GRID, "--to", store_of(bucket))[:2] == (0, f"{store_of(bucket)}: 1 stored\n")
    put = [line.split("?")[0].rpartition("/runs/")[2] for line in wire.requests if line.startswith("PUT")]
    # its name is known there, and only what is missing comes
    record = sha256((GRID / "run.json").read_bytes()).hexdigest()
    files = [f"{GRID.name}/run.json", f"manifests/{GRID.name}.json"]
    assert [name.split()[0] for name in put] == [f"manifests/records/{record}", *files]
    assert asked("report", f"{store_of(bucket)}/{GRID.name}", "--text")[0] == 0


def test_commands_read_a_bucket_as_they_read_a_directory(bucket: Bucket, asked: Asked, tmp_path: Path) -> None:
    here, there = tmp_path / "runs", store_of(bucket)
    for one in RUNS:
        shutil.copytree(one, here / one.name)
    asked("push", here, "--to", there)
    count = "select run, count(*) as trials from trials group by run order by run"
    for words in (["sql", count], ["sql", "select run, experiment from runs order by run"], ["fleet", "report"]):
        assert asked(*words, there)[:2] == asked(*words, here)[:2]
    for words in (["report", "{}", "--text", "--details"], ["compare", "{other}", "{}"]):
        for one in RUNS[:2]:
            of_bucket = asked(*(word.format(f"{there}/{one.name}", other=f"{there}/{CHECK.name}") for word in words))
            of_here = asked(*(word.format(here / one.name, other=here / CHECK.name) for word in words))
            assert of_bucket[:2] == (of_here[0], of_here[1].replace(f"run:    {here}", f"run:    {there}"))
    listed = json.loads(asked("runs", there, "--json")[1])["runs"]
    assert {one["run"] for one in listed} == {one.name for one in RUNS}


def test_the_stores_in_the_folders_of_an_address_are_listed_together(bucket: Bucket, asked: Asked) -> None:
    for one, folder in ((CHECK, "a"), (GRID, "b")):
        assert asked("push", one, "--to", f"s3://{bucket.name}/team/{folder}")[0] == 0
    above = f"s3://{bucket.name}/team"
    status, out, err = asked("runs", above)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == f"to see one: DRIVELAB_RUNS={above} drivelab report 1"
    assert asked("sql", "select count(*) as n from runs", above)[1].split() == ["n", "2"]
    # two levels up nothing is looked for
    assert "no run of" in asked("runs", f"s3://{bucket.name}")[1]


def test_where_runs_are_kept_may_be_a_bucket(
    bucket: Bucket, asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked("push", *RUNS, "--to", store_of(bucket))
    monkeypatch.setenv("DRIVELAB_RUNS", store_of(bucket))
    assert asked("sql", "select count(*) as n from runs")[1].split() == ["n", "3"]
    # the newest by its name
    first = asked("runs")[1].splitlines()[1]
    assert first.startswith("1 ")
    told = asked("report", GRID, "--text")[1]
    assert asked("report", GRID.name, "--text")[1] == told.replace(str(GRID), f"{store_of(bucket)}/{GRID.name}")
    assert asked("history", "/var/lib/etcd")[1].startswith("The newest check")
    assert asked("fleet", "status")[0] == 1


@pytest.mark.provokes("S518")
def test_a_bucket_is_no_place_to_measure(
    bucket: Bucket, asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked("push", CHECK, "--to", store_of(bucket))
    for named in (f"{store_of(bucket)}/{CHECK.name}", "LAST"):
        monkeypatch.setenv("DRIVELAB_RUNS", store_of(bucket))
        told = asked("resume", named)[2]
        assert "error[S518] a run in a store is resumed on the computer that began it" in told
    monkeypatch.delenv("DRIVELAB_RUNS")
    status, _, err = asked("export", "fio", f"{store_of(bucket)}/{CHECK.name}")
    assert (status, "error[U014]" in err) == (2, True)
    monkeypatch.setenv("DRIVELAB_RUNS", store_of(bucket))
    status, _, err = asked("check", tmp_path, "--quick")
    assert status == 1
    assert "error[S518]" in err
    assert "drivelab push RUN --to STORE" in err


def test_only_what_is_needed_comes_here_and_only_once(bucket: Bucket, wire: Wire, asked: Asked) -> None:
    traced = GOLDEN / "explained-appends"
    asked("push", traced, *RUNS, "--to", store_of(bucket))
    wire.requests.clear()
    asked("sql", "select run, experiment from runs", store_of(bucket))
    assert in_cache() == {"run.json", "manifest.json", "address"}
    assert sum("GET" in line and "list-type" not in line for line in wire.requests) == 1 + len(RUNS)
    asked("fleet", "report", store_of(bucket))
    assert in_cache() == {"run.json", "manifest.json", "address", "trials.parquet", "histograms.parquet"}
    wire.requests.clear()
    asked("fleet", "report", store_of(bucket))
    assert [line for line in wire.requests if "list-type" not in line] == []
    asked("report", f"{store_of(bucket)}/{traced.name}", "--text")
    assert len(in_cache()) > 4


def test_a_run_that_was_put_there_anew_is_read_anew(bucket: Bucket, asked: Asked, tmp_path: Path) -> None:
    asked("push", CHECK, "--to", store_of(bucket))
    count = "select count(*) as n from trials"
    assert asked("sql", count, store_of(bucket))[1].split() == ["n", "9"]
    for name in bucket.names():
        bucket.remove(name)
    other = tmp_path / CHECK.name
    shutil.copytree(GRID, other)
    asked("push", other, "--to", store_of(bucket))
    assert asked("sql", count, store_of(bucket))[1].split() == ["n", "28"]


def test_a_page_of_a_run_in_a_bucket_is_written_here(
    bucket: Bucket, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked("push", CHECK, "--to", store_of(bucket))
    monkeypatch.chdir(tmp_path)
    assert asked("report", f"{store_of(bucket)}/{CHECK.name}")[1] == f"{CHECK.name}.html\n"
    assert (tmp_path / f"{CHECK.name}.html").is_file()


def test_two_processes_bring_the_same_runs_at_once(bucket: Bucket, asked: Asked) -> None:
    asked("push", *RUNS, "--to", store_of(bucket))
    words = [sys.executable, "-m", "drivelab", "sql", "select count(*) as n from histograms", store_of(bucket)]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    answers = [one.communicate() for one in both]
    assert answers[0] == answers[1]
    assert [one.returncode for one in both] == [0, 0], answers
    assert not [path for path in cache_root().rglob(".*") if path.is_file()]


@pytest.mark.provokes("S515")
@pytest.mark.parametrize("harm", ["changed", "missing", "manifest"])
def test_a_run_that_is_damaged_there_is_named(harm: str, bucket: Bucket, asked: Asked) -> None:
    asked("push", *RUNS, "--to", store_of(bucket))
    name = f"team/runs/{CHECK.name}/trials.parquet"
    if harm == "changed":
        content = bucket.content(name)
        bucket.put(name, content[:-9] + bytes(9))
    elif harm == "missing":
        bucket.remove(name)
    else:
        name = f"team/runs/manifests/{CHECK.name}.json"
        bucket.put(name, bucket.content(name).replace(b'"sha256": "', b'"sha256": "0'))
    status, _, err = asked("report", f"{store_of(bucket)}/{CHECK.name}", "--text")
    assert status == 1
    assert "error[S515]" in err
    status, out, err = asked("fleet", "report", store_of(bucket), "--json")
    assert "1 run that cannot be read" in out + err
    if harm == "manifest":
        assert (
            f"left out: {CHECK.name}: the manifest of {CHECK.name} cannot be understood"
            in asked("runs", store_of(bucket))[2]
        )


@pytest.mark.provokes("S511")
def test_a_connection_that_breaks_off_is_told_and_what_came_is_kept(bucket: Bucket, wire: Wire, asked: Asked) -> None:
    asked("push", GRID, "--to", store_of(bucket))
    wire.cuts = lambda line: "trials.parquet" in line
    status, _, err = asked("sql", "select count(*) as n from trials", store_of(bucket))
    assert status == 1
    assert "error[S511] it cannot be reached" in err
    assert "Traceback" not in err
    assert in_cache() == {"run.json", "manifest.json", "address"}
    wire.cuts = lambda _line: False
    assert asked("sql", "select count(*) as n from trials", store_of(bucket))[1].split() == ["n", "28"]


@pytest.mark.provokes("S512", "S513", "S514")
def test_what_a_bucket_refuses_is_told(bucket: Bucket, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, err = asked("runs", "s3://no-such-bucket-anywhere/runs")
    assert (status, "error[S513] there is no such bucket" in err) == (2, True)
    status, _, err = asked("push", CHECK, "--to", "s3://no-such-bucket-anywhere/runs")
    assert (status, "error[S513] there is no such bucket" in err) == (2, True)
    bucket.refuse_writes()
    status, _, err = asked("push", CHECK, "--to", store_of(bucket))
    assert status == 1
    assert "error[S514] it takes nothing from here" in err
    assert bucket.names() == []
    for name in KEYS:
        monkeypatch.delenv(name)
    status, _, err = asked("runs", store_of(bucket))
    assert status == 1
    assert "error[S512] there are no keys for it" in err


@pytest.mark.provokes("S504", "U054")
@pytest.mark.parametrize(
    ("typed", "code"),
    [("s3://{}/team/runs/tuesday", "S504"), ("s3://", "U054"), ("s4://{}/team", "U054"), ("s3:///x", "U054")],
)
def test_what_is_no_run_there_is_told(typed: str, code: str, bucket: Bucket, asked: Asked) -> None:
    asked("push", CHECK, "--to", store_of(bucket))
    status, _, err = asked("report", typed.format(bucket.name), "--text")
    assert status == 2
    assert f"error[{code}]" in err
    assert "Traceback" not in err


@pytest.mark.provokes("S510")
def test_what_reaches_a_bucket_is_named_where_it_is_missing(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, name, None)
    status, _, err = asked("push", CHECK, "--to", "s3://bucket/runs")
    assert status == 1
    assert "error[S510]" in err
    assert "pip install 'drivelab[remote]'" in err
    # a directory needs none of it
    assert asked("push", CHECK, "--to", tmp_path / "store")[0] == 0


@pytest.mark.provokes("S517")
def test_a_run_that_goes_on_is_not_put_there(bucket: Bucket, asked: Asked, tmp_path: Path) -> None:
    directory = tmp_path / "going-on"
    shutil.copytree(CHECK, directory)
    document = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(json.dumps(document | {"status": "running"}))
    status, _, err = asked("push", directory, "--to", store_of(bucket))
    assert (status, "(S517)" in err) == (1, True)
    assert bucket.names() == []


def gathered(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command as a process of its own: it has a loop, and in this one that of a browser may be at work."""
    return subprocess.run([sys.executable, "-m", "drivelab", *map(str, words)], capture_output=True, text=True)


def test_a_fleet_is_gathered_into_a_bucket_with_the_names_of_its_hosts(
    bucket: Bucket, asked: Asked, tmp_path: Path
) -> None:
    fleet, directories = write_gathered_fleet(tmp_path)
    for directory in directories:
        listed = [(one.name, one.stat().st_size, sha256(one.read_bytes()).hexdigest()) for one in directory.iterdir()]
        directory.with_name(f".{directory.name}.files.json").write_text(json.dumps({"files": listed}))
    words = ("fleet", "gather", fleet.directory, "--listen", "127.0.0.1", "--to", store_of(bucket))
    first, second = gathered(*words), gathered(*words)
    assert (first.returncode, first.stderr) == (0, f"{store_of(bucket)}: 2 stored\n")
    assert second.stderr == f"{store_of(bucket)}: 2 there already\n"
    found = json.loads(asked("fleet", "report", store_of(bucket), "--json")[1])
    assert [one["host"] for one in found["drives"]] == ["fir", "oak"]
    # from one store into another
    assert asked("push", store_of(bucket), "--to", tmp_path / "copy")[0] == 0
    for directory in directories:
        copied = {path.name: path.read_bytes() for path in (tmp_path / "copy" / directory.name).iterdir()}
        assert copied == {path.name: path.read_bytes() for path in directory.iterdir()}
    found = json.loads(asked("fleet", "report", tmp_path / "copy", "--json")[1])
    assert [one["host"] for one in found["drives"]] == ["fir", "oak"]
    for place in (fleet.directory, store_of(bucket), tmp_path / "copy"):
        hosts = "select fleet_host, hostname, trial_count > 0 as has_trials from runs order by all"
        told = json.loads(asked("sql", hosts, place, "--json")[1])
        assert [[*row.values()] for row in told["rows"]] == [["fir", "localhost", True], ["oak", "localhost", True]]


def test_large_files_go_there_and_come_back_in_pieces(
    bucket: Bucket, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("push", "bring"):
        monkeypatch.setattr(f"drivelab.store.remote.{module}.LARGE_BYTES", 1000)
    assert asked("push", GRID, "--to", store_of(bucket))[0] == 0
    count = "select count(*) as n from histograms"
    assert asked("sql", count, store_of(bucket))[1] == asked("sql", count, GRID)[1]


@pytest.mark.provokes("S501")
def test_where_nothing_can_be_kept_here_is_told(
    bucket: Bucket, asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked("push", GRID, "--to", store_of(bucket))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    status, _, err = asked("runs", store_of(bucket))
    assert status == 1
    assert "error[S501]" in err
    assert "set XDG_CACHE_HOME" in err
