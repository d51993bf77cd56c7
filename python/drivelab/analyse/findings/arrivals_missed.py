"""An open loop whose schedule was not kept."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "arrivals-missed"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Arrivals that were due in the window and were never issued.

    Notes
    -----
    Their response latencies would have been the longest of all, so every
    quantile that is published is too small.
    """
    arrivals = evidence.measured.engine.get("arrivals") or {}
    missed = int(arrivals.get("missed", 0))
    if not missed:
        return []
    scheduled = int(arrivals["scheduled"])
    text = (
        f"the target did not keep up: {missed} of {scheduled} arrivals were never issued, and response latencies "
        "are lower bounds"
    )
    facts = {key: int(arrivals.get(key, 0)) for key in ("scheduled", "issued", "late", "missed")}
    advice = "ask for a lower rate (--rate), or a greater queue depth"
    return [Finding(CODE, "warning", text, evidence.name, facts, advice)]
