"""A run is found by its directory or by its name, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store.find_run import find_run


def test_a_path_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path / "runs")
    (tmp_path / "runs" / "monday").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find_run("monday") == tmp_path / "runs" / "monday"
    (tmp_path / "monday").mkdir()
    assert find_run("monday") == Path("monday")


@pytest.mark.provokes("S504")
@pytest.mark.parametrize("name", ["", "tuesday", "no/such/run"])
def test_what_is_neither_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DrivelabError) as refusal:
        find_run(name)
    assert refusal.value.code == "S504"
