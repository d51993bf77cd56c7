"""How long the threads of followed programs were ready to run and found no processor."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from drivelab.run.following.processes import threads_of


class ProcessorWaits:
    """Adds up what threads wait from now on; those that begin later, and end before others do, are among them.

    The kernel tells it of a thread only while that is there. So it has to be looked at again and again, and what a
    thread waits between the last look and its end is missing.

    Parameters
    ----------
    processes : collection of int
        Those that are there now.
    """

    def __init__(self, processes: Collection[int]) -> None:
        self._before = dict(_waited_ns(processes))
        self._newest = dict(self._before)

    def look(self, processes: Collection[int]) -> None:
        """See what the threads of processes have waited until now."""
        self._newest.update(_waited_ns(processes))

    @property
    def total_ns(self) -> int:
        """What all of them waited together, as far as they were looked at."""
        return sum(self._newest.values()) - sum(self._before.values())


def _waited_ns(processes: Iterable[int]) -> Iterable[tuple[int, int]]:
    """By thread what it has waited in its life; nothing where the kernel keeps no such numbers."""
    for thread in [thread for process in processes for thread in threads_of(process)]:
        with suppress(OSError, IndexError):
            yield thread, int(Path(f"/proc/{thread}/schedstat").read_text().split()[1])
