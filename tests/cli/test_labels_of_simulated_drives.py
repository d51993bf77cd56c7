"""Simulated drives are called by their labels where several runs stand in one report."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.cli.main import run
from small_simulated_drive import MODEL

EXPERIMENT = """
format = 1
name = "depths"
question = "How many at a time?"
repeats = { full = 2, quick = 1 }

[[factors]]
setting = "workload"
key = "queue_depth"
levels = [1, 4]

[[factors]]
setting = "precondition"
levels = ["sequential"]

[[workloads]]
name = "reads"
operation = "read"
access = "random"
block_size = "4KiB"
runtime = "100s"
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(MODEL)
    (tmp_path / "depths.toml").write_text(EXPERIMENT)


def test_labels_of_simulated_drives_are_what_a_report_of_several_runs_calls_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.toml").write_text(MODEL.replace('read_latency = "9us"', 'read_latency = "90us"'))
    for model, label in (("small", "new"), ("slow", "old")):
        measure = ["run", "./depths.toml", f"sim:./{model}.toml", "--label", label, "--quick", "--out", "runs"]
        assert run(measure) == 0
    capsys.readouterr()
    names = [str(one) for one in sorted((tmp_path / "runs").iterdir())]
    assert run(["report", *names, "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    assert " times as fast as old at reads; " in page
    assert "| queue depth | new" in page
    assert "sim:./" not in page.partition("## Results")[0]
    # one label of two models is no reason to take them for one drive
    assert run([*measure[:2], "sim:./small.toml", *measure[3:]]) == 0
    capsys.readouterr()
    names = [str(one) for one in (tmp_path / "runs").iterdir() if one.name.rstrip("-0123456789").endswith("old")]
    assert len(names) == 2
    assert run(["report", *names, "--format", "markdown"]) == 0
    assert "times as fast as old (" in capsys.readouterr().out
