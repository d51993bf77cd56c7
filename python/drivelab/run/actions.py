"""What is done to a drive or file system before a trial: trims and purges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from drivelab.inventory.consent import Consent, require_purge_consent
from drivelab.model.target import TargetFacts
from drivelab.state.journal import Journal
from drivelab.state.purge.catalogue import purge
from drivelab.state.trim import discard_device, fstrim


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
    return asdict(purge(target, method, journal, progress))
