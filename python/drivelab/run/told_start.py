"""Begins a workload when somebody outside says so: once all is ready here, a line on the standard input tells when."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from drivelab import _engine
from drivelab.model.errors import DrivelabError
from drivelab.run.engine import StopRequest

# what is written once nothing is missing but the moment
READY = "ready to begin"
_LOOK_S = 0.01
_LINE_BYTES_MAX = 64


@dataclass(slots=True)
class ToldStart:
    """A start that somebody else sets.

    Attributes
    ----------
    gate : StartGate
        Where the workload waits.
    asked_unix_ns : int or None
        The moment that was said, in nanoseconds since 1970.
    ahead_ns : int
        How far the wall clock was ahead of CLOCK_MONOTONIC then.
    """

    gate: _engine.StartGate
    asked_unix_ns: int | None = None
    ahead_ns: int = 0

    def context(self, summary: Mapping[str, Any], stop: StopRequest | None) -> dict[str, Any]:
        """What is kept of it: when it was to begin, when its window did, and when its first and its last job did.

        Raises
        ------
        DrivelabError
            U050: the standard input ended, or held no moment.
        KeyboardInterrupt
            It was interrupted before a moment was told: nothing was measured, and what was made for it goes.
        """
        if self.asked_unix_ns is None and stop is not None and stop.is_set():
            raise KeyboardInterrupt
        if self.asked_unix_ns is None:
            do = "write the moment there, in nanoseconds since 1970, once it says that it is ready"
            raise DrivelabError("U050", "the standard input does not say when to begin", do=do)
        begun = [int(thread["begun_monotonic_ns"]) for thread in summary["threads"]]
        moments = {
            "asked_unix_ns": self.asked_unix_ns,
            "window_unix_ns": int(summary["started_monotonic_ns"]) + self.ahead_ns,
            "first_job_unix_ns": min(begun) + self.ahead_ns,
            "last_job_unix_ns": max(begun) + self.ahead_ns,
        }
        return {"told_start": moments}

    def wait_for_word(self, stop: StopRequest) -> None:
        """Wait until the workload is at the gate, say so, and open it at the moment that is told."""
        while not self.gate.misses(1):
            if stop.is_set():
                return
            time.sleep(_LOOK_S)
        sys.stderr.write(f"{READY}\n")
        sys.stderr.flush()
        try:
            unix_ns = int(_line_of_stdin())
        except ValueError:
            self.gate.shut()
            return
        # between the two readings of the one lies that of the other
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        self.ahead_ns = wall - (before + after) // 2
        self.asked_unix_ns = unix_ns
        self.gate.open_at(max(0, unix_ns - self.ahead_ns))


@contextmanager
def told_start(stop: StopRequest) -> Iterator[ToldStart]:
    """A start that the standard input tells while the block runs."""
    start = ToldStart(_engine.StartGate(2))
    # it may wait for a line that never comes; nothing waits for it
    threading.Thread(target=start.wait_for_word, args=(stop,), daemon=True, name="told-start").start()
    yield start


def _line_of_stdin() -> bytes:
    """The first line of the standard input, read without its buffer: a thread in that would keep Python from ending."""
    found = b""
    while not found.endswith(b"\n") and len(found) < _LINE_BYTES_MAX:
        piece = os.read(sys.stdin.fileno(), 1)
        if not piece:
            break
        found += piece
    return found
