"""The commands around experiments: what they print, and how they refuse."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pytest

from drivelab.cli.conduct import announce_changes
from drivelab.cli.main import run
from drivelab.experiments.load import built_in_names
from drivelab.model.plan import PlannedTarget
from drivelab.store.read import open_run

OWN = """
format = 1
name = "own"
question = "Are appends fast?"
repeats = { full = 2, quick = 1 }

[[workloads]]
name = "log"
title = "4 KiB appended + fdatasync"
file_state = "append"
durability = "fdatasync"
count = 400
interval = "5ms"
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return str(path)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


def test_experiments_can_be_read_by_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    names = [experiment["name"] for experiment in document["experiments"]]
    assert names == sorted(names)
    assert {"ssd-latency", "write-size", "settings-scan", "honest-throughput", "fill-level", "large-read"} <= set(names)


def test_hours_of_a_simulated_drive_are_told_as_its_own_and_awaited_as_minutes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["plan", "pts-hir", "sim:industrial-card"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"Nothing is erased; about 28 h 2 min of simulated time; about 413 TiB .*", first)
    assert run(["run", "pts-xsr", "sim:industrial-card"]) == 0
    begun = capsys.readouterr().err.splitlines()[0]
    assert re.search(r"; about (\d+ s|1 min) left$", begun)


def test_plan_says_first_what_is_erased_and_last_what_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ssd-latency", "scratch:1GiB", "--quick", "--seed", "7", "--only", "mount=nodiscard"]
    assert run(["plan", *arguments]) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"Nothing is erased; about \d+ s; 2\.46 GiB are written", first)
    assert last == ("run it: drivelab run ssd-latency scratch:1GiB --quick --only mount=nodiscard --seed 7")
    # what does not fit into a line goes on in the next
    text = " ".join(" ".join(lines).split())
    for part in ("on scratch:1GiB (scratch-1GiB), made in ", "22 in 3 blocks", "(seed 7)", "by mkfs"):
        assert part in text


def test_a_plan_says_before_all_else_that_it_cannot_be_run_here(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", "queue-depth", "scratch:999TiB", "--seed", "7"]
    assert run(arguments) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first == "Cannot be run here"
    because = " ".join(" ".join(lines[: lines.index(next(one for one in lines if "erased" in one))]).split())
    assert because.startswith("because no directory for a scratch drive of 999 TiB: ")
    assert because.endswith("or name a directory in DRIVELAB_SCRATCH")
    assert last == "run it elsewhere: drivelab run queue-depth scratch:999TiB --seed 7"
    assert run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["impossible_here"][0].startswith("no directory for a scratch drive of 999 TiB")


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_dry_run_says_which_consent_is_missing(
    make_loop_device: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    device = make_loop_device(600 * 2**20)
    before = device.read_bytes()
    for typed, code in (((), "C201"), (("--erase", "another"), "C201"), (("--erase", device.name), None)):
        assert run(["run", "queue-depth", str(device), "--quick", "--dry-run", "--json", *typed]) == 0
        refused = json.loads(capsys.readouterr().out)["refused"]
        assert [error["code"] for error in refused] == ([code] if code else [])
    assert device.read_bytes() == before


@pytest.mark.parametrize("experiment", built_in_names())
def test_every_plan_is_a_screen_and_its_times_add_up(experiment: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = "scratch:6GiB"
    assert run(["plan", experiment, target, "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    if "more workloads" in "".join(lines):
        assert run(["plan", experiment, target, "--quick", "--seed", "1", "--all"]) == 0
        lines = capsys.readouterr().out.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.split()[:1] == ["measures"])
    end = lines.index("", begin) if "" in lines[begin:] else -1
    rows = [
        found for line in lines[begin + 1 : end] if (found := re.search(r"(?:  |^)(-|(?:\d+ (?:h|min|s) ?)+)$", line))
    ]
    assert rows
    assert sum(_seconds(found[1]) for found in rows) == _seconds(lines[0].split("; ")[1])


def _seconds(text: str) -> int:
    units = {"h": 3600, "min": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+) (h|min|s)\b", text))


def test_a_check_is_no_experiment_and_says_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "check", "/srv/data"]) == 2
    assert "do:    drivelab check /srv/data" in capsys.readouterr().err


def test_a_plan_is_the_same_for_the_same_seed(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for _ in range(2):
        assert run(["plan", "ssd-latency", "scratch:1GiB", "--quick", "--seed", "7", "--json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    assert len(documents[0]["steps"]) == 28


def test_restore_says_when_there_is_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["restore"]) == 0
    assert capsys.readouterr().out == "Nothing was left changed.\n"
    assert run(["restore", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["restored"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["run", "no-such", "."], "P701", 2),
        (["run", "ssd-latency", "."], "P704", 2),
        (["run", "ssd-latency", "scratch:100MiB"], "P705", 2),
        (["run", "ssd-latency", "/no/such/place"], "T101", 2),
        (["plan", "ssd-latency", "scratch:many"], "U001", 2),
        (["plan", "fill-level", ".", "--skip-unavailable"], "P711", 2),
        (["run", "ssd-latency", "scratch:1GiB", "--only", "filesystem=zfs"], "P712", 2),
    ],
)
def test_what_cannot_be_planned_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: str, status: int
) -> None:
    assert run(arguments) == status
    captured = capsys.readouterr()
    assert f"error[{code}]" in captured.err
    assert captured.out == ""


def test_what_a_backend_cannot_issue_is_an_error_of_the_plan(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # the second step is the one that cannot be: nothing of the first is done either
    text = Path(own).read_text()
    Path(own).write_text(text + '\n[[factors]]\nsetting = "workload"\nkey = "queue_depth"\nlevels = ["1", "8"]\n')
    Path(own).write_text(Path(own).read_text().replace("count = 400", 'count = 400\nbackend = "sync"'))
    target = tmp_path / "target"
    target.mkdir()
    for arguments in (["plan"], ["run", "--dry-run"], ["run"]):
        assert run([*arguments, own, str(target)]) != 0
        error = capsys.readouterr().err
        assert "error[E313]" in error, arguments
        assert "the sync backend keeps one I/O outstanding per job" in error
    assert list(target.iterdir()) == []
    assert not (tmp_path / "runs").exists()


def test_an_experiment_of_ones_own_runs_in_a_directory_without_root(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    assert run(["run", own, str(target), "--json"]) in (0, 4)
    document = json.loads(capsys.readouterr().out)
    (row,) = document["results"]
    assert (row["workload"], row["label"]) == ("log", "4 KiB appended + fdatasync")
    assert row["metrics"]["total_latency_ns_p50"]["repeat_count"] == 2
    assert [trial["operation"] for trial in document["trials"]] == ["durable_write"] * 2
    assert document["status"] == "complete"
    assert Path(document["report"]).is_file()
    assert list(target.iterdir()) == []
    assert list((tmp_path / "state" / "drivelab" / "journals").iterdir()) == []


def test_a_run_prints_its_table_and_where_it_lies(own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", own, str(tmp_path), "--out", str(tmp_path / "here"), "--quick"]) in (0, 4)
    captured = capsys.readouterr()
    assert "4 KiB appended + fdatasync" in captured.out
    assert f"report: {tmp_path}/here/" in captured.out
    assert "step 1 of 1, log" in captured.err


def test_a_run_keeps_the_experiment_as_it_was_narrowed(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = '\n[[factors]]\nsetting = "workload"\nkey = "block_size"\nlevels = ["512", "4KiB", "8KiB"]\n'
    Path(own).write_text(Path(own).read_text() + sizes)
    narrow = ["--only", "block_size=8KiB", "--only", "block_size=512", "--repeats", "1"]
    assert run(["run", own, str(tmp_path), "--json", *narrow]) in (0, 4)
    stored = open_run(Path(json.loads(capsys.readouterr().out)["report"]).parent).run_json
    (factor,) = stored["experiment"]["factors"]
    assert factor["levels"] == ["512", "8KiB"]
    assert stored["experiment"]["repeats"] == {"full": 1, "quick": 1}
    assert sorted(step["levels"]["block_size"] for step in stored["plan"]["steps"]) == ["512", "8KiB"]
    assert stored["plan"]["notes"][:2] == ["only block_size 8KiB, 512, as asked", "1 repeat, as asked"]


@pytest.mark.provokes("R407")
def test_a_run_in_which_nothing_could_be_measured_is_an_error(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # direct I/O takes no odd offsets
    text = Path(own).read_text().replace("count = 400", 'count = 400\ndirect = true\nblock_size = "512"\nshift = "1"')
    Path(own).write_text(text)
    assert run(["run", own, str(tmp_path), "--quick"]) == 1
    captured = capsys.readouterr()
    assert "error[R407] 1 of 1 step failed" in captured.err


def test_scratch_drives_are_refused_without_root(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert run(["run", "ssd-latency", "scratch:1GiB", "--quick"]) == 1
    assert "error[R401] a scratch drive needs root" in capsys.readouterr().err


def test_every_io_is_kept_when_the_workload_asks_for_it(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(own).write_text(Path(own).read_text() + "record_ios = true\n")
    assert run(["run", own, str(tmp_path), "--quick", "--json"]) in (0, 4)
    stored = open_run(json.loads(capsys.readouterr().out)["run"])
    (name,) = stored.trial_names
    ios = stored.ios(name)
    assert ios is not None
    # each write, and the sync call behind it
    assert ios["operation"].to_pylist() == [1, 3] * 400
    assert ios.filter(pc.equal(ios["operation"], 1))["offset_bytes"].to_pylist() == [4096 * n for n in range(400)]
    issued = ios["issue_ns"].to_pylist()
    assert issued == sorted(issued)


def test_what_is_changed_of_a_drive_that_others_use_is_said_before(capsys: pytest.CaptureFixture[str]) -> None:
    shared = PlannedTarget("d", "d", "directory", 1 << 30, 512, changes="scheduler of /dev/sda, which also holds /")
    own = PlannedTarget("s", "s", "block_device", 1 << 30, 512, destroys=("all",), changes="scheduler of /dev/sdb")
    announce_changes([shared, own, replace(shared, changes="")])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "changes meanwhile, and puts back: scheduler of /dev/sda, which also holds /\n"


@pytest.mark.provokes("P701")
def test_a_wrong_name_is_told_before_a_missing_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "ssd-latncy"]) == 2
    assert "did you mean ssd-latency?" in capsys.readouterr().err
    assert run(["plan", "ssd-latency"]) == 2
    assert "there is no target" in capsys.readouterr().err
