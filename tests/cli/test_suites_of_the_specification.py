"""Runs of SNIA's tests on a simulated drive, as their screens tell them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from drivelab.answers.run_answer import answer_of_run
from drivelab.cli.main import run
from drivelab.store.read import open_run


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


def test_iops_of_the_suite_are_a_square_and_its_rounds_judge_steadiness(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "pts-iops", "sim:industrial-card", "--quick"]) in (0, 4)
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("  per s, block size across")
    table = [re.split(r" {2,}", line.strip()) for line in lines[place + 1 : place + 5]]
    assert table[0] == ["read fraction", "1 MiB", "5 rounds", "64 KiB", "5 rounds", "4 KiB", "5 rounds"]
    assert [row[0] for row in table[1:]] == ["reads", "R/W 65/35", "writes"]
    per_s = [[float(cell.replace(" ", "")) for cell in row[1::2]] for row in table[1:]]
    # smaller is more, and writes are fewer: not bytes a second
    assert all(row == sorted(row) for row in per_s)
    assert per_s[0][2] > 20 * per_s[2][2]
    assert not [line for line in lines if "rule of five rounds" in line]


@pytest.mark.usefixtures("no_page")
def test_a_suite_counts_all_its_small_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "pts-wsat", "sim:industrial-card"]) in (0, 4)
    shown = capsys.readouterr().out
    # their first minute is what is tracked, and the rest of them stand beside it
    assert not re.search(r"^  random 4 KiB writes.* [kM]B/s", shown, re.MULTILINE)
    assert shown.count("/s  ") >= 3
    assert "measured for only" not in shown, "of one write after the purge"


@pytest.mark.usefixtures("no_page")
def test_a_comparison_rests_on_the_rounds_and_the_mean_that_the_run_itself_tells(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for seed in ("1", "2"):
        assert run(["run", "pts-wsat", "sim:industrial-card", "--quick", "--seed", seed, "--json"]) in (0, 4)
        capsys.readouterr()
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert run(["compare", *names, "--json"]) in (0, 4)
    rows = json.loads(capsys.readouterr().out)["rows"]
    compared = {row["workload"]: (row["base"]["value"], row["new"]["value"]) for row in rows if row["metric"] == "iops"}
    own = []
    for name in names:
        answer = answer_of_run(open_run(tmp_path / "runs" / name), ("iops",))
        own.append({one.workload: one.metrics["iops"].value for one in answer.rows})
    assert compared == {key: pytest.approx((own[0][key], own[1][key]), rel=1e-9) for key in own[0]}
