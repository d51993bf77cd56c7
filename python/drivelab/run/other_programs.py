"""What other programs did meanwhile, by name: processor time, and bytes that they had drives read and write.

The kernel's totals say that somebody was at work; only the counters of each
process say who, and how much of what a drive wrote was somebody else's. A
process hands its totals on to its parent when that waits for it, so what ended
meanwhile is not lost; it counts under the parent's name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab.run.kernel_text import kernel_text, moved_bytes, processes

PROC = Path("/proc")
SYSFS_BLOCK = Path("/sys/block")
_SECTOR_BYTES = 512
# of /proc/PID/stat behind the name, from 0 (proc(5)); time is of the process, and of children that were waited for
_PARENT, _TICKS = 1, slice(11, 15)
# of /sys/block/DEVICE/stat
_WRITE_SECTORS = 6
# what lies in memory, or in a file whose drive counts it
_NO_DRIVES = ("loop", "ram", "zram")
# who is named: a twentieth of a processor, or so many bytes; and so many of them
_PROCESSORS_MIN, _BYTES_MIN, _NAMED_MAX = 0.05, 64 * 1024, 5


@dataclass(frozen=True, slots=True)
class Totals:
    """Running totals of a process, with those of children that it waited for.

    Attributes
    ----------
    processor_ns : int
        Time on processors.
    bytes_read, bytes_written : int
        That drives were asked for (task I/O accounting); 0 where we may not see it.
    """

    processor_ns: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def plus(self, other: Totals, times: int = 1) -> Totals:
        """The sum of both, the other one so many times; nothing falls below 0."""
        return Totals(
            max(0, self.processor_ns + times * other.processor_ns),
            max(0, self.bytes_read + times * other.bytes_read),
            max(0, self.bytes_written + times * other.bytes_written),
        )


@dataclass(frozen=True, slots=True)
class ProgramsReading:
    """All other programs at one moment.

    Attributes
    ----------
    processes : dict
        By process id and start time: name, parent's id, and totals.
    bytes_written_elsewhere : int
        By all drives but those that were named.
    """

    read_at_ns: int
    processes: dict[tuple[int, int], tuple[str, int, Totals]]
    bytes_written_elsewhere: int


def read_programs(drives: Sequence[str]) -> ProgramsReading:
    """The totals now of all programs but this one and its children, and of all drives but these."""
    own, tick_ns = os.getpid(), 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    found = {}
    for (pid, start), name, fields in processes(PROC, of_kernel=False):
        parent = int(fields[_PARENT])
        if own in (pid, parent):
            continue
        moved = moved_bytes(f"{PROC}/{pid}")
        busy_ns = sum(map(int, fields[_TICKS])) * tick_ns
        found[pid, start] = (name, parent, Totals(busy_ns, moved.get("read_bytes", 0), moved.get("write_bytes", 0)))
    return ProgramsReading(time.monotonic_ns(), found, _bytes_written_elsewhere(drives))


def programs_between(before: ProgramsReading | None, after: ProgramsReading | None) -> dict[str, Any] | None:
    """What other programs did between two readings.

    Returns
    -------
    dict or None
        ``bytes_read`` and ``bytes_written`` of all of them that may be seen,
        ``bytes_written_elsewhere`` (of other drives), and of the ``busiest``
        their ``name``, ``processors`` (0.5 is half of one), ``bytes_read``,
        ``bytes_written``; several processes of one name together.
    """
    if before is None or after is None or after.read_at_ns <= before.read_at_ns:
        return None
    done = _done(before, after)
    duration_ns = after.read_at_ns - before.read_at_ns
    by_name: dict[str, Totals] = {}
    for key, totals in done.items():
        name = after.processes[key][0]
        by_name[name] = by_name.get(name, Totals()).plus(totals)
    busiest = [
        {
            "name": name,
            "processors": totals.processor_ns / duration_ns,
            "bytes_read": totals.bytes_read,
            "bytes_written": totals.bytes_written,
        }
        for name, totals in sorted(by_name.items(), key=lambda one: _weight(one[1], duration_ns), reverse=True)
        if _weight(totals, duration_ns) >= 1
    ]
    return {
        "bytes_read": sum(one.bytes_read for one in done.values()),
        "bytes_written": sum(one.bytes_written for one in done.values()),
        "bytes_written_elsewhere": max(0, after.bytes_written_elsewhere - before.bytes_written_elsewhere),
        "busiest": busiest[:_NAMED_MAX],
    }


def _done(before: ProgramsReading, after: ProgramsReading) -> dict[tuple[int, int], Totals]:
    """What each process that is still there did, and its children that ended."""
    done = {
        key: totals.plus(before.processes[key][2] if key in before.processes else Totals(), -1)
        for key, (_, _, totals) in after.processes.items()
    }
    by_pid = {key[0]: key for key in after.processes}
    for key, (_, parent, totals) in before.processes.items():
        heir = by_pid.get(parent)
        if key not in after.processes and heir is not None:
            # its parent has all that it ever did, and only a part of that was meanwhile
            done[heir] = done[heir].plus(totals, -1)
    return done


def _weight(totals: Totals, duration_ns: int) -> float:
    """How busy a program was; at least 1 where it is to be named."""
    moved = max(totals.bytes_read, totals.bytes_written)
    return max(totals.processor_ns / duration_ns / _PROCESSORS_MIN, moved / _BYTES_MIN)


def _bytes_written_elsewhere(drives: Sequence[str]) -> int:
    """By all drives but these: what lies on others, as a volume does, is counted there."""
    written = 0
    for device in SYSFS_BLOCK.iterdir() if SYSFS_BLOCK.is_dir() else ():
        if device.name in drives or device.name.startswith(_NO_DRIVES) or _has_any(device / "slaves"):
            continue
        fields = kernel_text(f"{device}/stat").split()
        written += int(fields[_WRITE_SECTORS]) * _SECTOR_BYTES if fields else 0
    return written


def _has_any(directory: Path) -> bool:
    try:
        return any(directory.iterdir())
    except OSError:
        return False
