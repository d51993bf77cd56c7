"""Small files of the kernel's, of which hundreds are read before and after each trial: each with one call of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

# more than the kernel says of a process or a device in one line or a few
_BYTES_MAX = 4096
# of /proc/PID/stat behind the name, from 0 (proc(5))
_FLAGS, _START = 6, 19
# of a thread of the kernel (include/linux/sched.h)
_PF_KTHREAD = 0x00200000


def kernel_text(path: str) -> str:
    """What it says now; empty where whatever it is about has ended, or is not ours to look at."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def processes(proc: Path, *, of_kernel: bool) -> Iterator[tuple[tuple[int, int], str, list[str]]]:
    """The programs that are there now, or the kernel's threads: id and start, name, and the fields behind that."""
    for entry in os.listdir(proc):
        line = kernel_text(f"{proc}/{entry}/stat") if entry.isdecimal() else ""
        name, closing, rest = line.partition("(")[2].rpartition(")")
        fields = rest.split()
        if closing and bool(int(fields[_FLAGS]) & _PF_KTHREAD) == of_kernel:
            yield (int(entry), int(fields[_START])), name, fields


def moved_bytes(process: str) -> Mapping[str, int]:
    """What a process moved, by the names of its file ``io``; nothing where that is not ours to look at."""
    lines = (line.split(": ") for line in kernel_text(f"{process}/io").splitlines())
    return {name: int(count) for name, count in lines}
