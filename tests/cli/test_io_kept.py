"""A workload that was kept says of itself later what it said at once: the same sentence, and what was done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.cli.main import run

READS = ("--operation", "read", "--queue-depth", "8", "--runtime", "1s")


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    run([*words])
    return " ".join(capsys.readouterr().out.replace("\u202f", " ").replace("µs", "us").split())


def test_the_sentence_is_the_same_in_the_list_and_in_each_report(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(told(capsys, "io", "sim:consumer-ssd", *READS, "--out", "runs", "--json"))
    sentence = found["answer"].replace("\u202f", " ")
    assert sentence.startswith("4 KiB reads, 8 at a time: ")
    assert json.loads(told(capsys, "runs", "--json"))["runs"][0]["answer"].replace("\u202f", " ") == sentence
    for words in (("--text",), ("--format", "markdown")):
        text = told(capsys, "report", "LAST", *words).replace("\\", "")
        assert sentence in text
        assert "Reads: a median" not in text


def test_what_was_done_is_told_where_workloads_stand_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    for size in ("4KiB", "64KiB"):
        told(capsys, "io", "sim:consumer-ssd", *READS, "--block-size", size, "--out", "runs")
    text = told(capsys, "report", "1", "2", "--text")
    assert "4 KiB reads, 8 at a time" in text
    assert "64 KiB reads, 8 at a time" in text


def test_of_a_number_that_is_not_the_drives_that_is_said_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write = ("--operation", "write", "--size", "1MiB", "--count", "2000", "--out", "runs")
    at_once = told(capsys, "io", str(tmp_path / "data"), *write)
    assert at_once.startswith("Not to be trusted: ")
    first = told(capsys, "report", "LAST", "--text").removeprefix("What does this drive do? ")
    assert first.startswith(at_once.partition("(")[0].rstrip(" .")[:60])
    assert json.loads(told(capsys, "runs", "--json"))["runs"][0]["in_short"].startswith("Not to be trusted: ")
