"""Waits until a drive has done what the last trial left it to do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from drivelab.run.device_counters import SYSFS_BLOCK, read_counters

# a file system that discards while it is mounted does so after the commit that frees the blocks, in the background
_QUIET_S = 0.05
_PATIENCE_S = 10.0
_POLL_S = 0.005


def settle(devices: Sequence[str]) -> bool:
    """Wait until no device has a request outstanding or counts another one; whether that came about.

    Parameters
    ----------
    devices : sequence of str
        Kernel names.
    """
    deadline = time.monotonic() + _PATIENCE_S
    quiet_since = time.monotonic()
    before = read_counters(devices).fields
    while time.monotonic() < deadline:
        time.sleep(_POLL_S)
        now = read_counters(devices).fields
        if now != before or any(_outstanding(name) for name in devices):
            quiet_since, before = time.monotonic(), now
        elif time.monotonic() - quiet_since >= _QUIET_S:
            return True
    return False


def _outstanding(name: str) -> bool:
    try:
        reads_and_writes = Path(SYSFS_BLOCK, name, "inflight").read_text().split()
    except OSError:
        return False
    return any(count != "0" for count in reads_and_writes)
