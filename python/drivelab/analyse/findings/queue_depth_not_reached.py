"""Fewer I/Os were outstanding than asked for."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "queue-depth-not-reached"
ACHIEVED_SHARE_MIN = 0.9


def find(evidence: TrialEvidence) -> list[Finding]:
    """An achieved depth below nine tenths of the one asked for, in a closed loop."""
    workload = evidence.measured.workload
    achieved = evidence.achieved.get("queue_depth_mean")
    if evidence.is_null or workload.is_open_loop or workload.queue_depth == 1 or achieved is None:
        return []
    if achieved >= ACHIEVED_SHARE_MIN * workload.queue_depth:
        return []
    text = (
        f"{achieved:.1f} I/Os were outstanding on average where {workload.queue_depth} were asked for: "
        f"{_cause(evidence)}"
    )
    facts = {"queue_depth_asked": workload.queue_depth, "queue_depth_achieved": achieved}
    return [Finding(CODE, "warning", text, evidence.name, facts)]


def _cause(evidence: TrialEvidence) -> str:
    if evidence.backend == "sync":
        return "the sync backend has one at a time; use more jobs, or the uring backend"
    if not evidence.is_direct:
        return "buffered I/O completes while it is being submitted"
    return "submitting took as long as completing, or the trial was too short to fill the queue"
