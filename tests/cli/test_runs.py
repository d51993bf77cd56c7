"""``drivelab runs``: what is kept, by target, and what cannot be read."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli import main

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with two runs and one that is damaged."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    shutil.copytree(GOLDEN / "check-directory", tmp_path / "20260101T000000Z-check-etcd")
    shutil.copytree(GOLDEN / "queue-depth-grid", tmp_path / "20260102T000000Z-queue-depth-grid")
    (tmp_path / "20260103T000000Z-damaged").mkdir()
    (tmp_path / "20260103T000000Z-damaged" / "run.json").write_text("{")
    return tmp_path


def test_runs_are_listed_with_their_targets_and_answers(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["runs"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    first, second = (place for place, line in enumerate(lines) if not line.startswith(" "))
    assert lines[first] == "20260101T000000Z-check-etcd  /var/lib/etcd"
    assert lines[first + 1].startswith("  Yes, this carries etcd: ")
    assert lines[second].startswith("20260102T000000Z-queue-depth-grid  ")
    # an experiment has no verdict: its first sentence, in whole clauses
    assert lines[second + 1].startswith("  Random reads (block size 4 KiB): 32 at a time are the best trade,")
    assert len(lines) <= 6
    assert out.endswith("instead of 71.9 us\n")
    assert all(len(line) <= 80 for line in lines)
    assert "left out: 20260103T000000Z-damaged" in err


def test_an_explained_run_is_listed_by_where_its_time_went(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(GOLDEN / "explained-appends", kept / "20260104T000000Z-explain-srv")
    assert main.run(["runs", "--json"]) == 0
    *_, last = json.loads(capsys.readouterr().out)["runs"]
    assert re.match(r"Of a typical \S+\s[uµ]s \(\S+\s[uµ]s untraced\), ", last["answer"])


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Fit for etcd; undecided for Consul.", "  Fit for etcd; undecided for Consul."),
        ("Not fit for etcd.", "  Not fit for etcd."),
        ("PostgreSQL: 6 000 commits a second", "  yes: PostgreSQL: 6 000 commits a second"),
    ],
)
def test_an_outcome_stands_before_what_does_not_say_it(
    kept: Path, capsys: pytest.CaptureFixture[str], sentence: str, told: str
) -> None:
    path = kept / "20260101T000000Z-check-etcd" / "run.json"
    document = json.loads(path.read_text())
    document["verdict"] |= {"sentence": sentence, "outcome": "pass"}
    path.write_text(json.dumps(document))
    assert main.run(["runs"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == told


def test_only_the_runs_of_a_target_are_listed(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["runs", "/var/lib/../lib/etcd/", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert one["run"] == "20260101T000000Z-check-etcd"
    assert one["answer"]
    assert one["outcome"] == "pass"
    assert main.run(["runs", "/nowhere"]) == 0
    assert capsys.readouterr().out == "no run of /nowhere is kept\n"


def test_the_newest_run_is_called_last(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(kept / "20260103T000000Z-damaged")
    shutil.rmtree(kept / "20260102T000000Z-queue-depth-grid")
    assert main.run(["report", "LAST", "--text"]) == 0
    assert "etcd" in capsys.readouterr().out


def test_a_directory_is_known_by_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(volume)
    command = ["io", ".", "--operation", "create", "--files", "3", "--out", str(tmp_path / "runs"), "--json"]
    assert main.run(command) == 0
    capsys.readouterr()
    assert main.run(["runs", str(volume), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert one["targets"] == [str(volume)]
