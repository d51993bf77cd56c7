"""Signals that ask for the end: obeyed while drivelab works, held while it puts things back.

Holding must have no gap. Handlers that are exchanged, or a mask that is set,
where something begins to be put back leave one right before that. So there is
one handler for the life of the program and a gate that it looks at; the gate is
shut before anything is changed, and open only inside of `signals_obeyed`. A
handler that raises shuts it first: what runs while the exception passes is not
interrupted again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
Receiver = Callable[[int], None]


class _Gate:
    """Where signals wait; there is one.

    Attributes
    ----------
    is_open : bool
        Whether a signal is obeyed at once.
    is_ending : bool
        Whether one of them was obeyed by an exception: the program is on its way out.
    waiting : list of int
        Signals that came while it was shut.
    receivers : list of callable
        Who hears of a signal: the last one. It may raise.
    handlers : dict of int to handler
        Those whose place was taken.
    """

    def __init__(self) -> None:
        self.is_open = True
        self.is_ending = False
        self.waiting: list[int] = []
        self.receivers: list[Receiver] = [self._as_before]
        self.handlers: dict[int, Any] = {}

    def handle(self, number: int, _frame: FrameType | None = None) -> None:
        """Take a signal: obey it, or have it wait."""
        if not self.is_open:
            self.waiting.append(number)
            return
        # shut first: a second one may come before the exception of the first is on its way
        self.is_open, self.is_ending = False, True
        self.receivers[-1](number)
        self.is_open, self.is_ending = True, False
        self.deliver()

    def open(self) -> None:
        """Let signals through, those that have waited first."""
        self.is_open = not self.is_ending
        self.deliver()

    def deliver(self) -> None:
        """Obey what has waited, if signals are obeyed now."""
        while self.is_open and self.waiting:
            self.handle(self.waiting.pop(0))

    def _as_before(self, number: int) -> None:
        handler = self.handlers.get(number)
        if callable(handler):
            handler(number, None)


_gate = _Gate()


@contextmanager
def signals_received(receiver: Receiver) -> Iterator[None]:
    """Have somebody told of every signal that asks for the end, while the context lasts.

    One that the parent ignores (nohup) stays ignored. Outside of the main
    thread nobody is told: Python handles signals in that one.
    """
    with _installed([number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]):
        _gate.receivers.append(receiver)
        try:
            yield
        finally:
            _gate.receivers.remove(receiver)


def obey_though_ignored(number: signal.Signals) -> None:
    """Have a signal obeyed that the parent ignores, where somebody is told of signals, and as long as they are."""
    is_ignored = signal.getsignal(number) is signal.SIG_IGN
    if is_ignored and _gate.handlers and threading.current_thread() is threading.main_thread():
        _gate.handlers[number] = signal.SIG_IGN
        signal.signal(number, _gate.handle)


@contextmanager
def signals_held() -> Iterator[None]:
    """Let Ctrl-C and a polite kill wait until the block has ended; begun before anything is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _installed([number for number in ENDING_SIGNALS if callable(signal.getsignal(number))]):
        was_open, _gate.is_open = _gate.is_open, False
        try:
            yield
        finally:
            if was_open:
                _gate.open()


@contextmanager
def signals_obeyed() -> Iterator[None]:
    """Let them through again inside of `signals_held`: here they may end what is being done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    was_open = _gate.is_open
    _gate.open()
    try:
        yield
    finally:
        _gate.is_open = was_open and not _gate.is_ending


@contextmanager
def _installed(numbers: list[signal.Signals]) -> Iterator[None]:
    """Have the gate handle some signals; the outermost context brings the old handlers back."""
    if _gate.handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        for number in numbers:
            _gate.handlers[number] = signal.getsignal(number)
            signal.signal(number, _gate.handle)
        yield
    finally:
        _gate.is_open = False
        for taken, handler in _gate.handlers.items():
            signal.signal(taken, handler)
        handlers, waiting = _gate.handlers, _gate.waiting
        _gate.handlers, _gate.waiting, _gate.is_open, was_ending = {}, [], True, _gate.is_ending
        _gate.is_ending = False
        if waiting and not was_ending and callable(handlers.get(waiting[0])):
            signal.raise_signal(waiting[0])
