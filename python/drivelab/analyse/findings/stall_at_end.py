"""The trial had to wait long for its last I/O."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns

CODE = "stall-at-end"
WAIT_NS_MIN = 1_000_000_000
WAIT_OVER_P99_MIN = 10
_QUANTILE = 0.99


def find(evidence: TrialEvidence) -> list[Finding]:
    """I/O that was outstanding when no more was issued, and took far longer than the rest."""
    waited_ns = waited_after_end_ns(evidence)
    p99_ns = _p99_of_the_others_ns(evidence)
    if waited_ns <= max(WAIT_NS_MIN, WAIT_OVER_P99_MIN * (p99_ns or 0)):
        return []
    others = f"; 99 % of the others took at most {format_duration_ns(p99_ns)}" if p99_ns else ""
    text = (
        f"an I/O that was outstanding at the end took {format_duration_ns(waited_ns)} more{others}: "
        "a stall, and how often there is one cannot be told from this trial"
    )
    facts = {"waited_after_end_ns": waited_ns, "total_latency_ns_p99_of_others": p99_ns}
    return [Finding(CODE, "warning", text, evidence.name, facts, "measure longer; look at the kernel log: dmesg")]


def waited_after_end_ns(evidence: TrialEvidence) -> int:
    """How long I/O was outstanding after the last moment at which one could be issued.

    Notes
    -----
    I/O of the window is part of it however late it completes, so a window that
    was to end by the clock became longer by that wait. What does not belong to
    the window is waited for in the drain. One that watches for the end of a burst
    goes on, rests included, until it knows enough: its runtime is no end.
    """
    engine, workload = evidence.measured.engine, evidence.measured.workload
    waited = int(engine.get("drain_ns", 0))
    if engine.get("stopped_by") == "runtime" and workload.limits.runtime_ns and not workload.watches_burst:
        waited += max(0, int(engine.get("measured_ns", 0)) - workload.limits.runtime_ns)
    return waited


def _p99_of_the_others_ns(evidence: TrialEvidence) -> float | None:
    """The p99 without the longest latencies: as many as could be outstanding at the end."""
    histogram = evidence.measured.histograms.get((evidence.summary.operation, "total"))
    workload = evidence.measured.workload
    if histogram is None:
        return None
    others = histogram.total_count - workload.queue_depth * workload.job_count
    return histogram.quantile_ns(_QUANTILE * others / histogram.total_count) if others > 0 else None
