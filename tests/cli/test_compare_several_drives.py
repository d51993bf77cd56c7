"""Runs of several drives beside each other: a drive is compared with itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.answers.buckets import buckets_of_run
from drivelab.cli.main import run
from drivelab.store.read import open_run
from small_simulated_drive import MODEL

CARD, CLOUD, DISK = "sim:industrial-card", "sim:gp2-100", "sim:disk-7200"
# small, and slow enough for a burst to be few I/Os
SLOW = MODEL.replace('read_latency = "9us"', 'read_latency = "2ms"')
DEPTHS = """
format = 1
name = "depths"
question = "How many at a time?"
repeats = { full = 1, quick = 1 }

[[factors]]
setting = "workload"
key = "queue_depth"
levels = [1, 4]

[[workloads]]
name = "reads"
operation = "read"
access = "random"
block_size = "4KiB"
runtime = "2s"
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "depths.toml").write_text(DEPTHS)


def measured(*drives: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["run", "./depths.toml", *drives, "--json"]) in (0, 4)
    return Path(json.loads(capsys.readouterr().out)["run"]).name


def test_bursts_are_compared_by_what_the_runs_tell_of_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert run(["run", "burst", "sim:./slow.toml", "--quick", "--seed", seed]) in (0, 4)
    capsys.readouterr()
    names = sorted((tmp_path / "runs").iterdir())
    assert run(["compare", *(one.name for one in names), "--json"]) in (0, 4)
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["rows"] if row["is_judged"]}
    for side, name in zip(("base", "new"), names, strict=True):
        told = {bucket.token: bucket.burst_per_s for _, bucket in buckets_of_run(open_run(name))}
        assert rows["iops"][side]["value"] == pytest.approx(told["I/Os"], rel=1e-6)
        assert rows["throughput_bytes_per_s"][side]["value"] == pytest.approx(told["bytes"], rel=1e-6)
    assert all(row["label"].endswith(", at first") for row in rows.values())


def test_drives_that_only_one_run_has_are_not_held_against_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (measured(*drives, capsys=capsys) for drives in ((CARD, CLOUD), (CLOUD, DISK), (DISK,)))
    assert run(["compare", first, second, "--json"]) in (0, 4)
    found = json.loads(capsys.readouterr().out)
    assert {(row["target_base"], row["target_new"]) for row in found["rows"]} == {(CLOUD, CLOUD)}
    assert (found["left_out_base"], found["left_out_new"]) == ([CARD], [DISK])
    # nothing is said of what is left out
    assert "drive" not in [one["what"] for one in found["differences"]]
    assert [note for note in found["notes"] if "imulated" in note] == [
        f"Simulated: {CLOUD}; no real drive was measured."
    ]
    assert run(["compare", first, third]) == 4
    told = " ".join(capsys.readouterr().out.split())
    assert "have no drive in common, and drivelab report puts all drives beside each other." in told
    assert "left out" not in told
    # the drives are what differs
    assert f"What differs: drive: {CARD} and {CLOUD} in BASE, {DISK} in NEW" in told
