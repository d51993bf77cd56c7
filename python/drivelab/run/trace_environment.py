"""What of the kernel the explanation of a latency depends on, as it is while a trace is taken."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drivelab.state.kernel_filesystem import lockdown_state

_QUEUE = ("scheduler", "nr_requests", "write_cache", "fua", "rotational")
_CHOSEN = re.compile(r"\[([^\]]+)\]")


def trace_environment(device: str) -> dict[str, str]:
    """Scheduler, nr_requests, write_cache, fua and rotational of a disk, lockdown and kernel; empty where not known.

    Parameters
    ----------
    device : str
        Kernel name of a whole disk.
    """
    queue = Path("/sys/class/block", device, "queue")
    found = {name: _chosen(_read(queue / name)) for name in _QUEUE}
    return found | {"lockdown": lockdown_state(), "kernel": os.uname().release}


def before_and_after(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Each fact; as ``before`` and ``after`` where it was another one afterwards."""
    return {
        name: value if after.get(name) == value else {"before": value, "after": after.get(name)}
        for name, value in before.items()
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _chosen(text: str) -> str:
    """The one in brackets, where the kernel lists all there are."""
    found = _CHOSEN.search(text)
    return found[1] if found else text
