"""A command that waits to be followed never begins without who started it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivelab.run.following import processes
from drivelab.run.following.processes import StartedCommand


def test_it_begins_when_it_is_told_to(tmp_path: Path) -> None:
    command = StartedCommand(["touch", str(tmp_path / "begun")])
    command.begin()
    os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
    assert command.end() == 0
    assert (tmp_path / "begun").exists()


def test_it_ends_where_who_started_it_has_died_before_it_could_be_told_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as of a process that is gone, whose children belong to another one
    with monkeypatch.context() as patched:
        patched.setattr(processes.os, "getpid", os.getppid)
        command = StartedCommand(["touch", str(tmp_path / "begun")])
    os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
    assert command.end() == 0
    assert not (tmp_path / "begun").exists()
