"""Runs of several drives beside each other: a drive is compared with itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.cli.main import run

CARD, DISK, SSD = "sim:industrial-card", "sim:disk-7200", "sim:consumer-ssd"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


def measured(*drives: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["run", "queue-depth", *drives, "--quick", "--json"]) in (0, 4)
    return Path(json.loads(capsys.readouterr().out)["run"]).name


def test_drives_that_only_one_run_has_are_not_held_against_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (
        measured(*drives, capsys=capsys) for drives in ((CARD, DISK), (DISK, SSD), (SSD, "sim:gp2-100"))
    )
    assert run(["compare", first, second, "--json"]) in (0, 4)
    found = json.loads(capsys.readouterr().out)
    assert {(row["target_base"], row["target_new"]) for row in found["rows"]} == {(DISK, DISK)}
    assert (found["left_out_base"], found["left_out_new"]) == ([CARD], [SSD])
    assert run(["compare", first, third]) == 4
    told = " ".join(capsys.readouterr().out.split())
    assert "have no drive in common, and drivelab report puts all drives beside each other." in told
    assert "left out" not in told
