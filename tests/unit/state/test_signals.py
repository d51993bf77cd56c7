"""Signals that ask for the end: held from before anything is changed until it is put back, without a gap."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from drivelab.run import interruption
from drivelab.run.interruption import interruptible
from drivelab.state import signals
from drivelab.state.signals import ENDING_SIGNALS, signals_held, signals_obeyed, signals_received

pytestmark = pytest.mark.alone


def interrupt(_number: int) -> None:
    # whoever presses once more gets nothing else
    os.kill(os.getpid(), signal.SIGTERM)
    raise KeyboardInterrupt


def change_and_put_back(done: list[str]) -> None:
    """What every part of drivelab does that changes something."""
    with signals_held():
        done.append("changed")
        try:
            with signals_obeyed():
                done.append("worked")
        finally:
            for number in ENDING_SIGNALS:
                os.kill(os.getpid(), number)
            done.append("put back")


def signal_at(moment: int, call: Callable[[], None]) -> int:
    """Call something, send a signal at one of its moments, counted from 1; how many moments there were."""
    moments = 0

    def trace(frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal moments
        frame.f_trace_opcodes = True
        moments += 1
        if moments == moment:
            # obeyed at once, before the next instruction
            signal.raise_signal(ENDING_SIGNALS[moment % len(ENDING_SIGNALS)])
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return moments


def test_whatever_the_moment_what_was_changed_is_put_back() -> None:
    with signals_received(lambda _number: None):
        moments = signal_at(0, lambda: change_and_put_back([]))
    assert moments > 100
    # between the two contexts, within their own functions, and in those of contextlib
    for moment in range(1, moments + 1):
        done: list[str] = []
        with signals_received(interrupt):
            signal_at(moment, lambda done=done: change_and_put_back(done))  # type: ignore[misc]
        assert ("changed" in done) == ("put back" in done), (moment, done)
        assert signals._gate.is_open
        assert not signals._gate.handlers


def test_ten_signals_in_a_run_end_it_once() -> None:
    done: list[str] = []

    def run() -> None:
        with interruptible() as stop, signals_held():
            try:
                with signals_obeyed():
                    for number in ENDING_SIGNALS:
                        os.kill(os.getpid(), number)
                        done.append(f"noted {stop.is_set()}")
            finally:
                for number in ENDING_SIGNALS:
                    os.kill(os.getpid(), number)
                done.append("put back")

    before = [signal.getsignal(number) for number in ENDING_SIGNALS]
    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == ["noted True", "put back"]
    assert [signal.getsignal(number) for number in ENDING_SIGNALS] == before


def test_one_that_waited_is_noted_afterwards() -> None:
    with interruptible() as stop:
        with signals_held():
            os.kill(os.getpid(), signal.SIGTERM)
            assert not stop.is_set()
        assert stop.exit_code == 143
        assert [signals._gate.is_open, signals._gate.is_ending] == [True, False]


def test_a_kill_that_comes_twice_at_once_is_one_and_a_second_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [5.0, 5.00004, 9.0]
    monkeypatch.setattr(interruption.time, "monotonic", lambda: now_s.pop(0))
    with interruptible() as stop:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
        assert stop.exit_code == 143
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_ctrl_c_twice_at_once_is_twice() -> None:
    with interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_what_cleans_up_after_an_interruption_is_not_interrupted_again() -> None:
    cleaned = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGQUIT)
            cleaned.append("yes")

    with signals_received(interrupt), pytest.raises(KeyboardInterrupt):
        work()
    assert cleaned == ["yes"]
