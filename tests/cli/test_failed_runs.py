"""Runs that an error ended: what they measured is kept, and what ended them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from drivelab.analyse.trial import judge_trial
from drivelab.cli.main import run
from drivelab.store.read import open_run


@pytest.mark.parametrize(("module", "arguments"), [("check", ["check"]), ("conduct", ["run", "queue-depth"])])
def test_a_run_that_an_error_ends_keeps_why(
    module: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    judged: list[Any] = []

    def fails_at_last(*given: Any, **options: Any) -> Any:
        judged.append(given)
        if len(judged) == 2:
            raise KeyError("durability")
        return judge_trial(*given, **options)

    monkeypatch.setattr(f"drivelab.cli.{module}.judge_trial", fails_at_last)
    # the details of a bug are saved there
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run([*arguments, "sim:consumer-ssd", "--quick", "--out", str(tmp_path / "runs")]) != 0
    (directory,) = (tmp_path / "runs").iterdir()
    record = open_run(directory).record
    assert (record.status, record.error) == ("failed", "KeyError: 'durability'")
    capsys.readouterr()
    assert run(["report", str(directory), "--text"]) == 0
    assert "it failed: KeyError: 'durability'" in capsys.readouterr().out
