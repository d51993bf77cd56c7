"""``drivelab history`` of a target that nobody checked: what each of its runs came to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from drivelab.cli import main
from drivelab.store.read import open_run

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setenv("DRIVELAB_RUNS", str(folder))
    for day, name in enumerate(("queue-depth-grid", "fill-level-drive", "queue-depth-grid"), start=1):
        shutil.copytree(GOLDEN / name, folder / f"2026030{day}T000000Z-{name}")
    return folder


def test_each_run_is_told_by_what_it_came_to(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label = open_run(sorted(kept.iterdir())[-1]).record.targets[0]["label"]
    assert main.run(["history", label]) == 0
    told, table = capsys.readouterr().out.split("\n\n")
    assert told.startswith("Newest (")
    assert table.count("queue-depth") == 2
    page = kept.parent / "history.md"
    assert main.run(["history", label, "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "what it came to" in text
    assert "First and last" not in text
