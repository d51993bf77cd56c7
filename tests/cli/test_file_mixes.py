"""A workload that does several things to files by turns has one rate, and no latency of one of them beside it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from drivelab.cli.main import run

MAIL = """
format = 1
name = "mail"
question = "How fast is mail?"
repeats = { full = 1, quick = 1 }
tables = ["results"]
figures = ["latency-histogram"]

[[workloads]]
name = "mail"
operations = [{ operation = "create", weight = 1 }, { operation = "read_file", weight = 3 }]
access = "random"
file_count = 64
file_size = "4KiB"
count = 200
"""


def test_of_a_mix_the_rate_and_the_count_are_of_all_and_each_latency_has_its_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "mail.toml").write_text(MAIL)
    (tmp_path / "disk").mkdir()
    assert run(["run", str(tmp_path / "mail.toml"), str(tmp_path / "disk")]) == 0
    capsys.readouterr()

    def asked(*words: str) -> str:
        assert run([*words]) == 0
        return capsys.readouterr().out

    query = (
        "select operation_count, iops * measured_ns / 1e9 as done, create_total_latency_ns_mean as created,"
        " read_file_total_latency_ns_mean as read from trials"
    )
    ((count, done, created, read),) = csv.reader(asked("sql", query, "LAST", "--csv").splitlines()[1:])
    assert (int(count), float(done)) == (200, pytest.approx(200, rel=0.01))
    assert float(created) > 0
    assert float(read) > 0
    assert "total_latency_ns_p50" not in [
        line.partition(",")[0] for line in asked("sql", "describe trials", "LAST", "--csv").splitlines()
    ]
    told = asked("report", "LAST", "--format", "markdown")
    assert any(line.startswith("| mail") and line.split("|")[2].strip() == "200" for line in told.splitlines())
    assert "median latency" not in told.partition("## Results")[2].partition("\n## ")[0]
