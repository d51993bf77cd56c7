"""What a person sees on a terminal while something is measured, and what is left of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from terminal import HIDDEN, SHOWN, looks_of, written_on_terminal

EXPERIMENT = """
format = 1
name = "appends"
question = "How long does an append take?"
repeats = { full = 2, quick = 1 }

[[factors]]
setting = "workload"
key = "block_size"
levels = ["4KiB", "64KiB"]

[[workloads]]
name = "log"
file_state = "append"
durability = "fdatasync"
bytes = "1GiB"
runtime = "1s"
"""
LONG_IO = ["io", "data/file", "--operation", "write", "--size", "1MiB", "--runtime", "1h", "--json"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "data").mkdir()
    (tmp_path / "appends.toml").write_text(EXPERIMENT)
    return tmp_path


def drivelab(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "drivelab", *arguments]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_three_lines_are_drawn_again_and_nothing_of_them_stays(place: Path, columns: int) -> None:
    command = drivelab("run", "appends.toml", "data", "--quick", "--json")
    written = written_on_terminal(command, columns, out=place / "out")
    looks = looks_of(written)
    assert [line for look in looks for line in look if len(line) > columns] == [], "nothing was wrapped"
    assert all(len(look) <= 3 for look in looks)
    drawn = [look for look in looks if look]
    assert all(look[0].endswith(" left") for look in drawn)
    assert any("typical" in line for look in drawn for line in look)
    assert any(" of 2  log" in line for look in drawn for line in look)
    assert "step" not in written
    assert not looks[-1], "nothing of them stays"
    assert written.count(HIDDEN) == written.count(SHOWN) == 1
    assert (place / "out").read_text().startswith("{")


def test_ctrl_c_gives_the_cursor_back(place: Path) -> None:
    written = written_on_terminal(drivelab(*LONG_IO), 80, out=place / "out", interrupts=True)
    assert written.rindex(SHOWN) > written.rindex(HIDDEN)
    assert "io data/file" in written
    assert all(len(look) <= 3 for look in looks_of(written))


def test_without_a_terminal_each_finished_step_is_a_plain_line(place: Path) -> None:
    command = drivelab("run", "appends.toml", "data", "--quick", "--json")
    told = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    steps = [line for line in told.splitlines() if line.startswith("step ")]
    assert [line.partition(",")[0] for line in steps] == ["step 1 of 2", "step 2 of 2"]
    assert all("median " in line and len(line) <= 80 for line in steps)
    assert "\x1b" not in told
