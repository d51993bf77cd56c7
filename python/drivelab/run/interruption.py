"""Turns Ctrl-C and polite kills into a wish to stop, so that what was measured is kept."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from drivelab.state.signals import signals_received

# timeout(1) sends its signal to the program and to all of its group, so that it comes twice at once
_SAME_KILL_S = 0.1


class Interruption:
    """Whether the user wants the end; made by `interruptible`.

    Attributes
    ----------
    signal_number : int
        The first signal that asked for it; 0 while nobody did.
    """

    def __init__(self) -> None:
        self.signal_number = 0
        self._received_s = 0.0

    def is_set(self) -> bool:
        """Whether the end was asked for."""
        return self.signal_number != 0

    @property
    def exit_code(self) -> int:
        """Exit status by the shells' convention: 130 for Ctrl-C."""
        return 128 + self.signal_number

    def receive(self, number: int) -> None:
        """Take a signal.

        Raises
        ------
        KeyboardInterrupt
            It is not the first one: whoever asks twice does not want to wait.
        """
        now_s = time.monotonic()
        if number == self.signal_number == signal.SIGTERM and now_s - self._received_s < _SAME_KILL_S:
            return
        if self.signal_number:
            raise KeyboardInterrupt
        self.signal_number, self._received_s = number, now_s


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """While the context lasts, a first signal to end is only noted; a second one raises KeyboardInterrupt."""
    asked = Interruption()
    with signals_received(asked.receive):
        yield asked
