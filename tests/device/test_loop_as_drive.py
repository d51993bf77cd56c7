"""A loop device is a drive of its own, and no number of it is one of the drive beneath its file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.answers.history import history_of
from drivelab.cli.main import run
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]


def test_a_check_of_a_loop_device_is_none_of_the_drive_beneath_its_file(
    make_loop_device: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = make_loop_device(32 * 2**20)
    assert run(["check", str(device), "--quick", "--json", "--out", str(tmp_path / "runs")]) in (0, 4)
    found = open_run(Path(json.loads(capsys.readouterr().out)["run"]))
    (target,) = found.record.targets
    facts = target["facts_before"]
    assert [drive["name"] for drive in facts["drives"]] == [device.name]
    (beneath,) = [layer["name"] for layer in facts["devices"] if layer["kind"] == "disk"]
    assert not history_of([found], beneath).rows
    assert len(history_of([found], str(device)).rows) == 1
