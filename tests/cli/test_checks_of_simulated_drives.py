"""Checks of simulated drives, whose verdicts rest on what lasts."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.cli.main import run


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


def test_what_is_undecided_is_told_with_its_number_and_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "sim:disk-7200", "--quick"])
    lines = capsys.readouterr().out.splitlines()
    # a cache that takes 50 000 a second and a disk that writes 205 are no drive for 7 500
    assert lines[1].startswith("No   Consul: random 4 KiB write, QD32 205/s in the long run, 50 000/s over")
    (told,) = (line for line in lines if line.startswith("?    etcd"))
    assert told.startswith("?    etcd: p99 of 2300 B written in a row 8.34 ms (≥")
    assert len(lines) <= 25


@pytest.mark.usefixtures("no_page")
def test_a_forecast_that_a_burst_may_have_given_holds_at_first(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "sim:gp2-100", "--for", "postgres", "--quick"])
    told = " ".join(capsys.readouterr().out.split())
    assert "PostgreSQL would at first commit 7" in told
    assert "with 8 clients it would be" in told.lower()
    run(["check", "sim:micron-7450-max", "--for", "postgres", "--quick"])
    assert "PostgreSQL would commit about" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("no_page")
def test_why_there_is_no_yes_or_no_is_told_of_every_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "sim:micron-7450-max", "--for", "ceph", "--quick"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "its log takes 44" in told
    assert "No limit is published for it; --for ./FILE.toml" in told
    run(["check", "sim:gp2-100", "--for", "ceph", "--quick"])
    assert "its log takes at first 75" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize(("rate", "status"), [("100", 0), ("500", 4)])
def test_a_rate_that_a_base_rate_may_not_reach_is_undecided(
    rate: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "sim:gp2-100", "--for", "postgres", "--at-least", rate, "--quick"]) == status
    told = capsys.readouterr().out
    # what is unknown is told once, with what tells it: a longer check would not
    assert told.count("may be a burst") == 1
    assert told.count("drivelab run burst sim:gp2-100") == 1
    assert ("?    Measure the base rate: drivelab run burst sim:gp2-100\n" in told) == (status == 4)
    assert "check again" not in told


@pytest.mark.usefixtures("no_page")
def test_a_rate_that_may_be_a_burst_is_compared_with_a_word_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("sim:disk-7200", "sim:gp2-100"):
        run(["check", target, "--quick"])
    capsys.readouterr()
    assert run(["compare", "2", "1"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "at sequential I/O; its 3 000/s may be a burst." in told
    assert "All numbers of sim:gp2-100 may be those of a burst" in told
    assert "Measure what lasts: drivelab run burst sim:gp2-100." in told


def test_a_burst_that_was_measured_settles_what_was_open(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "burst", "sim:gp2-100"]) == 0
    capsys.readouterr()
    assert run(["check", "sim:gp2-100", "--for", "postgres", "--at-least", "500", "--quick"]) == 1
    told = capsys.readouterr().out
    words = " ".join(told.split())
    assert "No PostgreSQL: 300 commits a second by one client in the long run, 728 over the whole trial" in words
    assert "may be a burst" not in told
    assert "300/s at first 3 000/s" in told
    assert "on burst credit, and 300 a second without it" in told
    # and says nothing of another drive
    assert run(["check", "sim:micron-7450-max", "--for", "postgres", "--at-least", "500", "--quick"]) == 0
    assert "on burst credit" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "asked", [["redis-always"], ["sqlite"], ["redis-always", "--at-least", "100"]], ids=["log", "journal", "rate"]
)
def test_a_program_that_needs_files_is_refused_before_anything_is_measured(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "sim:consumer-ssd", "--quick", "--for", *asked]) == 2
    told = capsys.readouterr().err
    assert "error[P711]" in told
    assert "writes to files, and a simulated drive has no file system" in told
    assert not (tmp_path / "runs").exists()
