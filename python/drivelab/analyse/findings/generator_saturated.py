"""Our own processor time was the limit, not the drive."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "generator-saturated"
BUSY_SHARE_MAX = 0.95
LATE_SHARE_MAX = 0.01


def find(evidence: TrialEvidence) -> list[Finding]:
    """Job threads that were on a processor for nearly the whole measured window."""
    workload = evidence.measured.workload
    spent = evidence.measured.engine.get("cpu")
    window_ns = int(evidence.measured.engine.get("measured_ns", 0))
    # whoever polls is busy by design, and the null backend measures just this
    # operations on files are work of the processor; what the drive had to do with it is told apart
    if workload.tree is not None:
        return []
    if evidence.is_null or workload.polled_completion or not spent or window_ns <= 0 or _keeps_schedule(evidence):
        return []
    jobs = int(evidence.achieved.get("job_count", workload.job_count)) or 1
    share = spent.get("total_ns", spent["user_ns"] + spent["system_ns"]) / (window_ns * jobs)
    if share <= BUSY_SHARE_MAX:
        return []
    busy = f"the issuing threads were busy {100 * share:.0f} % of the time"
    text = f"{busy}: the processor was the limit, the drive may do more"
    facts = {"busy_share": share, "user_ns": spent["user_ns"], "system_ns": spent["system_ns"], "jobs": jobs}
    return [Finding(CODE, "warning", text, evidence.name, facts, "use more jobs (--jobs), or larger blocks")]


def _keeps_schedule(evidence: TrialEvidence) -> bool:
    """Whether an open loop issued its arrivals in time: then what is left of its time it spins by design."""
    arrivals = evidence.measured.engine.get("arrivals")
    if not arrivals or arrivals["missed"]:
        return False
    return bool(arrivals["late"] <= LATE_SHARE_MAX * arrivals["scheduled"])
