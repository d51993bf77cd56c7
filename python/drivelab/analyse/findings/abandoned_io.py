"""I/O that the kernel never gave back: the slowest operations are in no number."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "abandoned-io"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Jobs that were given up on, because their I/O was still outstanding long after the end."""
    abandoned = int(evidence.measured.engine.get("abandoned_jobs") or 0)
    if not abandoned:
        return []
    text = (
        f"{abandoned} job(s) were given up on: the drive did not answer their last I/O, so the longest latencies "
        "are missing from every number"
    )
    advice = "look at the kernel log: dmesg; the I/O may still be outstanding"
    return [Finding(CODE, "invalid", text, evidence.name, {"abandoned_jobs": abandoned}, advice)]
