"""What a killed run left changed waits for what it had started, and nobody is told that nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.state import restore
from drivelab.state.journal import begin_journal, left_journals, sweep_unbegun
from drivelab.state.undo import UNDO
from left_over import restore_left_over

KILLED = """
import os, pathlib, subprocess, sys
import drivelab.state.journal as j
journal = j.begin_journal(pathlib.Path(sys.argv[1]), command="drivelab run x")
journal.will_change("test", device=sys.argv[2])
child = subprocess.Popen(sys.argv[3:], pass_fds=(journal.descriptor,), stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
RESTORE = """
import pathlib, sys, time
from left_over import restore_left_over
from drivelab.state.undo import UNDO
def put_back(device):
    print("begun", flush=True)
    time.sleep(float(sys.argv[2]))
    return "put back"
UNDO["test"] = put_back
print([one.done for one in restore_left_over(pathlib.Path(sys.argv[1]))], flush=True)
"""


@dataclass(frozen=True)
class LeftRun:
    """A run that was killed while a program that it had started still works."""

    directory: Path
    program: int


@pytest.fixture
def leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LeftRun]]:
    """Leaves a run behind whose program sleeps; patience is short here."""
    monkeypatch.setattr(restore, "_PATIENCE_S", 0.3)
    monkeypatch.setattr(restore, "_PATIENCE_WITH_RESTORE_S", 0.6)
    monkeypatch.setitem(UNDO, "test", lambda device: f"put back {device}")
    programs: list[int] = []

    def leave_run(device: str = "/dev/the-drive", seconds: str = "60") -> LeftRun:
        directory = tmp_path / "journals"
        command = [sys.executable, "-c", KILLED, str(directory), device, "sleep", seconds]
        killed = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=with_package())
        programs.append(int(killed.stdout))
        return LeftRun(directory, programs[-1])

    yield leave_run
    for program in programs:
        if Path(f"/proc/{program}").exists():
            os.kill(program, 9)


def with_package() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.mark.provokes("R406")
def test_a_program_that_still_works_for_a_killed_run_is_named(leave: Callable[..., LeftRun]) -> None:
    left = leave()
    with pytest.raises(DrivelabError) as failure:
        restore_left_over(left.directory)
    assert failure.value.code == "R406"
    began = f"sleep (process {left.program}), started by a killed run, still works on /dev/the-drive"
    assert failure.value.what == began
    assert f"kill {left.program}; then run: drivelab restore" in failure.value.do
    os.kill(left.program, 9)
    (restored,) = restore_left_over(left.directory)
    assert restored.done == ("put back /dev/the-drive",)


def test_other_journals_are_put_back_all_the_same(leave: Callable[..., LeftRun]) -> None:
    left = leave()
    done = leave("/dev/another", "0")
    with pytest.raises(DrivelabError, match=f"process {left.program}"):
        restore_left_over(done.directory)
    assert len(list(left_journals(done.directory))) == 1


def test_a_program_that_ends_soon_is_waited_for(leave: Callable[..., LeftRun]) -> None:
    left = leave(seconds="0.1")
    (restored,) = restore_left_over(left.directory)
    assert restored.done == ("put back /dev/the-drive",)


def start_restore(directory: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RESTORE, str(directory), str(seconds)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=with_package())


def test_two_that_put_back_at_once_both_end_well(leave: Callable[..., LeftRun]) -> None:
    for _ in range(4):
        left = leave(seconds="0")
    both = [start_restore(left.directory, 0.2) for _ in range(2)]
    answers = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert sum(out.count("put back") for out, _ in answers) == 4
    assert list(left.directory.iterdir()) == []


def test_one_that_puts_back_without_end_is_not_taken_for_nothing_left(leave: Callable[..., LeftRun]) -> None:
    left = leave(seconds="0")
    with start_restore(left.directory, 60) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        begun = time.monotonic()
        with pytest.raises(DrivelabError) as failure:
            restore_left_over(left.directory)
        assert time.monotonic() - begun > 0.6
        other.kill()
    assert failure.value.code == "R406"
    assert f"drivelab (process {other.pid}) is still putting back" in failure.value.what


KILLED_WHILE_IT_BEGINS = """
import os, pathlib, signal, sys
import drivelab.state.journal as j
j.Journal._append = lambda self, line: os.kill(os.getpid(), signal.SIGKILL)
j.begin_journal(pathlib.Path(sys.argv[1]), command="killed")
"""


def test_what_was_to_become_a_journal_is_swept_away(tmp_path: Path) -> None:
    """A kill in the milliseconds in which a journal is begun leaves a file that nobody would ever delete."""
    command = [sys.executable, "-c", KILLED_WHILE_IT_BEGINS, str(tmp_path)]
    subprocess.run(command, env=with_package(), check=False)
    assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
    assert restore_left_over(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_is_just_being_begun_is_not_swept_away(tmp_path: Path) -> None:
    begun = begin_journal(tmp_path, command="lives")
    aside = begun.path.with_name(f".{begun.path.name}")
    begun.path.rename(aside)
    sweep_unbegun(tmp_path)
    assert list(tmp_path.iterdir()) == [aside]
    aside.rename(begun.path)
    begun.close()
