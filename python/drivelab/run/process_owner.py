"""Who made a thing that was left behind, and whether that process still lives.

A process id alone is not enough: it is given to another process sooner or
later. The id together with the time its process was started is unique until
the next boot.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_TAG = re.compile(r"(\d+)-(\d+)")
_START_TIME_FIELD = 21


def owner_tag() -> str:
    """A name for this process: ``PID-STARTTIME``."""
    pid = os.getpid()
    return f"{pid}-{_start_time(pid)}"


def owner_lives(tag: str) -> bool:
    """Whether the process that `owner_tag` named so is still there."""
    match = _TAG.match(tag)
    return match is not None and _start_time(int(match[1])) == int(match[2])


def _start_time(pid: int) -> int:
    """Start time of a process in clock ticks since boot; -1 when there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return -1
    # the name in parentheses may hold anything, spaces and parentheses too
    return int(text.rpartition(")")[2].split()[_START_TIME_FIELD - 2])
