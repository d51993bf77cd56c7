"""A measured window too short to have seen what the drive does over time."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.check_trials import PROBE
from drivelab.model.finding import MEASURE_LONGER, Finding, Severity
from drivelab.model.units import format_duration_ns

CODE = "short-measurement"
# below this an interval cannot know more than a moment
WARNING_NS = 300_000_000
NOTE_NS = 1_000_000_000


def find(evidence: TrialEvidence) -> list[Finding]:
    """A window below a second; a warning below 0.3 s. A single I/O is as long as it is.

    An explained trial counts operations and asks where the time of each went: no warning, however short.
    """
    window_ns = int(evidence.measured.engine.get("measured_ns", 0))
    is_single = evidence.measured.workload.limits.count == 1
    if evidence.is_null or window_ns >= NOTE_NS or evidence.name.startswith(PROBE) or is_single:
        return []
    text = (
        f"measured for only {format_duration_ns(window_ns)}: caches may have taken all of it, and the intervals "
        "know nothing of what changes more slowly"
    )
    is_explained = "trace" in evidence.measured.context
    severity: Severity = "warning" if window_ns < WARNING_NS and not is_explained else "note"
    facts = {"measured_ns": window_ns, "stopped_by": evidence.measured.engine.get("stopped_by")}
    return [Finding(CODE, severity, text, evidence.name, facts, MEASURE_LONGER)]
