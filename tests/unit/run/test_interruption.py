"""Ctrl-C once keeps what was measured; twice ends at once."""

from __future__ import annotations

import os
import signal

import pytest

from drivelab.run.interruption import interruptible


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_end_is_noted_and_its_handler_put_back(number: signal.Signals, exit_code: int) -> None:
    before = signal.getsignal(number)
    with interruptible() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        assert stop.exit_code == exit_code
    assert signal.getsignal(number) is before


def test_whoever_asks_twice_does_not_wait() -> None:
    with interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)
