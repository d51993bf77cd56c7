"""A trial that was to be explained, whose traced pass failed or lost events."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "trace-incomplete"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Why there is no explanation of the trial, or none that can be trusted; its timed pass is not concerned."""
    context = evidence.measured.context
    reason = str(context.get("trace_reason") or "")
    lost = int((context.get("trace") or {}).get("lost_events") or 0)
    if not reason and not lost:
        return []
    why = reason or f"the kernel could not keep {lost} {'event' if lost == 1 else 'events'}"
    text = f"the traced pass does not explain this trial: {why}; the numbers are those of the timed pass, and stand"
    return [Finding(CODE, "note", text, evidence.name, {"lost_events": lost, "reason": reason})]
