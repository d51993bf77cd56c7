"""What of the kernel the explanation of a latency depends on, as it is while a trace is taken."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drivelab.inventory.sysfs import chosen, read_text
from drivelab.state.kernel_filesystem import lockdown_state

_QUEUE = ("scheduler", "nr_requests", "write_cache", "fua", "rotational")


def trace_environment(device: str) -> dict[str, str]:
    """Scheduler, nr_requests, write_cache, fua and rotational of a disk, lockdown and kernel; empty where not known.

    Parameters
    ----------
    device : str
        Kernel name of a whole disk.
    """
    queue = Path("/sys/class/block", device, "queue")
    texts = {name: read_text(queue / name) or "" for name in _QUEUE}
    # what is no list ("write through") stands there whole
    found = {name: (chosen(text) or "") if "[" in text else text for name, text in texts.items()}
    return found | {"lockdown": lockdown_state(), "kernel": os.uname().release}


def before_and_after(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Each fact; as ``before`` and ``after`` where it was another one afterwards."""
    return {
        name: value if after.get(name) == value else {"before": value, "after": after.get(name)}
        for name, value in before.items()
    }
