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


def test_runs_are_listed_the_newest_first_with_their_drives_and_answers(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["runs"]) == 0
    out, err = capsys.readouterr()
    head, first, second = out.splitlines()
    assert head.split() == ["#", "when", "(UTC)", "experiment", "drive", "answer"]
    # a damaged one has a number, too: its directory is there
    assert re.match(r"2  2026-02-01 10:00  queue-depth-grid  sdb +Random reads \(block size…$", first)
    assert re.match(r"3  2026-01-31 12:00  check +/var/lib/etcd  Yes, this carries etcd(: 99.*)?…$", second)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert len({line.index(word) for line, word in ((head, "answer"), (first, "Random"), (second, "Yes"))}) == 1
    assert "left out: 20260103T000000Z-damaged" in err


def test_the_answer_is_cut_between_words_where_the_terminal_ends(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main.run(["runs", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["runs"][0]["answer"]
    for width in (80, 100, 120, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main.run(["runs"]) == 0
        _, line, _ = capsys.readouterr().out.splitlines()
        assert len(line) <= width
        shown = line[line.index("Random") :].removesuffix("…")
        assert re.match(rf"{re.escape(shown)}[:;,]?( |$)", whole), "whole words"
        assert (shown == whole) is (width == 300)


def test_a_number_means_the_run_that_it_stands_beside(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["report", "3", "--text"]) == 0
    assert "etcd" in capsys.readouterr().out
    assert main.run(["report", "4", "--text"]) != 0
    assert "there is no run 4" in capsys.readouterr().err


def test_an_explained_run_is_listed_by_where_its_time_went(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(GOLDEN / "explained-appends", kept / "20260104T000000Z-explain-srv")
    assert main.run(["runs", "--json"]) == 0
    newest, *_ = json.loads(capsys.readouterr().out)["runs"]
    assert newest["number"] == 1
    assert re.match(r"Of a typical \S+\s[uµ]s \(\S+\s[uµ]s untraced\), ", newest["answer"])


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Fit for etcd; undecided for Consul.", "Fit for etcd; undecided for…"),
        ("Not fit for etcd.", "Not fit for etcd."),
        ("PostgreSQL: 6 000 commits a second", "yes: PostgreSQL: 6 000 commits…"),
    ],
)
def test_an_outcome_stands_before_what_does_not_say_it(
    kept: Path, capsys: pytest.CaptureFixture[str], sentence: str, told: str
) -> None:
    path = kept / "20260101T000000Z-check-etcd" / "run.json"
    document = json.loads(path.read_text())
    document["verdict"] |= {"sentence": sentence, "outcome": "pass"}
    path.write_text(json.dumps(document))
    assert main.run(["runs", "/var/lib/etcd"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith(f"  {told}")


def test_a_run_that_failed_says_why(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kept / "20260101T000000Z-check-etcd" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "failed", "error": "KeyError: 'x'"}))
    assert main.run(["runs"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("  failed: KeyError: 'x'")
    assert main.run(["report", path.parent.name, "--text"]) == 0
    assert "it failed: KeyError: 'x'" in capsys.readouterr().out


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
