"""Operations that moved fewer bytes than they were asked to."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "short-operations"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Reads, writes or trims that the kernel ended early, without an error."""
    found = []
    for operation, counts in evidence.measured.engine.get("operations", {}).items():
        short, count = int(counts.get("short", 0)), int(counts.get("count", 0))
        if not short:
            continue
        text = (
            f"{short} of {count} {operation} operations moved fewer bytes than they were asked to: "
            "their latency is that of a smaller operation"
        )
        facts = {"operation": operation, "short_operations": short, "operations": count}
        advice = "look whether the file ended or its file system was full"
        found.append(Finding(CODE, "warning", text, evidence.name, facts, advice))
    return found
