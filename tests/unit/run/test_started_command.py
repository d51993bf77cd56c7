"""A command that waits to be followed never begins without who started it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.run.following import processes
from drivelab.run.following.processes import StartedCommand


def test_it_begins_when_it_is_told_to(tmp_path: Path) -> None:
    command = StartedCommand(["touch", str(tmp_path / "begun")])
    command.begin()
    os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
    assert command.end() == 0
    assert (tmp_path / "begun").exists()


@pytest.mark.provokes("R444")
def test_what_the_kernel_does_not_take_for_a_program_is_refused_by_its_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script"
    script.write_text("echo begun\n")
    script.chmod(0o755)
    command = StartedCommand([str(script), "a b"])
    with pytest.raises(DrivelabError, match="cannot be started: Exec format error") as refused:
        command.begin()
    command.end()
    assert refused.value.code == "R444"
    assert f"--command -- sh {script} 'a b'" in refused.value.do
    assert capfd.readouterr() == ("", "")


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
