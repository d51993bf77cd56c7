"""Whose time the processors spend: this program's, threads of the kernel, or anybody else's.

How long tasks waited for a processor (PSI) cannot tell that: a thread that sleeps
for every I/O waits from its wake-up until its first instruction each time, on an
idle computer too.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from drivelab.run.kernel_text import kernel_text

PROC = Path("/proc")
# fields of the cpu line of /proc/stat, from 0
_USER, _NICE, _SYSTEM = 0, 1, 2
# of which all kernel threads are children
_KTHREADD = 2


@dataclass(frozen=True, slots=True)
class ProcessorReading:
    """Running totals of processor time at one moment, in ns.

    Attributes
    ----------
    user_ns, system_ns : int
        Of all processors, in programs and in the kernel; interrupts are in neither.
    own_user_ns, own_ns : int
        Of all threads of this program, in the program alone and altogether.
    kernel_thread_ns : dict of int to int, or None
        Of each thread of the kernel, by its id; None where they are not to be seen, as in a container.
    """

    read_at_ns: int
    count: int
    user_ns: int
    system_ns: int
    own_user_ns: int
    own_ns: int
    kernel_thread_ns: dict[int, int] | None


def read_processors() -> ProcessorReading:
    """The totals now."""
    lines = (PROC / "stat").read_text().splitlines()
    ticks = [int(word) for word in lines[0].split()[1:]]
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return ProcessorReading(
        read_at_ns=time.monotonic_ns(),
        count=sum(line.startswith("cpu") for line in lines) - 1,
        user_ns=(ticks[_USER] + ticks[_NICE]) * tick_ns,
        system_ns=ticks[_SYSTEM] * tick_ns,
        own_user_ns=round(resource.getrusage(resource.RUSAGE_SELF).ru_utime * 1e9),
        own_ns=time.process_time_ns(),
        kernel_thread_ns=_kernel_thread_ns(),
    )


def processors_between(
    before: ProcessorReading | None, after: ProcessorReading | None
) -> dict[str, float | None] | None:
    """Whose time the processors spent between two readings, in processors: 0.5 is half of one.

    Returns
    -------
    dict or None
        ``count``, ``duration_ns``, ``busy`` of everybody, ``own``, and ``kernel_threads``. Where the threads of the
        kernel are not to be seen they are None, and the others are of time outside the kernel: those have none of it.
    """
    if before is None or after is None or after.read_at_ns <= before.read_at_ns:
        return None
    duration_ns = after.read_at_ns - before.read_at_ns
    user, own_user = after.user_ns - before.user_ns, after.own_user_ns - before.own_user_ns
    found: dict[str, float | None] = {"count": after.count, "duration_ns": duration_ns}
    earlier, later = before.kernel_thread_ns, after.kernel_thread_ns
    if earlier is None or later is None:
        return found | {"busy": user / duration_ns, "own": own_user / duration_ns, "kernel_threads": None}
    kernel_ns = sum(total - earlier.get(thread, 0) for thread, total in later.items())
    busy = user + after.system_ns - before.system_ns
    own = after.own_ns - before.own_ns
    return found | {"busy": busy / duration_ns, "own": own / duration_ns, "kernel_threads": kernel_ns / duration_ns}


def _kernel_thread_ns() -> dict[int, int] | None:
    try:
        if (PROC / str(_KTHREADD) / "comm").read_text().strip() != "kthreadd":
            return None
        threads = (PROC / str(_KTHREADD) / "task" / str(_KTHREADD) / "children").read_text().split()
    except OSError:
        return None
    # the first number is the time on a processor, exact; there is none of a thread that has ended, nor where the kernel
    # was built without this file
    told = ((thread, kernel_text(f"{PROC}/{thread}/schedstat").split()) for thread in threads)
    found = {int(thread): int(numbers[0]) for thread, numbers in told if numbers}
    return found or None
