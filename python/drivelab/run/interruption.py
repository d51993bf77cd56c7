"""Turns Ctrl-C and polite kills into a wish to stop, so that what was measured is kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Whether the user wants the end; made by `interruptible`.

    Attributes
    ----------
    signal_number : int
        The first signal that asked for it; 0 while nobody did.
    """

    def __init__(self) -> None:
        self.signal_number = 0

    def is_set(self) -> bool:
        """Whether the end was asked for."""
        return self.signal_number != 0

    @property
    def exit_code(self) -> int:
        """Exit status by the shells' convention: 130 for Ctrl-C."""
        return 128 + self.signal_number

    def receive(self, number: int, _frame: FrameType | None = None) -> None:
        """Take a signal.

        Raises
        ------
        KeyboardInterrupt
            It is not the first one: whoever asks twice does not want to wait.
        """
        if self.signal_number:
            raise KeyboardInterrupt
        self.signal_number = number


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """While the context lasts, a first signal to end is only noted; a second one raises KeyboardInterrupt."""
    asked = Interruption()
    # one that the parent ignores (nohup) stays ignored
    ours = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, asked.receive) for number in ours}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
