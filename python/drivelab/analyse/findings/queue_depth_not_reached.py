"""Fewer I/Os were outstanding than asked for."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import MEAN_LATENCY
from drivelab.model.saturation import REACHED_SHARE_MIN
from drivelab.model.units import format_duration_ns

CODE = "queue-depth-not-reached"
# what is shorter than so many I/Os after each other is filling and emptying of the queue
_LATENCIES_MIN = 20
_FILLING = "much of the time the queue filled or emptied; measure for longer"


def find(evidence: TrialEvidence) -> list[Finding]:
    """An achieved depth below nine tenths of the one asked for, in a closed loop."""
    workload = evidence.measured.workload
    achieved = evidence.achieved.get("queue_depth_mean")
    if evidence.is_null or workload.is_open_loop or workload.queue_depth == 1 or achieved is None:
        return []
    if achieved >= REACHED_SHARE_MIN * workload.queue_depth:
        return []
    text = (
        f"only {achieved:.1f} of {workload.queue_depth} I/Os asked for were outstanding on average: {_cause(evidence)}"
    )
    facts = {"queue_depth_asked": workload.queue_depth, "queue_depth_achieved": achieved}
    return [Finding(CODE, "warning", text, evidence.name, facts)]


def _cause(evidence: TrialEvidence) -> str:
    if evidence.backend == "sync":
        return "the sync backend has one at a time; use more jobs, or the uring backend"
    if evidence.target.simulated is not None:
        # there a call takes no time
        return _FILLING
    if not evidence.is_direct:
        return "buffered I/O completes while it is being submitted"
    mean = evidence.summary.estimates.get(MEAN_LATENCY)
    measured_ns = int(evidence.measured.engine.get("measured_ns", 0))
    if mean is not None and mean.value and measured_ns < _LATENCIES_MIN * mean.value:
        taken, lasted = format_duration_ns(mean.value), format_duration_ns(measured_ns)
        return f"an I/O took {taken} on average and all of it {lasted}, so that {_FILLING}"
    return "submitting took as long as completing"
