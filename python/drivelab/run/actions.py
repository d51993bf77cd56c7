"""What is done to a drive or file system around a trial: trims and purges, and a wait until it is quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from drivelab.inventory.consent import Consent, require_purge_consent
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.run.device_counters import has_outstanding, read_counters
from drivelab.state.journal import Journal
from drivelab.state.purge.catalogue import ANY_PURGE, any_purge, purge
from drivelab.state.trim import discard_device, fstrim

# a file system that discards while it is mounted does so after the commit that frees the blocks, in the background
_QUIET_S = 0.05
_PATIENCE_S = 10.0
_POLL_S = 0.005


def trim_device(target: TargetFacts, journal: Journal) -> dict[str, Any]:
    """Discard a whole block device, and tell what the kernel counted.

    Raises
    ------
    DrivelabError
        C207: it is not the device that was resolved. R402, R403: blkdiscard is
        not installed, or failed.
    """
    discarded = discard_device(target, journal)
    return {"kind": "device", "discards": discarded.commands, "discarded_bytes": discarded.bytes}


def trim_filesystem(place: TargetFacts) -> dict[str, Any]:
    """Trim the free space of the file system that a place lies on.

    Raises
    ------
    DrivelabError
        R402, R403: fstrim is not installed, or failed.
    """
    assert place.filesystem is not None, "the plan gives fstrim to file systems only"
    return {"kind": "fstrim", "trimmed_bytes": fstrim(place.filesystem.mount_point)}


def purge_target(
    target: TargetFacts, method: str, consent: Consent, journal: Journal, progress: Callable[[float], None]
) -> dict[str, Any]:
    """Purge a whole drive: what it held cannot be found again. `progress` is told the part that is done.

    Raises
    ------
    DrivelabError
        C207: it is not the device that was resolved. C210: nobody consented.
        R402, R403, R410, R411: the drive refused, or did not do it.
    """
    require_purge_consent(target, consent.purge)
    chosen = any_purge(target.drive) if method == ANY_PURGE else method
    return asdict(purge(target, chosen, journal, progress))


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
        if now != before or any(map(has_outstanding, devices)):
            quiet_since, before = time.monotonic(), now
        elif time.monotonic() - quiet_since >= _QUIET_S:
            return True
    return False


def achieved_actions(context: Mapping[str, Any]) -> dict[str, str]:
    """What the actions before a trial came to, where they did not do all that was asked."""
    achieved = {}
    dropped = context.get("dropped_page_cache") or {}
    left = dropped.get("resident_bytes")
    if left:
        achieved["page-cache"] = f"partly: {format_bytes(left)} stayed"
    elif dropped.get("reason"):
        achieved["page-cache"] = f"not dropped: {dropped['reason']}"
    return achieved
