"""A rate that is told by what lasts has what a cache gave before beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.main import run
from drivelab.model.judged_metric import THROUGHPUT
from drivelab.store.read import open_run

# fast flash takes writes until it is full, within the trial
DRIVE = """
title = "drive with fast flash in front"
size = "1GiB"
command = "2us"
read_latency = "10us"
write_latency = "10us"

[flash]
raw = "1200MiB"
block = "2MiB"
units = 8
read = "60us"
program = "600us"
erase = "2ms"
slc = "200MiB"
slc_program = "60us"
"""


def test_what_lasts_stands_beside_what_was_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drive.toml").write_text(DRIVE)
    only = ["--quick", "--repeats", "1", "--only", "fill_level=100%"]
    assert run(["run", "fill-level", "sim:./drive.toml", *only, "--out", "runs", "--json"]) in (0, 4)
    (directory,) = (tmp_path / "runs").iterdir()
    json.loads(capsys.readouterr().out)
    stored = open_run(directory)
    (one,) = answer_of_run(stored, SHOWN_METRICS).combinations
    told = one.metrics[THROUGHPUT]
    assert told.at_first is not None
    assert told.at_first > 1.5 * told.value
    for form in ("--text", "--text --details", "--format markdown"):
        assert run(["report", str(directory), *form.split()]) == 0
        assert "at first " in capsys.readouterr().out, form
