"""Times that a shaped drive took, beside the operations that a traced pass stored: bounds that hold under any load.

An operation sends its commands one after the other. The time that the kernel
counts for a command holds the time for which the drive had it, and does not
reach into the time of the command before or after it. What a busy machine adds
stands between them, in the bounds as well as in what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.store.read import StoredRun
from shaped_drive.server import Answered

_OF_DURABLE_WRITES = ("write", "flush")
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class TimedPart:
    """A part of every operation of the traced passes, in their order, with its bounds.

    Attributes
    ----------
    found_ns : ndarray of int
        What drivelab stored.
    least_ns : ndarray of int
        For how long the drive had the part's commands.
    most_ns : ndarray of int
        That, and all time around them in which the drive had no other command of the operation.
    latency_ns : ndarray of int
        Of the whole operation.
    """

    found_ns: Integers
    least_ns: Integers
    most_ns: Integers
    latency_ns: Integers

    def assert_within(self) -> None:
        """In every operation the part is what the drive itself took, and the way to it."""
        misses = np.flatnonzero((self.found_ns < self.least_ns) | (self.found_ns > self.most_ns))
        seen = [(int(self.least_ns[at]), int(self.found_ns[at]), int(self.most_ns[at])) for at in misses]
        assert self.found_ns.size > 0
        assert not seen, f"of {self.found_ns.size} (least, found, most): {seen}"


def timed_part(run: StoredRun, answered: Sequence[Answered], part: str, command: str) -> TimedPart:
    """A part of a run's traced operations beside the drive's commands of a kind.

    Parameters
    ----------
    run : StoredRun
        Whose operations went to the drive one at a time.
    answered : sequence of Answered
        All that the drive answered meanwhile.
    part, command : str
        ``device`` and ``write``, ``flush`` and ``flush``.
    """
    # whoever asks what drives hold reads some blocks of every drive, while an operation has its own command there
    own = [one for one in answered if one.command in (command, *_OF_DURABLE_WRITES)]
    columns: list[tuple[int, int, int, int]] = []
    for trial in run.traced_trials:
        rows = run.operations(trial)
        assert rows is not None
        for row in rows.select([f"{part}_ns", "start_ns", "latency_ns"]).to_pylist():
            start_ns, end_ns = row["start_ns"], row["start_ns"] + row["latency_ns"]
            within = [one for one in own if start_ns <= one.taken_ns and one.answered_ns <= end_ns]
            columns.append((row[f"{part}_ns"], *_bounds_ns(within, command, start_ns, end_ns), row["latency_ns"]))
    return TimedPart(*np.array(columns, dtype=np.int64).T)


def _bounds_ns(commands: Sequence[Answered], name: str, start_ns: int, end_ns: int) -> tuple[int, int]:
    """The least and the most time that an operation can have spent on its commands of a name."""
    begins = [one.taken_ns for one in commands] + [end_ns]
    ends = [start_ns] + [one.answered_ns for one in commands]
    gaps_ns = [begin - end for begin, end in zip(begins, ends, strict=True)]
    own = [at for at, one in enumerate(commands) if one.command == name]
    least_ns = sum(commands[at].took_ns for at in own)
    beside = {gap for at in own for gap in (at, at + 1)}
    return least_ns, least_ns + sum(gaps_ns[gap] for gap in beside)
