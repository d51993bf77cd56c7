"""``drivelab report --text`` of an experiment that asks how long tasks take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drivelab.cli import main

TASKS = """format = 1
name = "tasks"
question = "How long do tasks take?"
repeats = { full = 2, quick = 2 }
figures = ["total-time"]
"""
WORKLOAD = """
[[workloads]]
name = "{name}"
title = "{name}: reads"
operation = "read"
access = "random"
block_size = "4KiB"
direct = true
file_size = "1GiB"
count = {count}
"""


def test_the_times_of_the_answer_stand_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = {"boot": 400, "start": 800, "search": 1600}
    experiment = tmp_path / "tasks.toml"
    experiment.write_text(TASKS + "".join(WORKLOAD.format(name=name, count=count) for name, count in names.items()))
    assert main.run(["run", str(experiment), "sim:consumer-ssd", "--quick"]) == 0
    capsys.readouterr()
    assert main.run(["report", "LAST", "--text"]) == 0
    out = capsys.readouterr().out
    (told,) = re.findall(r"^Boot \(reads\): ([\d.]+ ms)", out, re.MULTILINE)
    assert re.search(rf"^  boot: reads +{re.escape(told)}", out, re.MULTILINE)
    assert "MB/s" not in out
    # and several runs are compared by them
    assert main.run(["run", str(experiment), "sim:industrial-card", "--quick"]) == 0
    capsys.readouterr()
    assert main.run(["report", "2", "1", "--text"]) == 0
    first, *_ = capsys.readouterr().out.partition("\n\n")[0].split(": reads")
    assert re.search(r"[\d.]+ ms against [\d.]+ ms|times as fast|faster", first)
    assert "a second" not in first
