"""Processor time as a bound of work: who else is busy on the machine adds next to nothing to it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


def processor_s() -> float:
    """What this process, and those children of it that have ended, have used so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@contextmanager
def at_most_processor_s(seconds: float) -> Iterator[None]:
    """Fail when a block uses more processor time."""
    begin = processor_s()
    yield
    used = processor_s() - begin
    assert used < seconds, f"{used:.2f} s of the processor"
