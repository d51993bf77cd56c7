"""I/O that failed: the trial ended there."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "operations-failed"


def find(evidence: TrialEvidence) -> list[Finding]:
    """The errors that the engine met."""
    found = []
    for error in evidence.measured.engine.get("errors") or ():
        place = "file" if evidence.measured.workload.tree else "byte"
        text = (
            f"{error['count']} {error['operation']} operation(s) failed with {error['name']}, the first at {place} "
            f"{error['first_offset_bytes']}: the numbers end there"
        )
        found.append(Finding(CODE, "warning", text, evidence.name, dict(error), "look at the kernel log: dmesg"))
    return found
