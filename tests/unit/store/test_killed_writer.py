"""A writer may be killed at any instant: what it had stored is there once, and another goes on."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from drivelab.store import compact
from drivelab.store.place import TrialPlace
from drivelab.store.read import open_run
from drivelab.store.write import continue_run, create_run

NOW = datetime(2026, 1, 31, 12, 0, 5, tzinfo=UTC)
# everything through which the state of a directory changes
EFFECTS = ("write", "ftruncate", "fsync", "fdatasync", "replace", "unlink", "rmdir", "mkdir")
KILLS = 60
# forking with threads about is what makes this test quick; the child calls nothing that needs them
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory without trials; a log is full with two."""
    monkeypatch.setattr(compact, "LOG_TRIALS_MAX", 2)
    writer = create_run(tmp_path, "x", "y", NOW)
    writer.write_run_json({})
    writer.close()
    return writer.directory


class Child:
    """A process that writes the run and tells of each trial once it is stored.

    Parameters
    ----------
    work : callable
        What it does; called with the function that tells of a trial.
    """

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self._told = b""
        self._pipe, write_end = os.pipe()
        # ours, so that no effect of the child is counted for telling
        tell = os.write
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                work(lambda name: tell(write_end, f"{name}\n".encode()) and None)
                status = 0
            finally:
                os._exit(status)
        os.close(write_end)

    def wait_until_it_tells(self) -> None:
        """Return when the first trial is stored."""
        self._told = os.read(self._pipe, 1)

    def wait(self) -> tuple[int, list[str]]:
        """How the process ended (as a shell has it), and the trials it told of."""
        with os.fdopen(self._pipe) as told:
            names = (self._told.decode() + told.read()).split()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), names


def add(directory: Path, make_trial: Callable, numbers: Iterable[int], tell: Callable[[str], None]) -> Any:
    """Continue the run with these trials; the writer."""
    writer = continue_run(directory)
    for number in numbers:
        writer.add_trial(*make_trial(f"{number:05d}-x", seed=number), place=TrialPlace(step=number))
        tell(f"{number:05d}-x")
    return writer


def end_at_effect(wanted: int, effects: tuple[str, ...]) -> None:
    """Let this process end, without a last word, where it would have one of the effects for that time.

    Of a write, half is done.
    """
    counter = count(1)
    write = os.write

    def ending(effect: Callable[..., Any]) -> Callable[..., Any]:
        def effect_or_end(*arguments: Any, **options: Any) -> Any:
            if next(counter) == wanted:
                if effect is write:
                    write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os._exit(9)
            return effect(*arguments, **options)

        return effect_or_end

    for name in effects:
        setattr(os, name, ending(getattr(os, name)))


def stored_trials(directory: Path) -> list[str]:
    """Names of the trials that are stored, each of them with all of its rows."""
    run = open_run(directory)
    assert run.completed_trials() == set(run.trial_names)
    assert Counter(run.intervals["trial"].to_pylist()) == Counter(5 * run.trial_names)
    assert Counter(run.histograms["trial"].to_pylist()) == Counter(run.trial_names)
    assert len(set(run.trial_names)) == len(run.trial_names)
    return run.trial_names


def test_whatever_was_the_last_thing_to_happen(directory: Path, make_trial: Callable, tmp_path: Path) -> None:
    def work(tell: Callable[[str], None]) -> None:
        end_at_effect(effect, EFFECTS)
        add(copy, make_trial, range(1, 7), tell).finish(status="interrupted")
        add(copy, make_trial, range(7, 10), tell).finish()

    for effect in count(1):
        copy = tmp_path / f"run-{effect}"
        copy.mkdir()
        (copy / "run.json").write_bytes((directory / "run.json").read_bytes())
        status, told = Child(work).wait()
        stored = stored_trials(copy)
        # the one in flight may have made it
        assert stored[: len(told)] == told
        assert len(stored) <= len(told) + 1
        add(copy, make_trial, [len(stored) + 1], lambda _: None).finish()
        assert stored_trials(copy) == [f"{number:05d}-x" for number in range(1, len(stored) + 2)]
        assert sorted(path.name for path in copy.iterdir() if path.is_dir()) == []
        if status != 9:
            break
    assert status == 0
    assert effect > 80


def test_kill_9_at_any_time(directory: Path, make_trial: Callable) -> None:
    chance = random.Random(20260131)
    stored: list[str] = []
    told_by_all: list[str] = []
    killed = 0
    for number in range(KILLS):
        child = Child(partial(add, directory, make_trial, count(len(stored) + 1)))
        if number % 3:
            child.wait_until_it_tells()
        time.sleep(chance.uniform(0.001, 0.03))
        os.kill(child.pid, signal.SIGKILL)
        status, told = child.wait()
        killed += status == -signal.SIGKILL
        told_by_all += told
        before, stored = stored, stored_trials(directory)
        assert set(told_by_all) <= set(stored)
        assert len(stored) <= len(before) + len(told) + 1
    assert killed == KILLS
    assert stored == [f"{number:05d}-x" for number in range(1, len(stored) + 1)]
    assert len(stored) > KILLS // 2
    continue_run(directory).finish()
    assert stored_trials(directory) == stored
