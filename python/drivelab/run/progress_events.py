"""Says how far a command is as lines of JSON on stderr: for who has started many and adds up what they do now."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from drivelab.run.engine import Progress
from drivelab.run.progress_lines import Look
from drivelab.streams import PROGRESS_AS_JSON, PrintableStream

_EVERY_NS = 1_000_000_000
_Counts = tuple[int, int, int]
_NONE: _Counts = (0, 0, 0)


class ProgressEvents:
    """Says what a command does now, at most once a second.

    Parameters
    ----------
    now_ns : callable
        The clock.
    look : callable
        What is to be shown now, and the time left, in nanoseconds; None where that is not known.
    """

    def __init__(
        self, stream: PrintableStream, now_ns: Callable[[], int], look: Callable[[], tuple[Look, int | None]]
    ) -> None:
        self._stream, self._now_ns, self._look = stream, now_ns, look
        self._said_ns = now_ns() - _EVERY_NS
        # operations, bytes, and the time in which they were counted, when it was said last
        self._counts = _NONE
        self._has_rate = False

    def measures(self, progress: Progress) -> None:
        """A workload goes on; the rates are those since it was said last."""
        if self._now_ns() - self._said_ns < _EVERY_NS:
            return
        before = self._counts
        self._counts = counts = progress.operation_count(), progress.byte_count(), progress.counted_ns
        seconds = (counts[2] - before[2]) / 1e9
        if seconds > 0:
            self._say((counts[0] - before[0]) / seconds, (counts[1] - before[1]) / seconds)
        elif not counts[2]:
            self._say(0.0, 0.0)

    def pauses(self) -> None:
        """Something else is done: nothing is measured meanwhile."""
        self._counts = _NONE
        if self._has_rate or self._now_ns() - self._said_ns >= _EVERY_NS:
            self._say(0.0, 0.0)

    def _say(self, operations_per_s: float, bytes_per_s: float) -> None:
        self._said_ns, self._has_rate = self._now_ns(), operations_per_s > 0
        look, left_ns = self._look()
        # what is cut in a narrow line is the name
        parts = look.place, *look.now[:1], look.left, look.name
        told = {
            "line": "  ".join(filter(None, parts)),
            "left_ns": left_ns,
            "operations_per_s": round(operations_per_s, 1),
            "bytes_per_s": round(bytes_per_s),
        }
        print(json.dumps({"progress": told}), file=self._stream, flush=True)


def are_wanted() -> bool:
    """Whether who has started this command wants them."""
    return PROGRESS_AS_JSON.items() <= os.environ.items()
