"""What ``drivelab fio --status-interval`` prints while jobs run."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run

JOB = ("--rw=randrw", "--bs=4k", "--size=1m", "--rate_iops=100", "--time_based", "--eta=never")
EVERY = ("--status-interval=300ms",)


def documents(text: str) -> list[dict[str, Any]]:
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text):
        document, end = decoder.raw_decode(text, place)
        found.append(document)
        place = end + 1
    return found


def counts(document: dict[str, Any], job: int = 0) -> tuple[int, int]:
    found = document["jobs"][job]
    return found["read"]["total_ios"] + found["write"]["total_ios"], found["job_runtime"]


def test_each_document_has_everything_since_the_start(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["fio", "--name=a", *JOB, "--runtime=1", *EVERY, "--output-format=json"]) == 0
    *early, last = documents(capsys.readouterr().out)
    assert early
    grown = [counts(each) for each in (*early, last)]
    assert grown == sorted(set(grown))
    for document in early:
        job = document["jobs"][0]
        assert job["jobname"] == "a"
        assert job["job options"]["rate_iops"] == "100"
        for direction in ("read", "write"):
            assert job[direction]["clat_ns"]["N"] == job[direction]["total_ios"] > 0
            assert job[direction]["iops"] == pytest.approx(job[direction]["total_ios"] * 1e3 / job["job_runtime"])
        # looks come at the end of an interval of 0.1 s
        assert job["job_runtime"] % 100 == 0


def test_of_jobs_beside_each_other_there_is_one_document_and_those_that_have_ended_stay_in_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = ("--name=first", "--runtime=400ms", "--name=second", "--runtime=1", "--name=third", "--stonewall")
    words = ["fio", *JOB, *jobs, "--runtime=500ms", *EVERY, "--output=all.json", "--output-format=json"]
    assert run(words) == 0
    assert capsys.readouterr().out == ""
    found = documents((tmp_path / "all.json").read_text())
    names = [[job["jobname"] for job in document["jobs"]] for document in found]
    assert names[0] == ["first", "second"]
    assert names[-2:] == [["first", "second", "third"]] * 2
    ended = [document for document in found if len(document["jobs"]) == 3]
    assert counts(ended[0]) == counts(ended[-1])
    assert counts(ended[0], 1) == counts(ended[-1], 1)


def test_lines_of_terse_output_come_as_they_are_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["fio", "--name=a", *JOB, "--runtime=1", *EVERY, "--minimal"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert {line.split(";")[2] for line in lines} == {"a"}


def test_a_job_that_is_ended_is_printed_with_what_it_has_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = tmp_path / "all.json"

    def end_once_it_runs() -> None:
        while not written.exists():
            threading.Event().wait(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=end_once_it_runs, daemon=True).start()
    words = ["fio", "--name=a", *JOB, "--runtime=1h", *EVERY, f"--output={written}", "--output-format=json"]
    assert run(words) == 128
    *_, last = documents(written.read_text())
    assert [job["jobname"] for job in last["jobs"]] == ["a"]
    assert counts(last)[0] > 0
