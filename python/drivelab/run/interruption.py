"""Turns Ctrl-C and polite kills into a wish to stop, so that what was measured is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from drivelab.state.signals import signals_received


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

    def receive(self, number: int) -> None:
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
    with signals_received(asked.receive):
        yield asked
