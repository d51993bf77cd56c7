"""The answer of a run on one screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.run_results import print_screen
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[3] / "golden" / "runs"
WITH_COMBINATIONS = (
    "explained-appends",
    "fill-level-drive",
    "queue-depth-grid",
    "settings-scan-drive",
    "ssd-latency-scratch",
    "write-size-two-drives",
)
LINES_MAX = 30
# what `show` prints behind the screen
LINES_BEHIND = 2


def screen(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    run = open_run(RUNS / name)
    print_screen(run, answer_of_run(run, SHOWN_METRICS))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", WITH_COMBINATIONS)
def test_it_fits_a_terminal(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen(name, capsys, monkeypatch)
    assert len(lines) + LINES_BEHIND <= LINES_MAX
    assert [line for line in lines if len(line) > 80 and not line.startswith("run:")] == []


def test_drives_are_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen("write-size-two-drives", capsys, monkeypatch)
    (head,) = (line for line in lines if "sdb" in line and "the drive does" in line)
    assert head.index("sdb") < head.index("sdc")
    assert "and 20 more: --details" in "\n".join(lines)


def test_numbers_stand_beside_their_range_and_what_the_drive_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(screen("ssd-latency-scratch", capsys, monkeypatch))
    assert "  ext4            973 us  971–974        1.19 ms  3 writes, 2 flushes" in text
    assert text.startswith("ssd-latency on scratch: 6 trials\n\n  Counted: ext4 takes 2 more writes")


def test_warnings_have_a_line_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen("queue-depth-grid", capsys, monkeypatch)
    assert sum(line.startswith("! ") for line in lines) == 1
