"""A made-up computer in place of the real one, for settings that no loop device has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivelab.state.journal import Journal, begin_journal
from drivelab.state.settings import governor, kernel_attribute
from drivelab.state.settings.catalogue import make_settings
from drivelab.state.settings.setting import Setting
from drivelab.state.undo import UNDO
from fake_drive.system import FakeSystem


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystem:
    """A computer without drives; the programs that ask drives are played, and we are root."""
    made = FakeSystem(tmp_path / "system")
    monkeypatch.setattr("drivelab.inventory.tools._SEARCH_PATH", str(tmp_path / "system" / "bin"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for module in (kernel_attribute, governor):
        monkeypatch.setattr(module, "write_kernel_file", made.write)
    return made


@pytest.fixture
def settings(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> dict[str, Setting]:
    """The settings of that computer; what puts their changes back is on the list of the journal."""
    made = make_settings(system.paths)
    for setting in made.values():
        for kind, undo in setting.undo.items():
            monkeypatch.setitem(UNDO, kind, undo)
    return made


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal of this test's own."""
    begun = begin_journal(tmp_path / "journals")
    yield begun
    begun.close()
