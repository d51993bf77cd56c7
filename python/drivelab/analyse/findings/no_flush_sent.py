"""Durable writes without a flush, rightly so: the kernel takes the drive's cache for write-through."""

from __future__ import annotations

from drivelab.analyse.expected_commands import cache_kind
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "no-flush-sent"


def find(evidence: TrialEvidence) -> list[Finding]:
    """A latency that contains no flush: not to be compared with one that does."""
    drive = evidence.target.drive
    if not evidence.is_durable or evidence.is_null or drive is None or cache_kind(evidence.target) != "write_through":
        return []
    if drive.write_cache.drive_enabled is False:
        belief = f"and the drive says the same ({drive.write_cache.drive_source})"
    elif drive.write_cache.drive_enabled is None:
        belief = "and the drive could not be asked"
    else:
        belief = "but the drive says that its cache is on"
    text = (
        f"this latency contains no flush: the kernel believes that {drive.name} has no volatile write cache, {belief}; "
        "do not compare it with a drive that is flushed"
    )
    facts = {"kernel_mode": drive.write_cache.kernel_mode, "drive_enabled": drive.write_cache.drive_enabled}
    return [Finding(CODE, "note", text, evidence.name, facts)]
