"""``drivelab runs``: what is kept, by target, and what cannot be read."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from compared_runs import write_compared_run

from drivelab.answers.run_answer import answer_of_run
from drivelab.cli import main
from drivelab.cli.run_in_short import told_in_short
from drivelab.model.run_answer import RunAnswer
from drivelab.report.outcome_words import short_verdict
from drivelab.store.find_run import all_kept, find_run, name_to_type
from drivelab.store.read import open_run

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
    head, first, more, last, second, how = out.splitlines()
    assert how == "to see one: drivelab report 2"
    assert head.split() == ["#", "when", "(UTC)", "experiment", "drive", "answer"]
    # a damaged one has a number, too: its directory is there
    assert re.match(r"2  2026-02-01 10:00  queue-depth-grid  sdb +Random reads \(block size$", first)
    assert re.match(r"3  2026-01-31 12:00  check +/var/lib/etcd  yes: etcd$", second)
    assert re.match(r" {20,}4 KiB\): 32 at a time are$", more)
    # as much of it as three lines hold
    assert re.match(r" {20,}the best trade…$", last)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert (
        len(
            {line.index(word) for line, word in ((head, "answer"), (first, "Random"), (more, "4 KiB"), (second, "yes"))}
        )
        == 1
    )
    assert "left out: 20260103T000000Z-damaged" in err


def test_the_answer_is_cut_between_words_where_the_terminal_ends(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main.run(["runs", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["runs"][0]["answer"]
    for width in (80, 100, 120, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main.run(["runs"]) == 0
        _, *lines, _, _ = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        start = lines[0].index("Random")
        shown = " ".join(line[start:] for line in lines).removesuffix("…")
        assert re.match(rf"{re.escape(shown)}[:;,]?( |$)", whole), "whole words"
        assert (shown == whole) is (width >= 100)


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
    assert re.fullmatch(r"\S+ us, \S+ us of it \D+", newest["in_short"])
    assert main.run(["runs"]) == 0
    assert newest["in_short"] in re.sub(r"\n\s{20,}", " ", capsys.readouterr().out)


PASSED, MISSED = (
    {
        "outcome": outcome,
        "threshold": {"limit": 990.0, "direction": "at_least"},
        "estimate": {"value": 991.2, "unit": "1/s"},
    }
    for outcome in ("pass", "undecided")
)
LATE = {
    "outcome": "fail",
    "threshold": {"limit": 1e7, "direction": "at_most"},
    "estimate": {"value": 1.2e7, "unit": "ns"},
}


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ({"title": "etcd", "outcome": "pass", "checks": [PASSED]}, "yes: etcd"),
        (
            {"title": "PostgreSQL", "outcome": "undecided", "checks": [PASSED, MISSED]},
            "undecided: PostgreSQL 991/s, wanted 990/s",
        ),
        ({"title": "etcd", "outcome": "fail", "checks": [LATE]}, "no: etcd 12 ms, limit 10 ms"),
        ({"title": "SQLite", "outcome": "no_limit", "forecast": {"commits_per_s": {"value": 730.4}}}, "SQLite 730/s"),
        ({"title": "Kafka", "outcome": "no_limit", "forecast": None}, "Kafka"),
        (
            {
                "outcome": "mixed",
                "verdicts": [{"title": one, "outcome": "pass"} for one in ("etcd", "Redis")]
                + [{"title": "Consul", "outcome": "fail"}],
            },
            "fit for 2 of 3, no: Consul",
        ),
        ({"outcome": "pass", "verdicts": [{"title": "etcd", "outcome": "pass"}] * 5}, "fit for 5 of 5"),
        ({"outcome": "undecided", "verdicts": [{"title": "Kafka", "outcome": "no_limit"}]}, ""),
        ({}, ""),
    ],
)
def test_a_verdict_has_a_form_that_fits_a_line(verdict: dict[str, Any], told: str) -> None:
    assert short_verdict(verdict) == told


def test_a_run_that_failed_says_why(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kept / "20260101T000000Z-check-etcd" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "failed", "error": "KeyError: 'x'"}))
    assert main.run(["runs"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith("  failed: KeyError: 'x'")
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
    told = capsys.readouterr().out
    assert "etcd" in told
    assert told.endswith("all numbers and intervals: drivelab report LAST --text --details\n")
    assert [name_to_type(one) for one in all_kept()] == ["LAST", *map(str, range(2, len(all_kept()) + 1))]
    assert name_to_type(kept) == str(kept)


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


def test_a_run_that_was_cut_off_before_its_first_answer_says_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    write_compared_run(tmp_path / "20260101T000000Z-cut", 1, repeats=1)
    monkeypatch.setattr("drivelab.answers.run_answer.answer_of_run", lambda *_: RunAnswer())
    assert main.run(["runs"]) == 0
    assert "1 of 1 trial" in " ".join(capsys.readouterr().out.split())


def test_an_explained_number_without_a_run_is_no_directory(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "99"]) != 0
    assert "error[S504] there is no run 99" in capsys.readouterr().err


def test_a_target_in_place_of_a_run_leads_to_its_runs(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("20260101T000000Z-check-sim-gp2-100", "20260102T000000Z-burst-sim-gp2-100"):
        write_compared_run(kept / name, 1, repeats=1)
    assert main.run(["report", "sim:gp2-100"]) != 0
    told = " ".join(capsys.readouterr().err.split())
    assert "name its newest one, 20260102T000000Z-burst-sim-gp2-100, or list all: drivelab runs sim:gp2-100" in told


def test_list_leads_to_drives_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["list"]) != 0
    assert (
        "for drives: drivelab drives; for experiments: drivelab experiments; for runs: drivelab runs"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "words",
    [("run", "queue-depth", "sim:disk-7200", "--quick", "--seed", "1"), ("check", "sim:disk-7200", "--quick")],
)
def test_a_command_says_in_its_own_json_what_the_list_says_of_its_run(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    main.run([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert main.run(["runs", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert {key: told[key] for key in ("in_short", "answer")} == {key: listed[key] for key in ("in_short", "answer")}
    assert told["answer"]


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_what_is_known_of_a_run_already_makes_no_other_answer_of_it(name: str) -> None:
    run = open_run(GOLDEN / name)
    assert told_in_short(run, answer_of_run(run)) == told_in_short(run)


def test_a_directory_of_runs_is_listed_instead_of_the_default_one(
    kept: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    gathered = tmp_path_factory.mktemp("a fleet")
    shutil.copytree(GOLDEN / "ssd-latency-scratch", gathered / "oak" / "20260105T000000Z-ssd-latency")
    shutil.copytree(GOLDEN / "explained-appends", gathered / "20260106T000000Z-explain")
    assert main.run(["runs", str(gathered)]) == 0
    _, *lines, how = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == ["1", "2"]
    # without the variable the numbers mean the runs that are kept
    assert how == f"to see one: DRIVELAB_RUNS='{gathered}' drivelab report 1"
    for one in ("oak", "oak/20260105T000000Z-ssd-latency"):
        assert main.run(["runs", str(gathered / one), "--json"]) == 0
        assert [row["run"] for row in json.loads(capsys.readouterr().out)["runs"]] == ["20260105T000000Z-ssd-latency"]
    monkeypatch.setenv("DRIVELAB_RUNS", str(gathered))
    assert [find_run(number).name for number in ("1", "2")] == [
        "20260106T000000Z-explain",
        "20260105T000000Z-ssd-latency",
    ]


def test_what_was_measured_on_a_directory_is_meant_before_what_lies_in_it(
    kept: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path_factory.mktemp("store")
    run = kept / "20260101T000000Z-check-etcd" / "run.json"
    run.write_text(run.read_text().replace("/var/lib/etcd", str(store)))
    shutil.copytree(GOLDEN / "queue-depth-grid", store / "20260102T000000Z-queue-depth-grid")
    assert main.run(["runs", str(store)]) == 0
    out, err = capsys.readouterr()
    assert "to see one: drivelab report 3" in out
    assert f"of those that lie in it: DRIVELAB_RUNS={store} drivelab runs" in err


def test_every_run_says_something_in_short(kept: Path) -> None:
    for directory in (path for path in GOLDEN.iterdir() if path.is_dir()):
        run = open_run(directory)
        told = told_in_short(run)
        assert told["in_short"], directory.name
        assert told["answer"], directory.name
        if not run.record.verdict and run.record.experiment["name"] != "explain":
            assert told["in_short"] == told["answer"]
    empty = kept / "20260102T000000Z-queue-depth-grid"
    document = json.loads((empty / "run.json").read_text())
    (empty / "run.json").write_text(json.dumps(document | {"status": "failed", "answer": ""}))
    for name in ("trials", "intervals", "histograms"):
        (empty / f"{name}.parquet").unlink()
    assert told_in_short(open_run(empty))["in_short"]
